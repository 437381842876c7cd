use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::exchange::{Exchange, ExchangeRole};
use crate::capture::Record;
use crate::packet::Timestamp;
use crate::schema::Direction;

/// Measures from a question to the answer with its number: keep-alives, pings, teleports,
/// transactions. The times are those of the proxy, between its two legs.
///
/// Memory is bounded: beyond 65,536 open questions the oldest count as unanswered.
#[derive(Debug, Default)]
pub struct RoundTrips {
    open: HashMap<Question, Timestamp>,
    trips: BTreeMap<Exchange, RoundTrip>,
}

/// How long answers of one kind took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    /// Answers.
    pub answered: u64,
    /// Questions without one.
    pub unanswered: u64,
    /// The shortest time.
    pub shortest: Duration,
    /// The longest time.
    pub longest: Duration,
    /// All of them together.
    pub total: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    session: u64,
    exchange: Exchange,
    number: i64,
}

impl RoundTrips {
    /// Looks at a packet that came from a peer.
    pub fn count(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(part) = Exchange::part(packet) else { return };
        let question =
            |exchange, number| Question { session: packet.context.session, exchange, number };
        match part {
            ExchangeRole::Asks(exchange, number) => self.ask(question(exchange, number), packet.at),
            ExchangeRole::Answers(exchange, number) => {
                self.answer(question(exchange, number), packet.at);
            }
            ExchangeRole::Either(asks, answers, number) => {
                if !self.answer(question(answers, number), packet.at) {
                    self.ask(question(asks, number), packet.at);
                }
            }
        }
    }

    /// A session has ended: what is open stays unanswered.
    pub fn close(&mut self, session: u64) {
        self.give_up(|question, _| question.session == session);
    }

    /// Another capture begins, with sessions of its own.
    pub fn close_all(&mut self) {
        self.give_up(|_, _| true);
    }

    /// Every kind that occurred: its name, who asks, and the times. What is open counts as
    /// unanswered.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Direction, RoundTrip)> {
        Exchange::ALL.into_iter().filter_map(|exchange| {
            let mut trip = self.trips.get(&exchange).copied().unwrap_or_default();
            let open = self.open.keys().filter(|question| question.exchange == exchange).count();
            trip.unanswered += open as u64;
            let occurred = trip.answered + trip.unanswered > 0;
            occurred.then_some((exchange.name(), exchange.asked(), trip))
        })
    }

    fn ask(&mut self, question: Question, at: Timestamp) {
        if self.open.len() >= MAX_OPEN {
            let mut times: Vec<Timestamp> = self.open.values().copied().collect();
            let middle = times.len() / 2;
            let middle = *times.select_nth_unstable(middle).1;
            self.give_up(|_, asked| asked <= middle);
        }
        if self.open.insert(question, at).is_some() {
            self.trips.entry(question.exchange).or_default().unanswered += 1;
        }
    }

    fn answer(&mut self, question: Question, at: Timestamp) -> bool {
        let Some(asked) = self.open.remove(&question) else { return false };
        self.trips.entry(question.exchange).or_default().count(at.since(asked));
        true
    }

    fn give_up(&mut self, which: impl Fn(&Question, Timestamp) -> bool) {
        let trips = &mut self.trips;
        self.open.retain(|question, asked| {
            let gone = which(question, *asked);
            if gone {
                trips.entry(question.exchange).or_default().unanswered += 1;
            }
            !gone
        });
    }
}

impl RoundTrip {
    /// The mean time; none without answers.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let nanos = self.total.as_nanos().checked_div(self.answered.into())?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    fn count(&mut self, took: Duration) {
        self.shortest = match self.answered {
            0 => took,
            _ => self.shortest.min(took),
        };
        self.longest = self.longest.max(took);
        self.total = self.total.saturating_add(took);
        self.answered += 1;
    }
}

const MAX_OPEN: usize = 1 << 16;
