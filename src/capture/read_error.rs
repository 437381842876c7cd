use std::fmt;
use std::io::{self, ErrorKind};

use thiserror::Error;

use crate::schema::EncodeError;

/// Why a capture, or an entry of it, cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends in mid-entry, as it does when its writer was killed; all before it was given.
    #[error("{0}: the file ends within this entry")]
    CutOff(FilePosition),
    /// An entry is none; those behind it may be well.
    #[error("{0}: {1}")]
    Entry(FilePosition, #[source] EntryError),
    /// The file is damaged; nothing behind this place can be found.
    #[error("{0}: the file is damaged: {1}")]
    Damaged(FilePosition, String),
    /// The first bytes are those of something else.
    #[error("not a capture: {0}")]
    NoCapture(&'static str),
    /// A pcapng file without any entry of ours.
    #[error("not a capture of mitmcraft: it has packets and nothing that says what they are")]
    Foreign,
}

impl ReadError {
    /// What an error of reading at that place means.
    pub(super) fn of(place: FilePosition, error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::CutOff(place),
            ErrorKind::InvalidData => Self::Damaged(place, error.to_string()),
            _ => Self::Io(error),
        }
    }
}

/// Where in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePosition {
    /// The line of a text file, from 1.
    Line(u64),
    /// The offset of a binary file's block.
    Byte(u64),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "block at byte {byte}"),
        }
    }
}

/// Why something is no entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EntryError {
    /// It is no JSON object.
    #[error("not a JSON object, at column {column}: {cause}")]
    Json {
        /// Where it stops to be one.
        column: usize,
        /// What is wrong there.
        cause: String,
    },
    /// A newer program wrote it.
    #[error("version {0} of the format is not known")]
    Version(i64),
    /// A key that every such entry has is not there.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// A value that means nothing.
    #[error("`{key}` cannot be {value}")]
    Invalid {
        /// Its key.
        key: &'static str,
        /// The value, or the front of it.
        value: String,
    },
    /// The body is not as long as the entry says.
    #[error("`size` is {said}, and the body has {found} bytes")]
    Size {
        /// What the entry says.
        said: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// Written with `--no-body`, and the fields do not give the bytes.
    #[error("the packet's bytes were not recorded (`--no-body`), and its fields do not give them")]
    NoBody,
    /// Written with `--no-body`, and the fields do not encode.
    #[error(
        "the packet's bytes were not recorded (`--no-body`), and its fields do not encode: {0}"
    )]
    Encode(#[from] EncodeError),
    /// The bytes in the stream are not the frame that their head says.
    #[error("its bytes in the stream are not one frame")]
    NoFrame,
    /// There is no description of any protocol.
    #[error("no protocol description is known")]
    NoProtocol,
}

impl EntryError {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let cause = text.rfind(" at line ").map_or(&*text, |end| &text[..end]).to_owned();
        Self::Json { column: error.column(), cause }
    }

    pub(super) fn invalid(key: &'static str, value: &str) -> Self {
        let mut shown: String = value.chars().take(SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self::Invalid { key, value: shown.escape_debug().to_string() }
    }
}

/// Characters of a wrong value that a message shows.
const SHOWN: usize = 40;
