/// Sizes above which frames are forwarded without being decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest frame that is buffered, in bytes after the length prefix. A longer one is forwarded
    /// in pieces.
    pub frame: usize,
    /// Largest body that is inflated, in bytes.
    pub inflated: usize,
}

impl Limits {
    /// The largest limit that can be configured: 128 MiB.
    pub const MAX: usize = 128 << 20;

    /// Creates limits of `frame` bytes for frames and `inflated` bytes for bodies.
    #[must_use]
    pub const fn new(frame: usize, inflated: usize) -> Self {
        Self { frame, inflated }
    }
}

impl Default for Limits {
    /// Returns the limits of the game: frames of 2 MiB, bodies of 8 MiB.
    fn default() -> Self {
        Self { frame: 2 << 20, inflated: 8 << 20 }
    }
}
