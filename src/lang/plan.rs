use std::sync::{Arc, OnceLock};

use super::cost::Cost;
use super::field::Field;
use super::known::{Known, KnownPacket};
use super::operand::Asked;
use super::subject::Subject;
use super::test::Test;
use crate::schema::{Direction, PacketType, Protocol, State};

/// What is left of a test for each packet of each protocol that it has met.
///
/// Made when the first packet of its type comes. A chain of cells that are set once: several
/// sessions share it, and none waits for longer than it takes to make one.
#[derive(Default)]
pub(super) struct Plans(OnceLock<Box<Link>>);

struct Link {
    /// Kept alive, so that its address is its identity.
    protocol: Arc<Protocol>,
    /// By state and direction.
    tables: Box<[Table]>,
    next: Plans,
}

/// The plans of the packets of one state and direction.
pub(super) struct Table {
    /// What is left when only the protocol, the state and the direction are known.
    pub(super) test: Test,
    /// How much of it needs no packet.
    pub(super) quick: Quick,
    /// By id, for the ids below [`DENSE`].
    packets: Box<[OnceLock<Plan>]>,
    /// For ids that mean nothing.
    unknown: OnceLock<Plan>,
}

/// How much of a test asks only for what costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quick {
    All,
    /// So much that [`Test::quick`] may decide it.
    Some,
    None,
}

/// What is left of a test for packets of one type.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) test: Test,
    /// Places of the fields that it asks for.
    pub(super) live: Box<[usize]>,
    /// Whether it needs the body.
    pub(super) body: bool,
}

impl Plans {
    /// The plans for that protocol.
    #[inline]
    pub(super) fn tables(
        &self,
        protocol: &Arc<Protocol>,
        test: &Test,
        fields: &[Field],
    ) -> &[Table] {
        let mut plans = self;
        loop {
            let link = plans.0.get_or_init(|| Box::new(Link::new(protocol, test, fields)));
            if Arc::ptr_eq(&link.protocol, protocol) {
                return &link.tables;
            }
            plans = &link.next;
        }
    }
}

impl Link {
    fn new(protocol: &Arc<Protocol>, test: &Test, fields: &[Field]) -> Self {
        let tables = State::ALL
            .into_iter()
            .flat_map(|state| Direction::ALL.map(|direction| (state, direction)))
            .map(|(state, direction)| {
                let packet = KnownPacket::Later;
                let known = Known { protocol, state, direction, packet, fields };
                let test = test.reduce(&known);
                let ids = protocol.packets().iter().filter_map(|packet| {
                    let here = packet.state() == state && packet.direction() == direction;
                    usize::try_from(packet.id()).ok().filter(|id| here && *id < DENSE)
                });
                let room = ids.max().map_or(0, |id| id + 1);
                Table {
                    quick: match test.cost() {
                        Cost::Nothing => Quick::All,
                        _ if test.has_quick() => Quick::Some,
                        _ => Quick::None,
                    },
                    test,
                    packets: (0..room).map(|_| OnceLock::new()).collect(),
                    unknown: OnceLock::new(),
                }
            })
            .collect();
        Self { protocol: Arc::clone(protocol), tables, next: Plans::default() }
    }
}

impl Table {
    /// The table for that state and direction.
    #[inline]
    pub(super) fn of(tables: &[Self], state: State, direction: Direction) -> &Self {
        &tables[state as usize * Direction::ALL.len() + direction as usize]
    }

    /// Shows `see` what is left for that packet.
    #[inline]
    pub(super) fn with<R>(&self, known: &Known<'_>, see: impl FnOnce(&Plan) -> R) -> R {
        let cell = match known.packet {
            KnownPacket::Is(packet) => match usize::try_from(packet.id()) {
                Ok(id) => self.packets.get(id),
                Err(_) => None,
            },
            KnownPacket::None | KnownPacket::Later => Some(&self.unknown),
        };
        match cell {
            Some(cell) => see(cell.get_or_init(|| self.plan(known))),
            None => see(&self.plan(known)),
        }
    }

    fn plan(&self, known: &Known<'_>) -> Plan {
        Plan::new(self.test.reduce(known))
    }
}

impl Plan {
    pub(super) fn new(test: Test) -> Self {
        let (mut live, mut body) = (Vec::new(), false);
        test.visit(&mut |asked| match asked {
            Asked::Field(place) => live.push(place),
            Asked::Subject(Subject::Body) => body = true,
            Asked::Subject(_) | Asked::Packet => {}
        });
        live.sort_unstable();
        live.dedup();
        Self { test, body: body || !live.is_empty(), live: live.into() }
    }
}

/// What the packet turned out to be.
impl<'a> From<Option<&'a PacketType>> for KnownPacket<'a> {
    fn from(packet: Option<&'a PacketType>) -> Self {
        packet.map_or(Self::None, Self::Is)
    }
}

/// Ids up to here are looked up by place; all that the game has.
const DENSE: usize = 1024;
