use crate::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// What the leaves of a packet's value are, in order: a value alone does not tell text from the
/// name of a mapped number.
#[derive(Debug, Default)]
pub(super) struct LeafKinds {
    pub(super) kinds: Vec<LeafKind>,
    /// What is open, innermost last: for a map, whether a field's name has come.
    open: Vec<Option<bool>>,
}

/// What may have to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    Text,
    Uuid,
    Bytes,
    Nbt,
    /// Numbers and names of them.
    Harmless,
}

impl LeafKinds {
    /// Whether nothing has to be replaced.
    pub(super) fn harmless(&self) -> bool {
        self.kinds.iter().all(|kind| *kind == LeafKind::Harmless)
    }

    /// Whether a value that comes now is kept: decoding takes one a field.
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

    fn close_map(&mut self, _at: usize) -> Flow {
        self.open.pop();
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.takes();
        self.open.push(None);
        Flow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.open.pop();
        Flow::Continue(())
    }
}
