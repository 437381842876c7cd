use std::sync::Arc;

use crate::lang::{Expr, FieldIndex, Possible};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, State};

/// The numbers of the rules, or callbacks of a script, that can match each type of packet of one protocol.
pub(crate) struct Index {
    /// The rules of each packet, by its place in the protocol.
    packets: Box<[Box<[u32]>]>,
    /// The rules of packets with an unassigned id, by state and direction.
    unknown: Box<[Box<[u32]>]>,
    /// `true` if any rule can match any packet, by state and direction.
    some: Box<[bool]>,
}

impl Index {
    /// Creates the index of rules, by number and condition; a rule without one can match every packet.
    pub(crate) fn new<'r>(
        protocol: &Arc<Protocol>,
        rules: impl Iterator<Item = (u32, Option<&'r Expr>)>,
    ) -> Self {
        let fields = FieldIndex::new(Arc::clone(protocol));
        let mut packets = vec![Vec::new(); protocol.packets().len()];
        let mut unknown = vec![Vec::new(); PLACES];
        let mut some = vec![false; PLACES];
        for (number, condition) in rules {
            let all = || Possible::all(fields.protocol());
            let possible = condition.map_or_else(all, |condition| condition.possible(&fields));
            for packet in possible.packets {
                let kind = &protocol.packets()[usize::from(packet)];
                some[place(kind.state(), kind.direction())] = true;
                packets[usize::from(packet)].push(number);
            }
            for (state, direction) in possible.unknown {
                some[place(state, direction)] = true;
                unknown[place(state, direction)].push(number);
            }
        }
        let boxed = |all: Vec<Vec<u32>>| all.into_iter().map(Vec::into_boxed_slice).collect();
        Self { packets: boxed(packets), unknown: boxed(unknown), some: some.into() }
    }

    /// Returns the rules that can match a packet, in order. Reads its id only when that matters.
    pub(crate) fn rules(&self, packet: &Packet) -> &[u32] {
        let place = place(packet.state(), packet.direction());
        if !self.some[place] {
            return &[];
        }
        match packet.kind() {
            Some(kind) => self.rules_for(&packet.context().protocol, kind),
            None => &self.unknown[place],
        }
    }

    /// Returns the first rule from `from` on that can match a packet.
    pub(crate) fn next(&self, packet: &Packet, from: usize) -> Option<usize> {
        let rules = self.rules(packet);
        let next = rules.partition_point(|place| (*place as usize) < from);
        rules.get(next).map(|place| *place as usize)
    }

    /// Returns the rules that can match packets of a type, in order.
    pub(crate) fn rules_for(&self, protocol: &Protocol, kind: &PacketType) -> &[u32] {
        &self.packets[usize::from(protocol.place(kind))]
    }
}

fn place(state: State, direction: Direction) -> usize {
    state as usize * Direction::ALL.len() + direction as usize
}

const PLACES: usize = State::ALL.len() * Direction::ALL.len();
