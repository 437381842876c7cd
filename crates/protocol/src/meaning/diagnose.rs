//! Breaches of the game's rules that the body of a packet shows. `docs/diagnostics.md` lists them.

use std::sync::LazyLock;

use serde_json::value::RawValue;

use super::rows::Fields;
use super::{Breach, Grade, LimitTracker, components, limits};
use crate::packet::{Diagnostic, Diagnostics, Packet};
use crate::schema::{Flow, Leaf, Name, NamePath, PacketType, Release, Role, Scalar, Visitor};

/// Returns what a peer would disconnect for. Walks through a packet only if its type can break a rule, or if it
/// is large.
#[must_use]
pub fn diagnose(packet: &Packet) -> Diagnostics {
    let noted = packet.noted();
    let inflated = Breach::of_inflated(packet).map(|it| it.diagnostic);
    let noted = noted.and(inflated.into_iter().collect());
    let release = packet.context().protocol.release();
    let size = packet.size();
    let can_break = |kind: &&PacketType| may_break(kind, release, size);
    let Some(kind) = packet.kind().filter(can_break) else { return noted };
    let components = components::table().of(release, kind);
    let limits = LimitTracker::of_size(release, kind, components, size);
    let stance = Stance::of(kind, release);
    if limits.is_none() && components.is_none() && stance.is_none() {
        return noted;
    }
    let mut breaches = Breaches {
        release,
        limits,
        components,
        stance,
        path: NamePath::default(),
        json: Diagnostics::NONE,
        others: Diagnostics::NONE,
    };
    let is_whole = packet.walk(&mut breaches).is_ok();
    noted.and(breaches.json).and(if is_whole { breaches.others() } else { Diagnostics::NONE })
}

/// A [`Visitor`] that looks for breaches.
struct Breaches {
    release: Release,
    limits: Option<LimitTracker>,
    components: Option<&'static Fields<()>>,
    stance: Option<Stance>,
    path: NamePath,
    /// A component that is not JSON, which counts even if the rest of the packet does not decode.
    json: Diagnostics,
    others: Diagnostics,
}

/// The heights of the feet and the eyes in a packet that moves a player, as it has them up to 1.7.
#[derive(Debug, Default)]
pub struct Stance {
    height: Option<f64>,
    stance: Option<f64>,
}

impl Stance {
    /// Creates the heights of a packet that is yet to be walked; `None` if packets of its type have none.
    #[must_use]
    pub fn of(kind: &PacketType, release: Release) -> Option<Self> {
        let has_any = kind.role() == Some(Role::Movement) && release < Release::V1_8;
        has_any.then(Self::default)
    }

    /// Takes the value at `path`.
    pub fn leaf(&mut self, path: &str, value: &Scalar<'_>) {
        match (path, *value) {
            ("y", Scalar::Float64(float)) => self.height = Some(float),
            ("stance", Scalar::Float64(float)) => self.stance = Some(float),
            _ => {}
        }
    }

    /// Returns whether a server ends the session for the distance of the eyes from the feet.
    #[must_use]
    pub fn is_illegal(&self) -> bool {
        let (Some(y), Some(stance)) = (self.height, self.stance) else { return false };
        // A player who rides sends this instead of a height.
        (y, stance) != (RIDING, RIDING) && !STANCES.contains(&(stance - y))
    }
}

impl Breaches {
    fn others(mut self) -> Diagnostics {
        if self.stance.is_some_and(|it| it.is_illegal()) {
            self.others.insert(Diagnostic::StanceIllegal);
        }
        self.others
    }

    /// Takes what the game refuses; a packet that a peer only ignores or corrects has no diagnostic.
    fn take(&mut self, breach: Option<Breach>) {
        if let Some(breach) = breach.filter(|it| it.grade == Grade::Ends) {
            self.others.insert(breach.diagnostic);
        }
    }

    /// Takes the end of a list, whose path is now that of the walk.
    fn end_list(&mut self, count: usize) {
        let limits = self.limits.as_ref();
        self.take(limits.and_then(|it| it.list(self.path.as_str(), count)));
    }

    fn is_bad_json(&self, value: &Scalar<'_>) -> bool {
        let Some(components) = self.components else { return false };
        matches!(value, Scalar::Text(bytes, _) if serde_json::from_slice::<&RawValue>(bytes).is_err())
            && components.at(self.path.as_str(), self.release).next().is_some()
    }
}

impl Visitor for Breaches {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.path.leaf();
        let path = self.path.as_str();
        let breach = self.limits.as_mut().and_then(|it| it.leaf(path, &leaf.value));
        self.take(breach);
        if self.is_bad_json(&leaf.value) {
            self.json.insert(Diagnostic::JsonInvalid);
        }
        if let Some(stance) = &mut self.stance {
            stance.leaf(self.path.as_str(), &leaf.value);
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.path.field(name);
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.path.open();
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.path.open();
        Flow::Continue(())
    }

    fn close(&mut self, _at: usize) -> Flow {
        let count = self.path.close();
        self.end_list(count);
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, bytes: &[u8]) -> Option<Flow> {
        self.path.leaf();
        let (path, value) = (self.path.as_str(), Scalar::Bytes(bytes));
        let breach = self.limits.as_mut().and_then(|it| it.leaf(path, &value));
        self.take(breach);
        self.end_list(bytes.len());
        Some(Flow::Continue(()))
    }
}

/// Returns `false` for most packets that cannot break a rule, which is faster than comparing names: most
/// packets have such a name.
fn may_break(kind: &PacketType, release: Release, size: usize) -> bool {
    static KNOWN: LazyLock<[u64; 8]> = LazyLock::new(|| {
        let mut known = [0; 8];
        let limited = limits::table().iter().map(|(_, name, _)| name);
        for name in components::table().iter().map(|(_, name, _)| name).chain(limited) {
            let (word, bit) = trait_of(name);
            known[word] |= bit;
        }
        known
    });
    let (word, bit) = trait_of(kind.name());
    KNOWN[word] & bit != 0
        || Stance::of(kind, release).is_some()
        || LimitTracker::by_size(release, size)
}

/// Returns one of 512 bits by the length and three letters of a name.
fn trait_of(name: &str) -> (usize, u64) {
    let bytes = name.as_bytes();
    let letter = |place: usize| usize::from(bytes.get(place).copied().unwrap_or_default());
    let (first, middle, last) =
        (letter(0), letter(bytes.len() / 2), letter(bytes.len().saturating_sub(1)));
    let number = (bytes.len() * 31) ^ (first * 7) ^ (middle * 3) ^ (last * 61);
    (number / 64 % 8, 1 << (number % 64))
}

/// Heights of the eyes above the feet.
const STANCES: std::ops::RangeInclusive<f64> = 0.1..=1.65;

/// Y and stance of a player who rides.
const RIDING: f64 = -999.0;
