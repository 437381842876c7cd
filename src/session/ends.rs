/// How far the two connections have ended.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Sides that send no more.
    pub(super) read: [bool; 2],
    /// Sides whose connection is gone altogether.
    pub(super) lost: [bool; 2],
    /// Sides that were told that no more comes.
    pub(super) shut: [bool; 2],
}

/// By direction.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) packets: [u64; 2],
    pub(super) bytes: [u64; 2],
}
