use super::RegistryKind;
use super::packed::Packed;
use super::unit::Unit;

/// What the values of some fields mean: one entry of a data file.
#[derive(Debug, Default)]
pub(super) struct Annotation {
    /// Numbers with names, as listed.
    pub(super) values: Box<[(i64, String)]>,
    /// Bits with names, as listed.
    pub(super) flags: Box<[(i64, String)]>,
    pub(super) unit: Option<Unit>,
    pub(super) packed: Option<Packed>,
    pub(super) names: Option<Names>,
    /// `true` if `values` are the types of entities.
    pub(super) things: bool,
    /// The name of all other values.
    pub(super) other: Option<String>,
    pub(super) when: Option<Condition>,
}

/// The registry that names numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Of(RegistryKind),
    /// Kinds of blocks, which have numbers beside those of their states since 1.13.
    KindsOfBlocks,
    /// A registry that the server sends: `minecraft:damage_type`.
    Sent(&'static str),
}

/// A value of an earlier field of the same packet on which a meaning depends.
#[derive(Debug)]
pub(super) struct Condition {
    /// The paths of the field; packets have one of them.
    pub(super) fields: Box<[String]>,
    pub(super) is: Box<[i64]>,
}

impl Condition {
    /// Returns whether a packet meets the condition in which `other` returns the value of a field.
    pub(super) fn holds(&self, other: impl Fn(&str) -> Option<i64>) -> bool {
        self.fields.iter().find_map(|field| other(field)).is_some_and(|it| self.is.contains(&it))
    }
}
