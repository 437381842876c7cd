use super::answers::Trip;
use super::clock::Late;
use super::observed::Observed;
use mitmcraft_protocol::schema::Direction;

/// A period in which something was late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// The clocks and the answers of a session, to be judged.
#[derive(Debug)]
pub(super) struct Evidence<'o> {
    pub(super) seen: &'o Observed,
    pub(super) server: Vec<Late>,
    pub(super) client: Vec<Late>,
    pub(super) trips: Vec<Trip>,
    /// The time of the end.
    pub(super) end: f64,
    /// `true` if the session ended then.
    pub(super) is_closed: bool,
}

impl<'o> Evidence<'o> {
    pub(super) fn new(seen: &'o Observed, end: f64, is_closed: bool) -> Self {
        let mut trips = seen.answers.trips();
        trips.retain(|trip| !seen.is_entering(trip.at));
        let (mut server, mut client) = (seen.server.lates(), seen.client.lates());
        if runs_otherwise(&server) {
            server.clear();
        }
        if !seen.counts_ticks() {
            client.clear();
        }
        Self { seen, server, client, trips, end, is_closed }
    }

    /// Returns when something of the server was late.
    pub(super) fn server_spans(&self) -> Vec<Span> {
        let mut spans = late_spans(&self.server);
        spans.extend(self.late_answers(Direction::Serverbound));
        if self.seen.server.beats() == 0 {
            let gaps = self.seen.down.gaps(0.0, self.end);
            let gaps = gaps.filter(|gap| !self.seen.is_entering(gap.from));
            let long = gaps.filter(|gap| gap.seconds() >= SILENCE && gap.missing >= DENSE);
            let long = long.filter(|gap| self.seen.down.is_rhythmic(gap));
            spans.extend(long.map(|gap| Span { from: gap.from, to: gap.to }));
        }
        spans.extend(self.silence_at_the_end(Direction::Clientbound));
        grouped(spans)
    }

    /// Returns when something of the client was late.
    pub(super) fn client_spans(&self) -> Vec<Span> {
        let mut spans = late_spans(&self.client);
        spans.extend(self.late_answers(Direction::Clientbound));
        if self.seen.sure_moves().is_some() {
            let gaps = self.seen.moves.gaps(0.0, self.end);
            // Who watches through the eyes of another does not move at all.
            let owed = gaps.filter(|gap| (MOVE_OWED..MOVE_ABSENT).contains(&gap.seconds()));
            spans.extend(owed.map(|gap| Span { from: gap.from, to: gap.to }));
        }
        spans.extend(self.silence_at_the_end(Direction::Serverbound));
        grouped(spans)
    }

    /// Returns the time without packets of a direction before the end, if packets had come often.
    pub(super) fn silence_at_the_end(&self, direction: Direction) -> Option<Span> {
        let flow = match direction {
            Direction::Clientbound => &self.seen.down,
            Direction::Serverbound => &self.seen.up,
        };
        let (last, _) =
            flow.last.filter(|(last, _)| self.end - last.max(self.seen.entering) >= END)?;
        let missing = flow.rate(last) * (self.end - last);
        (self.is_closed && !self.seen.is_partial && missing >= DENSE)
            .then_some(Span { from: last, to: self.end })
    }

    /// Returns the periods of late answers, those of one kind up to the next that was not.
    fn late_answers(&self, asked: Direction) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut kinds: Vec<_> = self.trips.iter().map(|trip| trip.question).collect();
        kinds.sort();
        kinds.dedup();
        for kind in kinds.into_iter().filter(|kind| kind.asked() == asked) {
            let mut last: Option<Span> = None;
            for trip in self.trips.iter().filter(|trip| trip.question == kind) {
                if !trip.is_late {
                    spans.extend(last.take());
                    continue;
                }
                let to = trip.at + trip.took;
                last = match last {
                    Some(span) if trip.at - span.to <= BETWEEN => Some(Span { to, ..span }),
                    before => {
                        spans.extend(before);
                        Some(Span { from: trip.at, to })
                    }
                };
            }
            spans.extend(last);
        }
        spans
    }
}

/// Returns whether a clock is always slow by as much: it has another rate than games have.
fn runs_otherwise(lates: &[Late]) -> bool {
    let parts = || lates.iter().map(|it| it.lost / (it.at - it.before).max(0.05));
    let count = lates.len().max(1) as f64;
    let mean = parts().sum::<f64>() / count;
    let spread = (parts().map(|it| (it - mean).powi(2)).sum::<f64>() / count).sqrt();
    mean >= 0.03 && spread < 0.02
}

/// Returns when the beats of a clock were late.
fn late_spans(lates: &[Late]) -> Vec<Span> {
    let mut spans = Vec::new();
    let (mut first, mut lost) = (0, 0.0);
    for (place, late) in lates.iter().enumerate() {
        lost += late.lost;
        while late.at - lates[first].before > WINDOW && first < place {
            lost -= lates[first].lost;
            first += 1;
        }
        if late.lost >= STOOD {
            spans.push(Span { from: late.before, to: late.at });
        } else if lost >= SLOW && late.lost >= SOME {
            let from = lates[first..=place].iter().find(|it| it.lost >= SOME);
            spans.push(Span { from: from.map_or(late.before, |it| it.before), to: late.at });
        }
        if late.waited >= WAITED {
            spans.push(Span { from: late.at - late.waited, to: late.at });
        }
    }
    spans
}

/// Joins periods that are close together.
pub(super) fn grouped(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut groups: Vec<Span> = Vec::new();
    for span in spans {
        match groups.last_mut() {
            Some(last) if span.from - last.to <= CLOSE => last.to = last.to.max(span.to),
            _ => groups.push(span),
        }
    }
    groups
}

impl Span {
    pub(super) fn seconds(self) -> f64 {
        self.to - self.from
    }

    /// Returns whether another period overlaps this one.
    pub(super) fn overlaps(self, from: f64, to: f64) -> bool {
        self.from < to && self.to > from
    }
}

/// Seconds that a game loses at once.
const STOOD: f64 = 0.4;

/// Seconds over which the rate of ticks is taken, and that a game loses in them if it is slow.
pub(super) const WINDOW: f64 = 10.0;
const SLOW: f64 = 1.0;

/// Seconds lost with a beat that are more than inaccuracy.
pub(super) const SOME: f64 = 0.02;

/// Seconds by which a beat is late.
pub(super) const WAITED: f64 = 0.2;

/// Seconds for which a server sends nothing whose clock is not known, and the packets that are missing then.
const SILENCE: f64 = 2.0;
const DENSE: f64 = 10.0;

/// Seconds without packets before the end of a session.
const END: f64 = 5.0;

/// Seconds after which a move is owed, and after which the player has none to make.
const MOVE_OWED: f64 = 1.6;
pub(super) const MOVE_ABSENT: f64 = 60.0;

/// Seconds between late answers that belong together.
const BETWEEN: f64 = 35.0;

/// Seconds between periods that belong together.
const CLOSE: f64 = 6.0;
