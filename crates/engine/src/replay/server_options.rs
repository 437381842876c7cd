use std::sync::Arc;

use super::{Extra, PlayOptions, Recording};
use mitmcraft_protocol::codec::{Limits, MemoryBudget};
use mitmcraft_protocol::schema::Catalog;

/// Options for playing a recording to clients. Start with [`new`](Self::new).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The session that clients see.
    pub recording: Arc<Recording>,
    /// The part of the recording that is played, and its pace.
    pub play: PlayOptions,
    /// Body size from which packets are compressed; `None` for no compression.
    pub threshold: Option<usize>,
    /// `true` if the connection is encrypted. Players are not verified.
    pub encrypt: bool,
    /// `true` if the recording begins again when it ends.
    pub repeat: bool,
    /// `true` if clients stay in the game when the recording ends.
    pub hold: bool,
    /// The reaction to packets that are not in the recording.
    pub extra: Extra,
    /// The known protocols: a client of another version is rejected in its own.
    pub catalog: Catalog,
    /// Limits of what a client can make the server hold in memory.
    pub limits: Limits,
    /// The memory that all connections together may use for what clients send.
    pub memory: MemoryBudget,
}

impl ServerOptions {
    /// Creates options that play all of the recording, as recorded and compressed as recorded, without
    /// encryption.
    #[must_use]
    pub fn new(recording: Arc<Recording>) -> Self {
        Self {
            threshold: recording.thresholds.client,
            recording,
            play: PlayOptions::default(),
            encrypt: false,
            repeat: false,
            hold: false,
            extra: Extra::Ignore,
            catalog: Catalog::embedded().clone(),
            limits: Limits::default(),
            memory: MemoryBudget::default(),
        }
    }
}
