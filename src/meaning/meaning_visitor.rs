use super::FieldTracker;
use crate::packet::Packet;
use crate::schema::{Flow, Leaf, Name, PacketType, Protocol, Visitor};

/// A [`Visitor`] that collects what the values of a packet mean, with the path of each:
/// `items[3].itemId`, `diamond_sword`.
#[derive(Debug)]
pub struct MeaningVisitor {
    tracker: FieldTracker,
    found: Vec<(String, String)>,
}

impl MeaningVisitor {
    /// Creates a visitor for a packet of that type.
    #[must_use]
    pub fn new(protocol: &Protocol, packet: &PacketType) -> Self {
        Self { tracker: FieldTracker::of(protocol, packet), found: Vec::new() }
    }

    /// Returns the paths and meanings found so far, in the order of the fields.
    #[must_use]
    pub fn finish(self) -> Vec<(String, String)> {
        self.found
    }
}

/// Returns what the values of a packet mean, up to the first field that does not decode, with the path
/// of each.
#[must_use]
pub fn meanings(packet: &Packet) -> Vec<(String, String)> {
    let Some(kind) = packet.kind() else { return Vec::new() };
    let mut visitor = MeaningVisitor::new(&packet.context.protocol, kind);
    // An error leaves what was found before it.
    let _ = packet.walk(&mut visitor);
    visitor.finish()
}

impl Visitor for MeaningVisitor {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.found.extend(self.tracker.text(leaf));
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.tracker.open_map();
        Flow::Continue(())
    }

    fn close_map(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.tracker.open_list();
        Flow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        Flow::Continue(())
    }
}
