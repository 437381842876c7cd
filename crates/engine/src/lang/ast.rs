use std::fmt::{self, Display, Formatter};

use super::lexer::Span;
use mitmcraft_protocol::packet::{FieldPath, PathStep};
use mitmcraft_protocol::schema::{Kind, Kinds};
use mitmcraft_protocol::wire::{is_unseen, named, to_hex};

/// A node of the syntax tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) location: Location,
    /// The height of the tree from here on, this node included. What was parsed has at most [`MAX_DEPTH`].
    pub(super) depth: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeKind {
    Literal(Literal),
    Path(Path),
    Exists(Path),
    Call(Function, Box<Node>),
    /// `replace(value, "regex", "text")`
    Replace(Box<Node>, Pattern, With),
    /// `slice(value, from)` or `slice(value, from, to)`
    Slice(Box<Node>, Vec<Node>),
    Negate(Box<Node>),
    Not(Box<Node>),
    /// Two or more nodes joined by `and`.
    All(Vec<Node>),
    /// Two or more nodes joined by `or`.
    Any(Vec<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Item>),
    Contains(Box<Node>, Box<Node>),
    Matches(Box<Node>, Pattern),
    /// A field whose value has a name.
    Is(Path, Thing),
    /// The distance between two points, of three coordinates each.
    Distance(Vec<Node>),
    /// The block at three coordinates.
    Block(Vec<Node>),
}

/// The name of what a number stands for, after `is`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thing {
    pub(super) name: String,
    pub(super) location: Location,
}

/// A value that is written in an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer above [`i64::MAX`].
    Unsigned(u64),
    /// A finite number.
    Float(f64),
    /// A text in quotes.
    Text(String),
    /// One or more bytes.
    Bytes(Vec<u8>),
}

/// An item of the set in `in {..}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) low: Literal,
    /// The inclusive end of a range.
    pub(super) high: Option<Literal>,
    pub(super) location: Location,
}

impl Item {
    /// Creates an item that is a text.
    pub(super) fn of(text: &str, span: &Span) -> Self {
        Self { low: Literal::Text(text.into()), high: None, location: Location(span.clone()) }
    }
}

/// A regular expression, not yet compiled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// The location with the quotes.
    pub(super) location: Location,
    pub(super) anchors: Anchors,
}

/// A name in an expression, with the names and indexes that follow it: `chat.message`, `items[3].itemCount`,
/// `pkt.size`.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// One or more parts, the first of them a name or a glob.
    pub(super) parts: Vec<PathPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathPart {
    pub(super) step: PathStep,
    pub(super) location: Location,
}

/// The text that takes the place of what a regular expression finds, with `$1`, `$name` and `$$`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct With {
    pub(super) text: String,
    pub(super) location: Location,
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Function {
        Len => "len",
        Lower => "lower",
        Upper => "upper",
        Abs => "abs",
        Text => "text",
        Hex => "hex",
    }
    pub(super) const ALL;
    pub(super) fn name;
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Comparison {
        Equal => "==",
        Unequal => "!=",
        Less => "<",
        LessOrEqual => "<=",
        Greater => ">",
        GreaterOrEqual => ">=",
    }
    pub(super) const ALL;
    pub(super) fn symbol;
}

named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Arithmetic {
        Add => "+",
        Subtract => "-",
        Multiply => "*",
        Divide => "/",
        Remainder => "%",
    }
    pub(super) const ALL;
    pub(super) fn symbol;
}

/// A location in the source. All locations are equal, so that trees compare by structure.
#[derive(Debug, Clone, Default)]
pub(super) struct Location(pub(super) Span);

