use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::time::SystemTime;

use mitmcraft::capture::{Entry, Sink};
use mitmcraft::lang::Expr;
use mitmcraft::packet::Timestamp;
use mitmcraft::proxy::NamedSink;
use mitmcraft::text::{LineAnnotator, LineOptions, Verbosity, write_line};

use super::collapse::{Collapse, Repeats};
use super::output::Output;
use super::terminal_writer::stream;

/// Prints entries as they come.
pub(crate) struct Screen {
    out: BufWriter<Box<dyn Write + Send>>,
    options: LineOptions,
    /// Selects the packets that are shown; `None` shows all.
    condition: Option<Expr>,
    line: String,
    annotator: LineAnnotator,
    /// `None` shows every packet.
    collapse: Option<Collapse>,
    is_terminal: bool,
}

impl Screen {
    /// Prints to stdout, or to stderr if stdout carries a capture.
    pub(crate) fn new(verbosity: Verbosity, capture_on_stdout: bool, output: &Output) -> Self {
        let (out, color, is_terminal) = if capture_on_stdout {
            (stream(io::stderr), output.colors_stderr(), io::stderr().is_terminal())
        } else {
            (stream(io::stdout), output.colors_stdout(), io::stdout().is_terminal())
        };
        Self {
            out: BufWriter::new(out),
            options: Output::line_options(verbosity, color),
            condition: None,
            line: String::new(),
            annotator: LineAnnotator::default(),
            collapse: None,
            is_terminal,
        }
    }

    /// Shows only packets that match, and all events.
    pub(crate) fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// On a terminal, shows packets that repeat many times a second as one line. Has no effect
    /// elsewhere, nor if each packet has several lines.
    pub(crate) fn collapsed(mut self) -> Self {
        if self.is_terminal && self.options.verbosity == Verbosity::Main {
            self.collapse = Some(Collapse::default());
        }
        self
    }

    /// Returns the screen as a sink of the log.
    pub(crate) fn named(self) -> NamedSink {
        ("the screen".to_owned(), Box::new(self))
    }

    /// Prints the last packet of each type with the number of those that it stands for: `×20/s`, or
    /// `×7` if they came in less than a second.
    fn print_repeats(&mut self, repeats: Vec<Repeats>) -> io::Result<()> {
        for Repeats { last, count, whole_second } in repeats {
            self.line.clear();
            write_line(&mut self.line, &Entry::Packet(*last), &self.options);
            let rate = if whole_second { "/s" } else { "" };
            self.line.truncate(self.line.trim_end_matches('\n').len());
            let _ = writeln!(self.line, "  ×{count}{rate}");
            self.out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }
}

impl Sink for Screen {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let annotation = self.annotator.annotate(entry);
        if let Entry::Packet(record) = entry {
            let hidden = record.notes.as_ref().is_some_and(|notes| notes.hidden);
            if hidden || self.condition.as_ref().is_some_and(|condition| !condition.matches(record))
            {
                return Ok(());
            }
        }
        if let Some(collapse) = &mut self.collapse {
            let (due, shown) = match entry {
                Entry::Packet(record) => {
                    (collapse.take_due(record.packet.at), collapse.shows(record))
                }
                // A line after an event must not stand for packets before it.
                Entry::Event(event) => (collapse.take_all(event.at), true),
            };
            self.print_repeats(due)?;
            if !shown {
                return Ok(());
            }
        }
        self.line.clear();
        write_line(&mut self.line, entry, &self.options);
        if !self.line.is_empty() {
            annotation.apply(&mut self.line, 0);
        }
        self.out.write_all(self.line.as_bytes())
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
