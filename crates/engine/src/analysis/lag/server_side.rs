use super::answers::Trip;
use super::finding::LagPlace;
use super::flow::Gap;
use super::judge::{Fact, Judgement, SERVER_SIDE, longest, seconds, slowest};
use super::lates::Lates;
use super::spans::{Evidence, Span};
use crate::report::Certainty;
use mitmcraft_protocol::schema::Direction;

/// Evidence about the server's side within a span in which some of its packets or answers were late.
struct ServerSide<'e> {
    span: Span,
    lates: Lates<'e>,
    gaps: Vec<&'e Gap>,
    /// `true` if the server's clock is known.
    has_clock: bool,
    /// `true` if the server answered a ping at once while it sent nothing else.
    is_answering: bool,
    /// `true` if answers were late that do not depend on the server's game.
    is_slow: bool,
    facts: Vec<Fact>,
}

impl Evidence<'_> {
    /// Judges a period in which something of the server was late, in the light of what is known of the client.
    pub(super) fn server(&self, span: Span, client: &[Judgement]) -> Option<Judgement> {
        let lates = Lates::of(&self.server, span);
        let trips = self.trips_of(span, Direction::Serverbound);
        let late: Vec<&Trip> = trips.iter().copied().filter(|it| it.is_late).collect();
        let gaps: Vec<&Gap> = self.seen.down.gaps(span.from, span.to).collect();
        let mut facts = lates.facts("the server's world");
        facts.extend(longest(gaps.iter().copied()).filter(|it| it.seconds() >= NOTED).map(|gap| {
            let time = seconds(gap.seconds());
            let text = format!("the server sent nothing for {time} after this packet");
            Fact { at: gap.from, seq: gap.seq, text }
        }));
        facts.extend(self.prompt_answer(span));
        facts.extend(slowest(&late).map(Fact::from));
        let end = self.silence_at_the_end(Direction::Clientbound);
        if let Some(end) = end.filter(|end| span.overlaps(end.from, end.to)) {
            facts.insert(0, self.last_packet(Direction::Clientbound, end));
            return Some(Judgement::untold(span, SERVER_SIDE, SILENT_TO_THE_END, facts));
        }
        let prompt: Vec<&Trip> =
            trips.iter().copied().filter(|it| it.is_aside && !it.is_late).collect();
        let side = ServerSide {
            span,
            is_answering: gaps.iter().any(|gap| prompt.iter().any(|it| is_within(gap, it))),
            is_slow: late.iter().any(|it| it.is_aside),
            has_clock: !self.server.is_empty(),
            lates,
            gaps,
            facts,
        };
        if side.lates.lost >= 0.5 && side.lates.lost >= 0.3 * side.lates.waited {
            return Some(self.lost(side));
        }
        // A player's slow connection holds up what the server sends.
        let holds_up =
            |it: &Judgement| it.span.from - 2.0 < span.from && it.span.to + 10.0 > span.to;
        if !side.is_significant() || client.iter().any(holds_up) {
            return None;
        }
        Some(side.delayed())
    }

    /// Judges a server whose world has lost time.
    fn lost(&self, side: ServerSide<'_>) -> Judgement {
        let Lates { lost, steps, settled, .. } = side.lates;
        let (span, is_once) = (side.span, side.lates.is_once());
        let silence = longest(side.gaps.iter().copied()).map_or(0.0, Gap::excess);
        // Packets that take longer up to the end look like time that is lost, and so does a backlog.
        let (usual, known_for) = self.rate_outside(span);
        let now = self.seen.down.sum(span.from, span.to).1 as f64 / span.seconds().max(1.0);
        let is_backlog = settled < 10.0 && silence < NOTED && known_for > 10.0 && now > 3.0 * usual;
        let is_delay = is_once && lost < 3.0 && settled < 60.0;
        if (is_backlog || is_delay) && !side.is_answering {
            return Judgement::untold(span, SERVER_SIDE, BEHIND, side.facts);
        }
        let is_certain =
            side.is_answering || steps >= 3 || lost >= if is_once { 10.0 } else { 3.0 };
        let certainty = if is_certain { Certainty::Certain } else { Certainty::Likely };
        let behind = seconds(lost);
        let reason = if is_once {
            let time = seconds(silence.max(lost));
            format!("the server stood still for {time}: its world is {behind} behind since")
        } else {
            let rate = side.lates.rate(span);
            format!("the server played {rate:.1} ticks per second: its world fell {behind} behind")
        };
        Judgement::told(span, LagPlace::Server, certainty, reason, side.facts)
    }

    /// Returns the bytes per second of the server outside a period, and how long that is.
    fn rate_outside(&self, span: Span) -> (f64, f64) {
        let down = &self.seen.down;
        let bytes = down.sum(0.0, span.from).1 + down.sum(span.to, self.end).1;
        let from = self.seen.played_from.unwrap_or_default();
        let seconds = (span.from - from).max(0.0) + (self.end - span.to).max(0.0);
        (bytes as f64 / seconds.max(1.0), seconds)
    }
}

