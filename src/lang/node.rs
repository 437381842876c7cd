use super::token::Span;

/// An expression as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) place: Place,
    /// How many nodes are inside one another from here on, this one included: at most
    /// [`MAX_DEPTH`](super::parser::MAX_DEPTH).
    pub(super) depth: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeKind {
    Literal(Literal),
    Path(Path),
    Exists(Path),
    Call(Function, Box<Node>),
    Negate(Box<Node>),
    Not(Box<Node>),
    /// Joined by `and`, at least two.
    All(Vec<Node>),
    /// Joined by `or`, at least two.
    Any(Vec<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Item>),
    Contains(Box<Node>, Box<Node>),
    Matches(Box<Node>, Pattern),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Bool(bool),
    Int(i64),
    /// Beyond [`i64::MAX`].
    Unsigned(u64),
    /// Finite.
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// What stands between the braces of `in {..}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) low: Literal,
    /// The end of a range, which belongs to it.
    pub(super) high: Option<Literal>,
    pub(super) place: Place,
}

/// A regular expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// With the quotes.
    pub(super) place: Place,
    pub(super) anchors: Anchors,
}

/// Names and indexes that lead somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    /// At least one, the first of them a name or a glob.
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartKind {
    Name(String),
    /// Only as the first part.
    Glob(String),
    /// From the end when negative.
    Index(i64),
    /// `[*]`
    Each,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Len,
    Lower,
    Upper,
    Abs,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Where something stands. Two trees are the same wherever their parts stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Place(pub(super) Span);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// [`Quoted::anchors`](super::token::Quoted::anchors), which do not make two trees differ either.
#[derive(Debug, Clone, Default)]
pub(super) struct Anchors(pub(super) Vec<(usize, usize)>);

impl PartialEq for Anchors {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Path {
    pub(super) fn span(&self) -> Span {
        let start = self.parts.first().map_or(0, |part| part.place.0.start);
        start..self.parts.last().map_or(start, |part| part.place.0.end)
    }

    /// The name, when that is all.
    pub(super) fn word(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part { kind: PartKind::Name(name), .. }] => Some(name),
            _ => None,
        }
    }
}

impl Function {
    pub(super) const ALL: [Self; 5] = [Self::Len, Self::Lower, Self::Upper, Self::Abs, Self::Text];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Len => "len",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Abs => "abs",
            Self::Text => "text",
        }
    }
}

impl Comparison {
    pub(super) const ALL: [Self; 6] = [
        Self::Equal,
        Self::Unequal,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
    ];

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it asks for an order and not just for sameness.
    pub(super) fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::Unequal)
    }
}

impl Arithmetic {
    pub(super) const ALL: [Self; 5] =
        [Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Remainder];

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    /// Whether it binds as tightly as `*`.
    pub(super) fn is_product(self) -> bool {
        matches!(self, Self::Multiply | Self::Divide | Self::Remainder)
    }
}
