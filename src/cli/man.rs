use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::Cli;
use super::args::Overwrite;
use super::exit::Done;
use super::manual::{TOPICS, man_page};
use super::output::Output;

/// Write the man pages: one per verb, and those of the filter language and the capture formats
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft man man1 && man -l man1/mitmcraft-proxy.1
  sudo mitmcraft man /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// Output folder, created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    overwrite: Overwrite,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let folder = &arguments.folder;
    let known = || format!("cannot write man pages to `{}`", folder.display());
    std::fs::create_dir_all(folder).with_context(known)?;
    let mut command = Cli::command();
    command.build();
    let topics = TOPICS.iter().map(man_page);
    for (name, page) in pages(&command)?.into_iter().chain(topics) {
        let path = folder.join(name);
        arguments.overwrite.write(&path, page)?;
        output.line(&path.display().to_string())?;
    }
    Ok(Done::Yes)
}

/// Returns the pages of a command and its verbs, with their file names. The output is reproducible.
fn pages(command: &Command) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let man = Man::new(command.clone())
        .source(concat!("mitmcraft ", env!("CARGO_PKG_VERSION")))
        .manual("mitmcraft");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(help) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        notes(&help.to_string()).to_writer(&mut page)?;
    }
    let mut pages = vec![(man.get_filename(), page)];
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages.extend(self::pages(verb)?);
    }
    Ok(pages)
}

/// Formats the text below the options line by line: examples must not be joined into a paragraph.
fn notes(help: &str) -> Roff {
    let mut roff = Roff::new();
    let (title, text) = match help.strip_prefix("Examples:\n") {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", help),
    };
    roff.control("SH", [title]).control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
