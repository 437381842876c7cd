use std::fmt;
use std::ops::Not;

use serde::{Serialize, Serializer};

use super::ast::{
    Anchors, Comparison, Literal, Location, Node, NodeKind, Path, PathPart, Pattern, is_word,
};
use super::error::ExprError;
use super::parser::parse;
use mitmcraft_protocol::packet::{FieldPath, PathStep};
use mitmcraft_protocol::schema::{Value, format_uuid};

/// A condition as a tree: parsed, or built from its parts, combined with others, and printed.
///
/// Only its syntax is known to be right; [`Expr::new`](super::Expr::new) checks it against the packets of all
/// versions. Parsing what is printed gives the same tree, whatever its texts contain.
///
/// ```
/// use mitmcraft_engine::lang::{Condition, Path};
///
/// let filter = Condition::parse("chat || update_time")?;
/// let spoken = Path::words(["pkt", "name"]).equals("say \"hi\"");
/// let both = filter.and(!spoken);
/// assert_eq!(both.to_string(), r#"(chat or update_time) and not pkt.name == "say \"hi\"""#);
/// # Ok::<(), mitmcraft_engine::lang::ExprError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Node);

impl Condition {
    /// Parses a condition without checking that any packet has the fields it names.
    ///
    /// # Errors
    /// [`ExprError`] with the place of invalid syntax.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        parse(text).map(Self)
    }

    /// Returns the condition that holds if both do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let terms = |Self(node): Self| match node.kind {
            NodeKind::All(terms) => terms,
            _ => vec![node],
        };
        let mut all = terms(self);
        all.extend(terms(other));
        Self::new(NodeKind::All(all))
    }

    /// Returns the condition that holds if one of them does, or both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let terms = |Self(node): Self| match node.kind {
            NodeKind::Any(terms) => terms,
            _ => vec![node],
        };
        let mut all = terms(self);
        all.extend(terms(other));
        Self::new(NodeKind::Any(all))
    }

    /// Returns the path that is the whole condition, such as the name of a packet.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0.kind {
            NodeKind::Path(path) => Some(path),
            _ => None,
        }
    }

    fn new(kind: NodeKind) -> Self {
        Self(Node::new(kind, 0..0))
    }
}

impl Not for Condition {
    type Output = Self;

    /// Returns the condition that holds if this one does not.
    fn not(self) -> Self {
        match self.0.kind {
            NodeKind::Not(inner) => Self(*inner),
            _ => Self::new(NodeKind::Not(Box::new(self.0))),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Serializes the condition as its text.
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Path {
    /// Returns the path of words of the language: `pkt.size`, `state.play`, `clientbound`.
    #[must_use]
    pub fn words<const N: usize>(words: [&'static str; N]) -> Self {
        Self::of(words.map(|word| PathStep::Name(word.into())))
    }

    /// Returns the path of a name: of a packet or a field. Returns `None` if it cannot begin an expression.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        is_word(name).then(|| Self::of([PathStep::Name(name.into())]))
    }

    /// Returns the path of a field. Returns `None` if its first name cannot begin an expression.
    #[must_use]
    pub fn field(path: &FieldPath) -> Option<Self> {
        let PathStep::Name(first) = path.steps().first()? else { return None };
        is_word(first).then(|| Self::of(path.steps().iter().cloned()))
    }

    /// Returns the path that goes on with another one.
    #[must_use]
    pub fn then(&self, path: &FieldPath) -> Self {
        let parts = Self::of(path.steps().iter().cloned()).parts;
        Self { parts: self.parts.iter().cloned().chain(parts).collect() }
    }

    /// Returns the condition that the path is a field that is true, or names the packet or a property of it.
    #[must_use]
    pub fn holds(self) -> Condition {
        Condition::new(NodeKind::Path(self))
    }

    /// Returns the condition that the packet has the field.
    #[must_use]
    pub fn exists(self) -> Condition {
        Condition::new(NodeKind::Exists(self))
    }

    /// Returns the condition that the field has a value.
    #[must_use]
    pub fn equals(self, value: impl Into<Literal>) -> Condition {
        match value.into() {
            Literal::Bool(true) => self.holds(),
            Literal::Bool(false) => !self.holds(),
            value => {
                let [path, value] = [NodeKind::Path(self), NodeKind::Literal(value)]
                    .map(|kind| Box::new(Node::new(kind, 0..0)));
                Condition::new(NodeKind::Compare(Comparison::Equal, path, value))
            }
        }
    }

    /// Returns the condition that a regular expression matches in the field.
    #[must_use]
    pub fn matches(self, pattern: String) -> Condition {
        let pattern =
            Pattern { text: pattern, location: Location::default(), anchors: Anchors::default() };
        let path = Box::new(Node::new(NodeKind::Path(self), 0..0));
        Condition::new(NodeKind::Matches(path, pattern))
    }

    fn of(steps: impl IntoIterator<Item = PathStep>) -> Self {
        let part = |step| PathPart { step, location: Location::default() };
        Self { parts: steps.into_iter().map(part).collect() }
    }
}

impl Literal {
    /// Returns the literal that stands for the value of a field. Returns `None` if the language has none for it.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        Some(match value.plain() {
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Int(int) => Self::Int(*int),
            Value::Unsigned(int) => (*int).into(),
            // With the digits that tell it from others of its size.
            Value::Float32(float) => Self::float(float.to_string().parse().ok()?)?,
            Value::Float64(float) => Self::float(*float)?,
            Value::Text(text) => Self::Text(text.to_string()),
            Value::Uuid(uuid) => Self::Text(format_uuid(*uuid)),
            Value::Bytes(bytes) if !bytes.is_empty() => Self::Bytes(bytes.to_vec()),
            _ => return None,
        })
    }

    fn float(float: f64) -> Option<Self> {
        float.is_finite().then_some(Self::Float(float))
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Literal {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or(Self::Unsigned(int), Self::Int)
    }
}
