use std::time::Duration;

/// The observations of the client on all of its connections. A client of Alpha has no status, UUID, encryption or
/// compression.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DemoReport {
    /// The status as it was received, JSON.
    pub status: String,
    /// The time between the ping and its answer.
    pub latency: Duration,
    /// The player's UUID, as the server gave it.
    pub uuid: String,
    /// `true` if the server asked for encryption.
    pub encrypted: bool,
    /// The compression threshold that the server asked for, bytes.
    pub threshold: Option<usize>,
    /// The number of packets received on the last connection, that of the game.
    pub received: u64,
    /// The number of packets sent on the last connection.
    pub sent: u64,
    /// Every chat message received, as plain text.
    pub chat: Vec<String>,
    /// The reason why the server kicked the player, as plain text.
    pub kick: Option<String>,
}
