use super::types::TypeId;
use super::{Direction, Name, Role, State};

/// One packet of a protocol.
#[derive(Debug)]
pub struct PacketType {
    pub(super) id: i32,
    pub(super) name: Name,
    pub(super) state: State,
    pub(super) direction: Direction,
    pub(super) role: Option<Role>,
    pub(super) ty: TypeId,
    /// Among the protocol's packets.
    pub(super) place: u16,
}

impl PacketType {
    /// The packet id, unique within state and direction.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The name that the tables have for it, for example `map_chunk`.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The state in which the id means this packet.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Which way it travels.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// What it means to the session.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.role
    }
}
