use toml::de::{DeTable, DeValue};

use super::RegistryKind;
use super::packed::Packed;
use super::rows::{Entry, texts};
use super::unit::Unit;
use crate::schema::parse_int;

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
}

impl Entry for Annotation {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        match key {
            "values" => (self.values, self.ranges) = numbered(value)?,
            "flags" => self.flags = numbered(value)?.0,
            "unit" => self.unit = Some(Unit::named(value.as_str()?)?),
            "bits" => self.packed = Some(Packed::parse(texts(value)?.into_iter())?),
            "registry" => self.names = Some(names(value.as_str()?)?),
            "things" => self.things = value.as_bool()?,
            "other" => self.other = Some(value.as_str()?.to_owned()),
            _ => return None,
        }
        Some(())
    }
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
    /// Returns the fields with a number that meets the condition.
    #[cfg(test)]
    pub(crate) fn examples(&self) -> Vec<(String, i64)> {
        let number = self.is.iter().find_map(|it| match it {
            Expected::Number(number) => Some(*number),
            Expected::Name(_) => None,
        });
        let fields = self.fields.iter();
        number.map(|number| fields.map(|it| (it.clone(), number)).collect()).unwrap_or_default()
    }

    /// Returns whether a packet meets the condition in which `other` returns the value of a field.
    pub(crate) fn holds<'k>(&self, other: impl Fn(&str) -> Option<Known<'k>>) -> bool {
        let Some(known) = self.fields.iter().find_map(|field| other(field)) else { return false };
        self.is.iter().any(|expected| match expected {
            Expected::Number(number) => known.number == Some(*number),
            Expected::Name(name) => known.name == Some(name.as_str()),
        })
    }
}

fn names(kind: &str) -> Option<Names> {
    if kind == "kind of block" {
        return Some(Names::KindsOfBlocks);
    }
    if kind.starts_with("minecraft:") {
        // It is there for as long as the program runs.
        return Some(Names::Sent(Box::leak(kind.into())));
    }
    kind.parse().ok().map(Names::Of)
}

/// Reads one condition, or a list of conditions that all hold.
pub(super) fn conditions(value: &DeValue<'_>) -> Option<Box<[Condition]>> {
    match value.as_array() {
        Some(all) => all.iter().map(|it| condition(it.get_ref().as_table()?)).collect(),
        None => Some([condition(value.as_table()?)?].into()),
    }
}

/// Reads `field` or `later` with the values in `is`, or the values of `window` or `position`.
fn condition(table: &DeTable<'_>) -> Option<Condition> {
    let get = |key: &str| table.get(key).map(|it| it.get_ref());
    let paths = |value: &DeValue<'_>| -> Option<Box<[String]>> {
        Some(value.as_str()?.split(' ').map(str::to_owned).collect())
    };
    let (fields, is) = match (get("window"), get("position")) {
        (Some(is), None) => ([WINDOW.to_owned()].into(), is),
        (None, Some(is)) => ([POSITION.to_owned()].into(), is),
        _ => (paths(get("field").or_else(|| get("later"))?)?, get("is")?),
    };
    let is = is.as_array()?.iter().map(|it| match it.get_ref() {
        DeValue::Integer(number) => Some(Expected::Number(parse_int(number.as_str())?)),
        name => Some(Expected::Name(name.as_str()?.to_owned())),
    });
    Some(Condition { fields, is: is.collect::<Option<_>>()?, later: get("later").is_some() })
}

/// Numbers with names, and ranges of them.
type Numbered = (Box<[(i64, String)]>, Box<[Range]>);

/// Reads a table of names by number, in the order of the numbers, and by range: `"<0"`.
fn numbered(value: &DeValue<'_>) -> Option<Numbered> {
    let (mut pairs, mut ranges) = (Vec::new(), Vec::new());
    for (number, name) in value.as_table()? {
        let (number, name) = (number.get_ref(), name.get_ref().as_str()?);
        match parse_int(number) {
            Some(number) => pairs.push((number, name.to_owned())),
            None => ranges.push(Range::parse(number, name)?),
        }
    }
    pairs.sort_by_key(|(number, _)| *number);
    Some((pairs.into(), ranges.into()))
}

/// Removes the namespace of the game from a name.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix("minecraft:").unwrap_or(name)
}

/// Stands for the type of the window that is open.
pub(crate) const WINDOW: &str = "(window)";

/// Stands for the place of the value in the innermost list.
pub(crate) const POSITION: &str = "(position)";
