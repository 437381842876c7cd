use std::io::{IsTerminal as _, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use mitmcraft_engine::analysis::{
    DiffSide, Differ, Difference, EqualPairs, Ignore, LegDiffer, TickDiffer,
};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::text::{Escaped, LineOptions};
use mitmcraft_protocol::schema::Catalog;

use super::args::{Condition, Memory, Protocols, Verbose};
use super::exit::Done;
use super::input::{Input, Reading, capture_files};
use super::output::Output;
use super::plural::count;
use super::stdio::is_stdio;

/// Compare two captures, or the two legs of one, field by field
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mitmcraft diff before.jsonl after.pcapng
  mitmcraft diff --ignore 'entity_*' --ignore '*.yaw' before.jsonl after.jsonl
  mitmcraft diff -Y 'clientbound and play' --json before.jsonl after.jsonl
  mitmcraft diff --session 1,3 runs.jsonl runs.jsonl
  mitmcraft diff --bytes before.jsonl after.jsonl
  mitmcraft diff --legs session.jsonl
  mitmcraft diff --ticks before.jsonl after.jsonl
  mitmcraft diff 'before/*.jsonl' 'after/*.jsonl'

`-` marks a packet that only the first capture has, `+` a packet that only the second has, and \
`~` a packet that differs, followed by its fields. With `--legs`, the marks mean dropped, made \
and rewritten by the proxy.

The directions of a session are compared separately. Values that differ from run to run are \
ignored: times, keys, random numbers, and entity ids. `--list-ignored` lists them.

Exit code: 0 if nothing differs, 1 if something does, 2 on an error.")]
pub(crate) struct Arguments {
    /// The first capture, in any format; `-` is stdin. A folder means all captures in it and its
    /// subfolders, a quoted pattern (`'before/*.jsonl'`) the files that match it, as one capture
    #[arg(required_unless_present = "list_ignored", value_name = "A")]
    a: Option<PathBuf>,

    /// The second capture, or a folder or a pattern
    #[arg(required_unless_present_any = ["legs", "list_ignored"], value_name = "B")]
    b: Option<PathBuf>,

    /// Compare what the proxy received with what it sent, in one capture
    #[arg(long, conflicts_with = "b")]
    legs: bool,

    /// Compare what two clients send, tick by tick, from Join Game on: since 1.21.2 `tick_end` ends a tick, before
    /// each move does
    #[arg(long, conflicts_with_all = ["legs", "bytes"])]
    ticks: bool,

    #[command(flatten)]
    condition: Condition,

    /// Compare only session N, or session N of A with session M of B
    #[arg(long, value_name = "N[,M]", value_parser = sessions)]
    session: Option<(u64, u64)>,

    /// Also ignore a packet (`entity_*`) or a field (`map_chunk.x`, `*.item.itemCount`) (repeatable)
    #[arg(long, value_name = "PATH|PACKET")]
    ignore: Vec<String>,

    /// Do not ignore anything by default
    #[arg(long)]
    ignore_nothing: bool,

    /// Compare bytes too: report packets with equal values and different bytes, such as a number in
    /// more bytes than it needs
    #[arg(long)]
    bytes: bool,

    /// List what is ignored by default
    #[arg(long, exclusive = true)]
    list_ignored: bool,

    /// Print one JSON object per line and difference
    #[arg(long)]
    json: bool,

    /// Print nothing; the exit code gives the result
    #[arg(short, long, conflicts_with_all = ["json", "verbose"])]
    quiet: bool,

    #[command(flatten)]
    verbose: Verbose,

    #[command(flatten)]
    protocols: Protocols,

    #[command(flatten)]
    memory: Memory,
}

pub(crate) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Done> {
    if arguments.list_ignored {
        for rule in Ignore::defaults() {
            output.line(rule)?;
        }
        return Ok(Done::Yes);
    }
    let catalog = arguments.protocols.catalog()?;
    let condition = arguments.condition.compile(&catalog, output)?;
    let mut ignore = if arguments.ignore_nothing { Ignore::nothing() } else { Ignore::default() };
    for rule in &arguments.ignore {
        ignore.add(rule).context("`--ignore`")?;
    }
    let a = arguments.a.as_deref().ok_or_else(|| anyhow!("the first capture is missing"))?;
    let b = arguments.b.as_deref();
    if [Some(a), b].into_iter().flatten().filter(|path| is_stdio(path)).count() > 1 {
        bail!("only one of the two captures can be stdin");
    }
    match b {
        Some(b) if arguments.ticks => ticks(arguments, (a, b), &catalog, ignore, condition, output),
        None => legs(arguments, a, &catalog, ignore, condition, output),
        Some(b) => two(arguments, (a, b), &catalog, ignore, condition, output),
    }
}

fn two(
    arguments: &Arguments,
    (a, b): (&Path, &Path),
    catalog: &Catalog,
    ignore: Ignore,
    condition: Option<Expr>,
    output: &Output,
) -> anyhow::Result<Done> {
    let mut differ = Differ::new(ignore);
    differ.condition = condition;
    differ.sessions = arguments.session;
    differ.equal.bytes = arguments.bytes;
    let mut printer = Printer::new(arguments, output, (a, b));
    let [mut first, mut second] = inputs([a, b], arguments, catalog, output)?;
    // Reading both in turn keeps the number of unmatched packets low.
    loop {
        let (a, b) = (first.next(), second.next());
        if a.is_none() && b.is_none() {
            break;
        }
        a.iter().for_each(|entry| differ.push(DiffSide::A, entry));
        b.iter().for_each(|entry| differ.push(DiffSide::B, entry));
        // If a session is missing, the error comes before any output.
        let is_early = differ.sessions.is_some()
            && (differ.seen(DiffSide::A) == 0 || differ.seen(DiffSide::B) == 0);
        if !is_early || differ.waiting() > MAX_EARLY {
            printer.put_all(|| differ.poll())?;
        }
    }
    differ.finish();
    for (side, path) in [(DiffSide::A, a), (DiffSide::B, b)] {
        if let Some((a, b)) = arguments.session
            && differ.seen(side) == 0
        {
            let session = if side == DiffSide::A { a } else { b };
            bail!("`{}` has no session {session}", path.display());
        }
    }
    printer.put_all(|| differ.poll())?;
    if arguments.session.is_none() && differ.paired().iter().any(|(a, b)| a != b) {
        printer.say_pairs(differ.paired());
    }
    let done = printer.finish(&differ.equal);
    first.end()?;
    second.end()?;
    Ok(done)
}

/// Compares what two clients send, tick by tick.
fn ticks(
    arguments: &Arguments,
    (a, b): (&Path, &Path),
    catalog: &Catalog,
    ignore: Ignore,
    condition: Option<Expr>,
    output: &Output,
) -> anyhow::Result<Done> {
    let mut differ = TickDiffer::new(ignore);
    differ.condition = condition;
    differ.sessions = arguments.session;
    let mut printer = Printer::new(arguments, output, (a, b));
    let [mut first, mut second] = inputs([a, b], arguments, catalog, output)?;
    // What the other has more is not compared.
    loop {
        let side = differ.behind();
        let next = if side == DiffSide::A { first.next() } else { second.next() };
        let Some(entry) = next else { break };
        differ.push(side, &entry);
        while let Some((tick, difference)) = differ.poll() {
            printer.put_of_tick(tick, &difference)?;
        }
    }
    first.end()?;
    second.end()?;
    let [of_a, of_b] = [DiffSide::A, DiffSide::B].map(|side| differ.ticks(side));
    if of_a.min(of_b) == 0 {
        let path = if of_a == 0 { a } else { b };
        bail!("`{}` has no client that plays a tick", path.display());
    }
    let done = printer.finish(&differ.equal);
    if !arguments.quiet {
        let longer = if of_a == of_b { "" } else { "; one of the clients has more" };
        output.note(&format!("compared {}{longer}", count(of_a.min(of_b), "tick")));
    }
    Ok(done)
}

fn legs(
    arguments: &Arguments,
    path: &Path,
    catalog: &Catalog,
    ignore: Ignore,
    condition: Option<Expr>,
    output: &Output,
) -> anyhow::Result<Done> {
    let mut differ = LegDiffer::new(ignore);
    differ.condition = condition;
    differ.session = arguments.session.map(|(session, _)| session);
    differ.equal.bytes = arguments.bytes;
    let mut printer = Printer::new(arguments, output, (path, path));
    let [mut input] = inputs([path], arguments, catalog, output)?;
    for entry in input.by_ref() {
        differ.push(&entry);
        printer.put_all(|| differ.poll())?;
    }
    differ.finish();
    printer.put_all(|| differ.poll())?;
    let done = printer.finish(&differ.equal);
    input.end().map(|()| done)
}

/// Opens the captures, each of which may be several files.
fn inputs<const N: usize>(
    paths: [&Path; N],
    arguments: &Arguments,
    catalog: &Catalog,
    output: &Output,
) -> anyhow::Result<[Input; N]> {
    let files = paths.map(|path| capture_files(&[path.to_owned()]));
    let files = files.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    // On a terminal, the lines themselves show progress.
    let silent = !stdout().is_terminal();
    let reading = Reading::new(&files.concat(), silent, catalog, &arguments.memory, output);
    let inputs = files.iter().map(|files| Ok(Input::open(files, &reading)?.strict()));
    let inputs = inputs.collect::<anyhow::Result<Vec<_>>>()?;
    inputs.try_into().map_err(|_| anyhow!("a capture is missing"))
}

/// Prints differences and counts them.
struct Printer<'a> {
    arguments: &'a Arguments,
    output: &'a Output,
    paths: (&'a Path, &'a Path),
    options: LineOptions,
    removed: u64,
    added: u64,
    changed: u64,
    /// The tick of the last difference; 0 before the first.
    tick: u64,
}

