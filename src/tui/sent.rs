use std::sync::Arc;

use crate::store::Store;
use crate::view::{Cursor, SentPackets};
use mitmcraft_protocol::schema::Catalog;

/// The list of packets that people have sent, and the replies to the selected one: the packets of the other
/// direction within a second.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) packets: SentPackets,
    pub(super) cursor: Cursor,
    /// The rows of the replies to the selected packet.
    pub(super) replies: Vec<u64>,
    /// The row of the packet whose replies are listed, and the number of stored packets when they were searched.
    looked: Option<(u64, u64)>,
}

impl Sent {
    pub(super) fn new(store: Arc<Store>, catalog: &Catalog, height: usize) -> Self {
        let packets = SentPackets::new(store, catalog);
        Self { packets, cursor: Cursor::new(height), replies: Vec::new(), looked: None }
    }

    /// Adds the packets that have been stored since. Returns `true` if there is more to do at once.
    pub(super) fn advance(&mut self, ended: bool) -> bool {
        let busy = self.packets.advance(crate::view::SLICE);
        self.cursor.settle(self.packets.list(), ended);
        let snapshot = self.packets.list().snapshot();
        let looked = self.cursor.selected().map(|row| (row, snapshot.end()));
        if looked != self.looked {
            self.looked = looked;
            self.replies =
                looked.map(|(row, _)| SentPackets::replies(snapshot, row)).unwrap_or_default();
        }
        busy
    }

    pub(super) fn set_height(&mut self, height: usize) {
        self.cursor.set_height(self.packets.list(), height);
    }

    pub(super) fn move_by(&mut self, rows: i64) {
        self.cursor.move_by(self.packets.list(), rows);
    }
}
