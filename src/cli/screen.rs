use std::io::{self, BufWriter, Write};

use mitmcraft::capture::{Entry, LineOptions, Sink, SummarySink, Verbosity, write_line};
use mitmcraft::filter::{Expr, Timestamp};
use mitmcraft::proxy::NamedSink;

use super::output::Output;

/// Prints entries as they come.
pub(crate) struct Screen {
    out: BufWriter<Box<dyn Write + Send>>,
    options: LineOptions,
    /// What is shown; None: everything.
    condition: Option<Expr>,
    line: String,
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
        Self { out: BufWriter::new(out), options, condition: None, line: String::new() }
    }

    /// Shows only packets that match, and all events.
    pub(crate) fn only(mut self, condition: Option<Expr>) -> Self {
        self.condition = condition;
        self
    }

    /// As the log takes it.
    pub(crate) fn named(self) -> NamedSink {
        ("the screen".to_owned(), Box::new(self))
    }
}

impl Sink for Screen {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if let Entry::Packet(record) = entry {
            let hidden = record.notes.as_ref().is_some_and(|notes| notes.hidden);
            if hidden || self.condition.as_ref().is_some_and(|condition| !condition.matches(record))
            {
                return Ok(());
            }
        }
        self.line.clear();
        write_line(&mut self.line, entry, &self.options);
        self.out.write_all(self.line.as_bytes())
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A summary that the log fills and the command prints when the log is done.
pub(crate) struct Counted {
    summary: SummarySink,
    done: std::sync::mpsc::Sender<SummarySink>,
}

impl Counted {
    /// As the log takes it, and where the summary comes out.
    pub(crate) fn named() -> (NamedSink, std::sync::mpsc::Receiver<SummarySink>) {
        let (done, summary) = std::sync::mpsc::channel();
        let counted = Self { summary: SummarySink::default(), done };
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
