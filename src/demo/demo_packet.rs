use bytes::Bytes;

use crate::schema::{Direction, Name, State};

/// One packet as an end of a connection saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoPacket {
    /// Counts the connections of a report from 0: the ping's is 0 and the game's is 1.
    pub connection: usize,
    /// Which way it travelled.
    pub direction: Direction,
    /// The state that it belongs to.
    pub state: State,
    /// Its name; `None` for an id that means nothing.
    pub name: Option<Name>,
    /// Id and fields, inflated and decrypted.
    pub body: Bytes,
}
