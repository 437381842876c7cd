use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::schema::types::{Type, TypeId};
use crate::schema::{Direction, Flow, Leaf, PacketType, Protocol, State, Visitor};

/// Compares the layouts of a version with packets: each must decode to its last byte, without a
/// form that no program writes, and encode to the same bytes.
#[derive(Debug)]
pub struct Proof {
    protocol: Arc<Protocol>,
    /// By place.
    seen: BTreeMap<u16, Seen>,
    /// Packets with ids that the version does not have.
    unknown: BTreeMap<(State, Direction, Option<i32>), Misfit>,
}

/// What was seen of the packets of one type.
#[derive(Debug, Default)]
struct Seen {
    packets: u64,
    /// Hashes of the first bodies that fit and differ.
    fitting: BTreeSet<u64>,
    misfits: Vec<Misfit>,
}

/// Packets that do not fit their layout and stop at the same offset, or have an unknown id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// Offset in the body, in bytes.
    pub at: usize,
    /// The length of the body of the first of them.
    pub length: usize,
    /// The problem of the first of them, with the path of its field if it does not decode.
    pub cause: String,
    /// How many packets there are.
    pub packets: u64,
    /// Where the first of them is, as told to [`Proof::take`].
    pub first: String,
}

/// A type of packet, and what packets say of its layout.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProvenPacket {
    /// The state in which it is sent.
    pub state: State,
    /// Its direction.
    pub direction: Direction,
    /// Its id; `None` if it could not be read.
    pub id: Option<i32>,
    /// Its name; `None` if the version has no packet of that id.
    pub name: Option<String>,
    /// Its name in the game, if that is another.
    pub official: Option<&'static str>,
    /// How many packets were seen.
    pub packets: u64,
    /// The result.
    pub standing: Standing,
}

/// What packets say of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Packets do not fit: up to eight places where they stop.
    Misfit(Vec<Misfit>),
    /// [`Proof::NEEDED`] packets that differ fit, and none does not.
    Confirmed,
    /// Fewer packets that differ fit: this many.
    TooFew(usize),
    /// Every packet would fit: the layout has no fields, or its last one takes the rest of the packet.
    Unprovable,
    /// No packet was seen.
    Unseen,
}

impl Standing {
    /// Returns `misfit`, `confirmed`, `too_few`, `unprovable` or `unseen`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Misfit(_) => "misfit",
            Self::Confirmed => "confirmed",
            Self::TooFew(_) => "too_few",
            Self::Unprovable => "unprovable",
            Self::Unseen => "unseen",
        }
    }
}

impl Proof {
    /// The number of packets that differ with which a layout is confirmed.
    pub const NEEDED: usize = 3;

    /// Begins with no packets.
    #[must_use]
    pub fn new(protocol: Arc<Protocol>) -> Self {
        Self { protocol, seen: BTreeMap::new(), unknown: BTreeMap::new() }
    }

    /// Returns the version whose layouts are compared.
    #[must_use]
    pub fn protocol(&self) -> &Arc<Protocol> {
        &self.protocol
    }

