use std::collections::HashMap;
use std::io;

use super::super::{Wire, WireKind, WireLeg};
use crate::capture::pcap::flow::{TcpFlow, UsedEndpoints};
use crate::capture::pcap::ip::{ACK, Endpoints, MAX_PAYLOAD, PSH, Segment};
use crate::capture::wire::WireFrameSink;
use crate::schema::Direction;

/// The view `wire`: the proxy's two connections as they were, but for the cut of their segments.
#[derive(Debug, Default)]
pub(crate) struct WireView {
    flows: HashMap<(u64, WireLeg), Crossing>,
    frame: Vec<u8>,
}

#[derive(Debug)]
struct Crossing {
    flow: TcpFlow,
    /// By direction.
    ended: [bool; 2],
}

impl WireView {
    pub(crate) fn write<T: WireFrameSink>(
        &mut self,
        wire: &Wire,
        used: &mut UsedEndpoints,
        sink: &mut T,
    ) -> io::Result<()> {
        let key = (wire.session, wire.leg);
        let Self { flows, frame } = self;
        let mut put = |flow: &TcpFlow, segment: Segment<'_>, comment: Option<&str>| {
            flow.ends.write(frame, &segment);
            mark(frame, wire.leg, segment.direction);
            sink.wire(wire.leg, wire.at, frame, comment)
        };
        let crossing = match flows.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            // It was over before.
            _ if matches!(wire.kind, WireKind::End(_)) => return Ok(()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let (ends, comment) = used.take(Endpoints::new(wire.from, wire.to));
                let mut flow = TcpFlow::new(ends);
                for (segment, comment) in flow.begin().into_iter().zip([comment.as_deref(), None]) {
                    put(&flow, segment, comment)?;
                }
                entry.insert(Crossing { flow, ended: [false; 2] })
            }
        };
        match &wire.kind {
            WireKind::Open => {}
            WireKind::Bytes(direction, bytes) => {
                for payload in bytes.chunks(MAX_PAYLOAD) {
                    let segment = crossing.flow.segment(*direction, PSH | ACK, payload);
                    put(&crossing.flow, segment, None)?;
                }
            }
            WireKind::End(direction) => {
                if !std::mem::replace(&mut crossing.ended[*direction as usize], true) {
                    let segment = crossing.flow.end(*direction);
                    put(&crossing.flow, segment, None)?;
                }
                if crossing.ended == [true; 2] {
                    flows.remove(&key);
                }
            }
        }
        Ok(())
    }
}

/// Puts the proxy's made-up MAC address in the place of the peer's that is not on that leg, so that
/// no reader takes the frame for one of the view `plain`.
fn mark(frame: &mut [u8], leg: WireLeg, direction: Direction) {
    let proxy_sends = matches!(
        (leg, direction),
        (WireLeg::Client, Direction::Clientbound) | (WireLeg::Server, Direction::Serverbound)
    );
    let at = if proxy_sends { 6 } else { 0 };
    frame[at..at + 6].copy_from_slice(&PROXY_MAC);
}

/// Made up, and marked so: locally administered.
const PROXY_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x03];
