use std::ops::Range;

use super::{Flow, Leaf, Name, Visitor};

/// The location of a field in a packet body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// Path of the field, for example `items[3].itemCount`.
    pub path: String,
    /// Range in the body, including a length prefix.
    pub bytes: Range<usize>,
}

/// A [`Visitor`] that records the span of every leaf, container and list, in the order in which
/// they begin.
#[derive(Debug, Default)]
pub struct SpanVisitor {
    spans: Vec<Span>,
    open: Vec<Open>,
    path: String,
    name: Option<Name>,
}

#[derive(Debug)]
struct Open {
    /// Index in `spans`.
    span: usize,
    /// Length of the path up to the surrounding part.
    outer: usize,
    /// Index of the next element, in a list.
    index: Option<usize>,
}

impl SpanVisitor {
    /// Returns the recorded spans.
    #[must_use]
    pub fn finish(self) -> Vec<Span> {
        self.spans
    }

    /// Appends the name or index of the next part to the path, and returns the path's length
    /// before.
    fn enter(&mut self) -> usize {
        let outer = self.path.len();
        if let Some(index) = self.open.last_mut().and_then(|open| open.index.as_mut()) {
            self.path.push_str(&format!("[{index}]"));
            *index += 1;
        } else if let Some(name) = self.name.take() {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&name);
        }
        outer
    }

    fn open(&mut self, at: usize, index: Option<usize>) -> Flow {
        let outer = self.enter();
        self.open.push(Open { span: self.spans.len(), outer, index });
        self.spans.push(Span { path: self.path.clone(), bytes: at..at });
        Flow::Continue(())
    }
}

impl Visitor for SpanVisitor {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let outer = self.enter();
        self.spans.push(Span { path: self.path.clone(), bytes: leaf.span() });
        self.path.truncate(outer);
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.name = Some(Name::clone(name));
        Flow::Continue(())
    }

    fn open_map(&mut self, at: usize) -> Flow {
        self.open(at, None)
    }

    fn open_list(&mut self, at: usize, _count: Option<usize>) -> Flow {
        self.open(at, Some(0))
    }

    fn close(&mut self, at: usize) -> Flow {
        if let Some(open) = self.open.pop() {
            self.spans[open.span].bytes.end = at;
            self.path.truncate(open.outer);
        }
        Flow::Continue(())
    }
}
