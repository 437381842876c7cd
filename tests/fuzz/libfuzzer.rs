//! A target for cargo-fuzz: the one that the binary is named after.

#![no_main]

#[path = "targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::run(env!("CARGO_BIN_NAME"), input));
