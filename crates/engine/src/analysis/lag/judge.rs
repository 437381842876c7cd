use super::answers::Trip;
use super::finding::LagPlace;
use super::flow::Gap;
use super::observed::Observed;
use super::spans::{Evidence, Span};
use crate::report::Certainty;
use mitmcraft_protocol::schema::Direction;

/// Where the lag of a period came from.
#[derive(Debug, Clone)]
pub(super) struct Judgement {
    pub(super) span: Span,
    pub(super) place: LagPlace,
    /// The places that are possible, if that cannot be told.
    pub(super) among: &'static [LagPlace],
    pub(super) certainty: Certainty,
    pub(super) reason: String,
    pub(super) facts: Vec<Fact>,
}

/// A measurement: its time, the number of its packet, and the words for it.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub(super) at: f64,
    pub(super) seq: u64,
    pub(super) text: String,
}

/// Judges a session up to a moment, at which it may have ended.
pub(super) fn judge(seen: &Observed, end: f64, is_closed: bool) -> Vec<Judgement> {
    let evidence = Evidence::new(seen, end, is_closed);
    let client: Vec<Judgement> =
        evidence.client_spans().into_iter().filter_map(|span| evidence.client(span)).collect();
    let mut found: Vec<Judgement> = evidence
        .server_spans()
        .into_iter()
        .filter_map(|span| evidence.server(span, &client))
        .collect();
    found.extend(client);
    found.iter_mut().for_each(|judgement| evidence.flood(judgement));
    found.sort_by(|a, b| a.span.from.total_cmp(&b.span.from));
    found
}

impl Judgement {
    /// Judges that the lag of a period came from a place.
    pub(super) fn told(
        span: Span,
        place: LagPlace,
        certainty: Certainty,
        reason: String,
        facts: Vec<Fact>,
    ) -> Self {
        Self { span, place, among: &[], certainty, reason, facts }
    }

    /// Judges that it cannot be told from which of some places the lag of a period came.
    pub(super) fn untold(
        span: Span,
        among: &'static [LagPlace],
        reason: &str,
        facts: Vec<Fact>,
    ) -> Self {
        let (place, certainty) = (LagPlace::Unknown, Certainty::Possible);
        Self { span, place, among, certainty, reason: reason.to_owned(), facts }
    }
}

impl Evidence<'_> {
    /// Returns the questions of a side that were open in a period.
    pub(super) fn trips_of(&self, span: Span, asked: Direction) -> Vec<&Trip> {
        let trips = self.trips.iter().filter(|it| it.question.asked() == asked);
        trips.filter(|it| span.overlaps(it.at, it.at + it.took.max(0.001))).collect()
    }

    /// Returns a question that a peer answered at once in a period, whatever its game did.
    pub(super) fn prompt_answer(&self, span: Span) -> Option<Fact> {
        let mut trips = self.trips.iter().filter(|it| it.is_aside && !it.is_late);
        let trip = trips.find(|it| (span.from..span.to).contains(&it.at))?;
        let (name, took) = (trip.question.name(), seconds(trip.took));
        let text = format!("meanwhile this {name} was answered in {took}");
        Some(Fact { at: trip.at, seq: trip.seq, text })
    }

    /// Returns the last packet before a silence that lasted up to the end.
    pub(super) fn last_packet(&self, direction: Direction, silence: Span) -> Fact {
        let (flow, who) = match direction {
            Direction::Clientbound => (&self.seen.down, "server"),
            Direction::Serverbound => (&self.seen.up, "client"),
        };
        let seq = flow.last.map_or(0, |(_, seq)| seq);
        let time = seconds(silence.seconds());
        let text = format!("the {who} sent nothing for {time} after this packet");
        Fact { at: silence.from, seq, text }
    }
}

/// Returns the answer that took longest.
pub(super) fn slowest<'t>(trips: &[&'t Trip]) -> Option<&'t Trip> {
    trips.iter().copied().max_by(|a, b| a.took.total_cmp(&b.took))
}

/// Returns the longest gap.
pub(super) fn longest<'g>(gaps: impl IntoIterator<Item = &'g Gap>) -> Option<&'g Gap> {
    gaps.into_iter().max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
}

impl From<&Trip> for Fact {
    fn from(trip: &Trip) -> Self {
        let (name, took) = (trip.question.name(), seconds(trip.took));
        let text = format!("the answer to this {name} took {took}");
        Self { at: trip.at, seq: trip.seq, text }
    }
}

/// Returns a time in words: `1.2 s`, `340 ms`.
pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        ..0.9995 => format!("{:.0} ms", seconds * 1000.0),
        ..99.95 => format!("{seconds:.1} s"),
        _ => format!("{:.1} min", seconds / 60.0),
    }
}

/// Places that cannot be told apart.
pub(super) const SERVER_SIDE: &[LagPlace] = &[LagPlace::Server, LagPlace::ServerNetwork];
pub(super) const CLIENT_SIDE: &[LagPlace] = &[LagPlace::Client, LagPlace::ClientNetwork];
pub(super) const BOTH: &[LagPlace] = &[LagPlace::ServerNetwork, LagPlace::ClientNetwork];
