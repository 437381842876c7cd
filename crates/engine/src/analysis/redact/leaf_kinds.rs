use mitmcraft_protocol::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// The kinds of a packet's leaves, in order. A decoded value alone does not distinguish text from the
/// name of a mapped number.
#[derive(Debug, Default)]
pub(super) struct LeafKinds {
    pub(super) kinds: Vec<LeafKind>,
    /// The open containers, the innermost last: for a map, whether a field's name has been visited.
    open: Vec<Option<bool>>,
}

/// The kinds of leaves, by how they are redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    Text,
    Uuid,
    Bytes,
    Nbt,
    /// Numbers and their names, which are kept.
    Harmless,
}

impl LeafKinds {
    /// Returns `true` if no leaf has to be replaced.
    pub(super) fn harmless(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == LeafKind::Harmless)
    }

    /// Returns `true` if decoding keeps the next value: it keeps one per field.
    fn takes(&mut self) -> bool {
        match self.open.last_mut() {
            Some(Some(named)) => std::mem::take(named),
            Some(None) | None => true,
        }
    }
}

impl Visitor for LeafKinds {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if self.takes() {
            self.kinds.push(match leaf.value {
                Scalar::Text(..) => LeafKind::Text,
                Scalar::Uuid(_) => LeafKind::Uuid,
                Scalar::Bytes(_) => LeafKind::Bytes,
                Scalar::Nbt { .. } | Scalar::CompressedNbt(_) => LeafKind::Nbt,
                _ => LeafKind::Harmless,
            });
        }
        Flow::Continue(())
    }

    fn field(&mut self, _name: &Name) -> Flow {
        if let Some(Some(named)) = self.open.last_mut() {
            *named = true;
        }
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.takes();
        self.open.push(Some(false));
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.takes();
        self.open.push(None);
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.open.pop();
        Flow::Continue(())
    }
}
