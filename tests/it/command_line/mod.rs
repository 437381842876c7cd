//! The command as users meet it: each subcommand's options, files, messages and exit codes.

mod formats;
mod network;
mod proxy;
mod settings;
mod start;
mod terminal;
