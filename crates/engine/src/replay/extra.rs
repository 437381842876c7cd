/// The reaction to packets of a client that are not in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Extra {
    /// Ignore them.
    #[default]
    Ignore,
    /// Record them with a comment.
    Log,
    /// Disconnect the client.
    Close,
}