impl PartialEq for Location {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// [`Quoted::anchors`](super::lexer::Quoted::anchors). All anchors are equal, so that trees compare
/// by structure.
#[derive(Debug, Clone, Default)]
pub(super) struct Anchors(pub(super) Vec<(usize, usize)>);

impl PartialEq for Anchors {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Node {
    /// Creates a node, which may be higher than [`MAX_DEPTH`].
    pub(super) fn new(kind: NodeKind, span: Span) -> Self {
        let highest = |nodes: &[Self]| nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        let inside = match &kind {
            NodeKind::Literal(_) | NodeKind::Path(_) | NodeKind::Exists(_) | NodeKind::Is(..) => 0,
            NodeKind::Call(_, node)
            | NodeKind::Replace(node, ..)
            | NodeKind::Negate(node)
            | NodeKind::Not(node)
            | NodeKind::In(node, _)
            | NodeKind::Matches(node, _) => node.depth,
            NodeKind::Slice(text, places) => text.depth.max(highest(places)),
            NodeKind::All(nodes)
            | NodeKind::Any(nodes)
            | NodeKind::Block(nodes)
            | NodeKind::Distance(nodes) => highest(nodes),
            NodeKind::Compare(_, left, right)
            | NodeKind::Arithmetic(_, left, right)
            | NodeKind::Contains(left, right) => left.depth.max(right.depth),
        };
        Self { kind, location: Location(span), depth: inside + 1 }
    }
}

impl Path {
    pub(super) fn span(&self) -> Span {
        let start = self.parts.first().map_or(0, |part| part.location.0.start);
        start..self.parts.last().map_or(start, |part| part.location.0.end)
    }

    /// Returns the name if the path is only a name.
    pub(super) fn word(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [PathPart { step: PathStep::Name(name), .. }] if !self.is_glob() => Some(name),
            _ => None,
        }
    }

    /// Returns whether the path begins with a glob of packet names.
    pub(super) fn is_glob(&self) -> bool {
        let first = self.parts.first().map(|part| &part.step);
        matches!(first, Some(PathStep::Name(name)) if name.contains(['*', '?']))
    }

    /// Returns the path from a part on.
    pub(super) fn steps_from(&self, part: usize) -> FieldPath {
        self.parts[part..].iter().map(|part| part.step.clone()).collect()
    }
}

impl Comparison {
    /// Returns whether the comparison needs an order, not only equality.
    pub(super) fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }
}

impl Arithmetic {
    pub(super) fn power(self) -> Power {
        match self {
            Self::Add | Self::Subtract => Power::Sum,
            Self::Multiply | Self::Divide | Self::Remainder => Power::Product,
        }
    }
}

/// The binding power of operators, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Power {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Unary,
    Operand,
}

impl Literal {
    pub(super) fn kinds(&self) -> Kinds {
        Kinds::from(match self {
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Unsigned(_) => Kind::Int,
            Self::Float(_) => Kind::Float,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
        })
    }
}

/// Writes an expression such that parsing it gives the same tree.
impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NodeKind::Literal(literal) => literal.fmt(f),
            NodeKind::Path(path) => path.fmt(f),
            NodeKind::Exists(path) => write!(f, "{path}.exists"),
            NodeKind::Call(function, argument) => write!(f, "{}({argument})", function.name()),
            NodeKind::Replace(text, pattern, with) => {
                write!(f, "replace({text}, ")?;
                quote(f, &pattern.text)?;
                f.write_str(", ")?;
                quote(f, &with.text)?;
                f.write_str(")")
            }
            NodeKind::Negate(operand) => write!(f, "-{}", Inside(operand, Power::Unary)),
            NodeKind::Not(operand) => write!(f, "not {}", Inside(operand, Power::Not)),
            NodeKind::All(nodes) => join(f, nodes, " and ", Power::Not),
            NodeKind::Any(nodes) => join(f, nodes, " or ", Power::And),
            NodeKind::Compare(comparison, left, right) => {
                let (left, right) = (Inside(left, Power::Sum), Inside(right, Power::Sum));
                write!(f, "{left} {} {right}", comparison.symbol())
            }
            NodeKind::Arithmetic(arithmetic, left, right) => {
                let (least, more) = match arithmetic.power() {
                    Power::Sum => (Power::Sum, Power::Product),
                    _ => (Power::Product, Power::Unary),
                };
                let (left, right) = (Inside(left, least), Inside(right, more));
                write!(f, "{left} {} {right}", arithmetic.symbol())
            }
            NodeKind::In(left, items) => {
                write!(f, "{} in {{", Inside(left, Power::Sum))?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { ", " })?;
                    item.fmt(f)?;
                }
                f.write_str("}")
            }
            NodeKind::Contains(left, right) => {
                write!(f, "{} contains {}", Inside(left, Power::Sum), Inside(right, Power::Sum))
            }
            NodeKind::Matches(left, pattern) => {
                write!(f, "{} matches ", Inside(left, Power::Sum))?;
                quote(f, &pattern.text)
            }
            NodeKind::Is(path, thing) => {
                write!(f, "{path} is ")?;
                let plain = thing.name.split('.').all(is_plain);
                if plain { f.write_str(&thing.name) } else { quote(f, &thing.name) }
            }
            NodeKind::Slice(text, places) => {
                write!(f, "slice({text}, ")?;
                join(f, places, ", ", Power::Or)?;
                f.write_str(")")
            }
            NodeKind::Block(coordinates) | NodeKind::Distance(coordinates) => {
                let is_block = matches!(self.kind, NodeKind::Block(_));
                f.write_str(if is_block { "block(" } else { "distance(" })?;
                join(f, coordinates, ", ", Power::Or)?;
                f.write_str(")")
            }
        }
    }
}

