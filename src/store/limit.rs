/// Why packets that are too old are not held.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The run writes no capture from which they could be read again.
    NoCapture,
    /// The captures of the run cannot be read while they are written.
    UnreadableCaptures,
    /// The capture was opened on a page, and is too large for what that may take.
    Opened,
    /// The store reads them from this capture, up to a limit.
    InCapture(String),
}
