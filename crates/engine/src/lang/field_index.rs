use std::rc::Rc;
use std::sync::Arc;

use super::field::Field;
use super::memo::Memo;
use mitmcraft_protocol::schema::{Kinds, PacketType, Protocol};

/// The packets of one protocol that have the fields that expressions ask for. A field is looked up
/// once, however many expressions ask for it.
pub(crate) struct FieldIndex {
    protocol: Arc<Protocol>,
    fields: Memo<Field, Owners>,
}

/// The packets that have a field.
#[derive(Clone)]
pub(super) struct Owners(Rc<[(u16, Kinds)]>);

impl FieldIndex {
    /// Creates an index without fields, which are looked up on demand.
    pub(crate) fn new(protocol: Arc<Protocol>) -> Self {
        Self { protocol, fields: Memo::default() }
    }

    pub(crate) fn protocol(&self) -> &Arc<Protocol> {
        &self.protocol
    }

    pub(super) fn owners(&self, field: &Field) -> Owners {
        self.fields.get(field, || {
            #[cfg(test)]
            lookups::LOOKUPS.set(lookups::LOOKUPS.get() + 1);
            let packets = self.protocol.packets().iter().map(|packet| {
                let kinds = field.kinds(&self.protocol, packet);
                (self.protocol.place(packet), kinds)
            });
            Owners(packets.filter(|(_, kinds)| !kinds.is_empty()).collect())
        })
    }

    /// Adds the kinds of a field to `found`, of as many packets as are `enough`.
    pub(super) fn kinds(
        &self,
        field: &Field,
        mut found: Kinds,
        enough: impl Fn(Kinds) -> bool,
    ) -> Kinds {
        for (_, kinds) in &*self.owners(field).0 {
            found = found | *kinds;
            if enough(found) {
                break;
            }
        }
        found
    }

    /// Returns whether any packet has the field.
    pub(super) fn has(&self, field: &Field) -> bool {
        !self.owners(field).0.is_empty()
    }

    /// Returns the packets that have the field.
    pub(super) fn packets(&self, field: &Field) -> impl Iterator<Item = &PacketType> {
        let owners = self.owners(field);
        let places: Vec<u16> = owners.0.iter().map(|(place, _)| *place).collect();
        places.into_iter().map(|place| &self.protocol.packets()[usize::from(place)])
    }
}

impl Owners {
    /// Returns whether the packet at that place of the protocol has the field.
    pub(super) fn has(&self, place: u16) -> bool {
        self.0.binary_search_by_key(&place, |(place, _)| *place).is_ok()
    }
}

/// The number of fields looked up on this thread.
#[cfg(test)]
pub(crate) mod lookups {
    use std::cell::Cell;

    thread_local!(pub(crate) static LOOKUPS: Cell<usize> = const { Cell::new(0) });
}
