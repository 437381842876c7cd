use std::io;
use std::sync::Arc;

/// What a [`Store`](super::Store) was given and does not have, though it is within the limits.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Losses {
    /// Packets that are not listed: more of them came than could be taken, or the disk did not take their rows.
    pub packets: u64,
    /// Packets that are listed without their bytes, because the disk did not take them.
    pub bodies: u64,
    /// The last error of the disk; `None` if it was only too slow.
    pub error: Option<Arc<io::Error>>,
    /// Why a part of a file that feeds it could not be read.
    pub unread: Option<Arc<str>>,
}

impl Losses {
    /// Returns `true` if nothing is missing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets == 0 && self.bodies == 0
    }
}
