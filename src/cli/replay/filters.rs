use std::path::PathBuf;

use clap::Args;
use mitmcraft::proxy::FilterFiles;
use mitmcraft_engine::capture::{CreateOptions, Entry, FileType, Record, Sink as _};
use mitmcraft_engine::filter::{Notes, RuleSet};
use mitmcraft_engine::link::Notice;
use mitmcraft_engine::replay::{FilterReplay, Judged};

use crate::cli::args::{
    Condition, ExpectOptions, Lines, Memory, Overwrite, PlannedCaptures, Protocols, Quiet, Verbose,
};
use crate::cli::exit::Done;
use crate::cli::expectations::PlannedExpectations;
use crate::cli::input::{Input, Reading, capture_files};
use crate::cli::notice::{hidden_effect, session_notice as notice};
use crate::cli::output::Output;
use crate::cli::rules::{describe, load};
use crate::cli::screen::Screen;
use crate::cli::stdio::is_stdio;

/// Apply filter files to a capture offline: show what each rule would have done, and check the
/// result against their expectations
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft replay filters session.jsonl -f rules.toml
  mitmcraft replay filters session.pcapng -f rules.toml -q
  mitmcraft replay filters session.jsonl -f rules.toml -w after.jsonl
  mitmcraft replay filters session.jsonl --script greet.lua

Shows each packet that a rule acts on, with the names of the rules, and then the counts of each \
rule. Rules see packets as the peers sent them, whatever rules were active during the recording. \
Rules with `chance` make the same decisions in each run. `-Y` does not affect the capture that \
`-w` writes.

Exit code: 1 if an expectation of a file was not met, or if none could be judged; else 0.")]
pub(crate) struct Arguments {
    /// The capture, in any format; `-` is stdin. A folder means all captures in it and its
    /// subfolders, a quoted pattern (`'logs/*.jsonl'`) the files that match it, as one capture
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,

    /// The filter file, or a script in Lua if its name ends in `.lua` (repeatable, in order)
    #[arg(short, long, visible_alias = "script", value_name = "FILE", required = true)]
    filters: Vec<PathBuf>,

    /// Write the result: the capture of a session with these rules. The ending selects the format;
    /// `-` is JSONL on stdout
    #[arg(short, long, value_name = "FILE")]
    write: Option<PathBuf>,

    #[command(flatten)]
    overwrite: Overwrite,

    #[command(flatten)]
    expect: ExpectOptions,

    #[command(flatten)]
    condition: Condition,

    /// Also show packets on which no rule acts
    #[arg(long, conflicts_with = "quiet")]
    all: bool,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    lines: Lines,

    #[command(flatten)]
    quiet: Quiet,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let files = FilterFiles::new(arguments.filters, catalog.clone());
    let loaded = load(&files, output)?;
    let on_stdout = arguments.write.as_deref().is_some_and(is_stdio);
    let planned = PlannedExpectations::new(
        &files,
        &loaded,
        arguments.expect,
        arguments.overwrite,
        on_stdout,
    )?;
    for capture in loaded.sets.iter().filter_map(RuleSet::capture) {
        output.note(&format!("`{}` is not written: the rules run offline", capture.file));
    }
    let quiet = arguments.quiet.quiet;
    let captures = capture_files(&[arguments.capture])?;
    let reading = Reading::new(&captures, quiet, &catalog, &arguments.memory, output);
    let mut entries = Input::open(&captures, &reading)?.read_first()?;
    drop(reading);
    let files = arguments.write.as_slice();
    let mut options = CreateOptions::default();
    options.overwrite = arguments.overwrite.overwrite;
    let mut sinks = PlannedCaptures::new(files, FileType::JSONL, options, None)?.create()?;
    let mut screen = Screen::new(arguments.verbose.verbosity(), arguments.lines, on_stdout, output)
        .only(condition);
    let expects = !planned.is_empty();
    let (mut judge, results) = planned.create()?;
    let mut replay = FilterReplay::new(loaded.sets);
    let mut put = |judged: Judged, screen: &mut Screen| -> anyhow::Result<()> {
        for message in &judged.messages {
            output.note(&notice(&Notice::Filter(message.clone())));
        }
        judged.entries.iter().try_for_each(|entry| judge.write(entry))?;
        for (_, sink) in &mut sinks {
            judged.entries.iter().try_for_each(|entry| sink.write(entry))?;
        }
        if !quiet && (arguments.all || !judged.acts.is_empty()) {
            show(judged, screen)?;
        }
        Ok(())
    };
    for entry in &mut entries {
        put(replay.handle(entry), &mut screen)?;
    }
    put(replay.finish(), &mut screen)?;
    screen.finish()?;
    sinks.iter_mut().try_for_each(|(_, sink)| sink.finish())?;
    for count in replay.counts() {
        if on_stdout {
            output.note(&describe(&count));
        } else {
            output.line(&describe(&count))?;
        }
    }
    judge.finish()?;
    let done = match expects {
        true => results.print(&judge.report(), !on_stdout, output)?,
        false => Done::Yes,
    };
    entries.end()?;
    Ok(done)
}

/// Shows packets and those that rules made of them. The comment on a packet's line says which rules
/// acted, and what they did that no line shows.
fn show(judged: Judged, screen: &mut Screen) -> anyhow::Result<()> {
    let Judged { mut entries, acts, .. } = judged;
    for act in acts {
        let own = |record: &Record| match record.of {
            Some(of) => of == act.seq,
            None => record.outcome.came() && record.packet.seq() == act.seq,
        };
        let mut records: Vec<_> =
            entries.iter_mut().filter_map(packet).filter(|record| own(record)).collect();
        // The notes name those that dropped, rewrote or made a packet.
        let named = |rule: &&String| {
            records
                .iter()
                .any(|record| record.notes.as_ref().is_some_and(|notes| notes.rules.contains(rule)))
        };
        let rules = act.rules.iter().filter(|rule| !named(rule)).cloned().collect();
        let rules = Notes::made_by(rules).named_rules();
        let words: Vec<_> =
            rules.into_iter().chain(act.effects.iter().map(hidden_effect)).collect();
        // The comment of a rewritten packet goes to the one sent in its place.
        if let (Some(record), false) = (records.last_mut(), words.is_empty()) {
            let comment = record.comment.take();
            record.comment = Some(words.into_iter().chain(comment).collect::<Vec<_>>().join("; "));
        }
    }
    for mut entry in entries {
        // Packets that a rule hides are shown here.
        if let Some(notes) = packet(&mut entry).and_then(|record| record.notes.as_mut()) {
            notes.hidden = false;
        }
        screen.write(&entry)?;
    }
    Ok(())
}

fn packet(entry: &mut Entry) -> Option<&mut Record> {
    match entry {
        Entry::Packet(record) => Some(record),
        Entry::Event(_) => None,
    }
}
