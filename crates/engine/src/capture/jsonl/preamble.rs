use std::collections::HashMap;
use std::sync::Arc;

use super::super::{Entry, EventKind};
use super::map::JsonMap;
use mitmcraft_protocol::schema::{Catalog, DescriptionId, Protocol};

/// The lines of a file that are about the file: the first one names what wrote it, and before the
/// first entry with a description that is not built in there is a line that contains it.
#[derive(Debug, Default)]
pub(in crate::capture) struct Preamble {
    begun: bool,
    /// The descriptions in the file, under the names that they had last.
    written: HashMap<DescriptionId, Arc<Protocol>>,
}

impl Preamble {
    /// Creates the preamble of a file that names its writer elsewhere.
    pub(in crate::capture) fn without_first_line() -> Self {
        Self { begun: true, ..Self::default() }
    }

    /// Calls `put` for each line, without line feed, that has to precede `entry`.
    pub(in crate::capture) fn before(&mut self, entry: &Entry, mut put: impl FnMut(&[u8])) {
        if !self.begun {
            self.begun = true;
            put(&first_line());
        }
        // Only packets and states name their description.
        if let Entry::Event(event) = entry
            && let EventKind::Open | EventKind::Close(_) = event.kind
        {
            return;
        }
        let protocol = &entry.context().protocol;
        let Some(description) = protocol.description() else { return };
        let same = |it: &Arc<Protocol>| {
            Arc::ptr_eq(it, protocol)
                || it.version() == protocol.version() && it.name() == protocol.name()
        };
        if !self.written.get(&description.id()).is_some_and(same) {
            self.written.insert(description.id(), Arc::clone(protocol));
            put(&table_line(protocol, description.packed()));
        }
    }
}

/// Returns the line that names what wrote a file, without line feed.
pub(in crate::capture) fn first_line() -> Vec<u8> {
    let mut line = Vec::new();
    let mut map = JsonMap::open(&mut line);
    map.int("v", FORMAT_VERSION);
    map.word("event", CAPTURE);
    map.word("program", concat!("mitmcraft ", env!("CARGO_PKG_VERSION")));
    map.plain("tables", Catalog::built_in_id());
    map.close();
    line
}

fn table_line(protocol: &Protocol, packed: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    let mut map = JsonMap::open(&mut line);
    map.int("v", FORMAT_VERSION);
    map.word("event", TABLE);
    if let Some(description) = protocol.description() {
        map.plain("table", description.id());
    }
    map.int("protocol", protocol.version().into());
    map.text("version", protocol.name());
    map.bytes("description", packed);
    map.close();
    line
}

/// The event that a file begins with.
pub(super) const CAPTURE: &str = "capture";

/// The event that contains a description.
pub(super) const TABLE: &str = "table";

/// The version of the format: the key `v` of every line, and in a pcapng file's section header.
pub(in crate::capture) const FORMAT_VERSION: i64 = 2;