impl<'a> Printer<'a> {
    fn new(arguments: &'a Arguments, output: &'a Output, paths: (&'a Path, &'a Path)) -> Self {
        let verbosity = arguments.verbose.verbosity();
        let options = Output::line_options(verbosity, output.colors_stdout());
        Self { arguments, output, paths, options, removed: 0, added: 0, changed: 0, tick: 0 }
    }

    fn put_all(&mut self, poll: impl FnMut() -> Option<Difference>) -> anyhow::Result<()> {
        std::iter::from_fn(poll).try_for_each(|difference| self.put(&difference))
    }

    fn put(&mut self, difference: &Difference) -> anyhow::Result<()> {
        if self.count() == 0 && self.tick == 0 && !self.arguments.quiet && !self.arguments.json {
            self.print_header()?;
        }
        match difference {
            Difference::Removed(_) => self.removed += 1,
            Difference::Added(_) => self.added += 1,
            Difference::Changed(..) => self.changed += 1,
        }
        if self.arguments.quiet {
            return Ok(());
        }
        if self.arguments.json {
            let mut json = difference.json();
            if self.tick > 0 {
                json["tick"] = self.tick.into();
            }
            return Ok(self.output.json(&json)?);
        }
        let mut lines = String::new();
        difference.write(&mut lines, &self.options);
        Ok(self.output.lines(lines.trim_end_matches('\n'))?)
    }

