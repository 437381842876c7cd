use std::ffi::OsString;

use clap::{Args, CommandFactory as _};

use super::Cli;
use super::exit::Done;
use super::output::Output;
use super::settings::Settings;

/// Print what holds, and where it was set: flag, variable, file or default
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft config
  mitmcraft config proxy -l 0.0.0.0:25566
  mitmcraft --config other.toml config
  mitmcraft config > ~/.config/mitmcraft/config.toml

What a flag does not say is looked for in the environment (`MITMCRAFT_PROXY__LISTEN`, else
`MITMCRAFT_LISTEN`; lists with commas), then in the configuration file, then it has its default.
The file is `--config FILE` or `MITMCRAFT_CONFIG`, else `mitmcraft/config.toml` in the user's
configuration folder. What is printed is such a file.")]
pub(crate) struct Arguments {
    /// A command line to explain; without one all verbs
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let own = words.len() - arguments.command.len();
    // Globals may stand on both sides of our own name.
    if let Some(place) = words[..own].iter().rposition(|word| word == "config") {
        words.remove(place);
    }
    let settings = Settings::load(Cli::command(), &words, std::env::vars_os())?;
    let mut text = match settings.file() {
        Some(path) => format!("# The configuration file is {}\n", path.display()),
        None => match Settings::default_file() {
            Some(path) => format!("# No configuration file; it would be {}\n", path.display()),
            None => "# No configuration file\n".to_owned(),
        },
    };
    let mut table = String::new();
    for held in settings.held(&words)? {
        if held.table() != table {
            table = held.table();
            text.push_str(&format!("\n[{table}]\n"));
        }
        text.push_str(&format!("{held}\n"));
    }
    output.line(text.trim_end())?;
    Ok(Done::Yes)
}
