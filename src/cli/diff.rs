use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use mitmcraft::analysis::{DiffSide, Differ, Difference, Ignore, LegDiffer};
use mitmcraft::lang::Expr;
use mitmcraft::schema::Catalog;
use mitmcraft::text::LineOptions;

use super::exit::Done;
use super::input::Input;
use super::output::Output;
use super::screen::local_offset;
use super::show::verbosity;

/// Compare two captures, or the two legs of one, packet by packet and field by field
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft diff before.jsonl after.pcapng
  mitmcraft diff --ignore 'entity_*' --ignore '*.yaw' before.jsonl after.jsonl
  mitmcraft diff -Y 'clientbound and play' --json before.jsonl after.jsonl
  mitmcraft diff --session 1,3 runs.jsonl runs.jsonl
  mitmcraft diff --legs session.jsonl

`-` is a packet that only the first has, `+` one that only the second has, `~` one that differs,
with the fields below it. With `--legs`: dropped, made and rewritten by the proxy. The exit code is
0 when nothing differs, 1 when something does, 2 on an error.

The two directions of a session are compared each for itself, and not compared is what differs from
run to run: times, keys, drawn numbers, and how entities are numbered. `--list-ignored` lists it.")]
pub(crate) struct Arguments {
    /// The first capture, in any format; `-` is stdin
    #[arg(required_unless_present = "list_ignored", value_name = "A")]
    a: Option<PathBuf>,

    /// The second capture
    #[arg(required_unless_present_any = ["legs", "list_ignored"], value_name = "B")]
    b: Option<PathBuf>,

    /// Compare what came with what went on, in one capture
    #[arg(long, conflicts_with = "b")]
    legs: bool,

    /// Compare only packets that match
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,

    /// Compare only this session, or the session N of A with M of B
    #[arg(long, value_name = "N[,M]", value_parser = sessions)]
    session: Option<(u64, u64)>,

    /// Ignore a packet (`entity_*`) or a field (`map_chunk.x`, `*.item.itemCount`) too (repeatable)
    #[arg(long, value_name = "PATH|PACKET")]
    ignore: Vec<String>,

    /// Ignore nothing by itself
    #[arg(long)]
    ignore_nothing: bool,

    /// List what is ignored by itself
    #[arg(long, exclusive = true)]
    list_ignored: bool,

    /// Print a line of JSON a difference
    #[arg(long)]
    json: bool,

    /// Print nothing: the exit code says it
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    quiet: bool,

    /// Show all fields of packets that only one has; twice: with hex
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    if arguments.list_ignored {
        for rule in Ignore::defaults() {
            output.line(rule)?;
        }
        return Ok(Done::Yes);
    }
    let condition = arguments.condition.as_deref();
    let condition = super::proxy::parse(condition, "--where", Catalog::embedded(), output)?;
    let mut ignore = match arguments.ignore_nothing {
        true => Ignore::nothing(),
        false => Ignore::default(),
    };
    for rule in &arguments.ignore {
        ignore.add(rule).context("`--ignore`")?;
    }
    let a = arguments.a.as_deref().ok_or_else(|| anyhow!("the first capture is missing"))?;
    match arguments.b.as_deref() {
        None => legs(arguments, a, ignore, condition, output),
        Some(b) => two(arguments, (a, b), ignore, condition, output),
    }
}

fn two(
    arguments: &Arguments,
    (a, b): (&Path, &Path),
    ignore: Ignore,
    condition: Option<Expr>,
    output: &Output,
) -> anyhow::Result<Done> {
    if a.as_os_str() == "-" && b.as_os_str() == "-" {
        bail!("only one of the two captures can be stdin");
    }
    let mut differ = Differ::new(ignore).only(condition).sessions(arguments.session);
    let mut shown = Shown::new(arguments, output, (a, b));
    // On a terminal the lines that go by show how far it is, and one bar is enough.
    let mut first = Input::open(a, !stdout().is_terminal(), output)?;
    let mut second = Input::open(b, false, output)?;
    // In turn, so that what waits for its like stays little.
    loop {
        let entries = [(DiffSide::A, first.next()), (DiffSide::B, second.next())];
        let mut over = true;
        for (side, entry) in entries {
            if let Some(entry) = entry {
                differ.push(side, &entry);
                over = false;
            }
        }
        if over {
            break;
        }
        while let Some(difference) = differ.poll() {
            shown.put(&difference)?;
        }
    }
    differ.finish();
    while let Some(difference) = differ.poll() {
        shown.put(&difference)?;
    }
    let done = shown.finish(differ.same());
    first.end()?;
    second.end()?;
    for (side, path) in [(DiffSide::A, a), (DiffSide::B, b)] {
        if let Some((a, b)) = arguments.session
            && differ.seen(side) == 0
        {
            let session = if side == DiffSide::A { a } else { b };
            bail!("`{}` has no session {session}", path.display());
        }
    }
    Ok(done)
}

