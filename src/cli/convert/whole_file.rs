use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use mitmcraft_engine::capture::{CreateOptions, McprSink, ParquetSink, Sink, claim_file};

use super::packet_table::PacketTable;
use crate::cli::notice::claim_error;

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

    /// Creates what writes a file in this format.
    pub(super) fn create(
        self,
        file: File,
        options: &CreateOptions,
        session: Option<u64>,
        table: Option<&PacketTable>,
    ) -> io::Result<Box<dyn Sink>> {
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
    }
}

/// A file that has a name of its own, `NAME.part`, until it is complete. It is deleted if it never is.
pub(super) struct Unfinished {
    part: PathBuf,
    path: PathBuf,
}

impl Unfinished {
    /// Creates the file that [`publish`](Self::publish) renames to `path`. A part that a killed conversion has left is
    /// replaced only with `overwrite`, as everything is.
    pub(super) fn create(path: &Path, overwrite: bool) -> anyhow::Result<(File, Self)> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = claim_file(&part, overwrite).map_err(|error| claim_error(error, &part))?;
        Ok((file, Self { part, path: path.to_owned() }))
    }

    /// Gives the file its name: it is complete.
    pub(super) fn publish(self) -> io::Result<()> {
        fs::rename(&self.part, &self.path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // One that was published is not there any more; the error of writing is the one to report.
        let _ = fs::remove_file(&self.part);
    }
}
