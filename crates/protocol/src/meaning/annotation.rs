use super::RegistryKind;
use super::packed::Packed;
use super::unit::Unit;

/// The meanings of the values of some fields: one entry of a data file.
#[derive(Debug, Default)]
pub(crate) struct Annotation {
    /// Numbers with names, as listed.
    pub(crate) values: Box<[(i64, String)]>,
    /// Bits with names, as listed.
    pub(crate) flags: Box<[(i64, String)]>,
    pub(crate) unit: Option<Unit>,
    pub(crate) packed: Option<Packed>,
    pub(crate) names: Option<Names>,
    /// `true` if `values` are the types of entities.
    pub(crate) things: bool,
    /// The name of all other values.
    pub(crate) other: Option<String>,
    pub(crate) when: Option<Condition>,
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

/// A value of an earlier field of the same packet on which a meaning depends.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The paths of the field; packets have one of them.
    pub(crate) fields: Box<[String]>,
    pub(crate) is: Box<[i64]>,
}

impl Condition {
    /// Returns whether a packet meets the condition in which `other` returns the value of a field.
    pub(crate) fn holds(&self, other: impl Fn(&str) -> Option<i64>) -> bool {
        self.fields.iter().find_map(|field| other(field)).is_some_and(|it| self.is.contains(&it))
    }
}
