use std::ffi::OsString;

use clap::{Args, CommandFactory as _};

use super::Cli;
use super::exit::Done;
use super::output::Output;
use super::settings::Settings;

/// Print the effective settings and where each comes from
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft config
  mitmcraft config proxy -l 0.0.0.0:25566
  mitmcraft --config other.toml config
  mitmcraft config --write

Flags override environment variables (`MITMCRAFT_PROXY__LISTEN`, else `MITMCRAFT_LISTEN`; \
separate the items of lists with commas). Variables override the configuration file, and the file \
overrides defaults. The file is `--config FILE` or `MITMCRAFT_CONFIG`, else \
`mitmcraft/config.toml` in the user's configuration folder.

The output has the format of this file. Do not redirect \
it to this file with `>`, which would empty the file before it is read.")]
pub(crate) struct Arguments {
    /// Create the configuration file and its folder, with all settings as comments
    #[arg(long = "write", conflicts_with = "command")]
    write_file: bool,

    /// A command line to explain [default: all commands]
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let own = words.len() - arguments.command.len();
    // Options of all verbs may come before and after our own name.
    if !arguments.write_file
        && let Some(place) = words[..own].iter().rposition(|word| word == "config")
    {
        words.remove(place);
    }
    let settings = Settings::load(Cli::command(), words, std::env::vars_os());
    if arguments.write_file {
        output.line(&settings.create_file()?.display().to_string())?;
        return Ok(Done::Yes);
    }
    let file = match &settings.path {
        Some(path) if path.exists() => format!("# The configuration file is {}", path.display()),
        Some(path) => format!("# No configuration file; it would be {}", path.display()),
        None => "# No configuration file".to_owned(),
    };
    output.lines(&format!("{file}\n{}", settings.effective()?.trim_end()))?;
    Ok(Done::Yes)
}
