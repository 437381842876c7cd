/// How large a frame and its body may be before they are passed on unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a frame after its length. A longer one streams through in pieces.
    pub frame: usize,
    /// Bytes of an inflated body. A larger one is not inflated.
    pub inflated: usize,
}

impl Limits {
    /// The largest limit that a user can set: 128 MiB.
    pub const MAX: usize = 128 << 20;
}

impl Default for Limits {
    /// As the game has them: 2 MiB a frame, 8 MiB inflated.
    fn default() -> Self {
        Self { frame: 2 << 20, inflated: 8 << 20 }
    }
}
