use super::types::TypeId;
use super::{Direction, Name, Role, State};

/// The type of a packet in one protocol: its id, name, state, direction and fields.
#[derive(Debug)]
pub struct PacketType {
    pub(super) id: i32,
    pub(super) name: Name,
    pub(super) state: State,
    pub(super) direction: Direction,
    pub(super) role: Option<Role>,
    pub(crate) ty: TypeId,
    /// Index in the protocol's packets.
    pub(crate) place: u16,
}

impl PacketType {
    /// Returns the packet id, unique within a state and direction.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Returns the name in minecraft-data's tables, for example `map_chunk`.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns the state in which the packet is sent.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the direction in which the packet travels.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the meaning of the packet to a session, if it has one.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.role
    }
}
