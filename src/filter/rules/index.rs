use std::sync::{Arc, OnceLock};

use super::rule::Rule;
use crate::lang::Outlook;
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, Protocol, State};

/// Which rules can match which packets, for each protocol that was met.
///
/// A chain of cells that are set once: all sessions share it, and a lookup takes no lock.
#[derive(Default)]
pub(super) struct Indexes(OnceLock<Box<Link>>);

struct Link {
    index: Index,
    next: Indexes,
}

/// Which rules can match the packets of one protocol.
pub(super) struct Index {
    /// Kept alive, so that its address is its identity.
    protocol: Arc<Protocol>,
    /// By the packet's place in the protocol.
    packets: Box<[Box<[usize]>]>,
    /// Packets whose id means nothing, by state and direction.
    unknown: Box<[Box<[usize]>]>,
    /// Whether some rule can match some packet, by state and direction.
    some: Box<[bool]>,
}

impl Indexes {
    /// The index for that protocol, made when it is met first.
    pub(super) fn of(&self, protocol: &Arc<Protocol>, rules: &[Rule]) -> &Index {
        let mut place = self;
        loop {
            let link = place.0.get_or_init(|| {
                Box::new(Link { index: Index::new(protocol, rules), next: Self::default() })
            });
            if Arc::ptr_eq(&link.index.protocol, protocol) {
                return &link.index;
            }
            place = &link.next;
        }
    }
}

impl Index {
    fn new(protocol: &Arc<Protocol>, rules: &[Rule]) -> Self {
        let mut some = vec![false; PLACES];
        let packets = protocol.packets().iter().map(|packet| {
            let possible = select(rules, |rule| {
                rule.when.as_ref().is_none_or(|when| {
                    let (state, direction) = (packet.state(), packet.direction());
                    when.outlook(protocol, state, direction, Some(packet)) != Outlook::Never
                })
            });
            some[place(packet.state(), packet.direction())] |= !possible.is_empty();
            possible
        });
        let packets = packets.collect();
        let mut unknown = Vec::with_capacity(PLACES);
        for state in State::ALL {
            for direction in Direction::ALL {
                let possible = select(rules, |rule| {
                    rule.when.as_ref().is_none_or(|when| {
                        when.outlook(protocol, state, direction, None) != Outlook::Never
                    })
                });
                some[place(state, direction)] |= !possible.is_empty();
                unknown.push(possible);
            }
        }
        Self { protocol: Arc::clone(protocol), packets, unknown: unknown.into(), some: some.into() }
    }

    /// The rules that can match a packet, in order. Its id is looked up only when that matters.
    pub(super) fn rules(&self, packet: &Packet) -> &[usize] {
        let place = place(packet.state, packet.direction);
        if !self.some[place] {
            return &[];
        }
        match packet.kind() {
            Some(packet) => self.rules_for(packet),
            None => &self.unknown[place],
        }
    }

    /// The rules that can match such packets, in order.
    pub(super) fn rules_for(&self, packet: &PacketType) -> &[usize] {
        &self.packets[usize::from(self.protocol.place(packet))]
    }
}

fn select(rules: &[Rule], can: impl Fn(&Rule) -> bool) -> Box<[usize]> {
    rules.iter().enumerate().filter(|(_, rule)| can(rule)).map(|(place, _)| place).collect()
}

fn place(state: State, direction: Direction) -> usize {
    state as usize * Direction::ALL.len() + direction as usize
}

const PLACES: usize = State::ALL.len() * Direction::ALL.len();
