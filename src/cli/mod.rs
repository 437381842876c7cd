//! What was typed becomes what is meant: one file for each verb.

mod check;
mod convert;
mod demo;
mod exit;
mod input;
mod output;
mod ping;
mod protocols;
mod proxy;
mod query;
mod recording;
mod run;
mod screen;
mod seconds;
mod show;
mod size;
mod version;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::{Color, Output};

/// See, record, change and replay what Minecraft: Java Edition says.
///
/// Point the game at mitmcraft, and mitmcraft at the server: every packet is decoded, shown and
/// recorded, and nothing changes on the wire.
#[derive(Debug, Parser)]
#[command(name = "mitmcraft", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are obeyed too
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Proxy(proxy::Arguments),
    Check(check::Arguments),
    Demo(demo::Arguments),
    Show(show::Arguments),
    Convert(convert::Arguments),
    Ping(ping::Arguments),
    Query(query::Arguments),
    Protocols(protocols::Arguments),
}

/// Runs the command line, and says how it ended.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    let output = Output::new(cli.color);
    let ended = match cli.verb {
        Verb::Proxy(arguments) => proxy::run(arguments, &output),
        Verb::Check(arguments) => check::run(&arguments, &output),
        Verb::Demo(arguments) => demo::run(arguments, &output),
        Verb::Show(arguments) => show::run(arguments, &output),
        Verb::Convert(arguments) => convert::run(&arguments, &output),
        Verb::Ping(arguments) => ping::run(arguments, &output),
        Verb::Query(arguments) => query::run(arguments, &output),
        Verb::Protocols(arguments) => protocols::run(arguments, &output),
    };
    exit::code(ended, &output)
}
