use crate::link::Decided;
use crate::packet::Packet;
use crate::schema::Role;

/// A packet of a peer whose turn it is.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) packet: Packet,
    /// Its role, if it can matter to the session.
    pub(super) role: Option<Role>,
    /// The decision of the person who held it.
    pub(super) decided: Option<Box<Decided>>,
}

impl Incoming {
    /// A packet that nobody has held.
    pub(super) fn new(packet: Packet, role: Option<Role>) -> Self {
        Self { packet, role, decided: None }
    }
}
