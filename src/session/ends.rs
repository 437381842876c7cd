use std::time::Duration;

use super::Session;
use super::phase::Phase;
use crate::capture::{EventKind, Record, Summary};
use crate::codec::Frame;
use crate::link::{DelayQueue, Emission};
use crate::link::{Output, Side};
use crate::packet::{Content, RawReason};
use crate::schema::Direction;

/// How far the two connections have ended.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Sides that send no more.
    pub(super) read: [bool; 2],
    /// Sides whose connection is gone altogether.
    pub(super) lost: [bool; 2],
    /// Sides that were told that no more comes.
    pub(super) shut: [bool; 2],
}

/// By direction.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) packets: [u64; 2],
    pub(super) bytes: [u64; 2],
}

/// How a session ends.
impl Session {
    pub(super) fn on_closed(&mut self, side: Side) {
        if std::mem::replace(&mut self.ends.read[side as usize], true) {
            return;
        }
        self.expect_no_response();
        self.pump();
        self.flush_rest(side);
        self.explain_silence(side);
        self.on_refused_ping(&[], true);
        self.reason.get_or_insert_with(|| format!("closed by the {}", side.name()));
        self.shutdown_when_released(side.other());
        if let Phase::Refused(_) = self.phase {
            self.end();
        }
        self.end_when_closed();
    }

    pub(super) fn on_lost(&mut self, side: Side, why: &str) {
        if std::mem::replace(&mut self.ends.lost[side as usize], true) {
            return;
        }
        self.ends.read[side as usize] = true;
        self.expect_no_response();
        self.pump();
        self.flush_rest(side);
        self.reason.get_or_insert_with(|| format!("lost the {}: {why}", side.name()));
        self.end();
    }

    /// Tells a side that no more comes, once all that is pending for it is written.
    pub(super) fn shutdown(&mut self, side: Side) {
        if !std::mem::replace(&mut self.ends.shut[side as usize], true) {
            self.outputs.push_back(Output::Shutdown(side));
        }
    }

    /// Waits a while for a client that was told to go, then ends.
    pub(super) fn linger(&mut self) {
        self.linger = Some(self.now.plus(LINGER));
    }

    /// Bytes of a frame that never became whole: forwarded and recorded as what they are.
    fn flush_rest(&mut self, side: Side) {
        let rest = match &mut self.phase {
            Phase::Detect { held, .. } if side == Side::Client => std::mem::take(held).freeze(),
            _ => self.leg_mut(side).decoder.take_rest(),
        };
        if side == Side::Client || !rest.is_empty() {
            self.end_ping();
        }
        if rest.is_empty() {
            return;
        }
        if !self.leg(side).decoder.is_bare() {
            return self.on_raw(side.sends(), rest, RawReason::CutOff);
        }
        // What it was to be is known, and so where it ends too early.
        if !matches!(self.phase, Phase::Refused(_)) {
            self.emit_in_order(side.sends(), Emission::Bytes(rest.clone()));
        }
        let packet = self.packet(side.sends(), Content::Frame(Frame::bare(rest)));
        let comment = Some("the connection ended within this packet".to_owned());
        self.record(Record { comment, ..Record::passed(packet) });
    }

    pub(super) fn end_when_closed(&mut self) {
        if self.ends.read == [true; 2] && self.queues.iter().all(DelayQueue::is_empty) {
            self.end();
        }
    }

    /// Ends the session: both connections close once what is pending is written.
    pub(super) fn end(&mut self) {
        if self.is_over() {
            return;
        }
        self.release_all();
        for side in Side::ALL {
            self.flush_rest(side);
            self.outputs.push_back(Output::Close(side));
        }
        self.phase = Phase::Over;
        let [clientbound, serverbound] = [Direction::Clientbound, Direction::Serverbound];
        self.event(EventKind::Close(Summary {
            reason: self.reason.clone().unwrap_or_else(|| "both sides closed".into()),
            serverbound_packets: self.totals.packets[serverbound as usize],
            clientbound_packets: self.totals.packets[clientbound as usize],
            serverbound_bytes: self.totals.bytes[serverbound as usize],
            clientbound_bytes: self.totals.bytes[clientbound as usize],
        }));
    }

    /// Whether that side was told that no more comes.
    pub(super) fn is_shut(&self, side: Side) -> bool {
        self.ends.shut[side as usize]
    }
}

/// How long a client that was told to go may take to read it.
const LINGER: Duration = Duration::from_secs(5);
