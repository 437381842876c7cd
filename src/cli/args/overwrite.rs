use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use clap::Args;
use mitmcraft_engine::capture::{check_file, claim_file};

use crate::cli::notice::claim_error;

/// `--overwrite`, for verbs that write files.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Overwrite {
    /// Replace files that exist and are not empty
    #[arg(long)]
    pub(crate) overwrite: bool,
}

impl Overwrite {
    /// Checks that a file can be created, and creates none.
    pub(crate) fn check(self, path: &Path) -> anyhow::Result<()> {
        check_file(path, self.overwrite).map_err(|error| claim_error(error, path))
    }

    /// Creates a file, or empties it if the option says so.
    pub(crate) fn create(self, path: &Path) -> anyhow::Result<File> {
        claim_file(path, self.overwrite).map_err(|error| claim_error(error, path))
    }

    /// Writes a whole file.
    pub(crate) fn write(self, path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let written = self.create(path)?.write_all(content.as_ref());
        written.map_err(|error| claim_error(error, path))
    }
}
