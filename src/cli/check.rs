use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::filter::{RuleSet, Severity};
use mitmcraft::schema::Catalog;

use super::exit::Done;
use super::output::Output;
use super::version;

/// Check a filter file: line, column and hint for every fault
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft check rules.toml
  mitmcraft check --for 1.8.9 rules.toml

Exit code: 0 when the file can be used, 1 when it has a fault.")]
pub(crate) struct Arguments {
    /// The filter file; `-` is stdin
    file: PathBuf,

    /// Check against this version only, such as `47` or `1.8.9`: a field that is a number in one
    /// version and text in another is then what it is in that one (repeatable)
    #[arg(long = "for", value_name = "VERSION")]
    versions: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    let name = arguments.file.display().to_string();
    let text = match name.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read stdin")?;
            text
        }
        _ => std::fs::read_to_string(&arguments.file)
            .with_context(|| format!("cannot read {name}"))?,
    };
    let mut catalog = Catalog::embedded().clone();
    if !arguments.versions.is_empty() {
        let versions = arguments.versions.iter().map(|name| Ok(version::find(name)?.version()));
        catalog = catalog.only(&versions.collect::<anyhow::Result<Vec<i32>>>()?);
    }
    let checked = RuleSet::parse(&text, &catalog);
    for fault in &checked.faults {
        output.line(&fault.render(&name))?;
    }
    let of = |severity| checked.faults.iter().filter(|fault| fault.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    match checked.rules {
        Some(rules) => {
            let count = rules.counts().len();
            output.line(&format!(
                "{name}: {}, {}",
                many(count, "rule"),
                many(warnings, "warning")
            ))?;
            Ok(Done::Yes)
        }
        None => {
            let counts = format!("{}, {}", many(errors, "error"), many(warnings, "warning"));
            output.line(&format!("{name}: {counts}"))?;
            Ok(Done::No)
        }
    }
}

fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
