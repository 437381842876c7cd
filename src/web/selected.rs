use crate::store::{Matches, Selection, Snapshot};

/// Packets that are looked for, and how far.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) matches: Matches,
    /// `true` if all packets of the snapshot were looked at.
    pub(super) done: bool,
}

impl Selected {
    pub(super) fn new(selection: Selection, snapshot: Snapshot) -> Self {
        let mut selected = Self { matches: Matches::new(selection, snapshot), done: false };
        // The newest packets are there at once.
        selected.advance();
        selected
    }

    /// Goes on in a later snapshot.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        self.matches.update(snapshot.clone());
        self.done = false;
    }

    /// Looks at some more packets.
    pub(super) fn advance(&mut self) {
        if !self.done {
            self.done = self.matches.advance(SLICE);
        }
    }
}

/// Packets looked at before anything else gets its turn: some hundredths of a second.
const SLICE: usize = 1 << 16;