    /// Returns whether no packet was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.unknown.is_empty()
    }

    /// Takes a packet's body. `place` says where it is, and is called for the first packets that do not fit.
    pub fn take(
        &mut self,
        state: State,
        direction: Direction,
        body: &[u8],
        place: impl FnOnce() -> String,
    ) {
        let (packet, start) = match self.protocol.identify(state, direction, body) {
            Ok(found) => found,
            Err(error) => {
                let id = crate::wire::VarInt::read(body).ok().map(|id| id.value);
                let known = self.unknown.len();
                match self.unknown.get_mut(&(state, direction, id)) {
                    Some(misfit) => misfit.packets += 1,
                    None if known < MOST_UNKNOWN => {
                        let misfit = Misfit::new(0, body, error.to_string(), place());
                        self.unknown.insert((state, direction, id), misfit);
                    }
                    None => {}
                }
                return;
            }
        };
        let seen = self.seen.entry(self.protocol.place(packet)).or_default();
        seen.packets += 1;
        let unusual = || Unusual::find(&self.protocol, packet, body, start);
        let (at, cause) = match self.protocol.decode(packet, body, start) {
            Err(error) => (error.at, error.to_string()),
            Ok(value) => match self.protocol.encode(packet, &value) {
                Ok(again) if again == body => match unusual() {
                    Some(at) => (at, "a form that no program writes".to_owned()),
                    None => return seen.fits(body),
                },
                Ok(again) => {
                    let same = again.iter().zip(body).take_while(|(a, b)| a == b).count();
                    (same, "encodes to other bytes".to_owned())
                }
                Err(error) => (0, format!("does not encode again: {error}")),
            },
        };
        seen.misfit(at, body, cause, place);
    }

    /// Returns the result for each type of packet of the version, then for packets with unknown ids.
    #[must_use]
    pub fn results(&self) -> Vec<ProvenPacket> {
        let protocol = &self.protocol;
        let known = protocol.packets().iter().map(|packet| {
            let seen = self.seen.get(&protocol.place(packet));
            ProvenPacket {
                state: packet.state(),
                direction: packet.direction(),
                id: Some(packet.id()),
                name: Some(packet.name().to_string()),
                official: protocol.official_name(packet),
                packets: seen.map_or(0, |seen| seen.packets),
                standing: self.standing(packet, seen),
            }
        });
        let unknown = self.unknown.iter().map(|((state, direction, id), misfit)| ProvenPacket {
            state: *state,
            direction: *direction,
            id: *id,
            name: None,
            official: None,
            packets: misfit.packets,
            standing: Standing::Misfit(vec![misfit.clone()]),
        });
        known.chain(unknown).collect()
    }

    fn standing(&self, packet: &PacketType, seen: Option<&Seen>) -> Standing {
        let Some(seen) = seen else { return Standing::Unseen };
        if !seen.misfits.is_empty() {
            return Standing::Misfit(seen.misfits.clone());
        }
        if takes_anything(&self.protocol.types, packet.ty) {
            return Standing::Unprovable;
        }
        match seen.fitting.len() {
            Self::NEEDED.. => Standing::Confirmed,
            few => Standing::TooFew(few),
        }
    }
}

impl Seen {
    fn fits(&mut self, body: &[u8]) {
        if self.fitting.len() < Proof::NEEDED {
            let mut hasher = DefaultHasher::new();
            body.hash(&mut hasher);
            self.fitting.insert(hasher.finish());
        }
    }

    fn misfit(&mut self, at: usize, body: &[u8], cause: String, place: impl FnOnce() -> String) {
        let places = self.misfits.len();
        match self.misfits.iter_mut().find(|it| it.at == at) {
            Some(misfit) => misfit.packets += 1,
            None if places < MOST_PLACES => {
                self.misfits.push(Misfit::new(at, body, cause, place()));
            }
            None => {}
        }
    }
}

/// Finds the offset of the first part with a form that no program writes. Such a form is kept as it is, so that the
/// packet encodes to the same bytes: of a wrong layout, too.
#[derive(Debug, Default)]
struct Unusual(Option<usize>);

impl Unusual {
    fn find(protocol: &Protocol, packet: &PacketType, body: &[u8], start: usize) -> Option<usize> {
        let mut found = Self::default();
        let _ = protocol.walk(packet, body, start, &mut found);
        found.0
    }
}

impl Visitor for Unusual {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if !leaf.is_usual() {
            self.0.get_or_insert(leaf.at);
        }
        Flow::Continue(())
    }

    fn byte_list(&mut self, _at: usize, _bytes: &[u8]) -> Option<Flow> {
        Some(Flow::Continue(()))
    }

    fn prefix(&mut self, at: usize, wire: &[u8]) {
        if wire != [1] {
            self.0.get_or_insert(at);
        }
    }
}

impl Misfit {
    fn new(at: usize, body: &[u8], cause: String, first: String) -> Self {
        Self { at, length: body.len(), cause, packets: 1, first }
    }
}

/// Returns whether a type has no fields, or may take the rest of the packet at its end.
fn takes_anything(types: &[Type], id: TypeId) -> bool {
    match &types[id.0 as usize] {
        Type::Void => true,
        Type::Container(fields) if fields.is_empty() => true,
        _ => ends_open(types, id, MAX_DEPTH),
    }
}

/// Returns whether a value of the type may take the rest of the packet, whatever it is.
fn ends_open(types: &[Type], id: TypeId, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match &types[id.0 as usize] {
        Type::Rest | Type::RestText | Type::RestTexts => true,
        Type::Container(fields) => {
            fields.last().is_some_and(|last| ends_open(types, last.ty, depth))
        }
        Type::Option(some) => ends_open(types, *some, depth),
        ty => ty.cases().any(|case| ends_open(types, case, depth)),
    }
}

/// Levels of nested types that are followed to the end of a packet.
const MAX_DEPTH: usize = 16;

/// Places of one type of packet that are reported.
const MOST_PLACES: usize = 8;

/// Unknown ids that are reported.
const MOST_UNKNOWN: usize = 64;