impl ServerSide<'_> {
    fn is_significant(&self) -> bool {
        let Lates { waited, late, .. } = self.lates;
        let is_silent = !self.has_clock && !self.gaps.is_empty();
        waited >= 0.6 || late >= 4 || self.is_slow || is_silent
    }

    /// Judges a server whose packets came late, and that has lost nothing.
    fn delayed(self) -> Judgement {
        let late_by = if self.has_clock {
            let waited = seconds(self.lates.waited);
            format!(
                "packets of the server were up to {waited} late, and its world has lost nothing"
            )
        } else {
            let silence = longest(self.gaps.iter().copied()).map_or(0.0, Gap::seconds);
            format!("the server sent nothing for {}", seconds(silence))
        };
        let counted = self.gaps.iter().filter(|gap| gap.missing >= 5.0);
        let released = counted.map(|gap| f64::from(gap.released) / gap.missing);
        let (bursts, others): (Vec<f64>, Vec<f64>) = released.partition(|it| *it >= 0.6);
        let spread = others.iter().filter(|it| **it <= 0.35).count();
        let (server, network) = (LagPlace::Server, LagPlace::ServerNetwork);
        let (place, certainty, why) = if self.is_answering {
            (server, Certainty::Certain, "; it answered a ping meanwhile".to_owned())
        } else if self.is_slow {
            let why = "; pings took as long, which servers also answer while they stand still";
            (network, Certainty::Certain, why.to_owned())
        } else if self.lates.waited > CAUGHT_UP {
            let why = format!(": more than the {CAUGHT_UP} s with which a server catches up");
            (network, Certainty::Certain, why)
        } else if self.lates.steady >= 3 {
            (network, Certainty::Likely, ": they were about as late for some time".to_owned())
        } else if !bursts.is_empty() && bursts.len() >= spread {
            (network, Certainty::Likely, "; what was missing came at once".to_owned())
        } else if spread > 0 && bursts.is_empty() && self.has_clock {
            let why = ": it stood still for a moment, and played faster until it had caught up";
            (server, Certainty::Likely, why.to_owned())
        } else {
            let reason = format!("{late_by}: it stood still, or they were on the way");
            return Judgement::untold(self.span, SERVER_SIDE, &reason, self.facts);
        };
        Judgement::told(self.span, place, certainty, late_by + &why, self.facts)
    }
}

/// Returns whether a question was asked and answered while a peer sent nothing else.
fn is_within(gap: &Gap, trip: &Trip) -> bool {
    let is_asked = (gap.from..gap.to - 0.3).contains(&trip.at);
    gap.seconds() >= 0.6 && is_asked && trip.at + trip.took < gap.to
}

const SILENT_TO_THE_END: &str =
    "nothing came from the server up to the end: it stood still, or the network to it was down";

const BEHIND: &str =
    "the server's world fell behind real time: it stood still, or packets take longer since";

/// Seconds without a packet of the server that are noteworthy.
const NOTED: f64 = 0.5;

/// Seconds with which a server catches up, with some to spare: of more than two it skips the ticks.
const CAUGHT_UP: f64 = 2.5;
