use std::io::{self, ErrorKind};

use thiserror::Error;

/// What is wrong with a zip archive or a member of it. Names of members are escaped and shortened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ZipFault {
    /// The archive ends before its directory does, within this member if it is one.
    #[error("the zip is cut off{}", .0.as_ref().map(|it| format!(" within `{it}`")).unwrap_or_default())]
    CutOff(Option<String>),
    /// There is neither a member nor the directory where one has to be.
    #[error("the zip is damaged at byte {at}: neither a member nor its directory")]
    Header {
        /// The offset in bytes.
        at: u64,
    },
    /// The archive has more members than are read.
    #[error("the zip has more than {limit} members: the others are not read")]
    TooMany {
        /// The greatest number of members.
        limit: usize,
    },
    /// A member is encrypted.
    #[error("`{0}` in the zip is encrypted, and is left out")]
    Encrypted(String),
    /// A member is compressed in a way that is not read.
    #[error(
        "`{member}` in the zip is compressed by method {method}, and is left out: only 0 and 8 are read"
    )]
    Method {
        /// The member.
        member: String,
        /// The number of the method.
        method: u16,
    },
    /// The length of a member is written behind it, but its end cannot be seen.
    #[error("`{0}` in the zip does not say how long it is: the zip is not read further")]
    Endless(String),
    /// A name leads out of the folder in which the archive would be unpacked.
    #[error("`{0}` in the zip is not the name of a file in a folder, and is left out")]
    Name(String),
    /// A name occurs for the second time.
    #[error("`{0}` is in the zip twice: the first is read")]
    Twice(String),
    /// A member inflates like a bomb.
    #[error(
        "`{member}` in the zip inflates to more than {ratio} times its size: it is read up to there"
    )]
    Ratio {
        /// The member.
        member: String,
        /// The greatest ratio.
        ratio: u64,
    },
    /// The compressed bytes of a member are invalid.
    #[error("`{0}` in the zip is damaged: cannot decompress it")]
    Deflate(String),
    /// A member is not what its checksum is of.
    #[error("`{0}` in the zip has another checksum than the zip says: it was changed or damaged")]
    Checksum(String),
    /// A member does not have the length that the archive says.
    #[error("`{member}` in the zip has {found} bytes, and the zip says {declared}")]
    Length {
        /// The member.
        member: String,
        /// The length in bytes that the archive says.
        declared: u64,
        /// The length in bytes.
        found: u64,
    },
    /// No member is a capture.
    #[error("no member of the zip is a capture (`.jsonl`, `.pcapng` or `recording.tmcpr`)")]
    NoCapture,
    /// There is a second capture.
    #[error("`{0}` in the zip is left out: only the first capture of a zip is read")]
    SecondCapture(String),
    /// The archive cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ZipFault> for io::Error {
    fn from(fault: ZipFault) -> Self {
        match fault {
            ZipFault::Io(error) => error,
            fault => Self::new(ErrorKind::InvalidData, fault),
        }
    }
}
