use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

use thiserror::Error;

use super::jsonl::FORMAT_VERSION;
use super::{McprFault, ZipFault};
use mitmcraft_protocol::schema::EncodeError;
use mitmcraft_protocol::wire::bytes;

/// An error from reading a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file ends in the middle of an entry, as it does when its writer was killed. All entries
    /// before it have been returned.
    #[error("{0}: the file ends within this entry")]
    CutOff(FilePosition),
    /// One entry is invalid; reading continues with the next one.
    #[error("{0}: {1}")]
    Entry(FilePosition, #[source] EntryError),
    /// The file is damaged, and no entry after this position can be found.
    #[error("{0}: the file is damaged: {1}")]
    Damaged(FilePosition, #[source] Damage),
    /// The file is a classic pcap file.
    #[error("this is a pcap recording, not a capture")]
    ClassicPcap,
    /// The file is a Parquet file, which is not read from its beginning to its end.
    #[error("a Parquet file can only be read by its name, not from a pipe")]
    Pipe,
    /// The file is a Parquet file without a valid end.
    #[error("the Parquet file is incomplete or damaged ({0})")]
    NoFooter(#[source] Box<dyn Error + Send + Sync>),
    /// The file is a Parquet file that does not have the columns of a capture.
    #[error("not a capture of mitmcraft: a Parquet file without a column `{column}` of its type")]
    ForeignTable {
        /// The first column that is missing.
        column: &'static str,
    },
    /// The columns of a Parquet file are compressed in a way that is not read.
    #[error("a Parquet file compressed with {codec}: only zstd and uncompressed columns are read")]
    OtherCompression {
        /// The compression.
        codec: String,
    },
    /// The file's first bytes are those of no capture format.
    #[error("not a capture: neither JSON lines nor pcapng")]
    UnknownFormat,
    /// A zip archive is damaged, or a member of it cannot be read. Reading may continue.
    #[error(transparent)]
    Zip(#[from] ZipFault),
    /// A recording of ReplayMod cannot be read.
    #[error(transparent)]
    Recording(#[from] McprFault),
    /// The file is a pcapng file that mitmcraft did not write.
    #[error("not a capture of mitmcraft: a pcapng file without records of what its packets mean")]
    Foreign,
}

impl ReadError {
    /// Classifies an I/O error that occurred at `position`.
    pub(super) fn at(position: FilePosition, error: io::Error) -> Self {
        let error = match error.downcast::<ZipFault>() {
            Ok(fault) => return Self::Zip(fault),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::UnexpectedEof => Self::CutOff(position),
            ErrorKind::InvalidData => Self::Damaged(position, Damage::Compressed(error)),
            _ => Self::Io(error),
        }
    }
}

/// The kind of damage in a capture file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Damage {
    /// The compressed data is invalid.
    #[error(transparent)]
    Compressed(io::Error),
    /// A pcapng block is invalid.
    #[error("invalid block: {0}")]
    Block(#[source] Box<dyn Error + Send + Sync>),
    /// The data of a Parquet file is invalid.
    #[error(transparent)]
    Table(Box<dyn Error + Send + Sync>),
    /// Rows of a Parquet file are invalid.
    #[error("{rows} rows in succession are invalid")]
    Rows {
        /// The number of rows.
        rows: u64,
    },
    /// A block is longer than any that a writer makes, or a row group than can be read.
    #[error("longer than {limit} bytes")]
    TooLong {
        /// The greatest length in bytes.
        limit: u64,
    },
}

/// A position in a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePosition {
    /// The number of a line of a text file, counted from 1.
    Line(u64),
    /// The offset in bytes of a binary file's block.
    Byte(u64),
    /// The number of a row of a table, counted from 1.
    Row(u64),
    /// The number of a record in a recording of ReplayMod, counted from 1.
    Record(u64),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "block at byte {byte}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Record(record) => write!(f, "packet {record} of the recording"),
        }
    }
}

/// The reason why an entry of a capture is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The text is not a JSON object.
    #[error("not a JSON object, at column {column}: {cause}")]
    Json {
        /// The column of the error, counted from 1.
        column: usize,
        /// The JSON parser's message.
        cause: String,
    },
    /// More sessions are open than the memory for reading allows: later ones have what their entries
    /// contain, and lack what their beginning said.
    #[error(
        "more than {limit} sessions are open at once: later ones are read without what their beginning says"
    )]
    Sessions {
        /// The number of sessions.
        limit: usize,
    },
    /// The line is longer than the memory for reading allows.
    #[error("{length} bytes long, and {limit} can be read")]
    TooLong {
        /// The length in bytes.
        length: u64,
        /// The greatest length that can be read.
        limit: usize,
    },
    /// The entry has more values than the memory for reading allows.
    #[error("more than {limit} values")]
    TooManyValues {
        /// The greatest number that can be read.
        limit: usize,
    },
    /// The entry has a version of the format that is not read.
    #[error(
        "format version {format}, which {} of mitmcraft wrote: only version {} is read",
        if *format < FORMAT_VERSION { "no release" } else { "a later release" },
        FORMAT_VERSION
    )]
    Version {
        /// The version that the entry has.
        format: i64,
    },
    /// A required key is missing.
    #[error("missing key `{0}`")]
    Missing(&'static str),
    /// The value of a key is invalid.
    #[error("invalid value {value} for `{key}`")]
    Invalid {
        /// The key.
        key: &'static str,
        /// The value, shortened if it is long.
        value: String,
    },
    /// The body does not have the length that the entry declares.
    #[error("`size` is {declared}, but the body has {}", bytes(*found))]
    Size {
        /// The length that the entry declares.
        declared: usize,
        /// The length of the body.
        found: usize,
    },
    /// The capture was written without bodies, and the fields are not enough to encode the packet.
    #[error("the packet's bytes were not recorded, and cannot be restored from its fields")]
    NoBody,
    /// The capture was written without bodies, and the fields do not encode.
    #[error("the packet's bytes were not recorded, and its fields do not encode: {0}")]
    Encode(#[from] EncodeError),
    /// The bytes in the stream are not the frame that the entry describes.
    #[error("its bytes in the stream are not one frame")]
    NoFrame,
    /// The bytes that describe a packet in a pcapng file are invalid.
    #[error("invalid description of the packet")]
    Head,
    /// Packets of a connection were removed from a pcapng file, and with them what others mean.
    #[error(
        "{packets} packets of the connection from {connection} cannot be read: packets before them, which say what \
         they mean, were removed from the file"
    )]
    NoHead {
        /// The addresses of the client and the server.
        connection: Box<str>,
        /// The number of packets that cannot be read.
        packets: u64,
    },
    /// A protocol description in the capture cannot be used.
    #[error("unusable description of protocol {version}: {cause}")]
    Table {
        /// The protocol number.
        version: i32,
        /// The reason.
        cause: String,
    },
    /// The capture does not contain the protocol description that it was recorded with.
    #[error(
        "recorded with a description of protocol {version} ({id:08x}) that is not built in, and \
         that the capture does not contain"
    )]
    NoTable {
        /// The protocol number.
        version: i32,
        /// The checksum of the description.
        id: u32,
    },
    /// The catalog has no protocol to read the entry with.
    #[error("no protocol description for this entry")]
    NoProtocol,
}

impl EntryError {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let cause = text.rfind(" at line ").map_or(&*text, |end| &text[..end]).to_owned();
        Self::Json { column: error.column(), cause }
    }

    pub(super) fn invalid(key: &'static str, value: &str) -> Self {
        let mut shown: String = value.chars().take(MAX_SHOWN).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self::Invalid { key, value: shown.escape_debug().to_string() }
    }
}

/// Characters of an invalid value that a message shows.
const MAX_SHOWN: usize = 40;
