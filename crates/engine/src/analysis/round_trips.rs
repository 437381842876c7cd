use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::exchange::{Exchange, ExchangeRole};
use crate::capture::Record;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Direction;

/// Measures the time from requests to their answers: keep-alives, pings, teleports, transactions.
/// Times are those at which the proxy received the packets.
///
/// Memory is bounded: beyond 65,536 open requests, the older half counts as unanswered.
#[derive(Debug, Default)]
pub struct RoundTrips {
    open: HashMap<Request, Timestamp>,
    trips: BTreeMap<Exchange, RoundTrip>,
}

/// The round trips of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    /// Number of answered requests.
    pub answered: u64,
    /// Number of requests without an answer.
    pub unanswered: u64,
    /// The shortest round trip.
    pub shortest: Duration,
    /// The longest round trip.
    pub longest: Duration,
    /// The sum of all round trips.
    pub total: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Request {
    session: u64,
    exchange: Exchange,
    number: i64,
}

impl RoundTrips {
    /// Counts a packet that was received from a peer. Returns the round trip of a keep-alive that it
    /// answers.
    pub fn count(&mut self, record: &Record) -> Option<Duration> {
        let packet = &record.packet;
        let ExchangeRole { answers, asks, number } = Exchange::role(packet)?;
        let session = packet.context().session;
        let request = |exchange| Request { session, exchange, number };
        let took = answers.and_then(|exchange| self.answer(request(exchange), packet.at()));
        if let Some(exchange) = asks.filter(|_| took.is_none()) {
            self.ask(request(exchange), packet.at());
        }
        took.filter(|_| answers == Some(Exchange::KeepAlive))
    }

    /// Ends a session: its open requests remain unanswered.
    pub fn close(&mut self, session: u64) {
        self.give_up(|request, _| request.session == session);
    }

    /// Ends all sessions, since another capture begins.
    pub fn close_all(&mut self) {
        self.give_up(|_, _| true);
    }

    /// Adds other round trips, of which no request is open.
    pub(super) fn add(&mut self, other: &Self) {
        for (exchange, trip) in &other.trips {
            self.trips.entry(*exchange).or_default().add(trip);
        }
    }

    /// Iterates over the kinds that occurred: the name, the direction of requests, and the round trips.
    /// Open requests count as unanswered.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Direction, RoundTrip)> {
        Exchange::ALL.into_iter().filter_map(|(exchange, name)| {
            let mut trip = self.trips.get(&exchange).copied().unwrap_or_default();
            let open = self.open.keys().filter(|request| request.exchange == exchange).count();
            trip.unanswered += open as u64;
            let occurred = trip.answered + trip.unanswered > 0;
            occurred.then_some((name, exchange.asked(), trip))
        })
    }

    fn ask(&mut self, request: Request, at: Timestamp) {
        if self.open.len() >= MAX_OPEN {
            let mut times: Vec<Timestamp> = self.open.values().copied().collect();
            let middle = times.len() / 2;
            let middle = *times.select_nth_unstable(middle).1;
            self.give_up(|_, asked| asked <= middle);
        }
        if self.open.insert(request, at).is_some() {
            self.trips.entry(request.exchange).or_default().unanswered += 1;
        }
    }

    fn answer(&mut self, request: Request, at: Timestamp) -> Option<Duration> {
        let took = at.since(self.open.remove(&request)?);
        self.trips.entry(request.exchange).or_default().count(took);
        Some(took)
    }

    fn give_up(&mut self, which: impl Fn(&Request, Timestamp) -> bool) {
        let trips = &mut self.trips;
        self.open.retain(|request, asked| {
            let gone = which(request, *asked);
            if gone {
                trips.entry(request.exchange).or_default().unanswered += 1;
            }
            !gone
        });
    }
}

impl RoundTrip {
    /// The mean round trip; `None` without answers.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.total.as_nanos().checked_div(self.answered.into())?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    pub(super) fn count(&mut self, took: Duration) {
        self.add(&Self { answered: 1, unanswered: 0, shortest: took, longest: took, total: took });
    }

    fn add(&mut self, other: &Self) {
        self.shortest = match (self.answered, other.answered) {
            (_, 0) => self.shortest,
            (0, _) => other.shortest,
            _ => self.shortest.min(other.shortest),
        };
        self.longest = self.longest.max(other.longest);
        self.total = self.total.saturating_add(other.total);
        self.answered += other.answered;
        self.unanswered += other.unanswered;
    }
}

/// Greatest number of open requests.
const MAX_OPEN: usize = 1 << 16;
