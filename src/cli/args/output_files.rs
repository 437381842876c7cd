use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use mitmcraft::proxy::{Compactor, LakeNotice, NamedSink};
use mitmcraft_engine::capture::{
    CaptureTarget, CreateOptions, Entry, FileType, Format, Lake, Sink, Views, WhereSink, Wire,
    write_sink,
};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

use super::{Only, Overwrite, RedactionSeed};
use crate::cli::notice::{create_error, lake_notice};
use crate::cli::output::Output;
use crate::cli::stdio::is_stdio;

/// `-w`, the captures that a verb writes.
#[derive(Debug, Args)]
pub(crate) struct OutputFiles {
    /// Write a capture. The ending selects the format: .jsonl, .pcapng or .pcap, and .gz or .zst
    /// after it to compress; `-` is stdout. `{session}`, `{player}` and `{time}` in the name create
    /// one file per session (repeatable)
    #[arg(short, long, value_name = "FILE")]
    pub(super) write: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) stdout: StdoutFormat,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

impl OutputFiles {
    /// Returns whether stdout carries a capture.
    pub(crate) fn on_stdout(&self) -> bool {
        self.write.iter().any(|path| is_stdio(path))
    }

    /// Checks that all captures can be created, and creates none.
    pub(crate) fn plan(
        &self,
        mut options: CreateOptions,
        condition: Option<Expr>,
    ) -> anyhow::Result<PlannedCaptures> {
        options.overwrite = self.overwrite.overwrite;
        PlannedCaptures::new(&self.write, self.stdout.format, options, condition)
    }
}

/// `--format`, for captures that have no file name.
#[derive(Debug, Args)]
pub(crate) struct StdoutFormat {
    /// Format of a capture on stdout: jsonl, pcapng or
    /// pcap, and .gz or .zst after it to compress
    #[arg(long, value_name = "FORMAT", default_value_t = FileType::JSONL, value_parser = file_type)]
    pub(crate) format: FileType,
}

/// `--pcap-view`, what .pcapng files contain.
#[derive(Debug, Args)]
pub(crate) struct PcapViews {
    /// What .pcapng files show in Wireshark: plain (decrypted and inflated), json (decoded, without
    /// a plugin), wire (as it crossed each connection of `proxy`), all; or several: plain,json
    #[arg(long, value_name = "VIEW", default_value_t = Views::PLAIN, value_parser = views)]
    pub(crate) pcap_view: Views,
}

impl PcapViews {
    /// Refuses views if none of `files` can have them; stdout has the format `on_stdout`.
    pub(crate) fn check(&self, files: &[PathBuf], on_stdout: FileType) -> anyhow::Result<()> {
        let views = self.pcap_view;
        let type_of =
            |path: &PathBuf| if is_stdio(path) { Some(on_stdout) } else { FileType::of(path) };
        let mut types = files.iter().filter_map(type_of);
        if views != Views::PLAIN && !types.any(|it| it.format == Format::Pcapng) {
            bail!("`--pcap-view {views}` needs a `.pcapng` file to write");
        }
        Ok(())
    }
}

/// Captures that can be created: every check that does not change a file has passed.
///
/// Creating a capture may replace a file. A run therefore plans its captures first and creates them
/// when nothing else can fail any more.
#[derive(Debug)]
pub(crate) struct PlannedCaptures {
    targets: Vec<Target>,
    condition: Option<Expr>,
    pub(crate) redaction: RedactionSeed,
    /// The name of a lake's folder, and the lake.
    pub(crate) lake: Option<(String, Lake)>,
    only: Option<Only>,
}

/// Where one capture is written.
#[derive(Debug)]
enum Target {
    File(PathBuf, CaptureTarget),
    Stdout(FileType, CreateOptions),
}

impl PlannedCaptures {
    /// Returns how many files are written for each session.
    pub(crate) fn files_per_session(&self) -> usize {
        let is_one =
            |target: &&Target| matches!(target, Target::File(_, it) if it.is_per_session());
        self.targets.iter().filter(is_one).count()
    }

