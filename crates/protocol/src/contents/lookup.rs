use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

use super::Contents;
use super::changes::Changes;
use crate::meaning::{RegistryKind, registry};
use crate::packet::{Packet, SentRegistries};
use crate::schema::{PacketType, Protocol, Release};

/// The blocks of one packet. Each thread keeps those of the last packet about which it was asked, because
/// rules and columns ask for many blocks of a packet, and reading a chunk takes much longer than finding a
/// block in it.
struct Lookup {
    /// The packet: its body, by which protocol it is read, as which type, and with which names.
    body: Bytes,
    protocol: Arc<Protocol>,
    place: u16,
    sent: Arc<SentRegistries>,
    /// `None` if the packet is invalid.
    blocks: Option<Found>,
}

/// The blocks that a packet contains.
enum Found {
    Chunks(Contents),
    Changes(Changes),
}

impl Contents {
    /// Returns whether packets of a type say which block is somewhere: they contain chunks or change
    /// blocks.
    #[must_use]
    pub fn has_blocks(kind: &PacketType) -> bool {
        Self::has(kind) || Changes::has(kind)
    }

    /// Returns the name of the block that a packet puts at absolute coordinates; `None` if it puts none
    /// there. Asked again about the same packet, it does not read the packet again.
    #[must_use]
    pub fn block_in(packet: &Packet, x: i32, y: i32, z: i32) -> Option<String> {
        thread_local! {
            static LAST: RefCell<Option<Lookup>> = const { RefCell::new(None) };
        }
        let kind = packet.kind().filter(|kind| Self::has_blocks(kind))?;
        let body = packet.body().ok()?;
        LAST.with_borrow_mut(|last| {
            if last.as_ref().is_none_or(|last| !last.is_of(packet, kind, &body)) {
                *last = Some(Lookup::new(packet, kind, body));
            }
            last.as_ref()?.block(x, y, z)
        })
    }
}

impl Lookup {
    fn new(packet: &Packet, kind: &PacketType, body: Bytes) -> Self {
        #[cfg(test)]
        reads::READS.set(reads::READS.get() + 1);
        let blocks = match Contents::has(kind) {
            true => Contents::read(packet).and_then(Result::ok).map(Found::Chunks),
            false => Changes::read(packet).and_then(Result::ok).map(Found::Changes),
        };
        let context = packet.context();
        let (protocol, sent) = (Arc::clone(&context.protocol), Arc::clone(&context.registries));
        Self { body, place: protocol.place(kind), protocol, sent, blocks }
    }

    fn is_of(&self, packet: &Packet, kind: &PacketType, body: &Bytes) -> bool {
        let context = packet.context();
        let same_bytes = self.body.as_ptr() == body.as_ptr() && self.body.len() == body.len();
        Arc::ptr_eq(&self.protocol, &context.protocol)
            && Arc::ptr_eq(&self.sent, &context.registries)
            && self.place == self.protocol.place(kind)
            && (same_bytes || self.body == *body)
    }

    fn block(&self, x: i32, y: i32, z: i32) -> Option<String> {
        match self.blocks.as_ref()? {
            Found::Chunks(contents) => contents.block(x, y, z),
            Found::Changes(changes) => {
                let state = changes.state(x, y, z)?;
                let has_data = self.protocol.release() < Release::V1_13;
                let number = if has_data { state >> 4 } else { state };
                let name = registry(&self.protocol, RegistryKind::Block)?.name(number.into());
                Some(name.map_or_else(|| format!("block {number}"), str::to_owned))
            }
        }
    }
}

/// The number of packets that this thread has read to find blocks.
#[cfg(test)]
pub(super) mod reads {
    use std::cell::Cell;

    thread_local!(pub(in crate::contents) static READS: Cell<usize> = const { Cell::new(0) });
}
