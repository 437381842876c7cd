//! Integration tests that need no other program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod analysis;
mod architecture;
mod capture;
mod command_line;
mod contents_lines;
mod diagnostics;
#[cfg(unix)]
mod documents;
mod examples;
mod golden;
#[path = "../bench/shared/page.rs"]
mod page;
mod relay;
mod security;
mod soak;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod upstream;
