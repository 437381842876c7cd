use std::fmt::Write as _;
use std::ops::Range;

use super::component::Components;
use super::contents::contents_lines;
use super::escape::Escaped;
use super::inside::{inflated, nbt_spans, write_nbt, write_nbt_summary};
use super::numbers::Numbers;
use super::paint::Paint;
use super::plural;
use super::scalar::{ByteSize, write_bytes, write_scalar};
use mitmcraft_protocol::meaning::{About, FieldTracker};
use mitmcraft_protocol::packet::{Packet, StyledText};
use mitmcraft_protocol::schema::{Flow, Leaf, Name, Scalar, Span, SpanVisitor, Visitor};

/// A field of a packet, for a list of all its fields.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FieldLine {
    /// The number of containers and lists around it.
    pub depth: usize,
    /// Its name, or its index in brackets.
    pub name: String,
    /// Its path: `items[3].itemCount`. Empty for tags of NBT, which stand below their field.
    pub path: String,
    /// Its value as text; empty for a container.
    pub value: String,
    /// The meaning of the value, in words.
    pub meaning: Option<String>,
    /// The text that a player reads, if it is a text component.
    pub component: Option<StyledText>,
    /// Its range in the body.
    pub bytes: Range<usize>,
}

/// A [`Visitor`] that makes a [`FieldLine`] of every field of a packet, of at most [`MAX`](Self::MAX)
/// of them.
#[derive(Debug)]
pub struct FieldLines {
    components: Components,
    tracker: FieldTracker,
    spans: SpanVisitor,
    lines: Vec<FieldLine>,
    /// The name of the field whose value comes next.
    name: Option<Name>,
    /// The open containers and lists, the packet itself first; for a list, the index of its next element.
    open: Vec<Option<usize>>,
    /// The place of each line's span.
    places: Vec<usize>,
    /// The number of spans so far.
    visited: usize,
    /// The elements in the last line, if it has numbers of the innermost list.
    numbers: usize,
}

impl FieldLines {
    /// Most lines of a packet.
    pub const MAX: usize = 20_000;

    /// Creates a visitor of the fields of `packet`.
    #[must_use]
    pub fn new(packet: &Packet) -> Self {
        Self {
            components: Components::of(packet),
            tracker: FieldTracker::new(packet),
            spans: SpanVisitor::default(),
            lines: Vec::new(),
            name: None,
            open: Vec::new(),
            places: Vec::new(),
            visited: 0,
            numbers: 0,
        }
    }

    /// Adds what earlier packets say about the packet, if it is known.
    #[must_use]
    pub fn about(self, about: Option<About>) -> Self {
        Self { tracker: self.tracker.about(about), ..self }
    }

    /// Returns the lines, and behind them those about the chunks that the packet contains.
    #[must_use]
    pub fn with_contents(self, packet: &Packet) -> Vec<FieldLine> {
        let mut lines = self.finish();
        for text in contents_lines(packet, true) {
            let value = text.trim_start_matches(' ');
            lines.push(FieldLine {
                depth: (text.len() - value.len()) / 4,
                value: value.to_owned(),
                ..FieldLine::default()
            });
        }
        lines
    }

    /// Returns the lines.
    #[must_use]
    pub fn finish(self) -> Vec<FieldLine> {
        let spans = self.spans.finish();
        let mut lines = self.lines;
        for (line, place) in lines.iter_mut().zip(self.places) {
            let Some(Span { path, bytes, .. }) = spans.get(place).cloned() else { continue };
            if line.bytes.is_empty() {
                line.bytes = bytes;
            }
            if line.path.is_empty() {
                line.path = path;
            } else {
                line.path.clear();
            }
        }
        lines
    }

    /// Begins a line, and returns `false` if there are enough already.
    fn begin(&mut self) -> bool {
        let name = match (self.open.last_mut(), self.name.take()) {
            (Some(Some(index)), _) => {
                *index += 1;
                format!("[{}]", *index - 1)
            }
            (_, Some(name)) => Escaped(name).to_string(),
            (_, None) => String::new(),
        };
        self.visited += 1;
        self.numbers = 0;
        if self.lines.len() >= Self::MAX {
            return false;
        }
        let depth = self.open.len().saturating_sub(1);
        self.add(depth, name, false);
        true
    }

    /// Adds a line at the span visited last.
    fn add(&mut self, depth: usize, name: String, within: bool) {
        self.places.push(self.visited - 1);
        // Replaced at the end.
        let path = if within { ".".to_owned() } else { String::new() };
        self.lines.push(FieldLine { depth, name, path, ..FieldLine::default() });
    }