/// An expression in parentheses if its operator binds more loosely than the given power.
struct Inside<'n>(&'n Node, Power);

impl Display for Inside<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(node, least) = self;
        if power(node) < *least { write!(f, "({node})") } else { node.fmt(f) }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, PathPart { step, .. }) in self.parts.iter().enumerate() {
            match step {
                PathStep::Name(name) => {
                    f.write_str(if index == 0 { "" } else { "." })?;
                    if index == 0 || is_plain(name) { f.write_str(name)? } else { quote(f, name)? }
                }
                PathStep::Index(number) => write!(f, "[{number}]")?,
                PathStep::Each => f.write_str("[*]")?,
                PathStep::Append => f.write_str("[+]")?,
            }
        }
        Ok(())
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(bool) => bool.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Unsigned(int) => int.fmt(f),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Text(text) => quote(f, text),
            Self::Bytes(bytes) => {
                f.write_str(if bytes.len() == 1 { ":" } else { "" })?;
                f.write_str(&to_hex(bytes, ":"))
            }
        }
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.low.fmt(f)?;
        self.high.as_ref().map_or(Ok(()), |high| write!(f, "..{high}"))
    }
}

fn join(f: &mut Formatter<'_>, nodes: &[Node], between: &str, least: Power) -> fmt::Result {
    for (index, node) in nodes.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { between })?;
        Inside(node, least).fmt(f)?;
    }
    Ok(())
}

fn power(node: &Node) -> Power {
    match &node.kind {
        NodeKind::Any(_) => Power::Or,
        NodeKind::All(_) => Power::And,
        NodeKind::Not(_) => Power::Not,
        NodeKind::Compare(..)
        | NodeKind::In(..)
        | NodeKind::Contains(..)
        | NodeKind::Is(..)
        | NodeKind::Matches(..) => Power::Comparison,
        NodeKind::Arithmetic(arithmetic, ..) => arithmetic.power(),
        NodeKind::Negate(_) => Power::Unary,
        NodeKind::Literal(_)
        | NodeKind::Path(_)
        | NodeKind::Exists(_)
        | NodeKind::Call(..)
        | NodeKind::Replace(..)
        | NodeKind::Slice(..)
        | NodeKind::Block(_)
        | NodeKind::Distance(_) => Power::Operand,
    }
}

/// Returns whether a name can begin an operand.
pub(super) fn is_word(name: &str) -> bool {
    is_plain(name) && !["and", "or", "not", "true", "false"].contains(&name)
}

/// Returns whether a name after a dot needs no quotes.
fn is_plain(name: &str) -> bool {
    let word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(word)
        && name != "exists"
}

/// Writes a text in quotes. Characters that a screen does not show become escapes.
fn quote(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for char in text.chars() {
        match char {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            _ if is_unseen(char) => write!(f, "\\u{{{:x}}}", u32::from(char))?,
            _ => write!(f, "{char}")?,
        }
    }
    f.write_str("\"")
}

/// The deepest nesting. Deeper trees would need too much stack.
pub(super) const MAX_DEPTH: usize = 100;
