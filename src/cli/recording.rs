use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::capture::{
    CreateOptions, Entry, FileType, Sink, WhereSink, create_sink, write_sink,
};
use mitmcraft::filter::Expr;
use mitmcraft::proxy::NamedSink;
use mitmcraft::schema::Catalog;

use super::output::Output;
use super::proxy::parse;

/// Which captures a run writes, and how.
#[derive(Debug, Args)]
pub(crate) struct Recording {
    /// Record to a file; the ending chooses the format: .jsonl, .pcapng or .pcap, with .gz or .zst
    /// behind it to compress it; `-` is stdout (repeatable)
    #[arg(short, long, value_name = "FILE")]
    write: Vec<PathBuf>,

    /// What `-w -` writes: jsonl, pcapng or pcap; pcapng.gz and so on
    #[arg(long, value_name = "FORMAT", default_value_t = FileType::JSONL, value_parser = file_type)]
    format: FileType,

    /// Leave the packets' bytes out of JSONL: only what was decoded
    #[arg(long)]
    no_body: bool,

    /// Record only packets that match
    #[arg(long, value_name = "EXPR")]
    write_where: Option<String>,
}

impl Recording {
    /// Whether stdout carries a capture.
    pub(crate) fn on_stdout(&self) -> bool {
        self.write.iter().any(|path| is_stdout(path))
    }

    /// How captures are made.
    pub(crate) fn options(&self) -> CreateOptions {
        CreateOptions { bodies: !self.no_body }
    }

    /// Begins the captures.
    pub(crate) fn sinks(
        &self,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<Vec<NamedSink>> {
        let condition = parse(self.write_where.as_deref(), "--write-where", catalog, output)?;
        if self.write.iter().filter(|path| is_stdout(path)).count() > 1 {
            bail!("`-w -` twice: stdout takes one capture");
        }
        let begin = |path: &PathBuf| Ok((named(path), self.sink(path, condition.clone())?));
        self.write.iter().map(begin).collect()
    }

    fn sink(&self, path: &Path, condition: Option<Expr>) -> anyhow::Result<Box<dyn Sink>> {
        let sink = create(path, self.format, &self.options())?;
        Ok(Box::new(WhereSink::new(sink, condition)))
    }
}

/// Begins a capture; `-` is stdout, in that format.
pub(crate) fn create(
    path: &Path,
    format: FileType,
    options: &CreateOptions,
) -> anyhow::Result<Box<dyn Sink>> {
    if !is_stdout(path) {
        return Ok(create_sink(path, options)?);
    }
    let sink = write_sink(Box::new(io::stdout()), format, options);
    Ok(Box::new(Live(sink.context("cannot write to stdout")?)))
}

/// What is written to a pipe goes there at once.
struct Live(Box<dyn Sink>);

impl Sink for Live {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.write(entry)
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Whether the name stands for stdin or stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A format as options name it.
pub(crate) fn file_type(text: &str) -> Result<FileType, String> {
    text.parse().map_err(|_| "want jsonl, pcapng or pcap, and .gz or .zst behind it".to_owned())
}

fn named(path: &Path) -> String {
    if is_stdout(path) { "stdout".to_owned() } else { path.display().to_string() }
}
