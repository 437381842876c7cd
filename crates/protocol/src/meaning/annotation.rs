use super::RegistryKind;
use super::packed::Packed;
use super::unit::Unit;

/// The meanings of the values of some fields: one entry of a data file.
#[derive(Debug, Default)]
pub(crate) struct Annotation {
    /// Numbers with names, as listed.
    pub(crate) values: Box<[(i64, String)]>,
    /// Names of all numbers above or below others, which `values` take precedence over.
    pub(crate) ranges: Box<[Range]>,
    /// Bits with names, as listed.
    pub(crate) flags: Box<[(i64, String)]>,
    pub(crate) unit: Option<Unit>,
    pub(crate) packed: Option<Packed>,
    pub(crate) names: Option<Names>,
    /// `true` if `values` are the types of entities.
    pub(crate) things: bool,
    /// The name of all other values.
    pub(crate) other: Option<String>,
    /// Conditions that all hold.
    pub(crate) when: Box<[Condition]>,
}

/// A name for all numbers on one side of a limit.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) side: Side,
    pub(crate) limit: f64,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    AtMost,
    Above,
}

impl Range {
    /// Reads `<0`, `<=0` or `>0`.
    pub(super) fn parse(text: &str, name: &str) -> Option<Self> {
        let signs = [("<=", Side::AtMost), ("<", Side::Below), (">", Side::Above)];
        let (side, limit) =
            signs.iter().find_map(|(sign, side)| Some((*side, text.strip_prefix(sign)?)))?;
        Some(Self { side, limit: limit.parse().ok()?, name: name.to_owned() })
    }

    pub(super) fn contains(&self, number: f64) -> bool {
        match self.side {
            Side::Below => number < self.limit,
            Side::AtMost => number <= self.limit,
            Side::Above => number > self.limit,
        }
    }
}

/// The registry that names numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Of(RegistryKind),
    /// Kinds of blocks, which have numbers beside those of their states since 1.13.
    KindsOfBlocks,
    /// A registry that the server sends: `minecraft:damage_type`.
    Sent(&'static str),
}

/// A value of another field of the same packet on which a meaning depends.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The paths of the field, of which packets have one, or [`WINDOW`] or [`POSITION`].
    pub(crate) fields: Box<[String]>,
    pub(crate) is: Box<[Expected]>,
    /// `true` if the field comes later in the packet.
    pub(crate) later: bool,
}

/// A value that meets a condition.
#[derive(Debug)]
pub(crate) enum Expected {
    Number(i64),
    Name(String),
}

/// The knowledge about a value on which a meaning depends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'k> {
    /// The number; 0 or 1 for a boolean.
    pub number: Option<i64>,
    /// The text, or the name of the number, without `minecraft:`.
    pub name: Option<&'k str>,
}

impl From<i64> for Known<'_> {
    fn from(number: i64) -> Self {
        Self { number: Some(number), name: None }
    }
}

impl Condition {
    /// Returns whether a packet meets the condition in which `other` returns the value of a field.
    pub(crate) fn holds<'k>(&self, other: impl Fn(&str) -> Option<Known<'k>>) -> bool {
        let Some(known) = self.fields.iter().find_map(|field| other(field)) else { return false };
        self.is.iter().any(|expected| match expected {
            Expected::Number(number) => known.number == Some(*number),
            Expected::Name(name) => known.name == Some(name.as_str()),
        })
    }
}

/// Removes the namespace of the game from a name.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix("minecraft:").unwrap_or(name)
}

/// Stands for the type of the window that is open.
pub(crate) const WINDOW: &str = "(window)";

/// Stands for the place of the value in the innermost list.
pub(crate) const POSITION: &str = "(position)";
