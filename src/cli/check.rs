use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mitmcraft::filter::{RuleSet, Severity};
use mitmcraft::schema::Catalog;

use super::exit::Done;
use super::output::Output;

/// Check a filter file: line, column and hint for every fault
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft check rules.toml

Exit code: 0 when the file can be used, 1 when it has a fault.")]
pub(crate) struct Arguments {
    /// The filter file; `-` is stdin
    file: PathBuf,
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
    let checked = RuleSet::parse(&text, Catalog::embedded());
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
