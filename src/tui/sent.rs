use std::sync::Arc;

use crate::store::Store;
use crate::view::{Cursor, List, SLICE, replies, sent_packets};
use mitmcraft_protocol::schema::Catalog;

/// The list of packets that people have sent, and the replies to the selected one: the packets of the other
/// direction within a second.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) list: List,
    pub(super) cursor: Cursor,
    /// The rows of the replies to the selected packet.
    pub(super) replies: Vec<u64>,
    /// The row of the packet whose replies are listed, and the number of stored packets when they were searched.
    looked: Option<(u64, u64)>,
}

impl Sent {
    pub(super) fn new(store: Arc<Store>, catalog: &Catalog, height: usize) -> Self {
        let (list, cursor) = (sent_packets(store, catalog), Cursor::new(height));
        Self { list, cursor, replies: Vec::new(), looked: None }
    }

    /// Adds the packets that have been stored since. Returns `true` if there is more to do at once.
    pub(super) fn advance(&mut self, ended: bool) -> bool {
        let busy = self.list.advance(SLICE);
        self.cursor.settle(&self.list, ended);
        let snapshot = self.list.snapshot();
        let looked = self.cursor.selected().map(|row| (row, snapshot.end()));
        if looked != self.looked {
            self.looked = looked;
            self.replies = looked.map(|(row, _)| replies(snapshot, row)).unwrap_or_default();
        }
        busy
    }
}
