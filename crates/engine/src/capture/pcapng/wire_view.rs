use std::collections::HashMap;

use super::super::{Wire, WireKind, WireLeg};
use crate::capture::pcap::{Endpoints, MAX_PAYLOAD, Segment, TcpFlow, UsedEndpoints};
use mitmcraft_protocol::schema::{Direction, PerDirection};

/// The view `wire`: the bytes of the proxy's two connections. Only the boundaries of segments are
/// not the original ones.
#[derive(Debug, Default)]
pub(super) struct WireView {
    flows: HashMap<(u64, WireLeg), Crossing>,
    headers: Vec<u8>,
}

/// The view's state of a connection.
#[derive(Debug)]
struct Crossing {
    flow: TcpFlow,
    ended: PerDirection<bool>,
}

impl WireView {
    /// Calls `sink` with the Ethernet frames of what crossed: the headers and the payload of each, and a
    /// comment.
    pub(super) fn write(
        &mut self,
        wire: &Wire,
        used: &mut UsedEndpoints,
        mut sink: impl FnMut([&[u8]; 2], Option<&str>),
    ) {
        let key = (wire.session, wire.leg);
        let Self { flows, headers } = self;
        let mut put = |flow: &TcpFlow, segment: Segment<'_>, comment: Option<&str>| {
            flow.ends.write(headers, &segment);
            mark(headers, wire.leg, segment.direction);
            sink([headers, segment.payload], comment);
        };
        let crossing = match flows.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            // The connection has been removed: it ended before.
            _ if matches!(wire.kind, WireKind::End(_)) => return,
            std::collections::hash_map::Entry::Vacant(entry) => {
                let (ends, comment) = used.take(Endpoints::new(wire.from, wire.to));
                let mut flow = TcpFlow::new(ends);
                for (segment, comment) in flow.begin().into_iter().zip([comment.as_deref(), None]) {
                    put(&flow, segment, comment);
                }
                entry.insert(Crossing { flow, ended: PerDirection::default() })
            }
        };
        match &wire.kind {
            WireKind::Open => {}
            WireKind::Bytes(direction, bytes) => {
                for payload in bytes.chunks(MAX_PAYLOAD) {
                    let segment = crossing.flow.data(*direction, payload);
                    put(&crossing.flow, segment, None);
                }
            }
            WireKind::End(direction) => {
                if !std::mem::replace(&mut crossing.ended[*direction], true) {
                    let segment = crossing.flow.end(*direction);
                    put(&crossing.flow, segment, None);
                }
                if crossing.ended == PerDirection::new(true, true) {
                    flows.remove(&key);
                }
            }
        }
    }
}

/// Replaces the MAC address of the peer that is not on that leg by the proxy's, so that readers can
/// tell the frame from one of the view `plain`.
fn mark(headers: &mut [u8], leg: WireLeg, direction: Direction) {
    let proxy_sends = matches!(
        (leg, direction),
        (WireLeg::Client, Direction::Clientbound) | (WireLeg::Server, Direction::Serverbound)
    );
    let at = if proxy_sends { 6 } else { 0 };
    headers[at..at + 6].copy_from_slice(&PROXY_MAC);
}

/// A made-up MAC address, marked as locally administered.
const PROXY_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x03];
