//! The `mitmcraft` command.
fn main() {}
