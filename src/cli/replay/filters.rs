use std::path::PathBuf;

use clap::Args;
use mitmcraft::capture::{CreateOptions, Entry, FileType, Sink as _, WhereSink};
use mitmcraft::filter::RuleSet;
use mitmcraft::proxy::FilterFiles;
use mitmcraft::replay::{FilterReplay, HiddenEffect, Judged};
use mitmcraft::schema::Catalog;

use crate::cli::exit::Done;
use crate::cli::input::Input;
use crate::cli::output::Output;
use crate::cli::proxy::{load, parse, told};
use crate::cli::recording::{create, is_stdout};
use crate::cli::screen::Screen;
use crate::cli::show::verbosity;

/// Run filter files over a capture, offline: what each rule would have done, packet by packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay filters session.jsonl -f rules.toml
  mitmcraft replay filters session.pcapng -f rules.toml -q
  mitmcraft replay filters session.jsonl -f rules.toml -w after.jsonl

Shows each packet that a rule acts on and which one did, and in the end what each rule has done.
What came from a peer is judged as it came, whatever rules there were when it was recorded.
Rules with `chance` decide the same each time.")]
pub(crate) struct Arguments {
    /// The capture, in any format; `-` is stdin
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,

    /// The filter file (repeatable, in order)
    #[arg(short, long, value_name = "FILE", required = true)]
    filters: Vec<PathBuf>,

    /// Write the result, as a capture of a run with these rules; the ending chooses the format;
    /// `-` is JSONL on stdout
    #[arg(short, long, value_name = "FILE")]
    write: Option<PathBuf>,

    /// Show only packets that match, of those that a rule acts on
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Show packets on which no rule acts too
    #[arg(long, conflicts_with = "quiet")]
    all: bool,

    /// Show all fields; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,

    /// Show nothing but what each rule has done in the end
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = Catalog::embedded();
    let condition = parse(arguments.condition.as_deref(), "--where", catalog, output)?;
    let loaded = load(&FilterFiles::new(arguments.filters, catalog.clone()), output)?;
    for capture in loaded.sets.iter().filter_map(RuleSet::capture) {
        output.note(&format!("`{}` is not written: the rules run offline", capture.file));
    }
    let mut entries = Input::open(&arguments.capture, arguments.quiet, output)?;
    let on_stdout = arguments.write.as_deref().is_some_and(is_stdout);
    let mut result = match arguments.write.as_deref() {
        // A rule can say that a packet is not recorded.
        Some(path) => {
            Some(WhereSink::new(create(path, FileType::JSONL, &CreateOptions::default())?, None))
        }
        None => None,
    };
    let mut screen = Screen::new(verbosity(arguments.verbose), on_stdout, output).only(condition);
    let mut replay = FilterReplay::new(loaded.sets);
    let mut put = |judged: Judged, screen: &mut Screen| -> anyhow::Result<()> {
        if let Some(result) = &mut result {
            judged.entries.iter().try_for_each(|entry| result.write(entry))?;
        }
        if !arguments.quiet && (arguments.all || !judged.rules.is_empty()) {
            show(judged, screen)?;
        }
        Ok(())
    };
    for entry in &mut entries {
        put(replay.handle(entry), &mut screen)?;
    }
    put(replay.finish(), &mut screen)?;
    screen.finish()?;
    if let Some(result) = &mut result {
        result.finish()?;
    }
    for count in replay.counts() {
        match on_stdout {
            true => output.note(&told(&count)),
            false => output.line(&told(&count))?,
        }
    }
    entries.end()?;
    Ok(Done::Yes)
}

/// What has become of a packet; the line of the packet itself says which rules acted, and what they
/// did that no line shows.
fn show(judged: Judged, screen: &mut Screen) -> anyhow::Result<()> {
    let rules = judged.rules.iter().map(|rule| format!("`{rule}`"));
    let words = rules.chain(judged.effects.iter().map(effect_text)).collect::<Vec<_>>().join(", ");
    // Of a packet that was rewritten the line is that of what went in its place.
    let told = judged.entries.iter().rposition(|entry| match entry {
        Entry::Packet(record) => record.outcome.came() || record.of.is_some(),
        Entry::Event(_) => false,
    });
    for (place, mut entry) in judged.entries.into_iter().enumerate() {
        if let Entry::Packet(record) = &mut entry {
            // What a rule hides is shown here.
            if let Some(notes) = &mut record.notes {
                notes.hidden = false;
            }
            if Some(place) == told && !words.is_empty() {
                let comment = record.comment.take().map(|comment| format!(": {comment}"));
                record.comment = Some(format!("{words}{}", comment.unwrap_or_default()));
            }
        }
        screen.write(&entry)?;
    }
    Ok(())
}

fn effect_text(effect: &HiddenEffect) -> String {
    match effect {
        HiddenEffect::Delayed(by) => format!("delayed by {by:?}"),
        HiddenEffect::Hidden => "hidden from the log".to_owned(),
        HiddenEffect::Closed => "the rest of the session left out".to_owned(),
        other => format!("{other:?}"),
    }
}
