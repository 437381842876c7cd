use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::annotation::{Annotation, Names};
use super::registries::Named;
use super::unit::Unit;
use super::{Registry, RegistryKind};
use crate::schema::Scalar;

/// The meanings of a field's values in one version.
#[derive(Debug, Clone, Copy)]
pub struct FieldMeaning {
    pub(super) annotation: &'static Annotation,
    pub(super) named: Named,
}

impl FieldMeaning {
    /// Returns a value in words: `creeper`, `90°`, `invulnerable, allow flying`. Returns `None` for
    /// values that have no meaning of their own.
    #[must_use]
    pub fn text(&self, value: &Scalar<'_>) -> Option<Cow<'static, str>> {
        let number = match *value {
            Scalar::Int(int) | Scalar::Name(_, int) => int as f64,
            Scalar::Float32(float) => float.into(),
            Scalar::Float64(float) => float,
            Scalar::Bool(bool) => f64::from(u8::from(bool)),
            _ => return None,
        };
        let int = match *value {
            Scalar::Int(int) | Scalar::Name(_, int) => Some(int),
            _ => (number.fract() == 0.0 && number.abs() < 1e15).then_some(number as i64),
        };
        let annotation = self.annotation;
        if let Some(text) = int.and_then(|int| self.int_text(int)) {
            return Some(text);
        }
        if let Some(range) = annotation.ranges.iter().find(|range| range.contains(number)) {
            return Some(range.name.as_str().into());
        }
        let unit = annotation.unit.and_then(|unit| unit.text(number)).map(Cow::Owned);
        unit.or_else(|| annotation.other.as_deref().map(Cow::Borrowed))
    }

    /// Returns `true` if each bit has a meaning of its own, so that hex is easier to read.
    #[must_use]
    pub fn is_flags(&self) -> bool {
        !self.annotation.flags.is_empty() && self.annotation.values.is_empty()
    }

    /// Returns the number that a name stands for, of several the first: the state of a block.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers(name).into_iter().next().map(|range| *range.start())
    }

