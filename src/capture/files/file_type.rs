use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::schema::UnknownName;

/// A capture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A line of JSON an entry.
    Jsonl,
    /// TCP connections for Wireshark, and beside them what these do not show.
    Pcapng,
    /// The TCP connections alone.
    Pcap,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Jsonl, Self::Pcapng, Self::Pcap];

    /// `jsonl`, `pcapng` or `pcap`, as file names end.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Pcapng => "pcapng",
            Self::Pcap => "pcap",
        }
    }
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    None,
    /// As gzip does it (RFC 1952).
    Gzip,
    /// As zstd does it (RFC 8878).
    Zstd,
}

impl Compression {
    /// What stands behind the format in a file's name.
    fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }
}

/// What a capture file is, as its name says: `jsonl`, `pcapng.zst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileType {
    /// What is in it.
    pub format: Format,
    /// How that is compressed.
    pub compression: Compression,
}

impl FileType {
    /// JSON lines that are not compressed.
    pub const JSONL: Self = Self { format: Format::Jsonl, compression: Compression::None };

    /// What the ending of a file's name says, if it says anything.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        Self::split(&name).map(|(_, found)| found)
    }

    /// A file's name in two: what stands before the ending, and the ending with its dot.
    #[must_use]
    pub fn split_name(name: &str) -> Option<(&str, &str)> {
        let (stem, _) = Self::split(&name.to_ascii_lowercase())?;
        Some(name.split_at(stem))
    }

    /// How long the name is without the ending, and what that says.
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

    /// Reads an ending without its first dot.
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
    fn the_last_endings_say_what_a_file_is() {
        for (name, said) in [
            ("a.jsonl", Some("jsonl")),
            ("x/b.c.PCAPNG.Gz", Some("pcapng.gz")),
            ("b.pcap.zst", Some("pcap.zst")),
            (".jsonl", Some("jsonl")),
            ("b.gz", None),
            ("jsonl", None),
            ("a.jsonl.gz.gz", None),
            ("a.jsonl/b", None),
            ("a.jsonl ", None),
        ] {
            let found = FileType::of(name.as_ref()).map(|it| it.to_string());
            assert_eq!(found.as_deref(), said, "{name}");
        }
        assert_eq!(FileType::split_name("Ab.C.Jsonl.ZST"), Some(("Ab.C", ".Jsonl.ZST")));
        assert_eq!("pcapng.gz".parse::<FileType>().unwrap().compression, Compression::Gzip);
        for text in ["", "doc", "a.jsonl", "gz", ".jsonl"] {
            assert!(text.parse::<FileType>().is_err(), "{text}");
        }
    }
}
