/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::capture) enum Version {
    V1,
    V2,
}

impl Version {
    /// The number in the key `v`.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    pub(super) fn of(number: i64) -> Option<Self> {
        [Self::V1, Self::V2].into_iter().find(|it| it.number() == number)
    }

    /// The key of bytes that are not a packet. In version 1 it was also that of two counts.
    pub(super) fn raw_key(self) -> &'static str {
        match self {
            Self::V1 => "bytes",
            Self::V2 => "raw_bytes",
        }
    }
}
