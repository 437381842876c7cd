use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::time::SystemTime;

use mitmcraft::analysis::CountingSink;
use mitmcraft::capture::{Entry, Sink};
use mitmcraft::lang::Expr;
use mitmcraft::packet::Timestamp;
use mitmcraft::proxy::NamedSink;
use mitmcraft::text::{LineAnnotator, LineOptions, Verbosity, write_line};

use super::collapse::{Collapse, Many};
use super::output::Output;

/// Prints entries as they come.
pub(crate) struct Screen {
    out: BufWriter<Box<dyn Write + Send>>,
    options: LineOptions,
    /// What is shown; None: everything.
    condition: Option<Expr>,
    line: String,
    memory: LineAnnotator,
    /// None: every packet is shown.
    collapse: Option<Collapse>,
    is_terminal: bool,
}

impl Screen {
    /// Prints to stdout; to stderr when stdout carries a capture.
    pub(crate) fn new(verbosity: Verbosity, capture_on_stdout: bool, output: &Output) -> Self {
        let out: Box<dyn Write + Send> = match capture_on_stdout {
            true => Box::new(io::stderr()),
            false => Box::new(io::stdout()),
        };
        let color = match capture_on_stdout {
            true => output.colors_stderr(),
            false => output.colors_stdout(),
        };
        let options = LineOptions { verbosity, color, offset: Box::new(local_offset) };
        let is_terminal = match capture_on_stdout {
            true => io::stderr().is_terminal(),
            false => io::stdout().is_terminal(),
        };
        let (out, line) = (BufWriter::new(out), String::new());
        let memory = LineAnnotator::default();
        Self { out, options, condition: None, line, memory, collapse: None, is_terminal }
    }

    /// Shows only packets that match, and all events.
    pub(crate) fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// On a terminal, shows what repeats many times a second as one line; elsewhere, and where
    /// fields have lines of their own, everything is shown.
    pub(crate) fn collapsed(mut self) -> Self {
        if self.is_terminal && self.options.verbosity == Verbosity::Main {
            self.collapse = Some(Collapse::default());
        }
        self
    }

    /// As the log takes it.
    pub(crate) fn named(self) -> NamedSink {
        ("the screen".to_owned(), Box::new(self))
    }
}

impl Screen {
    /// The last of many, with how many there were: `×20/s`, or `×7` when it was less than a second.
    fn tell(&mut self, many: Vec<Many>) -> io::Result<()> {
        for Many { last, count, whole } in many {
            self.line.clear();
            write_line(&mut self.line, &Entry::Packet(*last), &self.options);
            let rate = if whole { "/s" } else { "" };
            writeln!(self.out, "{}  ×{count}{rate}", self.line.trim_end_matches('\n'))?;
        }
        Ok(())
    }
}

impl Sink for Screen {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let margin = self.memory.note(entry);
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
                // What comes behind an event should not stand for what was before it.
                Entry::Event(event) => (collapse.take_all(event.at), true),
            };
            self.tell(due)?;
            if !shown {
                return Ok(());
            }
        }
        self.line.clear();
        write_line(&mut self.line, entry, &self.options);
        if !self.line.is_empty() {
            margin.put(&mut self.line, 0);
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
            self.tell(waiting)?;
        }
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(collapse) = &mut self.collapse {
            let rest = collapse.take_all(Timestamp::default());
            self.tell(rest)?;
        }
        self.out.flush()
    }
}

/// A summary that the log fills and the command prints when the log is done.
pub(crate) struct Counted {
    summary: CountingSink,
    done: std::sync::mpsc::Sender<CountingSink>,
}

impl Counted {
    /// As the log takes it, and where the summary comes out.
    pub(crate) fn named() -> (NamedSink, std::sync::mpsc::Receiver<CountingSink>) {
        let (done, summary) = std::sync::mpsc::channel();
        let counted = Self { summary: CountingSink::default(), done };
        (("the summary".to_owned(), Box::new(counted)), summary)
    }
}

impl Sink for Counted {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.summary.write(entry)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        // Nobody waits for it when the run could not begin.
        let _ = self.done.send(std::mem::take(&mut self.summary));
        Ok(())
    }
}

/// Seconds east of UTC where the user is, at that moment.
pub(crate) fn local_offset(at: Timestamp) -> i32 {
    let seconds = i64::try_from(at.0 / 1_000_000_000).unwrap_or_default();
    let Ok(moment) = jiff::Timestamp::from_second(seconds) else { return 0 };
    jiff::tz::TimeZone::system().to_offset(moment).seconds()
}
