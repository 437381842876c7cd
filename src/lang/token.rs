use std::ops::Range;

/// A place in the text, in bytes.
pub(super) type Span = Range<usize>;

/// The smallest part of an expression that means something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// A name with `*` or `?` in it.
    Glob(&'t str),
    Int(u64),
    Float(f64),
    Text(Quoted),
    Bytes(Vec<u8>),
    /// Everything else, as it is written.
    Symbol(&'static str),
    End,
}

/// Text that stood in quotes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quoted {
    pub(super) value: String,
    /// The first backslash that begins no escape, with what follows it; both are in `value`.
    pub(super) unknown: Option<Span>,
    /// Places of `value` from which on the places of the source are these.
    pub(super) anchors: Vec<(usize, usize)>,
}

impl Quoted {
    /// Where in the source a place of the value is.
    pub(super) fn source(&self, place: usize) -> usize {
        let before = self.anchors.iter().rev().find(|(value, _)| *value <= place);
        before.map_or(place, |(value, source)| source + place - value)
    }
}
