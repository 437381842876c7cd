use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use mitmcraft::capture::{
    CaptureTarget, CreateOptions, Entry, FileType, Format, Sink, Views, WhereSink, Wire,
    create_sink, write_sink,
};
use mitmcraft::lang::Expr;
use mitmcraft::proxy::{NamedSink, OnError};
use mitmcraft::schema::Catalog;
use mitmcraft::text::write_info;

use super::output::Output;
use super::proxy::parse;
use super::size::Size;

/// Which captures a run writes, and how.
#[derive(Debug, Args)]
pub(crate) struct Recording {
    /// Record to a file; the ending chooses the format: .jsonl, .pcapng or .pcap, with .gz or .zst
    /// behind it to compress it; `-` is stdout. `{session}`, `{player}` and `{time}` in the name
    /// make one file a session (repeatable)
    #[arg(short, long, value_name = "FILE")]
    write: Vec<PathBuf>,

    /// What `-w -` writes: jsonl, pcapng or pcap; pcapng.gz and so on
    #[arg(long, value_name = "FORMAT", default_value_t = FileType::JSONL, value_parser = file_type)]
    format: FileType,

    /// What .pcapng files show in Wireshark: plain (decrypted and inflated), json (decoded, without
    /// a plugin), wire (as it crossed each leg), all; several with commas
    #[arg(long, value_name = "VIEW", default_value_t = Views::PLAIN, value_parser = views)]
    pcap_view: Views,

    /// Begin another file when one has this size: session-00001.jsonl, session-00002.jsonl
    #[arg(long, value_name = "SIZE")]
    rotate: Option<Size>,

    /// Of the files that `--rotate` or a name with `{..}` makes, keep so many: the oldest go
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,

    /// What to do when a capture cannot be written (a full disk): end the run, or go on and leave
    /// out what it does not take
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Failing::Stop)]
    on_log_error: Failing,

    /// Leave the packets' bytes out of JSONL: only what was decoded
    #[arg(long)]
    no_body: bool,

    /// Record only packets that match
    #[arg(long, value_name = "EXPR")]
    write_where: Option<String>,
}

/// What to do when a capture cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Failing {
    /// The run ends: nothing goes through unrecorded
    Stop,
    /// What it does not take is left out, counted and told
    Drop,
}

impl Recording {
    /// Whether stdout carries a capture.
    pub(crate) fn on_stdout(&self) -> bool {
        self.write.iter().any(|path| is_stdout(path))
    }

    /// How captures are made.
    pub(crate) fn options(&self) -> CreateOptions {
        CreateOptions {
            bodies: !self.no_body,
            views: self.pcap_view,
            rotate: self.rotate.map(|size| size.0 as u64),
            keep: self.keep.map(|count| count as usize),
            describe: write_info,
        }
    }

    /// What happens when one cannot be written.
    pub(crate) fn on_error(&self) -> OnError {
        match self.on_log_error {
            Failing::Stop => OnError::Stop,
            Failing::Drop => OnError::Drop,
        }
    }

    /// Checks the options and that every capture can be created, and creates none.
    pub(crate) fn plan(&self, catalog: &Catalog, output: &Output) -> anyhow::Result<Planned> {
        let condition = parse(self.write_where.as_deref(), "--write-where", catalog, output)?;
        if self.write.iter().filter(|path| is_stdout(path)).count() > 1 {
            bail!("`-w -` twice: stdout takes one capture");
        }
        check_views(self.pcap_view, self.format, &self.write)?;
        let several = |path: &PathBuf| path.to_string_lossy().contains('{');
        if self.keep.is_some() && self.rotate.is_none() && !self.write.iter().any(several) {
            bail!("`--keep` needs `--rotate`, or `{{session}}` in the name of `-w`");
        }
        if self.rotate.is_some() && self.on_stdout() {
            bail!("`--rotate`: stdout is one file");
        }
        if self.rotate == Some(Size(0)) {
            bail!("`--rotate 0`: no entry fits");
        }
        Planned::new(&self.write, self.format, self.options(), condition)
    }
}

/// Captures that can be created: every check that does not change a file has passed.
///
/// Creating a capture truncates the file of that name. A run therefore plans its captures first and
/// creates them when nothing else can fail any more.
#[derive(Debug)]
pub(crate) struct Planned {
    targets: Vec<Target>,
    condition: Option<Expr>,
}

/// Where one capture goes.
#[derive(Debug)]
enum Target {
    File(PathBuf, CaptureTarget),
    Stdout(FileType, CreateOptions),
}

impl Planned {
    /// Checks that captures can be created at `files`; `-` is stdout, in `format`.
    pub(crate) fn new(
        files: &[PathBuf],
        format: FileType,
        options: CreateOptions,
        condition: Option<Expr>,
    ) -> anyhow::Result<Self> {
        let target = |path: &PathBuf| {
            if is_stdout(path) {
                return Ok(Target::Stdout(format, options));
            }
            let target = CaptureTarget::new(path, &options)?;
            target.check()?;
            Ok(Target::File(path.clone(), target))
        };
        Ok(Self { targets: files.iter().map(target).collect::<anyhow::Result<_>>()?, condition })
    }

    /// Creates the captures, in the place of files of the same names.
    pub(crate) fn create(self) -> anyhow::Result<Vec<NamedSink>> {
        let create = |target| {
            let (name, sink) = match target {
                Target::File(path, target) => (path.display().to_string(), target.create()?),
                Target::Stdout(format, options) => {
                    ("stdout".to_owned(), create_on_stdout(format, &options)?)
                }
            };
            let sink = WhereSink::new(sink, self.condition.clone());
            Ok((name, Box::new(sink) as Box<dyn Sink>))
        };
        self.targets.into_iter().map(create).collect()
    }
}

/// Creates a capture at `path`; `-` is stdout, in `format`.
pub(crate) fn create(
    path: &Path,
    format: FileType,
    options: &CreateOptions,
) -> anyhow::Result<Box<dyn Sink>> {
    if is_stdout(path) {
        create_on_stdout(format, options)
    } else {
        Ok(create_sink(path, options)?)
    }
}

fn create_on_stdout(format: FileType, options: &CreateOptions) -> anyhow::Result<Box<dyn Sink>> {
    let sink = write_sink(Box::new(io::stdout()), format, options);
    Ok(Box::new(Live(sink.context("cannot write to stdout")?)))
}

/// What is written to a pipe goes there at once.
struct Live(Box<dyn Sink>);

impl Sink for Live {
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

/// Whether the name stands for stdin or stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A format as options name it.
pub(crate) fn file_type(text: &str) -> Result<FileType, String> {
    text.parse().map_err(|_| "want jsonl, pcapng or pcap, and .gz or .zst behind it".to_owned())
}

/// Views as options name them.
pub(crate) fn views(text: &str) -> Result<Views, String> {
    text.parse().map_err(|_| "want plain, json, wire or all, with commas between them".to_owned())
}

/// Refuses views for files that have none.
pub(crate) fn check_views<'p>(
    views: Views,
    format: FileType,
    files: impl IntoIterator<Item = &'p PathBuf>,
) -> anyhow::Result<()> {
    let kind = |path: &PathBuf| if is_stdout(path) { Some(format) } else { FileType::of(path) };
    let mut kinds = files.into_iter().filter_map(kind);
    if views != Views::PLAIN && !kinds.any(|kind| kind.format == Format::Pcapng) {
        bail!("`--pcap-view {views}` needs a `.pcapng` file to write");
    }
    Ok(())
}
