use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::time::SystemTime;

use mitmcraft::proxy::NamedSink;
use mitmcraft_engine::capture::{Entry, Outcome, Record, Sink};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::text::{
    LineAnnotation, LineAnnotator, LineOptions, Verbosity, write_annotated_line,
};
use mitmcraft_protocol::packet::Timestamp;

use super::args::{Lines, Only, Width};
use super::collapse::{Collapse, Repeats};
use super::output::Output;
use super::surroundings::{Group, Surroundings};
use super::terminal_writer::stream;

/// Prints entries as they come.
pub(crate) struct Screen {
    out: BufWriter<Box<dyn Write + Send>>,
    options: LineOptions,
    /// Selects the packets that are shown; `None` shows all.
    condition: Option<Expr>,
    /// `true` if packets are shown.
    packets: bool,
    /// `true` if events are shown; `None` shows them unless there is a condition.
    events: Option<bool>,
    /// Selects lines around those of matching packets, if asked for.
    surroundings: Option<Surroundings<(Entry, LineAnnotation)>>,
    width: Option<Width>,
    /// The session and the number of the last rewritten packet that matches: its line is that of
    /// its replacement.
    rewritten: Option<(u64, u64)>,
    line: String,
    annotator: LineAnnotator,
    /// `None` shows every packet.
    collapse: Option<Collapse>,
    is_terminal: bool,
}

impl Screen {
    /// Prints to stdout, or to stderr if stdout carries a capture.
    pub(crate) fn new(
        verbosity: Verbosity,
        lines: Lines,
        capture_on_stdout: bool,
        output: &Output,
    ) -> Self {
        let (out, color, is_terminal) = if capture_on_stdout {
            (stream(io::stderr), output.colors_stderr(), io::stderr().is_terminal())
        } else {
            (stream(io::stdout), output.colors_stdout(), io::stdout().is_terminal())
        };
        Self {
            out: BufWriter::new(out),
            options: LineOptions {
                number: lines.number,
                time: lines.time,
                ..Output::line_options(verbosity, color)
            },
            condition: None,
            packets: true,
            events: lines.events.then_some(true),
            surroundings: None,
            width: lines.width,
            rewritten: None,
            line: String::new(),
            annotator: match verbosity {
                Verbosity::Main => LineAnnotator::default(),
                Verbosity::All | Verbosity::Hex => LineAnnotator::default().with_entities(),
            },
            collapse: None,
            is_terminal,
        }
    }

    /// Shows only packets that match; events only if the user asked for them.
    pub(crate) fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// Shows only packets, or only events.
    pub(crate) fn kinds(mut self, only: Option<Only>) -> Self {
        self.packets = Only::packets(only);
        // `--events` asks for them too.
        if only.is_some() {
            self.events = Some(Only::events(only) || self.events == Some(true));
        }
        self
    }

    /// Also shows this many lines before and after each packet that matches.
    pub(crate) fn with_surroundings(mut self, before: usize, after: usize) -> Self {
        self.surroundings = (before + after > 0).then(|| Surroundings::new(before, after));
        self
    }

    /// Shows packets that repeat many times a second as one line, unless each packet has several lines.
    pub(crate) fn collapsed(mut self) -> Self {
        if self.options.verbosity == Verbosity::Main {
            self.collapse = Some(Collapse::default());
        }
        self
    }

    /// Does the same as [`collapsed`](Self::collapsed) if the lines go to a terminal.
    pub(crate) fn collapsed_on_terminal(self) -> Self {
        if self.is_terminal { self.collapsed() } else { self }
    }

    /// Returns the screen as a sink of the log.
    pub(crate) fn named(self) -> NamedSink {
        ("the screen".to_owned(), Box::new(self))
    }

    /// Returns whether a packet, or the one that it replaces, matches the condition.
    fn selects(&mut self, record: &Record) -> bool {
        let Some(condition) = &self.condition else { return true };
        let session = record.packet.context().session;
        let matches = condition.matches(record);
        if matches && record.outcome == Outcome::Rewrite {
            self.rewritten = Some((session, record.packet.seq()));
        }
        matches || record.of.is_some_and(|of| self.rewritten == Some((session, of)))
    }

    /// Prints the last packet of each type with the number of those that it stands for: `×20/s`, or
    /// `×7` if they came in less than a second.
    fn print_repeats(&mut self, repeats: Vec<Repeats>) -> io::Result<()> {
        repeats.into_iter().try_for_each(|Repeats { last, count, whole_second }| {
            let rate = if whole_second { "/s" } else { "" };
            let suffix = format!("  ×{count}{rate}");
            let annotation = LineAnnotation { suffix, ..LineAnnotation::default() };
            self.print_entry(&Entry::Packet(*last), &annotation)
        })
    }

    fn print_entry(&mut self, entry: &Entry, annotation: &LineAnnotation) -> io::Result<()> {
        self.line.clear();
        self.options.width = self.columns();
        write_annotated_line(&mut self.line, entry, annotation, &self.options);
        if !self.line.is_empty() {
            self.options.previous = Some(entry.at());
        }
        self.out.write_all(self.line.as_bytes())
    }

    /// Returns the width to which lines are cut.
    fn columns(&self) -> Option<usize> {
        match self.width {
            Some(Width::Columns(columns)) => Some(columns),
            Some(Width::Unlimited) => None,
            // It may change at any time.
            None if self.is_terminal => {
                terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
            }
            None => None,
        }
    }

    /// Returns whether an entry may be shown, if not for itself then with those around it.
    fn admits(&self, entry: &Entry, annotation: &LineAnnotation) -> bool {
        match entry {
            Entry::Packet(record) => {
                self.packets && record.notes.as_ref().is_none_or(|notes| !notes.hidden)
            }
            Entry::Event(_) => {
                annotation.news.as_deref() != Some("")
                    && self.events.unwrap_or_else(|| self.condition.is_none())
            }
        }
    }
}

impl Sink for Screen {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let annotation = self.annotator.annotate(entry);
        if !self.admits(entry, &annotation) {
            return Ok(());
        }
        let matches = match entry {
            Entry::Packet(record) => self.selects(record),
            Entry::Event(_) => self.condition.is_none() || self.surroundings.is_none(),
        };
        if let Some(surroundings) = &mut self.surroundings {
            let group = surroundings.next((entry.clone(), annotation), matches);
            let Some(Group { separated, items }) = group else { return Ok(()) };
            if separated {
                self.out.write_all(b"--\n")?;
            }
            return items
                .iter()
                .try_for_each(|(entry, annotation)| self.print_entry(entry, annotation));
        }
        if !matches {
            return Ok(());
        }
        if let Some(collapse) = &mut self.collapse {
            let (due, shown) = match entry {
                Entry::Packet(record) => {
                    (collapse.take_due(record.packet.at()), collapse.shows(record))
                }
                // A line after an event must not stand for packets before it.
                Entry::Event(event) => (collapse.take_all(event.at), true),
            };
            self.print_repeats(due)?;
            if !shown {
                return Ok(());
            }
        }
        self.print_entry(entry, &annotation)
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(collapse) = &mut self.collapse {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let waiting = collapse.take_waiting(Timestamp::default().plus(now));
            self.print_repeats(waiting)?;
        }
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(collapse) = &mut self.collapse {
            let rest = collapse.take_all(Timestamp::default());
            self.print_repeats(rest)?;
        }
        self.out.flush()
    }
}
