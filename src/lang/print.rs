use std::fmt::{self, Display, Formatter};

use super::field::{Field, Step};
use super::node::{Item, Literal, Node, NodeKind, Part, PartKind, Path};
use super::parser::Power;

/// Writes an expression so that parsing it gives the same tree.
impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NodeKind::Literal(literal) => literal.fmt(f),
            NodeKind::Path(path) => path.fmt(f),
            NodeKind::Exists(path) => write!(f, "{path}.exists"),
            NodeKind::Call(function, argument) => write!(f, "{}({argument})", function.name()),
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
        }
    }
}

/// An expression where only operators that bind at least so tightly may stand bare.
struct Inside<'n>(&'n Node, Power);

impl Display for Inside<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(node, least) = self;
        if power(node) < *least { write!(f, "({node})") } else { node.fmt(f) }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, Part { kind, .. }) in self.parts.iter().enumerate() {
            match kind {
                PartKind::Name(name) => {
                    f.write_str(if index == 0 { "" } else { "." })?;
                    if index == 0 || is_plain(name) { f.write_str(name)? } else { quote(f, name)? }
                }
                PartKind::Glob(glob) => f.write_str(glob)?,
                PartKind::Index(number) => write!(f, "[{number}]")?,
                PartKind::Each => f.write_str("[*]")?,
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
                let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                f.write_str(if bytes.len() == 1 { ":" } else { "" })?;
                f.write_str(&pairs.join(":"))
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
        | NodeKind::Matches(..) => Power::Comparison,
        NodeKind::Arithmetic(arithmetic, ..) => arithmetic.power(),
        NodeKind::Negate(_) => Power::Unary,
        NodeKind::Literal(_) | NodeKind::Path(_) | NodeKind::Exists(_) | NodeKind::Call(..) => {
            Power::Operand
        }
    }
}

/// Whether a name behind a dot needs no quotes.
fn is_plain(name: &str) -> bool {
    let word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(word)
        && name != "exists"
}

fn quote(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for char in text.chars() {
        match char {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            _ if char.is_control() => write!(f, "\\u{{{:x}}}", u32::from(char))?,
            _ => write!(f, "{char}")?,
        }
    }
    f.write_str("\"")
}

/// The way to a field, as an expression has it.
pub(super) fn steps(field: &Field) -> String {
    let mut out = field.packets.as_ref().map(|glob| glob.as_str().to_owned()).unwrap_or_default();
    for step in &field.steps {
        match step {
            Step::Name(name) => {
                out.push_str(if out.is_empty() { "" } else { "." });
                out.push_str(name);
            }
            Step::Index(index) => out.push_str(&format!("[{index}]")),
            Step::Each => out.push_str("[*]"),
        }
    }
    out
}
