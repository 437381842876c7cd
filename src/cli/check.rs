use std::io;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::proxy::{check_filters, read_source};
use mitmcraft_engine::filter::Severity;

use super::args::{Protocols, Suggested};
use super::exit::Done;
use super::output::Output;
use super::plural::count;
use super::version;

/// Check a filter file or a script, with a hint for each mistake
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft check rules.toml
  mitmcraft check --for 1.8.9 rules.toml
  mitmcraft check greet.lua
  mitmcraft check --protocol 778.json rules.toml

Exit code: 0 if the file can be used, 1 if it has an error.")]
pub(crate) struct Arguments {
    /// The filter file, or a script in Lua if its name ends in `.lua`; `-` is a filter file on stdin
    file: PathBuf,

    /// Check only against this version, such as `47`, `1.8.9` or `beta-1.7.3`, and the types of its
    /// fields (repeatable)
    #[arg(
        long = "for",
        value_name = "VERSION",
        value_parser = Suggested::new(version::names),
        hide_possible_values = true
    )]
    versions: Vec<String>,

    #[command(flatten)]
    protocols: Protocols,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let name = arguments.file.display().to_string();
    let text = match name.as_str() {
        "-" => io::read_to_string(io::stdin()).context("cannot read stdin")?,
        _ => read_source(&arguments.file).with_context(|| format!("cannot read `{name}`"))?,
    };
    let mut catalog = arguments.protocols.catalog()?;
    if !arguments.versions.is_empty() {
        let versions = arguments.versions.iter().map(|name| version::find(&catalog, name));
        let versions = versions.collect::<anyhow::Result<Vec<_>>>()?;
        catalog = catalog.only_of(&versions);
    }
    let checked = check_filters(&arguments.file, &text, &catalog);
    for fault in &checked.faults {
        output.lines(&fault.render(&name))?;
    }
    let of = |severity| checked.faults.iter().filter(|it| it.severity == severity).count() as u64;
    let warnings = count(of(Severity::Warning), "warning");
    let (first, done) = match checked.rules {
        Some(rules) => {
            let is_script = arguments.file.extension().is_some_and(|it| it == "lua");
            let part = if is_script { "callback" } else { "rule" };
            let found = count(rules.counts().len() as u64, part);
            let found = match rules.expectations().len() as u64 {
                0 => found,
                expectations => format!("{found}, {}", count(expectations, "expectation")),
            };
            (found, Done::Yes)
        }
        None => (count(of(Severity::Error), "error"), Done::No),
    };
    output.line(&format!("{name}: {first}, {warnings}"))?;
    Ok(done)
}