    /// Prints a difference with its tick.
    fn put_of_tick(&mut self, tick: u64, difference: &Difference) -> anyhow::Result<()> {
        let is_new = std::mem::replace(&mut self.tick, tick) != tick;
        if is_new && !self.arguments.quiet && !self.arguments.json {
            if self.count() == 0 {
                self.print_header()?;
            }
            self.output.lines(&format!("@@ tick {tick} @@"))?;
        }
        self.put(difference)
    }

    fn print_header(&self) -> anyhow::Result<()> {
        let (a, b) = if self.arguments.legs {
            ("received".to_owned(), "sent".to_owned())
        } else {
            (self.paths.0.display().to_string(), self.paths.1.display().to_string())
        };
        let (bold, off) = if self.options.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        self.output.lines(&format!(
            "{bold}--- {}{off}\n{bold}+++ {}{off}",
            Escaped(a),
            Escaped(b)
        ))?;
        Ok(())
    }

    /// Says which sessions were compared with each other.
    fn say_pairs(&self, paired: &[(u64, u64)]) {
        if self.arguments.quiet {
            return;
        }
        let shown = paired.iter().take(20).map(|(a, b)| format!("{a} with {b}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = if paired.len() > 20 { ", .." } else { "" };
        self.output.note(&format!("sessions compared: {shown}{more}; `--session` chooses others"));
    }

    fn finish(self, equal: &EqualPairs) -> Done {
        if !self.arguments.quiet {
            let (removed, added, changed) = (self.removed, self.added, self.changed);
            self.output.note(&format!(
                "{} the same, {changed} changed, {removed} removed, {added} added",
                count(equal.same, "packet")
            ));
            if equal.recoded > 0 {
                let recoded = count(equal.recoded, "packet");
                self.output.note(&format!("{recoded} of the same with other bytes: see `--bytes`"));
            }
        }
        if self.count() == 0 { Done::Yes } else { Done::No }
    }

    fn count(&self) -> u64 {
        self.removed + self.added + self.changed
    }
}

/// Parses `3`, or `3,5`.
fn sessions(text: &str) -> Result<(u64, u64), String> {
    let (a, b) = text.split_once(',').unwrap_or((text, text));
    match (a.trim().parse(), b.trim().parse()) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        _ => Err("expected a session number, or two separated by a comma".to_owned()),
    }
}

/// The most differences that are held back until both sessions have been seen.
const MAX_EARLY: usize = 10_000;
