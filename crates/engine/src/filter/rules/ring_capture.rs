use std::time::Duration;

/// The `[capture]` table of a filter file: the capture that its rules write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingCapture {
    /// The file's path.
    pub file: String,
    /// The age of the oldest packets that the ring holds.
    pub ring: Duration,
    /// The most bytes of packets that the ring holds.
    pub bytes: u64,
}
