use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mitmcraft_engine::capture::{CreateOptions, McprSink, ParquetSink, Sink, claim_file};

use super::packet_table::PacketTable;

/// A format whose files are valid, or known to be fit, at their end only: one is written beside the file
/// that it replaces, and renamed when it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WholeFile {
    /// A replay for ReplayMod.
    Replay,
    /// A capture in Parquet.
    Parquet,
}

impl WholeFile {
    /// Returns the format that the ending of a file's name stands for.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Self::named(path.extension()?.to_str()?)
    }

    /// Returns the format with this ending.
    pub(super) fn named(ending: &str) -> Option<Self> {
        match &*ending.to_ascii_lowercase() {
            "mcpr" => Some(Self::Replay),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Creates the file that [`publish`](Self::publish) renames to `path`.
    pub(super) fn create(
        self,
        path: &Path,
        options: &CreateOptions,
        session: Option<u64>,
        table: Option<&PacketTable>,
    ) -> anyhow::Result<Box<dyn Sink>> {
        let create = || -> io::Result<Box<dyn Sink>> {
            // A part that a killed conversion has left is nobody's.
            let file = claim_file(&unfinished(path), true)?;
            if let Some(table) = table {
                return table.create(file);
            }
            Ok(match self {
                Self::Replay => Box::new(McprSink::new(BufWriter::new(file), session)?),
                Self::Parquet => {
                    let sink = ParquetSink::new(Box::new(file))?;
                    let sink = if options.bodies { sink } else { sink.without_bodies() };
                    Box::new(if options.meanings { sink.with_meanings() } else { sink })
                }
            })
        };
        create().with_context(|| format!("cannot write `{}`", unfinished(path).display()))
    }

    /// Renames the file if it is complete, and deletes it if it is not.
    pub(super) fn publish(path: &Path, written: io::Result<()>) -> io::Result<()> {
        written.and_then(|()| fs::rename(unfinished(path), path)).inspect_err(|_| {
            // The error of writing is the one to report.
            let _ = fs::remove_file(unfinished(path));
        })
    }
}

/// Returns the name that a file has until it is complete.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    name.into()
}
