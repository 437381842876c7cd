use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use super::exit::Done;
use super::output::Output;

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft completions powershell >> $PROFILE
  mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc
  mkdir -p ~/.config/fish/completions ~/.config/elvish/lib
  mitmcraft completions bash > ~/.local/share/bash-completion/completions/mitmcraft
  mitmcraft completions zsh > ~/.zfunc/_mitmcraft
  mitmcraft completions fish > ~/.config/fish/completions/mitmcraft.fish
  mitmcraft completions elvish > ~/.config/elvish/lib/mitmcraft.elv")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let mut command = Cli::command();
    let mut script = Vec::new();
    // Generated in memory: clap panics if stdout is a closed pipe.
    clap_complete::generate(arguments.shell, &mut command, "mitmcraft", &mut script);
    output.lines(String::from_utf8(script)?.trim_end())?;
    Ok(Done::Yes)
}
