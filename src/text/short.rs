use std::fmt::Write as _;
use std::ops::Range;

use super::scalar::write_scalar;
use crate::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// Writes fields on one line as it sees them: `x=-9 text="hi" items=[3 items] at=1,64,-7`.
pub(crate) struct ShortFields<'o> {
    out: &'o mut String,
    /// The field whose value comes next.
    name: Option<Name>,
    /// The containers that are open, the packet itself first.
    maps: Vec<OpenMap>,
    /// The lists that are open; what is in them is not shown.
    lists: usize,
    /// Elements of the outermost of them so far, when it does not say how many it has.
    counted: Option<usize>,
}

/// An open container.
struct OpenMap {
    /// Where its text begins.
    start: usize,
    /// Where the values of `x`, `y` and `z` are.
    axes: [Range<usize>; 3],
    /// Whether it has anything else.
    other: bool,
}

impl<'o> ShortFields<'o> {
    pub(crate) fn new(out: &'o mut String) -> Self {
        Self { out, name: None, maps: Vec::new(), lists: 0, counted: None }
    }

    /// Closes what an error left open.
    pub(crate) fn finish(mut self) {
        if let Some(count) = self.counted.take() {
            let _ = write!(self.out, "[{count} items ..]");
        }
        for _ in 1..self.maps.len() {
            self.out.push_str(" ..}");
        }
    }

    /// Writes what stands before a value: a space, and its name.
    fn begin(&mut self) {
        if !self.out.ends_with(['{', ' ']) {
            self.out.push(' ');
        }
        if let Some(name) = &self.name {
            let _ = write!(self.out, "{}=", super::Escaped(name));
        }
    }

    /// Takes note of a value within the innermost container.
    fn note(&mut self, value: Range<usize>, number: bool) {
        let Some(map) = self.maps.last_mut() else { return };
        let axis = match self.name.take().as_deref() {
            Some("x") if number => 0,
            Some("y") if number => 1,
            Some("z") if number => 2,
            _ => {
                map.other = true;
                return;
            }
        };
        map.axes[axis] = value;
    }

    /// An element of the outermost open list has come.
    fn count(&mut self) {
        if self.lists == 1
            && let Some(count) = &mut self.counted
        {
            *count += 1;
        }
    }
}

impl Visitor for ShortFields<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if self.lists > 0 {
            self.count();
            return Flow::Continue(());
        }
        if matches!(leaf.value, Scalar::Absent) {
            self.name = None;
            return Flow::Continue(());
        }
        self.begin();
        let start = self.out.len();
        let (name, width) = (self.name.as_ref(), leaf.wire.len());
        write_scalar(self.out, &leaf.value, name, width, TEXT, false);
        let number = matches!(leaf.value, Scalar::Int(_) | Scalar::Float32(_) | Scalar::Float64(_));
        self.note(start..self.out.len(), number);
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        if self.lists == 0 {
            self.name = Some(Name::clone(name));
        }
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        if self.lists > 0 {
            self.count();
            // Its parts are none of the list's elements.
            self.lists += 1;
            return Flow::Continue(());
        }
        if !self.maps.is_empty() {
            self.begin();
            self.note(0..0, false);
        }
        let start = self.out.len();
        if !self.maps.is_empty() {
            self.out.push('{');
        }
        self.maps.push(OpenMap { start, axes: [0..0, 0..0, 0..0], other: false });
        Flow::Continue(())
    }

    fn close_map(&mut self, _at: usize) -> Flow {
        if self.lists > 0 {
            self.lists -= 1;
            return Flow::Continue(());
        }
        let Some(map) = self.maps.pop() else { return Flow::Continue(()) };
        if self.maps.is_empty() {
            return Flow::Continue(());
        }
        if !map.other && map.axes.iter().all(|value| !value.is_empty()) {
            let position = map.axes.map(|value| self.out[value].to_owned()).join(",");
            self.out.truncate(map.start);
            self.out.push_str(&position);
            return Flow::Continue(());
        }
        let shown = &self.out[map.start..];
        if let Some((end, _)) = shown.char_indices().nth(NESTED) {
            self.out.truncate(map.start + end);
            self.out.push('…');
        }
        self.out.push('}');
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        if self.lists > 0 {
            self.count();
            self.lists += 1;
            return Flow::Continue(());
        }
        self.begin();
        self.note(0..0, false);
        self.lists = 1;
        match count {
            Some(count) => self.out.push_str(&items(count)),
            None => self.counted = Some(0),
        }
        Flow::Continue(())
    }

    fn close_list(&mut self, _at: usize) -> Flow {
        self.lists -= 1;
        if self.lists == 0
            && let Some(count) = self.counted.take()
        {
            self.out.push_str(&items(count));
        }
        Flow::Continue(())
    }
}

fn items(count: usize) -> String {
    if count == 1 { "[1 item]".to_owned() } else { format!("[{count} items]") }
}

/// Characters of a text.
const TEXT: usize = 60;

/// Characters of a container within a packet.
const NESTED: usize = 60;
