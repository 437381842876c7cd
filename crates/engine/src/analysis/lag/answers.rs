use std::collections::{HashMap, VecDeque};

use crate::analysis::{Exchange, ExchangeRole};
use mitmcraft_protocol::meaning::{Answer, is_answered_aside};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Direction;

/// The answers of both peers, and the time that each took.
#[derive(Debug, Default)]
pub(super) struct Answers {
    open: HashMap<(Exchange, i64), Asked>,
    /// Questions without a number, which are answered in order.
    in_order: VecDeque<Asked>,
    /// The slowest answer of each kind and second; at most [`MAX_TRIPS`].
    trips: Vec<Trip>,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    at: f64,
    seq: u64,
    is_aside: bool,
}

/// A question and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trip {
    pub(super) question: Question,
    /// `true` if the other peer answers it also while its game stands still.
    pub(super) is_aside: bool,
    /// The time, and the number of the question's packet.
    pub(super) at: f64,
    pub(super) seq: u64,
    /// Seconds until the answer.
    pub(super) took: f64,
    /// `true` if that is much longer than usual.
    pub(super) is_late: bool,
}

/// A kind of question whose answers are timed, such as keep-alives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Question {
    Numbered(Exchange),
    Chunks,
}

impl Question {
    pub(super) fn name(self) -> &'static str {
        let known = |exchange| Exchange::ALL.iter().find(|(it, _)| *it == exchange);
        match self {
            Self::Numbered(exchange) => known(exchange).map_or("answer", |(_, name)| name),
            Self::Chunks => "chunk batch",
        }
    }

    /// The direction of the question.
    pub(super) fn asked(self) -> Direction {
        match self {
            Self::Numbered(exchange) => exchange.asked(),
            Self::Chunks => Direction::Clientbound,
        }
    }

    /// Seconds by which an answer may take longer than usual.
    fn slack(self) -> f64 {
        match self {
            Self::Numbered(Exchange::KeepAlive | Exchange::Ping | Exchange::Transaction) => 0.25,
            _ => 0.75,
        }
    }
}

impl Answers {
    /// Takes a packet. Returns the question that it answers, and the seconds that it took.
    pub(super) fn take(&mut self, packet: &Packet, at: f64) -> Option<(Question, f64)> {
        let release = packet.context().protocol.release();
        let kind = packet.kind()?;
        let asked = Asked { at, seq: packet.seq(), is_aside: is_answered_aside(release, kind) };
        let has_order = |answer: &Answer| answer.number.is_none() && answer.is_in_order;
        match packet.direction() {
            Direction::Clientbound if Answer::to(release, kind).is_some_and(has_order) => {
                if self.in_order.len() == MAX_IN_ORDER {
                    self.in_order.pop_front();
                }
                self.in_order.push_back(asked);
                return None;
            }
            Direction::Serverbound
                if Answer::by(release, kind).is_some_and(|(_, it)| has_order(it)) =>
            {
                let asked = self.in_order.pop_front()?;
                return Some(self.add(Question::Chunks, asked, at));
            }
            _ => {}
        }
        let ExchangeRole { answers, asks, number } = Exchange::role(packet)?;
        if let Some(exchange) = answers
            && let Some(asked) = self.open.remove(&(exchange, number))
        {
            return Some(self.add(Question::Numbered(exchange), asked, at));
        }
        let exchange = asks?;
        if matches!(exchange, Exchange::LoginPlugin | Exchange::StatusPing) {
            return None;
        }
        if self.open.len() >= MAX_OPEN {
            self.open.retain(|_, asked| at - asked.at < MAX_TOOK);
            if self.open.len() >= MAX_OPEN {
                self.open.clear();
            }
        }
        self.open.insert((exchange, number), asked);
        None
    }

    /// Returns the questions that are still open, with times from so many seconds later on.
    pub(super) fn next(&self, length: f64) -> Self {
        let later = |asked: &Asked| Asked { at: asked.at - length, ..*asked };
        Self {
            open: self.open.iter().map(|(question, asked)| (*question, later(asked))).collect(),
            in_order: self.in_order.iter().map(later).collect(),
            trips: Vec::new(),
        }
    }

    /// Forgets the questions that are answered in order, since packets are missing.
    pub(super) fn forget_order(&mut self) {
        self.in_order.clear();
    }

    /// Returns the answers, and whether each was late: compared with the quick ones of its kind.
    pub(super) fn trips(&self) -> Vec<Trip> {
        let mut kinds: HashMap<Question, Vec<f64>> = HashMap::new();
        for trip in &self.trips {
            kinds.entry(trip.question).or_default().push(trip.took);
        }
        let mut limits = HashMap::new();
        for (question, mut took) in kinds {
            took.sort_by(f64::total_cmp);
            let usual = took[took.len() / 5];
            limits.insert(question, (2.5 * usual).max(usual + question.slack()).min(LATE));
        }
        let is_late = |trip: &Trip| limits.get(&trip.question).is_some_and(|it| trip.took >= *it);
        self.trips.iter().map(|trip| Trip { is_late: is_late(trip), ..*trip }).collect()
    }

    fn add(&mut self, question: Question, asked: Asked, at: f64) -> (Question, f64) {
        let Asked { at: begin, seq, is_aside } = asked;
        let took = at - begin;
        let trip = Trip { question, is_aside, at: begin, seq, took, is_late: false };
        let has_room = self.trips.len() < MAX_TRIPS;
        let recent = self.trips.iter_mut().rev().take(KINDS);
        let mut same =
            recent.filter(|it| it.question == question && it.at.floor() == begin.floor());
        match same.next() {
            Some(known) if known.took >= took => {}
            Some(known) => *known = trip,
            None if has_room => self.trips.push(trip),
            None => {}
        }
        (question, took)
    }
}

/// Seconds after which an answer is late in any case.
const LATE: f64 = 1.0;

/// Seconds after which no answer is expected any more.
const MAX_TOOK: f64 = 60.0;

/// Questions that are open at the same time.
const MAX_OPEN: usize = 4096;

const MAX_IN_ORDER: usize = 64;

/// Answers that are kept: several kinds in each second of half an hour.
const MAX_TRIPS: usize = 1 << 14;

/// Kinds of questions: those with a number, and chunks.
const KINDS: usize = Exchange::ALL.len() + 1;
