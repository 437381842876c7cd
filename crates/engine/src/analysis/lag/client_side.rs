use super::answers::Trip;
use super::finding::LagPlace;
use super::flow::Gap;
use super::judge::{BOTH, CLIENT_SIDE, Fact, Judgement, longest, seconds, slowest};
use super::lates::Lates;
use super::spans::{Evidence, MOVE_ABSENT, Span, WAITED};
use crate::report::Certainty;
use mitmcraft_protocol::schema::Direction;

/// The movement packets of a client whose versions send no packet per tick (1.9 to 1.21.1), within a span: whether they
/// came as often as the game sends them.
#[derive(Debug, Default)]
struct Moves {
    /// The longest time without one: when it began, and its seconds.
    from: f64,
    gap: f64,
    /// `true` if fewer came than the game owes.
    is_slow: bool,
    /// `true` if those that were missing came at once.
    is_burst: bool,
    /// `true` if the player moved, but in none of the seconds as often as otherwise.
    is_thin: bool,
    is_on_time: bool,
    fact: Option<Fact>,
}

/// Evidence about the client's side within a span in which some of its packets or answers were late.
struct ClientSide<'e> {
    span: Span,
    lates: Lates<'e>,
    moves: Moves,
    /// Late answers.
    late: Vec<&'e Trip>,
    /// Seconds that the slowest of them took.
    took: f64,
    /// The number of answers that do not depend on the client's game, in time and late.
    prompt: usize,
    missed: usize,
    facts: Vec<Fact>,
}

impl Evidence<'_> {
    /// Judges a period in which something of the client was late.
    pub(super) fn client(&self, span: Span) -> Option<Judgement> {
        let trips = self.trips_of(span, Direction::Clientbound);
        let late: Vec<&Trip> = trips.iter().copied().filter(|it| it.is_late).collect();
        let lates = Lates::of(&self.client, span);
        let moves = self.moves(span);
        let aside =
            |is_late| trips.iter().filter(|it| it.is_aside && it.is_late == is_late).count();
        let (prompt, missed) = (aside(false), aside(true));
        let mut facts = lates.facts("the client's game");
        facts.extend(slowest(&late).map(Fact::from));
        facts.extend(moves.fact.clone());
        facts.extend(self.prompt_answer(span).filter(|_| missed == 0));
        let end = self.silence_at_the_end(Direction::Serverbound);
        if let Some(end) = end.filter(|end| span.overlaps(end.from, end.to)) {
            facts.insert(0, self.last_packet(Direction::Serverbound, end));
            return Some(Judgement::untold(span, CLIENT_SIDE, SILENT_TO_THE_END, facts));
        }
        let took = slowest(&late).map_or(0.0, |trip| trip.took);
        let side = ClientSide { span, lates, moves, late, took, prompt, missed, facts };
        if !side.is_significant() {
            return None;
        }
        let has_clock = side.lates.covered >= 0.7 * span.seconds();
        let told = match has_clock {
            true => self.by_ticks(&side),
            false => self.by_moves(&side),
        };
        if told.is_some() {
            return told;
        }
        let is_on_time = match has_clock {
            true => side.lates.lost < 0.1 * span.seconds(),
            false => side.moves.is_on_time,
        };
        side.by_answers(is_on_time)
    }

    /// Judges by the ticks of the client.
    fn by_ticks(&self, side: &ClientSide<'_>) -> Option<Judgement> {
        let Lates { lost, most, waited, late, .. } = side.lates;
        // Packets that take longer from now on look like a moment in which the game stood still.
        let stays = side.lates.step.is_some_and(|step| side.late.iter().any(|it| it.at > step.at));
        let is_onset = side.lates.is_once() && stays && lost <= side.took + 0.3;
        if lost >= (0.2 * side.span.seconds()).max(0.5) && !is_onset {
            let reason = if side.lates.is_once() {
                let time = seconds(most);
                format!("the client's game stood still for {time}, and never played them")
            } else {
                let rate = side.lates.rate(side.span);
                format!(
                    "the client's game played {rate:.1} ticks per second: it lost {}",
                    seconds(lost)
                )
            };
            return Some(side.told(LagPlace::Client, side.is_of_game() && lost >= 1.0, reason));
        }
        if waited < WAITED || waited < 0.6 && late < MANY {
            return None;
        }
        if side.lates.longest.is_some_and(|it| self.is_server_silent(it.at - it.waited, it.at)) {
            return Some(side.untold(BOTH, BOTH_SILENT));
        }
        let is_certain = side.missed > 0 || waited >= 3.0;
        let time = seconds(waited);
        let reason = format!(
            "packets of the client were up to {time} late, and none of its ticks are missing"
        );
        Some(side.told(LagPlace::ClientNetwork, is_certain, reason))
    }

    /// Judges by the moves of a client whose ticks cannot be counted.
    fn by_moves(&self, side: &ClientSide<'_>) -> Option<Judgement> {
        let moves = &side.moves;
        if moves.is_slow {
            let reason = "the client's game was too slow to send a move in each second".to_owned();
            return Some(side.told(LagPlace::Client, side.is_of_game(), reason));
        }
        if moves.is_burst {
            if self.is_server_silent(moves.from, moves.from + moves.gap) {
                return Some(side.untold(BOTH, BOTH_SILENT));
            }
            let time = seconds(moves.gap);
            let reason =
                format!("the client's moves were missing for {time}, and then came at once");
            return Some(side.told(LagPlace::ClientNetwork, side.missed > 0, reason));
        }
        let reason = "the client answered late, and moved its player more seldom than otherwise";
        moves.is_thin.then(|| side.told(LagPlace::Client, false, reason.to_owned()))
    }

    /// Returns what is known from the moves of a client whose ticks cannot be counted.
    fn moves(&self, span: Span) -> Moves {
        let (Some(every), flow) = (self.seen.sure_moves(), &self.seen.moves) else {
            return Moves::default();
        };
        let time = span.seconds().max(1.0);
        let count = flow.sum(span.from, span.to).0 as f64;
        // Who watches through the eyes of another does not move at all.
        let gaps = flow.gaps(span.from, span.to).filter(|gap| gap.seconds() < MOVE_ABSENT);
        let gap = longest(gaps);
        let seconds_without = gap.map_or(0.0, Gap::seconds);
        let (released, missing) =
            gap.map_or((0.0, 0.0), |gap| (f64::from(gap.released), gap.missing));
        let owed = (seconds_without / every).floor();
        let is_long = seconds_without >= 2.0 * every;
        // Packets that take longer from now on leave a gap too.
        let is_alone = seconds_without >= (3.0 * every).max(0.5 * time);
        let lost = time - count * every - 2.0;
        let (most, usual) =
            (flow.most(span.from, span.to, true), flow.most(span.from, span.to, false));
        let is_regular = (0.85..1.4).contains(&(count * every / time));
        Moves {
            from: gap.map_or(0.0, |gap| gap.from),
            gap: seconds_without,
            is_slow: lost >= (0.2 * time).max(1.0) && (!is_long || released < 0.6 * owed)
                || is_alone && released < 0.6 * (owed - 1.0),
            is_burst: is_long && released >= 0.6 * missing.max(owed),
            is_thin: time >= 5.0 && usual >= WALKING && most <= 13 && count / time >= 1.5,
            is_on_time: seconds_without < 3.0 * every && (most >= WALKING || is_regular),
            fact: gap.filter(|_| is_long).map(|gap| {
                let time = seconds(gap.seconds());
                let text = format!("the client sent no move for {time} after this packet");
                Fact { at: gap.from, seq: gap.seq, text }
            }),
        }
    }

    /// Returns whether the server sent nothing for most of a period.
    fn is_server_silent(&self, from: f64, to: f64) -> bool {
        let common = |gap: &Gap| gap.to.min(to) - gap.from.max(from);
        let mut gaps = self.seen.down.gaps(from, to);
        gaps.any(|gap| common(gap) >= (0.6 * (to - from)).max(0.5))
    }
}