    /// Returns all numbers that a name stands for.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Vec<RangeInclusive<i64>> {
        let listed = self.annotation.values.iter().filter(|(_, it)| it == name);
        let mut numbers: Vec<_> = listed
            .flat_map(|(number, _)| self.with_flags(*number))
            .map(|number| number..=number)
            .collect();
        let flag = self.annotation.flags.iter().find(|(_, it)| it == name);
        numbers.extend(flag.into_iter().flat_map(|(bit, _)| with_bit(*bit)));
        if let Some((kind, below)) = self.annotation.packed.as_ref().and_then(|it| it.named_part())
        {
            let shifted = |range: RangeInclusive<i64>| {
                range.start() << below..=((range.end() + 1) << below) - 1
            };
            let registry = self.registry(kind);
            numbers.extend(registry.into_iter().flat_map(|it| it.numbers(name)).map(shifted));
        }
        match self.annotation.names {
            Some(Names::Of(kind)) => {
                numbers.extend(self.registry(kind).into_iter().flat_map(|it| it.numbers(name)));
            }
            Some(Names::KindsOfBlocks) => {
                let registry = self.registry(RegistryKind::Block);
                let number = registry.and_then(|it| it.kind_number(name));
                numbers.extend(number.map(|number| number..=number));
            }
            Some(Names::Sent(_)) | None => {}
        }
        numbers
    }

    /// Returns the numbers that stand for `number` with any flags set.
    fn with_flags(&self, number: i64) -> Vec<i64> {
        let flags = self.annotation.flags.iter().map(|(bit, _)| *bit).take(MAX_COMBINED);
        flags.fold(vec![number], |all, bit| {
            all.iter().copied().chain(all.iter().map(|number| number | bit)).collect()
        })
    }

    /// Returns the name of a number without what else the number says: the block without its state.
    #[must_use]
    pub fn name(&self, number: i64) -> Option<&'static str> {
        let annotation = self.annotation;
        if let Some((_, name)) = annotation.values.iter().find(|(it, _)| *it == number) {
            return Some(name);
        }
        if let Some(packed) = &annotation.packed {
            let (kind, number) = packed.named_number(number)?;
            return self.registry(kind)?.name(number);
        }
        match annotation.names {
            Some(Names::Of(kind)) => self.registry(kind)?.name(number),
            Some(Names::KindsOfBlocks) => self.registry(RegistryKind::Block)?.kind(number),
            Some(Names::Sent(_)) | None => None,
        }
    }

    /// Returns all names that values can have.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let packed = self.annotation.packed.as_ref().and_then(|it| it.named_part());
        let kind = match self.annotation.names {
            Some(Names::Of(kind)) => Some(kind),
            Some(Names::KindsOfBlocks) => Some(RegistryKind::Block),
            Some(Names::Sent(_)) | None => packed.map(|(kind, _)| kind),
        };
        let listed = self.annotation.values.iter().chain(&self.annotation.flags);
        let listed = listed.map(|(_, name)| name.as_str());
        let registry = kind.and_then(|kind| self.registry(kind));
        listed.chain(registry.into_iter().flat_map(|it| it.names().map(|(_, name)| name))).collect()
    }

    /// Returns how many units of the value a block has, if it is a position or a distance.
    #[must_use]
    pub fn per_block(&self) -> Option<f64> {
        match self.annotation.unit? {
            Unit::Blocks { per } => Some(per),
            _ => None,
        }
    }

    /// Returns the numbers that have names of their own in the data files.
    #[must_use]
    pub fn values(&self) -> &'static [(i64, String)] {
        &self.annotation.values
    }

    /// Returns the bits that have names.
    #[must_use]
    pub fn flags(&self) -> &'static [(i64, String)] {
        &self.annotation.flags
    }

    /// Returns whether the values name entities, blocks and such: by a registry, or as listed where it
    /// is the type of something. The values of an item's slot name an item.
    #[must_use]
    pub fn names_things(&self) -> bool {
        let annotation = self.annotation;
        annotation.names.is_some()
            || annotation.packed.as_ref().is_some_and(|packed| packed.named_part().is_some())
            || annotation.things
    }

    /// Returns whether the values are types of entities.
    pub(super) fn names_entities(&self) -> bool {
        self.annotation.things || self.registry_kind() == Some(RegistryKind::Entity)
    }

    /// Returns the registry that names the values, if each value is a number in one.
    #[must_use]
    pub fn registry_kind(&self) -> Option<RegistryKind> {
        match self.annotation.names? {
            Names::Of(kind) => Some(kind),
            Names::KindsOfBlocks | Names::Sent(_) => None,
        }
    }

    /// Returns the registry that names the values, if the server sends it.
    #[must_use]
    pub fn sent_registry(&self) -> Option<&'static str> {
        match self.annotation.names? {
            Names::Sent(registry) => Some(registry),
            Names::Of(_) | Names::KindsOfBlocks => None,
        }
    }

    fn int_text(&self, int: i64) -> Option<Cow<'static, str>> {
        let annotation = self.annotation;
        let bits: i64 = annotation.flags.iter().map(|(bit, _)| bit).sum();
        let listed = annotation.values.iter().find(|(it, _)| *it == int & !bits);
        if bits != 0 {
            let set = annotation.flags.iter().filter(|(bit, _)| int & bit != 0);
            let texts: Vec<&str> =
                listed.into_iter().chain(set).map(|(_, name)| name.as_str()).collect();
            return match texts.as_slice() {
                [] => Some("none".into()).filter(|_| int == 0),
                texts => Some(texts.join(", ").into()),
            };
        }
        if let Some((_, name)) = listed {
            return Some(name.as_str().into());
        }
        if let Some(packed) = &annotation.packed {
            return Some(packed.text(int, |kind| self.registry(kind)).into());
        }
        match annotation.names {
            Some(Names::Of(kind)) => self.registry(kind)?.describe(int).map(Cow::Owned),
            Some(Names::KindsOfBlocks) => {
                self.registry(RegistryKind::Block)?.kind(int).map(Cow::Borrowed)
            }
            Some(Names::Sent(_)) | None => None,
        }
    }

    fn registry(&self, kind: RegistryKind) -> Option<&'static Registry> {
        self.named.registry(kind)
    }
}

/// Returns the numbers of a byte, or of more bits if the flag is higher, that have a bit set: first those
/// that are not negative.
fn with_bit(bit: i64) -> impl Iterator<Item = RangeInclusive<i64>> {
    let above = (2 * bit).max(256);
    let runs = (0..above / (2 * bit)).chain((-128 / (2 * bit)).min(-1)..0);
    runs.map(move |run| run * 2 * bit + bit..=run * 2 * bit + 2 * bit - 1)
}

/// Flags beside which a named number is found, in any combination.
const MAX_COMBINED: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_a_bit_are_found_with_their_signs() {
        for bit in [1, 2, 8, 0x40, 0x80] {
            let numbers: Vec<RangeInclusive<i64>> = with_bit(bit).collect();
            assert_eq!(*numbers[0].start(), bit);
            for number in -128..256 {
                let found = numbers.iter().any(|range| range.contains(&number));
                assert_eq!(found, number & bit != 0, "{number} has {bit}");
            }
        }
    }
}
