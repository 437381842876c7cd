use std::fmt::Write as _;
use std::iter::repeat_n;

use super::component::Components;
use super::escape::{Escaped, QuotedText};
use super::inside::{inflated, write_nbt, write_nbt_summary};
use super::numbers::Numbers;
use super::paint::{Color, Paint};
use super::plural::count;
use super::scalar::{ByteSize, write_bytes, write_hex_dump, write_scalar};
use mitmcraft_protocol::meaning::{About, FieldTracker};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Flow, Leaf, Name, Scalar, Visitor};

/// Writes each field on a line of its own, with the content of a container or list indented below.
/// Bytes and numbers of a list share lines.
pub(super) struct FieldTree<'o> {
    out: &'o mut String,
    paint: Paint,
    components: Components,
    tracker: FieldTracker,
    /// `true` if the content of compressed fields and NBT, and all numbers of lists, are shown.
    whole: bool,
    name: Option<Name>,
    /// The open containers, the packet itself first; for a list, the index of its next element.
    open: Vec<Option<usize>>,
    /// The numbers of the innermost list, if its elements so far are numbers.
    numbers: Option<Numbers>,
}

impl<'o> FieldTree<'o> {
    /// Creates a visitor of `packet`; `about` is what earlier packets say about it.
    pub(super) fn new(
        out: &'o mut String,
        paint: Paint,
        packet: &Packet,
        about: Option<About>,
        whole: bool,
    ) -> Self {
        let tracker = FieldTracker::new(packet).about(about);
        let components = Components::of(packet);
        let (name, open, numbers) = (None, Vec::new(), None);
        Self { out, paint, components, tracker, whole, name, open, numbers }
    }

    /// Ends the line of numbers that an error left open.
    pub(super) fn finish(mut self) {
        self.end_numbers();
    }

    /// Writes the indentation, and the name or index.
    fn begin(&mut self) {
        self.end_numbers();
        self.out.extend(repeat_n("    ", self.open.len().max(1)));
        match (self.open.last_mut(), self.name.take()) {
            (Some(Some(index)), _) => {
                self.paint.text(self.out, Color::Dim, &format_args!("[{index}]:"));
                *index += 1;
            }
            (_, Some(name)) => {
                self.paint.text(self.out, Color::Dim, &format_args!("{}:", Escaped(name)));
            }
            (_, None) => {}
        }
    }

    /// Writes a number of a list next to those before it. Returns `false` if the leaf is none.
    fn number(&mut self, leaf: &Leaf<'_>) -> bool {
        let depth = self.open.len();
        let Some(Some(index)) = self.open.last_mut() else { return false };
        let follows = *index == 0 || self.numbers.is_some();
        if !follows || !Numbers::takes(&leaf.value) {
            return false;
        }
        *index += 1;
        let whole = self.whole;
        let numbers = self.numbers.get_or_insert_with(|| Numbers::new(depth, whole));
        numbers.write(self.out, &leaf.value);
        true
    }

    fn end_numbers(&mut self) {
        if let Some(numbers) = self.numbers.take() {
            numbers.finish(self.out);
        }
    }
}

impl Visitor for FieldTree<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let meaning = self.tracker.leaf(leaf);
        if meaning.is_none() && self.number(leaf) {
            return Flow::Continue(());
        }
        let name = self.name.clone();
        self.begin();
        self.out.push(' ');
        if let Some(component) = self.components.read(&leaf.value, name.as_ref()) {
            let text = QuotedText(&component.text, usize::MAX, self.paint.0);
            let _ = write!(self.out, "{text}  ");
            if let Some(raw) = leaf.value.text() {
                self.paint.text(self.out, Color::Dim, &Escaped(raw));
                self.out.push('\n');
                return Flow::Continue(());
            }
        }
        let width = leaf.wire.len();
        let compressed = matches!(leaf.value, Scalar::CompressedNbt(_));
        let nbt = if self.whole || compressed { leaf.value.nbt() } else { None };
        if let Some(nbt) = nbt {
            write_nbt_summary(self.out, &leaf.value, &nbt, width);
            if let Some(text) = self.tracker.words(meaning, &leaf.value) {
                let _ = write!(self.out, " ({})", Escaped(text));
            }
            self.out.push('\n');
            if self.whole {
                let depth = self.open.len().max(1) + 1;
                write_nbt(self.out, &nbt, depth, self.paint, &self.tracker);
            }
            return Flow::Continue(());
        }
        if let Scalar::CompressedNbt(bytes) = leaf.value {
            let _ = writeln!(self.out, "[{}, no NBT in gzip]", ByteSize(bytes.len() as u64));
            return Flow::Continue(());
        }
        write_scalar(self.out, &leaf.value, meaning, name.as_ref(), width, usize::MAX, true);
        if let Some(text) = self.tracker.words(meaning, &leaf.value) {
            let _ = write!(self.out, " ({})", Escaped(text));
        }
        if let Scalar::Bytes(bytes) = leaf.value {
            write_bytes(self.out, bytes);
        }
        let inflated = inflated(&leaf.value, name.as_ref());
        if let Some(inflated) = &inflated {
            let _ = write!(self.out, ", inflated {}", ByteSize(inflated.len() as u64));
        }
        self.out.push('\n');
        if let Some(inflated) = inflated.filter(|_| self.whole) {
            write_hex_dump(self.out, &inflated, usize::MAX);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        self.name = Some(Name::clone(name));
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.tracker.open_map();
        if !self.open.is_empty() {
            self.begin();
            self.out.push('\n');
        }
        self.open.push(None);
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, items: Option<usize>) -> Flow {
        self.tracker.open_list();
        self.begin();
        match items {
            Some(items) => {
                let _ = writeln!(self.out, " {}", count(items as u64, "item"));
            }
            None => self.out.push('\n'),
        }
        self.open.push(Some(0));
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.tracker.close();
        self.end_numbers();
        self.open.pop();
        self.name = None;
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, bytes: &[u8]) -> Option<Flow> {
        if self.tracker.explains_elements() {
            return None;
        }
        self.tracker.skip();
        self.begin();
        let _ = write!(self.out, " [{}]", ByteSize(bytes.len() as u64));
        write_bytes(self.out, bytes);
        self.out.push('\n');
        Some(Flow::Continue(()))
    }
}
