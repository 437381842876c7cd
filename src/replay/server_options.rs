use std::net::SocketAddr;
use std::sync::Arc;

use super::{PlayOptions, Recording};
use crate::codec::Limits;
use crate::packet::Timestamp;
use crate::schema::Catalog;

/// How a recording is played to clients.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What they see.
    pub recording: Arc<Recording>,
    /// When.
    pub play: PlayOptions,
    /// From which size on packets are compressed.
    pub threshold: Option<usize>,
    /// Whether the connection is encrypted. Nobody asks a session server.
    pub encrypt: bool,
    /// Whether it begins again when it is over.
    pub repeat: bool,
    /// Whether clients are kept in the game when it is over.
    pub hold: bool,
    /// What becomes of packets that the recording has not.
    pub extra: Extra,
    /// The protocols that are known: a client of another version is told so in its own.
    pub catalog: Catalog,
    /// What a client may make us hold.
    pub limits: Limits,
}

/// What becomes of packets that the recording has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extra {
    /// Nothing.
    #[default]
    Ignore,
    /// They are recorded with a comment.
    Log,
    /// The client is sent away.
    Close,
}

/// What a connection begins with.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Counts from 1 within a run.
    pub session: u64,
    /// When the client connected.
    pub at: Timestamp,
    /// The client's address.
    pub client: SocketAddr,
    /// Our own.
    pub server: SocketAddr,
    /// Decides the numbers of keep-alives.
    pub seed: u64,
}
