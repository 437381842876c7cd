use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use mitmcraft::proxy::read_source;
use mitmcraft_protocol::schema::Catalog;

/// `--protocol`, which adds protocol descriptions.
#[derive(Debug, Args)]
pub(crate) struct Protocols {
    /// Add or change a protocol description (ProtoDef JSON). The file name ends in the protocol
    /// number (`47.json`, `my-47.json`), or the file names the version it `extends` (repeatable)
    #[arg(long, value_name = "FILE")]
    protocol: Vec<PathBuf>,
}

impl Protocols {
    /// Returns the built-in descriptions with those that the user added.
    pub(crate) fn catalog(&self) -> anyhow::Result<Catalog> {
        let mut catalog = Catalog::embedded().clone();
        for path in &self.protocol {
            add(&mut catalog, path)
                .with_context(|| format!("cannot use the protocol `{}`", path.display()))?;
        }
        Ok(catalog)
    }
}

fn add(catalog: &mut Catalog, path: &Path) -> anyhow::Result<()> {
    let json = serde_json::from_str(&read_source(path)?)?;
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let number = stem.rsplit(|char: char| !char.is_ascii_digit()).next().unwrap_or_default();
    Ok(catalog.add(number.parse().ok(), stem, json)?)
}
