use std::time::Duration;

use bytes::Bytes;

use super::Session;
use super::phase::{Phase, Reach};
use crate::capture::Record;
use crate::codec::Frame;
use crate::link::{CUT_OFF, Emission, Engine as _, NetworkError, Output, Side};
use crate::packet::{Content, RawReason, Timestamp};
use crate::schema::Direction;

/// Closing connections and ending the session.
impl Session {
    pub(super) fn on_closed(&mut self, side: Side) {
        let end = &mut self.ends[side];
        end.closing |= !std::mem::replace(&mut end.closed, true);
    }

    /// Handles the close of a side, unless what it has sent before has to wait.
    pub(super) fn finish_closing(&mut self, side: Side) {
        let waits = match &self.phase {
            Phase::Detect(detection) => side == Side::Client && detection.reach == Reach::Unknown,
            Phase::AwaitVerified(..) | Phase::AwaitJoined(..) => side == Side::Client,
            Phase::AwaitKey(_) | Phase::AwaitPolicy(_) | Phase::Over => true,
            phase if side == Side::Server && phase.holds_server() => true,
            _ => false,
        };
        if waits || !std::mem::take(&mut self.ends[side].closing) {
            return;
        }
        self.expect_no_response();
        self.pump();
        // Nobody is left who would notice that packets are held.
        if self.ends.iter().all(|end| end.closed) {
            self.stop_holding();
        }
        // Packets that wait for a delay are still to be read.
        if self.driving[side.sends()].is_none() && !self.control.holds(side.sends()) {
            self.flush_rest(side);
        }
        self.explain_silence();
        self.reason.get_or_insert_with(|| format!("closed by the {}", side.name()));
        self.shutdown_when_released(side.other());
        if let Phase::Refused(_) = self.phase {
            self.end();
        }
        self.end_when_closed();
    }

    pub(super) fn on_lost(&mut self, side: Side, why: &NetworkError) {
        if std::mem::replace(&mut self.ends[side].lost, true) {
            return;
        }
        self.ends[side].closed = true;
        let reason = format!("lost the {}: {why}", side.name());
        if self.is_connecting() {
            self.set_unreachable(reason.clone());
        }
        self.let_go();
        self.expect_no_response();
        self.pump();
        self.drop_waiting();
        self.flush_rest(side);
        self.reason.get_or_insert(reason);
        self.end();
    }

    /// Tells a side that nothing more comes, once everything pending for it is written.
    pub(super) fn shutdown(&mut self, side: Side) {
        if !std::mem::replace(&mut self.ends[side].shut, true) {
            self.outputs.push_back(Output::Shutdown(side));
        }
    }

    /// Tells a side that nothing more comes, once everything that is delayed or held is out.
    fn shutdown_when_released(&mut self, side: Side) {
        let direction = side.other().sends();
        if self.is_drained(direction) && !self.control.holds(direction) {
            self.shutdown(side);
        } else {
            self.delivery.queues[direction].ends = true;
        }
    }

    /// Ends a direction whose sender has closed, once everything delayed or held in it is out.
    pub(super) fn end_of_queue(&mut self, direction: Direction) {
        let waits = |it: &Self| !it.is_drained(direction) || it.control.holds(direction);
        if !self.delivery.queues[direction].ends || waits(self) {
            return;
        }
        // Packets that waited for the delayed ones may be delayed in turn.
        self.pump();
        if self.is_over() || waits(self) {
            return;
        }
        self.delivery.queues[direction].ends = false;
        self.flush_rest(Side::from(direction));
        self.shutdown(Side::from(direction).other());
        self.end_when_closed();
    }

    /// Returns when to stop waiting for a client whose server cannot be reached.
    pub(super) fn linger_time(&self) -> Timestamp {
        self.now().plus(LINGER)
    }

