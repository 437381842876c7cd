use std::time::Duration;

use bytes::Bytes;

use super::Session;
use super::closing::{Ending, Farewell, Half};
use super::phase::{Phase, Reach};
use crate::capture::Record;
use crate::filter::SessionEvent;
use crate::link::{CUT_OFF, Emission, NetworkError, Notice, Output, Side};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, RawReason, Timestamp};
use mitmcraft_protocol::schema::Direction;

/// Closing connections and ending the session.
///
/// While packets are handled, the session only notes in [`Closing`](super::closing::Closing) how it ends.
/// What follows from that is done here, a step at a time, whenever no more packets can be handled.
impl Session {
    /// Takes the next step towards the end of a direction or of the session. Returns whether there was
    /// one; then more packets may be handled.
    pub(super) fn advance_closing(&mut self) -> bool {
        match self.closing.ending() {
            Ending::No => self.end_settled_ping() || Side::ALL.into_iter().any(|it| self.close(it)),
            Ending::Connected(_) if self.is_connecting() => false,
            Ending::Connected(farewell) => {
                let farewell = farewell.clone();
                self.closing.end_soon(farewell);
                true
            }
            Ending::Soon(farewell) => {
                let farewell = farewell.clone();
                self.take_leave(farewell);
                true
            }
            Ending::Now => {
                self.end();
                true
            }
            Ending::Over => false,
        }
    }

    pub(super) fn on_lost(&mut self, side: Side, why: &NetworkError) {
        self.closing.on_lost(side);
        self.ends[side].lose();
        let reason = format!("lost the {}: {why}", side.name());
        let farewell = Farewell { reason: Some(reason), ..Farewell::default() };
        match self.is_connecting() {
            true => self.closing.end_connected(farewell),
            false => self.closing.end_soon(farewell),
        }
    }

    /// Tells a side that nothing more comes, once everything pending for it is written.
    pub(super) fn shutdown(&mut self, side: Side) {
        if self.closing.shut(side) {
            self.outputs.push_back(Output::Shutdown(side));
        }
    }

    /// Takes the next step towards the end of what `side` sends. Returns whether there was one.
    fn close(&mut self, side: Side) -> bool {
        match self.closing.half(side.sends()) {
            Half::Closing if !self.close_waits(side) => self.on_handled(side),
            Half::Ended if self.is_through(side.sends()) => {
                self.flush_rest(side);
                self.shutdown(side.other());
                if self.closing.are_closed()
                    && Direction::ALL.into_iter().all(|it| self.is_through(it))
                {
                    self.closing.end_soon(Farewell::default());
                }
            }
            Half::Open | Half::Closing | Half::Ended | Half::Shut | Half::Lost => return false,
        }
        true
    }

    /// Returns whether the close of a side waits, since what it has sent before has to.
    fn close_waits(&self, side: Side) -> bool {
        if self.congested[side.sends()] {
            return true;
        }
        match &self.phase {
            Phase::Detect(detection) => side == Side::Client && detection.reach == Reach::Unknown,
            Phase::AwaitVerified(..) | Phase::AwaitJoined(..) => side == Side::Client,
            Phase::AwaitKey(_) | Phase::AwaitPolicy(_) => true,
            phase => side == Side::Server && phase.holds_server(),
        }
    }

    /// Handles the close of a side that has nothing more to be handled.
    fn on_handled(&mut self, side: Side) {
        // Nobody is left who would notice that packets are held.
        if self.expect_no_response() || self.closing.are_closed() && self.let_go() {
            return;
        }
        self.closing.on_handled(side);
        // Packets that wait for a delay are still to be read.
        if self.driving[side.sends()].is_none() && !self.control.holds(side.sends()) {
            self.flush_rest(side);
        }
        self.explain_silence();
        self.closing.give_reason(format!("closed by the {}", side.name()));
        self.close(side);
        if let Phase::Refused(_) = self.phase {
            self.closing.end_soon(Farewell::default());
        }
    }

    /// Returns whether nothing is delayed or held in a direction.
    fn is_through(&self, direction: Direction) -> bool {
        self.is_drained(direction) && !self.control.holds(direction)
    }

