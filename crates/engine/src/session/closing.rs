use crate::link::Side;
use mitmcraft_protocol::schema::{Direction, PerDirection};

/// How a session ends: first its directions, each for itself, then the whole.
#[derive(Debug, Default)]
pub(super) struct Closing {
    halves: PerDirection<Half>,
    ending: Ending,
    reason: Option<String>,
}

/// How far one direction has ended, from its sender to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Half {
    /// The sender may send more.
    #[default]
    Open,
    /// The sender has closed, and what it has sent is still to be handled.
    Closing,
    /// The sender has closed, and what it has sent is handled: it goes out once it is not delayed or held
    /// any more.
    Ended,
    /// The end was passed on to the receiver, or is about to be.
    Shut,
    /// The receiver is gone.
    Lost,
}

/// How far the session has ended.
#[derive(Debug, Default)]
pub(super) enum Ending {
    /// It goes on.
    #[default]
    No,
    /// It ends soon once it is known whether there is a server: what the client sent is still delivered.
    Connected(Farewell),
    /// It ends as soon as nothing that has come can be handled any more.
    Soon(Farewell),
    /// It ends at this packet: none after it is handled.
    Now,
    /// It has ended.
    Over,
}

/// What is said at the end of a session that its peers did not end.
#[derive(Debug, Clone, Default)]
pub(super) struct Farewell {
    /// The text for the player, if the client can read one.
    pub(super) text: Option<String>,
    /// The reason, if none was given before.
    pub(super) reason: Option<String>,
    /// `true` if the user is told that the session timed out.
    pub(super) timed_out: bool,
}

impl Closing {
    /// `side` sends no more.
    pub(super) fn on_closed(&mut self, side: Side) {
        let half = &mut self.halves[side.sends()];
        if *half == Half::Open {
            *half = Half::Closing;
        }
    }

    /// The connection to `side` is gone in both directions.
    pub(super) fn on_lost(&mut self, side: Side) {
        self.halves[side.sends()] = Half::Ended;
        self.halves[side.other().sends()] = Half::Lost;
    }

    /// Everything that `side` has sent before it closed is handled.
    pub(super) fn on_handled(&mut self, side: Side) {
        self.halves[side.sends()] = Half::Ended;
    }

    /// Ends the direction towards `side`. Returns whether that has to be told.
    pub(super) fn shut(&mut self, side: Side) -> bool {
        let half = &mut self.halves[side.other().sends()];
        let open = !matches!(half, Half::Shut | Half::Lost);
        if open {
            *half = Half::Shut;
        }
        open
    }

    /// Gives a reason, which counts if there was none.
    pub(super) fn give_reason(&mut self, reason: impl Into<String>) {
        self.reason.get_or_insert_with(|| reason.into());
    }

    /// Gives the reason in the place of the one before.
    pub(super) fn set_reason(&mut self, reason: impl Into<String>) {
        self.reason = Some(reason.into());
    }

    /// Ends the session when nothing more can be handled, unless it ends already.
    pub(super) fn end_soon(&mut self, farewell: Farewell) {
        if let Ending::No | Ending::Connected(_) = self.ending {
            self.ending = Ending::Soon(farewell);
        }
    }

    /// Ends the session once the server is connected or known to be out of reach, unless it ends already.
    pub(super) fn end_connected(&mut self, farewell: Farewell) {
        if let Ending::No = self.ending {
            self.ending = Ending::Connected(farewell);
        }
    }

    /// Ends the session at the present packet.
    pub(super) fn end_now(&mut self) {
        self.ending = Ending::Now;
    }

    /// Ends the session for good. Returns why.
    pub(super) fn finish(&mut self) -> String {
        self.ending = Ending::Over;
        self.reason.clone().unwrap_or_else(|| "both sides closed".into())
    }

    pub(super) fn ending(&self) -> &Ending {
        &self.ending
    }

    pub(super) fn half(&self, direction: Direction) -> Half {
        self.halves[direction]
    }

    /// Returns the reason why the session ends, once there is one.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns whether `side` sends no more.
    pub(super) fn is_closed(&self, side: Side) -> bool {
        matches!(self.halves[side.sends()], Half::Closing | Half::Ended | Half::Shut)
    }

    /// Returns whether neither side sends any more.
    pub(super) fn are_closed(&self) -> bool {
        Side::ALL.into_iter().all(|side| self.is_closed(side))
    }

    /// Returns the side whose connection is gone.
    pub(super) fn lost(&self) -> Option<Side> {
        Side::ALL.into_iter().find(|side| self.halves[side.other().sends()] == Half::Lost)
    }

    /// Returns whether packets are handled no more.
    pub(super) fn has_stopped(&self) -> bool {
        matches!(self.ending, Ending::Now | Ending::Over)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.ending, Ending::Over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_ends_from_its_sender_to_its_receiver() {
        let mut closing = Closing::default();
        closing.on_closed(Side::Client);
        assert_eq!(closing.half(Direction::Serverbound), Half::Closing);
        assert!(closing.is_closed(Side::Client) && !closing.are_closed());
        closing.on_handled(Side::Client);
        closing.on_closed(Side::Client);
        assert_eq!(closing.half(Direction::Serverbound), Half::Ended, "it closes once");
        assert!(closing.shut(Side::Server));
        assert!(!closing.shut(Side::Server), "the server is told once");
        closing.on_closed(Side::Server);
        assert!(closing.are_closed());
    }

    #[test]
    fn a_side_that_is_lost_sends_no_more_and_is_told_nothing() {
        for side in Side::ALL {
            let mut closing = Closing::default();
            closing.on_lost(side);
            assert_eq!(closing.lost(), Some(side));
            assert!(closing.is_closed(side) && !closing.is_closed(side.other()));
            assert!(!closing.shut(side));
        }
    }

    #[test]
    fn the_first_end_counts_unless_it_is_at_a_packet() {
        let mut closing = Closing::default();
        let text = |text: &str| Farewell { text: Some(text.into()), ..Farewell::default() };
        closing.end_soon(text("first"));
        closing.end_soon(text("second"));
        assert!(
            matches!(closing.ending(), Ending::Soon(it) if it.text.as_deref() == Some("first"))
        );
        assert!(!closing.has_stopped(), "what is held still goes on");
        closing.end_now();
        closing.end_soon(text("third"));
        assert!(closing.has_stopped() && !closing.is_over());
        closing.give_reason("a");
        closing.give_reason("b");
        assert_eq!(closing.reason(), Some("a"));
        closing.set_reason("c");
        assert_eq!(closing.finish(), "c");
        assert!(closing.is_over());
    }
}
