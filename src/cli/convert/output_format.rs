use std::path::{Path, PathBuf};
use std::str::FromStr;

use mitmcraft_engine::capture::{FileType, Format};

use super::whole_file::WholeFile;

/// `--format`: what stdout carries, or the files in a folder are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputFormat {
    /// The ending of files.
    ending: String,
    /// The format on stdout; `None` if it is only for files.
    pub(super) on_stdout: Option<FileType>,
}

impl OutputFormat {
    /// Returns whether the folder itself is what is written: a world of the game.
    pub(super) fn is_world(&self) -> bool {
        self.ending == WORLD
    }

    /// Returns whether pictures are written: maps.
    pub(super) fn is_map(&self) -> bool {
        self.ending == MAP
    }

    /// Returns the name of a file in this format that is made of a file with another name.
    pub(super) fn name(&self, name: &Path) -> PathBuf {
        name.with_file_name(format!("{}.{}", stem(name), self.ending))
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ending = text.to_ascii_lowercase();
        let on_stdout = text.parse::<FileType>().ok();
        if on_stdout.is_none()
            && WholeFile::named(&ending).is_none()
            && ![WORLD, MAP].contains(&&*ending)
        {
            return Err(
                "expected jsonl, pcapng or pcap, and .gz or .zst after it, parquet, mcpr, world or map"
                    .to_owned(),
            );
        }
        Ok(Self { ending, on_stdout })
    }
}

/// The name of the format of worlds.
const WORLD: &str = "world";

/// The name of the format of maps.
const MAP: &str = "map";

/// Returns whether the ending of a name stands for a format.
pub(super) fn is_known(name: &Path) -> bool {
    FileType::of(name).is_some_and(|it| it.format != Format::Pcap) || WholeFile::of(name).is_some()
}

/// Returns a file's name without the ending of a capture.
fn stem(name: &Path) -> String {
    let text = name.file_name().unwrap_or_default().to_string_lossy();
    match FileType::split_name(&text) {
        Some((stem, _)) => stem.to_owned(),
        None if WholeFile::of(name).is_some() => {
            name.file_stem().unwrap_or_default().to_string_lossy().into_owned()
        }
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_another_format_has_its_ending() {
        let parquet: OutputFormat = "parquet".parse().unwrap();
        for (name, expected) in [
            ("host=a/evening.1.jsonl.zst", "host=a/evening.1.parquet"),
            ("x.PARQUET", "x.parquet"),
            ("run.log", "run.log.parquet"),
        ] {
            assert_eq!(parquet.name(name.as_ref()), Path::new(expected));
        }
        assert!(parquet.on_stdout.is_none());
        let pcapng: OutputFormat = "pcapng.gz".parse().unwrap();
        assert_eq!(pcapng.name("a.jsonl".as_ref()), Path::new("a.pcapng.gz"));
        assert!("txt".parse::<OutputFormat>().is_err());
    }
}