    /// Returns when to stop waiting for a client whose server cannot be reached.
    pub(super) fn linger_time(&self) -> Timestamp {
        self.now().plus(LINGER)
    }

    /// Forwards and records the bytes of a frame that never became whole.
    fn flush_rest(&mut self, side: Side) {
        if side == Side::Client {
            self.end_ping();
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
        if self.identity.passage(side.sends()).is_none() {
            return self.discard(side, rest, UNVERIFIED);
        }
        if self.congested[side.sends()] {
            return self.discard(side, rest, UNREAD);
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
        if let Some((packet, awaited)) = self.phase.waiting() {
            let packet = packet.clone();
            let comment = format!("the session ended before {awaited}");
            self.phase = Phase::Frames;
            self.swallow(packet, &comment);
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

    /// Ends the session at the present packet, for a reason that the player is shown in the form that the
    /// state has.
    pub(super) fn close_with(&mut self, text: &str, reason: String) {
        self.discard_rest();
        self.delivery.say_goodbye(&mut self.ends, text);
        self.closing.set_reason(reason);
        self.closing.end_now();
    }

    /// Ends a session whose peers did not end it. The player is shown `text` if the client can read
    /// it, and the session is the proxy's own.
    pub(super) fn stop(&mut self, text: String, reason: String) {
        let (text, reason) = (Some(text), Some(reason));
        self.closing.end_soon(Farewell { text, reason, timed_out: false });
    }

    /// Ends a session with the peer of one side, for the reason that the peer has.
    pub(crate) fn end_because(&mut self, reason: String) {
        self.closing.set_reason(reason);
        self.closing.end_soon(Farewell::default());
        while self.advance_closing() {}
    }

    /// Takes the next step towards the end of a session that ends soon: what can still go on goes on, and
    /// then the player is told.
    fn take_leave(&mut self, farewell: Farewell) {
        let Farewell { text, reason, timed_out } = farewell;
        if self.release_held() {
            return;
        }
        if let Some(side) = self.closing.lost() {
            if self.expect_no_response() {
                return;
            }
            self.drop_waiting();
            self.flush_rest(side);
        }
        if let Some(reason) = reason {
            self.closing.give_reason(reason);
        }
        if self.give_up_connecting() {
            return;
        }
        let reads = self.keys.is_none() && self.ends.server.leg.decoder.is_between_packets();
        if let (Some(text), true, Phase::Frames | Phase::AwaitSecret(_)) =
            (text, reads, &self.phase)
        {
            self.delivery.say_goodbye(&mut self.ends, &text);
        }
        if timed_out {
            let session = self.context().session;
            let reason = self.closing.reason().unwrap_or_default().to_owned();
            self.outputs.push_back(Output::Notice(Notice::TimedOut { session, reason }));
        }
        self.closing.end_now();
    }

    /// Ends the session: both connections close once everything pending is written, or are reset if the
    /// other one was.
    fn end(&mut self) {
        self.on_refused_ping(&[], true);
        self.release(true);
        self.drop_waiting();
        for side in Side::ALL {
            self.flush_rest(side);
        }
        let lost = self.closing.lost();
        self.outputs.extend(Side::ALL.map(|side| match lost == Some(side.other()) {
            true => Output::Reset(side),
            false => Output::Close(side),
        }));
        self.delivery.tell(&mut self.ends, SessionEvent::Close, false);
        let reason = self.closing.finish();
        self.delivery.recorder.close_event(reason);
    }
}

/// Why bytes behind the last packet are not forwarded.
pub(super) const BEHIND_THE_END: &str = "sent after the packet that ended the session";

/// Why packets that no rule has judged are not forwarded.
const UNREAD: &str = "the session ended while a peer did not read what packets before had caused";

/// Why bytes of a client are not forwarded.
pub(super) const UNVERIFIED: &str = "the player has not been verified";

/// Time that a client whose server cannot be reached may take to ask for something.
const LINGER: Duration = Duration::from_secs(5);
