use std::collections::HashMap;

use super::annotation::{Known, bare};
use super::rows::Fields;
use super::{Grade, Limits, components, limits::Limit};
use crate::packet::{Diagnostic, Packet};
use crate::schema::{Family, PacketType, Release, Scalar};

/// Follows a walk through a packet and tells which values the game refuses. A visitor calls the method of each
/// of its own.
#[derive(Debug)]
pub struct LimitTracker {
    limits: Limits,
    release: Release,
    components: Option<&'static Fields<()>>,
    /// The values on which limits depend, as far as they are read.
    deciding: HashMap<&'static str, (Option<i64>, Option<String>)>,
}

/// A value that the game refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule that is broken.
    pub diagnostic: Diagnostic,
    /// `false` if the game may accept it.
    pub certain: bool,
    /// The fault and the limit, in words.
    pub reason: String,
    /// The gravity of the breach.
    pub grade: Grade,
    /// The consequence in words, if it is not that of the rule.
    pub then: Option<&'static str>,
}

impl Breach {
    fn of(limit: &'static Limit, reason: String) -> Self {
        let (diagnostic, certain) = (limit.diagnostic(), limit.certain);
        Self { diagnostic, certain, reason, grade: limit.grade, then: limit.then.as_deref() }
    }

    /// Returns a key that is less for a graver breach.
    fn gravity(&self) -> (Grade, bool) {
        (self.grade, !self.certain)
    }

    /// Returns the breach of a packet that inflates to more bytes than the game reads.
    #[must_use]
    pub fn of_inflated(packet: &Packet) -> Option<Self> {
        let size = packet.frame()?.size();
        if size <= LEAST_INFLATED {
            return None;
        }
        let release = packet.context().protocol.release();
        let most = Limits::inflated(release, packet.state(), packet.direction())?;
        (size > most).then(|| Self {
            diagnostic: Diagnostic::InflatedTooLong,
            certain: true,
            reason: format!("inflates to {size} bytes, the game reads up to {most}"),
            grade: Grade::Ends,
            then: None,
        })
    }
}

impl LimitTracker {
    /// Creates a tracker for packets of a type; `None` if nothing in them has a limit.
    #[must_use]
    pub fn of(release: Release, packet: &PacketType) -> Option<Self> {
        Self::of_size(release, packet, components::table().of(release, packet), usize::MAX)
    }

    /// Creates a tracker for packets of a type with such components, whose body has `size` bytes; `None` if
    /// nothing in them can break a limit.
    pub(super) fn of_size(
        release: Release,
        packet: &PacketType,
        components: Option<&'static Fields<()>>,
        size: usize,
    ) -> Option<Self> {
        let limits = Limits::of(release, packet, Self::by_size(release, size))?;
        Some(Self { limits, release, components, deciding: HashMap::new() })
    }

    /// Returns whether a packet of any type can break a limit if its body has `size` bytes.
    pub(super) fn by_size(release: Release, size: usize) -> bool {
        let least = if release >= Release::V1_20_5 { LEAST_OF_ITEM } else { LEAST_OF_TYPE };
        size > least && release.family() == Family::Java
    }

    /// Takes the value at `path` (names separated by dots, without indexes).
    pub fn leaf(&mut self, path: &str, value: &Scalar<'_>) -> Option<Breach> {
        let other = |field: &str| {
            let (number, name) = self.deciding.get(field)?;
            Some(Known { number: *number, name: name.as_deref() })
        };
        let (mut found, mut has_size): (Option<Breach>, _) = (None, false);
        for limit in self.limits.at(path, other) {
            // A milder one stands beside that of the type.
            has_size |= limit.is_of_size() && limit.grade == Grade::Ends;
            if found.as_ref().is_none_or(|it| limit.gravity() < it.gravity()) {
                found = limit.refusal(value).map(|reason| Breach::of(limit, reason)).or(found);
            }
        }
        if !has_size && found.as_ref().is_none_or(|it| it.grade != Grade::Ends) {
            found = self.of_type(path, value).or(found);
        }
        if let Some(field) = self.limits.decides(path) {
            let known = match *value {
                Scalar::Int(number) => Some((Some(number), None)),
                Scalar::Name(name, number) => Some((Some(number), Some(bare(name).to_owned()))),
                _ => None,
            };
            known.and_then(|known| self.deciding.insert(field, known));
        }
        found
    }

    /// Takes the end of the list at `path`, which has `count` elements.
    #[must_use]
    pub fn list(&self, path: &str, count: usize) -> Option<Breach> {
        let other = |field: &str| {
            let (number, name) = self.deciding.get(field)?;
            Some(Known { number: *number, name: name.as_deref() })
        };
        let limits = self.limits.at(path, other);
        let breaches =
            limits.filter_map(|limit| Some(Breach::of(limit, limit.refuses_count(count)?)));
        breaches.min_by_key(Breach::gravity)
    }

    /// Checks a value against the limit of its type.
    fn of_type(&self, path: &str, value: &Scalar<'_>) -> Option<Breach> {
        let (length, name) = match value {
            Scalar::Text(bytes, _) => (bytes.len(), "(text)"),
            Scalar::Nbt { bytes, .. } => (bytes.len(), "(nbt)"),
            _ => return None,
        };
        if length <= LEAST_OF_TYPE {
            return None;
        }
        let is_component = name == "(text)"
            && self.components.is_some_and(|it| it.at(path, self.release).next().is_some());
        let of_component = if is_component { self.limits.of_type("(component)") } else { None };
        let limit = of_component.or_else(|| self.limits.of_type(name))?;
        Some(Breach::of(limit, limit.refusal(value)?))
    }
}

/// Bytes up to which no value breaks the limit of its type.
const LEAST_OF_TYPE: usize = 32_767;

/// Bytes up to which no packet with an item breaks the limit of one of its components.
const LEAST_OF_ITEM: usize = 32;

/// The least limit of what a packet inflates to.
const LEAST_INFLATED: usize = 2 << 20;
