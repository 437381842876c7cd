use std::sync::Arc;

use super::{PlayOptions, Recording};
use mitmcraft_protocol::codec::{Limits, MemoryBudget};
use mitmcraft_protocol::schema::Catalog;

/// Options for playing a recording against a server. Start with [`new`](Self::new).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The session whose client is played.
    pub recording: Arc<Recording>,
    /// The part of the recording that is played, and its pace.
    pub play: PlayOptions,
    /// `true` if the client stays in the game when the recording ends.
    pub hold: bool,
    /// Limits of what the server can make the client hold in memory.
    pub limits: Limits,
    /// The known protocols, for filters.
    pub catalog: Catalog,
    /// The memory that all connections together may use for filters and for what waits for them.
    pub memory: MemoryBudget,
}

impl ClientOptions {
    /// Creates options that play all of the recording, as recorded, and leave the game at its end.
    #[must_use]
    pub fn new(recording: Arc<Recording>) -> Self {
        Self {
            recording,
            play: PlayOptions::default(),
            hold: false,
            limits: Limits::default(),
            catalog: Catalog::embedded().clone(),
            memory: MemoryBudget::default(),
        }
    }
}
