use std::collections::HashMap;

use super::{Name, PacketType};

/// The places of the packets of one state and direction in a protocol's list, by id and by name.
#[derive(Debug, Default)]
pub(super) struct PacketPlaces {
    /// Indexed by id, for ids below `DENSE`.
    dense: Vec<Option<u16>>,
    sparse: HashMap<i32, u16>,
    by_name: HashMap<Name, u16>,
}

impl PacketPlaces {
    pub(super) fn insert(&mut self, packet: &PacketType) {
        match dense(packet.id) {
            Some(id) => {
                if self.dense.len() <= id {
                    self.dense.resize(id + 1, None);
                }
                self.dense[id] = Some(packet.place);
            }
            None => {
                self.sparse.insert(packet.id, packet.place);
            }
        }
        self.by_name.insert(Name::clone(&packet.name), packet.place);
    }

    /// Returns the place of the packet with this id.
    #[inline]
    pub(super) fn by_id(&self, id: i32) -> Option<u16> {
        match dense(id) {
            Some(id) => *self.dense.get(id)?,
            None => self.by_large_id(id),
        }
    }

    /// Cold, so that the common lookup is inlined.
    #[cold]
    fn by_large_id(&self, id: i32) -> Option<u16> {
        self.sparse.get(&id).copied()
    }

    /// Returns the place of the packet with this name.
    pub(super) fn by_name(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }
}

/// Returns the index of an id in `dense`; `None` if it is looked up in `sparse`.
#[inline]
fn dense(id: i32) -> Option<usize> {
    usize::try_from(id).ok().filter(|id| *id < DENSE)
}

/// Ids below this are looked up by index; the game has no higher ones.
const DENSE: usize = 1024;
