use super::identity::Passage;
use crate::link::Decided;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Role;

/// A packet of a peer whose turn it is, and that may go on.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) packet: Packet,
    /// Its role, if it can matter to the session.
    pub(super) role: Option<Role>,
    /// The decision of the person who held it.
    pub(super) decided: Option<Box<Decided>>,
    /// The proof that it may go on: nothing reads it, but without it there is no such value.
    pub(super) _passage: Passage,
}
