use std::fmt;
use std::path::Path;
use std::str::FromStr;

use mitmcraft_protocol::schema::UnknownName;

/// A capture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// JSON Lines: one entry per line.
    Jsonl,
    /// TCP connections for Wireshark, and everything else that JSONL contains.
    Pcapng,
    /// TCP connections only; cannot be read back as a capture.
    Pcap,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Jsonl, Self::Pcapng, Self::Pcap];

    /// The ending of file names: `jsonl`, `pcapng` or `pcap`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Pcapng => "pcapng",
            Self::Pcap => "pcap",
        }
    }
}

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Not compressed.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
}

impl Compression {
    /// The part of a file's name that follows the format.
    fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }
}

/// The format and compression of a capture file, as in the ending of its name: `pcapng.zst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileType {
    /// The format.
    pub format: Format,
    /// The compression.
    pub compression: Compression,
}

impl FileType {
    /// Uncompressed JSONL.
    pub const JSONL: Self = Self { format: Format::Jsonl, compression: Compression::None };

    /// Returns the type that the ending of a file's name stands for, or `None` if it stands for none.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        Self::split(&name).map(|(_, found)| found)
    }

    /// Splits a file's name before its ending: `("session", ".pcapng.zst")`.
    #[must_use]
    pub fn split_name(name: &str) -> Option<(&str, &str)> {
        let (stem, _) = Self::split(&name.to_ascii_lowercase())?;
        Some(name.split_at(stem))
    }

    /// The length of a lower-case name without its ending, and the type that the ending stands for.
    fn split(name: &str) -> Option<(usize, Self)> {
        let (rest, compression) = [Compression::Gzip, Compression::Zstd]
            .into_iter()
            .find_map(|compression| Some((name.strip_suffix(compression.ending())?, compression)))
            .unwrap_or((name, Compression::None));
        let (stem, ending) = rest.rsplit_once('.')?;
        let format = Format::ALL.into_iter().find(|format| format.name() == ending)?;
        Some((stem.len(), Self { format, compression }))
    }
}

impl FromStr for FileType {
    type Err = UnknownName;

    /// Parses an ending without its first dot: `pcapng.zst`.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let name = format!(".{}", text.to_ascii_lowercase());
        match Self::split(&name) {
            Some((0, found)) => Ok(found),
            _ => Err(UnknownName(text.into())),
        }
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.format.name(), self.compression.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_endings_determine_the_type() {
        for (name, expected) in [
            ("a.jsonl", Some("jsonl")),
            ("x/b.c.PCAPNG.Gz", Some("pcapng.gz")),
            ("b.pcap.zst", Some("pcap.zst")),
            (".jsonl", Some("jsonl")),
            ("a.jsonl-v1.gz", None),
            ("b.gz", None),
            ("jsonl", None),
            ("a.jsonl.gz.gz", None),
            ("a.jsonl/b", None),
            ("a.jsonl ", None),
        ] {
            let found = FileType::of(name.as_ref()).map(|it| it.to_string());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
        assert_eq!(FileType::split_name("Ab.C.Jsonl.ZST"), Some(("Ab.C", ".Jsonl.ZST")));
        assert_eq!("pcapng.gz".parse::<FileType>().unwrap().compression, Compression::Gzip);
        for text in ["", "doc", "a.jsonl", "gz", ".jsonl"] {
            assert!(text.parse::<FileType>().is_err(), "{text}");
        }
    }
}
