//! The command line: completions, man pages, settings, the terminal, and the options of `proxy` that
//! have to do with networks.

#![allow(clippy::unwrap_used)]

mod network;
mod settings;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