    /// Forwards and records the bytes of a frame that never became whole.
    fn flush_rest(&mut self, side: Side) {
        if side == Side::Client {
            self.end_ping();
            // A rule may have closed the session at the ping, which records the rest.
            if self.is_over() {
                return;
            }
        }
        let rest = match &mut self.phase {
            Phase::Detect(detection) if side == Side::Client => {
                std::mem::take(&mut detection.held).freeze()
            }
            _ => self.ends[side].leg.decoder.take_rest(),
        };
        if rest.is_empty() {
            return;
        }
        if side == Side::Client && self.is_unverified() {
            return self.discard(side, rest, UNVERIFIED);
        }
        if !self.ends[side].leg.decoder.is_bare() {
            return self.on_raw(side.sends(), rest, RawReason::CutOff);
        }
        // The packet's type is known, and so is the place where it ends too early.
        if !matches!(self.phase, Phase::Refused(_)) {
            self.emit_in_order(side.sends(), Emission::Bytes(rest.clone()));
        }
        let packet = self.delivery.recorder.packet(side.sends(), Content::Frame(Frame::bare(rest)));
        let comment = Some(CUT_OFF.to_owned());
        self.record(Record { comment, ..Record::passed(packet) });
    }

    /// Records the packet of the login that waits when the session ends.
    fn drop_waiting(&mut self) {
        if let Some((packet, awaited)) = self.phase.leave(Phase::into_waiting) {
            self.swallow(packet, &format!("the session ended before {awaited}"));
        }
    }

    /// Records what both sides have sent behind the packet at which the session stops. Nothing of it
    /// is forwarded, since no rule has judged it.
    pub(super) fn discard_rest(&mut self) {
        self.discard_held();
        for side in Side::ALL {
            let rest = self.ends[side].leg.decoder.take_rest();
            if !rest.is_empty() {
                self.discard(side, rest, BEHIND_THE_END);
            }
        }
    }

    fn discard(&mut self, side: Side, rest: Bytes, why: &str) {
        let content = Content::Raw(rest, RawReason::Opaque(why.to_owned()));
        let packet = self.delivery.recorder.packet(side.sends(), content);
        self.swallow(packet, why);
    }

    pub(super) fn end_when_closed(&mut self) {
        let closed = self.ends.iter().all(|end| end.closed);
        if closed
            && !self.control.holds_any()
            && Direction::ALL.into_iter().all(|it| self.is_drained(it))
        {
            self.end();
        }
    }

    /// Ends the session, and shows the player why in the form that the state has.
    pub(super) fn close_with(&mut self, text: &str, reason: String) {
        self.delivery.say_goodbye(&mut self.ends, text);
        self.reason = Some(reason);
        self.end();
    }

    /// Ends a session whose peers did not end it. The player is shown `text` if the client can read
    /// it, and the session is the proxy's own.
    pub(super) fn stop(&mut self, text: String, reason: String) {
        self.let_go();
        if self.is_over() {
            return;
        }
        let reads = self.keys.is_none() && self.ends.server.leg.decoder.is_between_packets();
        if reads && let Phase::Frames | Phase::AwaitSecret(_) = self.phase {
            let reason = self.reason.take().unwrap_or(reason);
            self.close_with(&text, reason);
        } else {
            self.reason.get_or_insert(reason);
            self.end();
        }
    }

    /// Ends the session: both connections close once everything pending is written.
    pub(super) fn end(&mut self) {
        self.give_up_connecting();
        if self.is_over() {
            return;
        }
        self.let_go();
        if self.is_over() {
            return;
        }
        self.release(true);
        // A rule may have closed the session at a packet that was released.
        if self.is_over() {
            return;
        }
        self.drop_waiting();
        for side in Side::ALL {
            self.flush_rest(side);
        }
        // A rule may have closed the session at what was left.
        if self.is_over() {
            return;
        }
        self.outputs.extend(Side::ALL.map(Output::Close));
        self.phase = Phase::Over;
        let reason = self.reason.clone().unwrap_or_else(|| "both sides closed".into());
        self.delivery.recorder.close_event(reason);
    }
}

/// Why bytes behind the last packet are not forwarded.
const BEHIND_THE_END: &str = "sent behind the packet that ended the session";

/// Why bytes of a client are not forwarded.
pub(super) const UNVERIFIED: &str = "the player has not been verified";

/// Time that a client whose server cannot be reached may take to ask for something.
const LINGER: Duration = Duration::from_secs(5);
