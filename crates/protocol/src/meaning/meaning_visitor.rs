use super::{About, FieldTracker};
use crate::packet::Packet;
use crate::schema::{Flow, Leaf, Name, Visitor};

/// A [`Visitor`] that calls a function with each value of a packet, and the tracker that knows its
/// meaning.
pub(super) struct MeaningVisitor<'a> {
    pub(super) tracker: FieldTracker,
    pub(super) act: &'a mut dyn FnMut(&mut FieldTracker, &Leaf<'_>),
}

/// Returns what the values of a packet mean, up to the first field that does not decode, with the path
/// of each: `items[3].itemId`, `diamond_sword`. `about` is what earlier packets say, if it is known.
#[must_use]
pub fn meanings(packet: &Packet, about: Option<About>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let tracker = FieldTracker::new(packet).about(about);
    let act = &mut |tracker: &mut FieldTracker, leaf: &Leaf<'_>| found.extend(tracker.text(leaf));
    // An error leaves what was found before it.
    let _ = packet.walk(&mut MeaningVisitor { tracker, act });
    found
}

/// Calls `act` with each value of a packet, up to the first field that does not decode, and a tracker
/// that `act` asks for its meaning, once per value.
pub fn each_value(packet: &Packet, act: &mut dyn FnMut(&mut FieldTracker, &Leaf<'_>)) {
    // An error leaves what was found before it.
    let _ = packet.walk(&mut MeaningVisitor { tracker: FieldTracker::new(packet), act });
}

impl Visitor for MeaningVisitor<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        (self.act)(&mut self.tracker, leaf);
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

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.tracker.open_list();
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        Flow::Continue(())
    }
}