    /// Returns whether one of the captures is written to `path`.
    pub(crate) fn writes_to(&self, path: &Path) -> bool {
        self.targets.iter().any(|target| matches!(target, Target::File(it, _) if it == path))
    }

    /// Checks that captures of the packets that match `condition` can be created at `files`; `-` is
    /// stdout, in `format`.
    pub(crate) fn new(
        files: &[PathBuf],
        format: FileType,
        options: CreateOptions,
        condition: Option<Expr>,
    ) -> anyhow::Result<Self> {
        if files.iter().filter(|path| is_stdio(path)).count() > 1 {
            bail!("`-w -` is given twice: stdout takes one capture");
        }
        let targets = files.iter().map(|path| Target::new(path, format, options));
        let targets = targets.collect::<anyhow::Result<_>>()?;
        Ok(Self { targets, condition, redaction: RedactionSeed::default(), lake: None, only: None })
    }

    /// Leaves out all packets, or all events.
    pub(crate) fn only(self, only: Option<Only>) -> Self {
        Self { only, ..self }
    }

    /// Creates the captures.
    pub(crate) fn create(mut self) -> anyhow::Result<Vec<NamedSink>> {
        let targets = std::mem::take(&mut self.targets);
        targets.into_iter().map(|target| target.create().map(|sink| self.selected(sink))).collect()
    }

    /// Creates the first part of the lake, if there is one, and starts what compacts its parts.
    pub(crate) fn create_lake(
        &mut self,
        catalog: &Catalog,
        output: Output,
    ) -> anyhow::Result<Option<(NamedSink, Compactor)>> {
        let Some((name, lake)) = self.lake.take() else { return Ok(None) };
        let report = move |notice: &LakeNotice<'_>| output.warning(&lake_notice(notice));
        let (sink, compactor) = Compactor::start(lake, catalog.clone(), report)
            .with_context(|| format!("cannot write to `{name}`"))?;
        Ok(Some((self.selected((name, sink)), compactor)))
    }

    /// Returns a sink for the entries that are recorded, redacted if they have to be.
    fn selected(&self, (name, sink): NamedSink) -> NamedSink {
        // What is private decides still which packets match.
        let sink = WhereSink::new(self.redaction.apply(sink), self.condition.clone());
        let sink = sink.with_kinds(Only::packets(self.only), Only::events(self.only));
        (name, Box::new(sink))
    }
}

impl Target {
    fn new(path: &Path, format: FileType, options: CreateOptions) -> anyhow::Result<Self> {
        if is_stdio(path) {
            return Ok(Self::Stdout(format, options));
        }
        let target = CaptureTarget::new(path, &options).map_err(create_error)?;
        target.check().map_err(create_error)?;
        Ok(Self::File(path.to_owned(), target))
    }

    fn create(self) -> anyhow::Result<NamedSink> {
        match self {
            Self::File(path, target) => {
                let sink = target.create().map_err(create_error)?;
                Ok((path.display().to_string(), sink))
            }
            Self::Stdout(format, options) => {
                let sink = write_sink(Output::capture_stdout(format), format, &options);
                let sink = FlushedSink(sink.context("cannot write to stdout")?);
                Ok(("stdout".to_owned(), Box::new(sink)))
            }
        }
    }
}

/// A sink that flushes after each batch, so that a program that reads the pipe can follow.
struct FlushedSink(Box<dyn Sink>);

impl Sink for FlushedSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.write(entry)
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut *self.0)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        self.0.wire(wire)
    }

    fn wants_wire(&self) -> bool {
        self.0.wants_wire()
    }

    fn batch_done(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn file_type(text: &str) -> Result<FileType, String> {
    text.parse().map_err(|_| "expected jsonl, pcapng or pcap, and .gz or .zst after it".to_owned())
}

fn views(text: &str) -> Result<Views, String> {
    text.parse().map_err(|_| "expected plain, json, wire or all, separated by commas".to_owned())
}
