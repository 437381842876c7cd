use std::sync::Arc;

use super::rule::Rule;
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, Protocol, State};

/// The rules that can match each type of packet of one protocol.
pub(super) struct Index {
    /// The rules of each packet, by its place in the protocol.
    packets: Box<[Box<[usize]>]>,
    /// The rules of packets with an unassigned id, by state and direction.
    unknown: Box<[Box<[usize]>]>,
    /// `true` if any rule can match any packet, by state and direction.
    some: Box<[bool]>,
}

impl Index {
    pub(super) fn new(protocol: &Arc<Protocol>, rules: &[Rule]) -> Self {
        let possible = |state, direction, kind: Option<&PacketType>| -> Box<[usize]> {
            let rules = rules.iter().enumerate();
            let can = rules.filter(|(_, rule)| rule.can_match(protocol, state, direction, kind));
            can.map(|(place, _)| place).collect()
        };
        let mut some = vec![false; PLACES];
        let packets = protocol.packets().iter().map(|kind| {
            let (state, direction) = (kind.state(), kind.direction());
            let possible = possible(state, direction, Some(kind));
            some[place(state, direction)] |= !possible.is_empty();
            possible
        });
        let packets = packets.collect();
        let mut unknown = Vec::with_capacity(PLACES);
        for state in State::ALL {
            for direction in Direction::ALL {
                let possible = possible(state, direction, None);
                some[place(state, direction)] |= !possible.is_empty();
                unknown.push(possible);
            }
        }
        Self { packets, unknown: unknown.into(), some: some.into() }
    }

    /// Returns the rules that can match a packet, in order. Reads its id only when that matters.
    pub(super) fn rules(&self, packet: &Packet) -> &[usize] {
        let place = place(packet.state, packet.direction);
        if !self.some[place] {
            return &[];
        }
        match packet.kind() {
            Some(kind) => self.rules_for(&packet.context.protocol, kind),
            None => &self.unknown[place],
        }
    }

    /// Returns the rules that can match packets of a type, in order.
    pub(super) fn rules_for(&self, protocol: &Protocol, kind: &PacketType) -> &[usize] {
        &self.packets[usize::from(protocol.place(kind))]
    }
}

fn place(state: State, direction: Direction) -> usize {
    state as usize * Direction::ALL.len() + direction as usize
}

const PLACES: usize = State::ALL.len() * Direction::ALL.len();
