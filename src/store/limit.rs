/// Why packets that are too old are not held.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The run writes no capture from which they could be read again.
    NoCapture,
    /// The captures of the run cannot be read while they are written.
    UnreadableCaptures,
    /// The store reads them from this capture, up to a limit.
    InCapture(String),
}
