use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::Cli;
use super::args::Overwrite;
use super::exit::Done;
use super::groups::GROUPS;
use super::manual::{TOPICS, man_page};
use super::output::Output;

/// Write the man pages
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft man man && man -M \"$PWD/man\" mitmcraft-filters
  sudo mitmcraft man /usr/local/share/man

There is a page for each command, and one each for the filter language and the capture formats.")]
pub(crate) struct Arguments {
    /// Output folder, created if it does not exist: the pages are in its folders man1, man5 and man7
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    overwrite: Overwrite,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    // The folder of a section stands for that of all sections.
    let folder = match (arguments.folder.file_name(), arguments.folder.parent()) {
        (Some(name), Some(parent)) if name == "man1" => parent,
        _ => &arguments.folder,
    };
    let mut command = Cli::command();
    command.build();
    let topics = TOPICS.iter().map(man_page);
    for (name, page) in pages(&command)?.into_iter().chain(topics) {
        let section = folder.join(format!("man{}", name.rsplit('.').next().unwrap_or("1")));
        let path = section.join(&name);
        std::fs::create_dir_all(&section)
            .with_context(|| format!("cannot write man pages to `{}`", section.display()))?;
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
    if command.get_name() == "mitmcraft" {
        commands(command).to_writer(&mut page)?;
    } else if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(help) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        notes(&help.to_string()).to_writer(&mut page)?;
    }
    see_also(man.get_filename().trim_end_matches(".1")).to_writer(&mut page)?;
    let mut pages = vec![(man.get_filename(), page)];
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages.extend(self::pages(verb)?);
    }
    Ok(pages)
}

/// Returns the section that lists the commands in their groups.
fn commands(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for (group, names) in GROUPS {
        roff.control("SS", [*group]);
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            roff.control("TP", []).text([roman(format!("mitmcraft-{}(1)", command.get_name()))]);
            roff.text([roman(about)]);
        }
    }
    roff
}

/// Returns the section that names the other pages.
fn see_also(page: &str) -> Roff {
    let topics = TOPICS.iter().map(|topic| man_page(topic).0);
    let names = ["mitmcraft.1".to_owned()].into_iter().chain(topics);
    let names = names.filter_map(|name| {
        let (name, section) = name.rsplit_once('.')?;
        (name != page).then(|| format!("{name}({section})"))
    });
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text([roman(names.collect::<Vec<_>>().join(", "))]);
    roff
}

/// Formats the text below the options: examples line by line, every other line as a paragraph.
fn notes(help: &str) -> Roff {
    let mut roff = Roff::new();
    let (title, text) = match help.strip_prefix("Examples:\n") {
        Some(examples) => ("EXAMPLES", examples),
        None => ("NOTES", help),
    };
    roff.control("SH", [title]).control("nf", []);
    for line in text.lines() {
        if line.starts_with(' ') {
            roff.text([roman(line)]);
        } else {
            roff.control("fi", []).text([roman(line)]).control("nf", []);
        }
    }
    roff.control("fi", []);
    roff
}