fn legs(
    arguments: &Arguments,
    path: &Path,
    ignore: Ignore,
    condition: Option<Expr>,
    output: &Output,
) -> anyhow::Result<Done> {
    let session = arguments.session.map(|(session, _)| session);
    let mut differ = LegDiffer::new(ignore).only(condition).session(session);
    let mut shown = Shown::new(arguments, output, (path, path));
    let mut input = Input::open(path, !stdout().is_terminal(), output)?;
    for entry in input.by_ref() {
        differ.push(&entry);
        while let Some(difference) = differ.poll() {
            shown.put(&difference)?;
        }
    }
    differ.finish();
    while let Some(difference) = differ.poll() {
        shown.put(&difference)?;
    }
    let done = shown.finish(differ.same());
    input.end().map(|()| done)
}

/// Differences as they are printed and counted.
struct Shown<'a> {
    arguments: &'a Arguments,
    output: &'a Output,
    paths: (&'a Path, &'a Path),
    options: LineOptions,
    removed: u64,
    added: u64,
    changed: u64,
}

impl<'a> Shown<'a> {
    fn new(arguments: &'a Arguments, output: &'a Output, paths: (&'a Path, &'a Path)) -> Self {
        let verbosity = verbosity(arguments.verbose);
        let color = output.colors_stdout();
        let options = LineOptions { verbosity, color, offset: Box::new(local_offset) };
        Self { arguments, output, paths, options, removed: 0, added: 0, changed: 0 }
    }

    fn put(&mut self, difference: &Difference) -> anyhow::Result<()> {
        if self.count() == 0 && !self.arguments.quiet && !self.arguments.json {
            self.head()?;
        }
        match difference {
            Difference::Removed(_) => self.removed += 1,
            Difference::Added(_) => self.added += 1,
            Difference::Changed(..) => self.changed += 1,
        }
        if self.arguments.quiet {
            return Ok(());
        }
        let mut lines = String::new();
        match self.arguments.json {
            true => lines.push_str(&difference.json().to_string()),
            false => difference.write(&mut lines, &self.options),
        }
        Ok(self.output.line(lines.trim_end_matches('\n'))?)
    }

    fn head(&self) -> anyhow::Result<()> {
        let (a, b) = match self.arguments.legs {
            true => ("what came".to_owned(), "what went on".to_owned()),
            false => (self.paths.0.display().to_string(), self.paths.1.display().to_string()),
        };
        let (bold, off) = if self.options.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        self.output.line(&format!("{bold}--- {a}{off}\n{bold}+++ {b}{off}"))?;
        Ok(())
    }

    fn finish(self, same: u64) -> Done {
        if !self.arguments.quiet {
            let (removed, added, changed) = (self.removed, self.added, self.changed);
            self.output.note(&format!(
                "{same} packets the same, {changed} changed, {removed} removed, {added} added"
            ));
        }
        if self.count() == 0 { Done::Yes } else { Done::No }
    }

    fn count(&self) -> u64 {
        self.removed + self.added + self.changed
    }
}

/// `3`, or `3,5`.
fn sessions(text: &str) -> Result<(u64, u64), String> {
    let (a, b) = text.split_once(',').unwrap_or((text, text));
    match (a.trim().parse(), b.trim().parse()) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        _ => Err("want a session's number, or two with a comma between".to_owned()),
    }
}