    /// Adds a number of a list to the line of those before it. Returns `false` if there is none, or it is
    /// full.
    fn add_number(&mut self, leaf: &Leaf<'_>) -> bool {
        let (Some(Some(index)), Some(line)) = (self.open.last_mut(), self.lines.last_mut()) else {
            return false;
        };
        if !(1..PER_LINE).contains(&self.numbers) || !Numbers::takes(&leaf.value) {
            return false;
        }
        let first = *index - self.numbers;
        line.name = format!("[{first}..{index}]");
        line.value.push(' ');
        let width = leaf.wire.len();
        write_scalar(&mut line.value, &leaf.value, None, None, width, usize::MAX, true);
        line.bytes.end = leaf.span().end;
        *index += 1;
        self.numbers += 1;
        self.visited += 1;
        true
    }

    fn set(&mut self, value: String) {
        if let Some(line) = self.lines.last_mut() {
            line.value = value;
        }
    }

    /// Adds the tags of NBT below its field.
    fn add_nbt(&mut self, leaf: &Leaf<'_>, nbt: &mitmcraft_protocol::wire::Nbt) {
        let mut summary = String::new();
        write_nbt_summary(&mut summary, &leaf.value, nbt, leaf.wire.len());
        self.set(summary);
        let mut tags = String::new();
        write_nbt(&mut tags, nbt, 0, Paint(false), &self.tracker);
        let start = leaf.span().start;
        // Compressed tags have no places of their own.
        let spans = match leaf.value {
            Scalar::CompressedNbt(_) => Vec::new(),
            _ => nbt_spans(nbt),
        };
        let mut spans = spans.into_iter();
        for tag in tags.lines().take(Self::MAX.saturating_sub(self.lines.len())) {
            let text = tag.trim_start_matches(' ');
            let depth = self.open.len() + (tag.len() - text.len()) / 4;
            let (name, value) =
                text.split_once(": ").unwrap_or_else(|| (text.trim_end_matches(':'), ""));
            self.add(depth, name.to_owned(), true);
            self.set(value.to_owned());
            if let (Some(line), Some(span)) = (self.lines.last_mut(), spans.next()) {
                line.bytes = start + span.start..start + span.end;
            }
        }
    }
}

impl Visitor for FieldLines {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let _ = self.spans.leaf(leaf);
        let meaning = self.tracker.leaf(leaf);
        if meaning.is_none() && self.add_number(leaf) {
            return Flow::Continue(());
        }
        let name = self.name.clone();
        if !self.begin() {
            return Flow::Continue(());
        }
        if let Some(line) = self.lines.last_mut() {
            line.bytes = leaf.span();
            let text = self.tracker.words(meaning, &leaf.value);
            line.meaning = text.map(|text| Escaped(text).to_string());
        }
        let element = matches!(self.open.last(), Some(Some(_)));
        self.numbers = usize::from(element && meaning.is_none() && Numbers::takes(&leaf.value));
        if let Some(component) = self.components.read(&leaf.value, name.as_ref())
            && let Some(line) = self.lines.last_mut()
        {
            line.component = Some(component.text);
        }
        if let Some(nbt) = leaf.value.nbt() {
            self.add_nbt(leaf, &nbt);
            return Flow::Continue(());
        }
        let mut value = String::new();
        let width = leaf.wire.len();
        write_scalar(&mut value, &leaf.value, meaning, name.as_ref(), width, usize::MAX, true);
        if let Scalar::Bytes(bytes) = leaf.value {
            write_bytes(&mut value, bytes);
        }
        if let Some(inflated) = inflated(&leaf.value, name.as_ref()) {
            let _ = write!(value, ", inflated {}", ByteSize(inflated.len() as u64));
        }
        self.set(value);
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.tracker.field(name);
        self.name = Some(Name::clone(name));
        self.spans.field(name)
    }

    fn open_map(&mut self, at: usize) -> Flow {
        self.tracker.open_map();
        let _ = self.spans.open_map(at);
        if self.open.is_empty() {
            // The packet itself has no line.
            self.visited += 1;
        } else {
            self.begin();
        }
        self.open.push(None);
        Flow::Continue(())
    }

    fn open_list(&mut self, at: usize, count: Option<usize>) -> Flow {
        self.tracker.open_list();
        let _ = self.spans.open_list(at, count);
        if self.begin()
            && let Some(count) = count
        {
            self.set(plural::count(count as u64, "item"));
        }
        self.open.push(Some(0));
        Flow::Continue(())
    }

    fn close(&mut self, at: usize) -> Flow {
        self.tracker.close();
        self.numbers = 0;
        self.open.pop();
        self.name = None;
        self.spans.close(at)
    }
}

/// Numbers of a list that share a line.
const PER_LINE: usize = 16;
