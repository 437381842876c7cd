//! The command as users meet it: each subcommand's options, files, messages and exit codes.

mod accounts;
mod captures;
mod closing;
mod completions;
mod expect;
mod explain;
mod formats;
#[cfg(target_os = "linux")]
mod full_disk;
mod hostile;
mod lake;
mod lint;
mod log;
mod many_files;
mod maps;
mod memory;
mod mistakes;
mod network;
mod overwrite;
mod ping;
mod pipe;
mod protocols;
mod proxy;
mod recorder;
mod replay;
mod rules;
mod script;
mod settings;
mod show;
mod signals;
mod start;
mod tables;
mod terminal;
mod worlds;
