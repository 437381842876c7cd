use std::collections::BTreeMap;
use std::sync::Arc;

use super::answers::Question;
use super::clock::Late;
use super::observed::{Observed, TICKS};
use super::spans::WINDOW;
use crate::analysis::RoundTrip;
use mitmcraft_protocol::packet::Context;

/// What was measured in a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Measured {
    /// The capture that has the session.
    pub source: Option<Arc<str>>,
    /// The session.
    pub context: Arc<Context>,
    /// Seconds in the game.
    pub seconds: f64,
    /// The clock of the server's game.
    pub server: Ticks,
    /// The clock of the client's game.
    pub client: Ticks,
    /// The longest time without a packet of the server, in seconds.
    pub server_silence: f64,
    /// The longest time without a packet of the client, in seconds.
    pub client_silence: f64,
    /// The chunks per tick that the client asked for: the number of its reports, the least and the most.
    pub chunks: Option<(u64, f64, f64)>,
    /// `true` if packets are missing from the capture, so that neither ticks nor silences tell anything.
    pub is_partial: bool,
    pub(super) trips: BTreeMap<Question, RoundTrip>,
}

/// How the clock of a game ran, as far as its packets tell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Ticks {
    /// Seconds in which the clock could be followed.
    pub seconds: f64,
    /// Seconds that the game has permanently lost.
    pub lost: f64,
    /// Ticks per second in the slowest ten seconds, or in at least five where the clock could not be followed for
    /// longer; 20 or less. `None` if it could not be followed even for that.
    pub slowest: Option<f64>,
    /// The longest delay of a packet of the clock, without the time that the game has lost, in seconds.
    pub waited: f64,
}

impl Measured {
    pub(super) fn new(source: Option<Arc<str>>, context: Arc<Context>) -> Self {
        Self {
            source,
            context,
            seconds: 0.0,
            server: Ticks::default(),
            client: Ticks::default(),
            server_silence: 0.0,
            client_silence: 0.0,
            chunks: None,
            is_partial: false,
            trips: BTreeMap::new(),
        }
    }

    /// Adds what was observed of the clocks up to a moment.
    pub(super) fn follow(&mut self, seen: &Observed, end: f64) {
        self.seconds += seen.played_from.map_or(0.0, |from| (end - from).max(0.0));
        self.server.add(&seen.server.lates());
        if seen.counts_ticks() {
            self.client.add(&seen.client.lates());
        }
    }

    /// Takes a report of the client.
    pub(super) fn take_chunks(&mut self, per_tick: f64) {
        let (count, least, most) = self.chunks.unwrap_or((0, per_tick, per_tick));
        self.chunks = Some((count + 1, least.min(per_tick), most.max(per_tick)));
    }

    /// Returns `true` if nothing tells how the session ran.
    pub(super) fn is_blind(&self) -> bool {
        self.server.seconds == 0.0 && self.client.seconds == 0.0 && self.trips.is_empty()
    }
}

impl Ticks {
    /// Adds what a stretch of the clock showed.
    pub(super) fn add(&mut self, lates: &[Late]) {
        let mut lost = 0.0;
        let mut first = 0;
        for (place, late) in lates.iter().enumerate() {
            self.seconds += late.at - late.before;
            self.lost += late.lost;
            self.waited = self.waited.max(late.waited);
            lost += late.lost;
            while lates[place].at - lates[first].before > WINDOW && first < place {
                lost -= lates[first].lost;
                first += 1;
            }
            let seconds = late.at - lates[first].before;
            if seconds >= WINDOW / 2.0 {
                let rate = TICKS * (1.0 - lost / seconds).clamp(0.0, 1.0);
                self.slowest = Some(self.slowest.map_or(rate, |it| it.min(rate)));
            }
        }
    }
}
