//! The command line: one file per verb, shared options in `args`.

mod accounts;
mod args;
mod check;
mod collapse;
mod columns;
mod completions;
mod config;
mod convert;
mod decode;
mod demo;
mod diff;
mod exit;
mod expect;
mod expectations;
mod explain;
mod groups;
mod help;
mod input;
mod lint;
mod listen;
mod lua_types;
mod man;
mod manual;
mod mistakes;
mod notice;
mod output;
#[cfg(test)]
mod page;
mod ping;
mod plural;
mod protocols;
mod proxy;
mod query;
mod replay;
mod report;
mod report_sink;
mod rule_effects;
mod rules;
mod run;
mod screen;
mod services;
mod settings;
mod show;
mod signals;
mod stats;
mod stdio;
mod summary;
mod surroundings;
mod terminal_interface;
mod terminal_writer;
mod version;
mod view;
mod view_sources;
mod wireshark;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use mitmcraft_engine::capture::catches_panic;

use exit::Done;
use groups::grouped;
use output::{Color, LogFormat, Output};
use run::block_on;
use settings::Settings;

/// Show, record, change and replay the traffic of Minecraft: Java Edition.
///
/// Connect the game to mitmcraft, and mitmcraft to the server: every packet is decoded, shown and
/// recorded, and nothing changes on the wire unless you ask for it.
#[derive(Debug, Parser)]
#[command(
    name = "mitmcraft",
    version = env!("VERSION_AND_COMMIT"),
    max_term_width = 100,
    disable_help_subcommand = true,
    defer(grouped)
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// When to use colour; `auto` obeys NO_COLOR and CLICOLOR_FORCE
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = Color::Auto,
        value_name = "WHEN",
        display_order = LAST
    )]
    color: Color,

    /// Format of messages on stderr: text, or one JSON object per line
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = LogFormat::Text,
        value_name = "FORMAT",
        display_order = LAST
    )]
    log_format: LogFormat,

    /// Configuration file [default: `mitmcraft/config.toml` in the user's configuration folder]
    #[arg(long, global = true, value_name = "FILE", display_order = LAST)]
    config: Option<PathBuf>,
}

/// Options of all verbs are listed after those of the verb, before `--help`.
const LAST: usize = 998;

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(demo::Arguments),
    Proxy(Box<proxy::Arguments>),
    View(view::Arguments),
    Show(show::Arguments),
    Convert(convert::Arguments),
    Stats(stats::Arguments),
    Diff(diff::Arguments),
    Decode(decode::Arguments),
    Explain(Box<explain::Arguments>),
    Replay(Box<replay::Arguments>),
    Lint(Box<lint::Arguments>),
    Expect(expect::Arguments),
    Regress(Box<replay::regress::Arguments>),
    Check(check::Arguments),
    Ping(ping::Arguments),
    Query(query::Arguments),
    Protocols(protocols::Arguments),
    Login(accounts::LoginArguments),
    Logout(accounts::LogoutArguments),
    JvmArgs(accounts::JvmArgsArguments),
    Config(config::Arguments),
    Wireshark(wireshark::Arguments),
    LuaTypes(lua_types::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Help(help::Arguments),
}

/// Runs the command line and returns its exit code.
pub(crate) fn main() -> ExitCode {
    mitmcraft::proxy::raise_descriptor_limit();
    signals::withstand();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !catches_panic() {
            report(panic);
        }
    }));
    let mut words: Vec<_> = std::env::args_os().collect();
    let extcap = wireshark::Extcap::parse_line(&words);
    let is_extcap = extcap.is_some();
    if let Some(extcap) = extcap {
        let output = Output::new(Color::Auto, LogFormat::Text);
        match extcap.map_err(Into::into).and_then(|it| it.answer(&output)) {
            Ok(Some(proxy)) => words = proxy,
            Ok(None) => return ExitCode::SUCCESS,
            Err(error) => return exit::code(Err(error), &output),
        }
    }
    let settings = Settings::load(Cli::command(), words, std::env::vars_os());
    let mut output = Output::new(settings.global("color"), settings.global("log-format"));
    if is_extcap {
        // Wireshark takes everything on stderr for an error.
        output.set_terse();
    }
    settings.unknown_variables.iter().for_each(|unknown| output.warning(unknown));
    exit::code(run(&settings, &output), &output)
}

fn run(settings: &Settings, output: &Output) -> anyhow::Result<Done> {
    let command = Cli::command().color(output.choice());
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let matches = command.try_get_matches_from(settings.complete()?);
    let matches = matches.map_err(|error| mistakes::with_meaning(error, &words))?;
    let cli = Cli::from_arg_matches(&matches)?;
    settings.check_effects()?;
    match cli.verb {
        Verb::Demo(arguments) => block_on(demo::run(arguments, output)),
        Verb::Proxy(arguments) => proxy::run(*arguments, output),
        Verb::View(arguments) => view::run(arguments, output),
        Verb::Show(arguments) => show::run(arguments, output),
        Verb::Convert(arguments) => convert::run(arguments, output),
        Verb::Stats(arguments) => stats::run(&arguments, output),
        Verb::Diff(arguments) => diff::run(&arguments, output),
        Verb::Decode(arguments) => decode::run(&arguments, output),
        Verb::Explain(arguments) => explain::run(&arguments, output),
        Verb::Replay(arguments) => replay::run(*arguments, output),
        Verb::Lint(arguments) => lint::run(&arguments, output),
        Verb::Expect(arguments) => expect::run(arguments, output),
        Verb::Regress(arguments) => block_on(replay::regress::run(&arguments, output)),
        Verb::Check(arguments) => check::run(&arguments, output),
        Verb::Ping(arguments) => block_on(ping::run(arguments, output)),
        Verb::Query(arguments) => block_on(query::run(arguments, output)),
        Verb::Protocols(arguments) => protocols::run(arguments, output),
        Verb::Login(arguments) => accounts::login(&arguments, output),
        Verb::Logout(arguments) => accounts::logout(&arguments, output),
        Verb::JvmArgs(arguments) => accounts::jvm_args(&arguments, output),
        Verb::Config(arguments) => config::run(arguments, output),
        Verb::Wireshark(arguments) => wireshark::run(&arguments, output),
        Verb::LuaTypes(arguments) => lua_types::run(&arguments, output),
        Verb::Completions(arguments) => completions::run(&arguments, output),
        Verb::Man(arguments) => man::run(&arguments, output),
        Verb::Help(arguments) => help::run(&arguments, output),
    }
}