impl ClientSide<'_> {
    fn is_significant(&self) -> bool {
        let Lates { lost, waited, late, .. } = self.lates;
        let is_late = self.late.len() >= 2 || self.took >= 1.0;
        lost >= 1.0 || waited >= 0.6 || late >= MANY || is_late || self.moves.gap >= 2.0
    }

    /// Returns whether the answers speak for the client's game.
    fn is_of_game(&self) -> bool {
        self.prompt > 0 && self.missed == 0 || self.late.len() >= 2
    }

    /// Judges by the answers of the client, if its game was on time as far as is known.
    fn by_answers(self, is_on_time: bool) -> Option<Judgement> {
        let time = seconds(self.took);
        if self.missed > 0 && is_on_time {
            let reason = format!(
                "answers of the client took up to {time}, while its game went on at its rate"
            );
            return Some(self.told(LagPlace::ClientNetwork, false, reason));
        }
        if self.missed == 0 && self.prompt > 0 && self.late.len() >= 2 {
            let reason = format!(
                "the client's game took up to {time} to answer, and the client answered keep-alives at once"
            );
            return Some(self.told(LagPlace::Client, false, reason));
        }
        let reason = "answers of the client were late, and nothing else tells why";
        (!self.late.is_empty()).then(|| self.untold(CLIENT_SIDE, reason))
    }

    fn told(&self, place: LagPlace, is_certain: bool, reason: String) -> Judgement {
        let certainty = if is_certain { Certainty::Certain } else { Certainty::Likely };
        Judgement::told(self.span, place, certainty, reason, self.facts.clone())
    }

    fn untold(&self, among: &'static [LagPlace], reason: &str) -> Judgement {
        Judgement::untold(self.span, among, reason, self.facts.clone())
    }
}

const SILENT_TO_THE_END: &str =
    "nothing came from the client up to the end: it stood still, or the network to it was down";

const BOTH_SILENT: &str = "both connections stood still at once: the proxy's machine, or a network that both use; a capture does not tell which";

/// Late ticks that are more than a hitch.
const MANY: usize = 12;

/// Moves of a second in which the player walks.
const WALKING: u32 = 15;
