use std::time::Duration;

use super::Session;
use super::phase::Phase;
use crate::link::DelayQueue;
use crate::packet::Timestamp;
use crate::schema::State;

/// What a session waits for by the clock.
impl Session {
    /// When to be told [`Input::Timeout`](super::Input::Timeout), if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let released = self.queues.iter().filter_map(DelayQueue::next);
        let silence = self.silence().map(|(_, _, at)| at);
        let own = [self.linger, self.settle, self.patience].into_iter().flatten();
        let timers = released.chain(own).chain(silence);
        timers.min().filter(|_| !self.is_over())
    }

    pub(super) fn on_timeout(&mut self) {
        if self.settle.is_some_and(|settle| settle <= self.now) {
            self.detect();
            self.pump();
            self.settle = None;
            self.end_ping();
            self.on_refused_ping(&[], true);
        }
        self.release_due();
        self.end_of_patience();
        if self.linger.is_some_and(|linger| linger <= self.now) {
            self.end();
        }
        if let Some((name, limit, _)) = self.silence().filter(|(_, _, at)| *at <= self.now) {
            self.time_out(&format!(
                "nothing came for {} s (timeout `{name}`)",
                limit.as_secs_f64()
            ));
        }
    }

    /// Waits a while for the rest of a ping that may be whole.
    pub(super) fn settle(&mut self) {
        let settle = self.now.plus(SETTLE);
        self.settle.get_or_insert(settle);
    }

    /// What is to be said when one of its timeouts has ended it.
    #[must_use]
    pub fn timed_out(&self) -> Option<String> {
        let reason = self.reason.as_ref().filter(|_| self.timed_out)?;
        Some(format!("session {} is closed: {reason}", self.context.session))
    }

    fn time_out(&mut self, reason: &str) {
        if self.is_over() {
            return;
        }
        self.timed_out = true;
        match self.phase {
            Phase::Frames | Phase::AwaitSecret(_) => self.close_with(reason, reason.to_owned()),
            _ => {
                self.reason.get_or_insert_with(|| reason.to_owned());
                self.end();
            }
        }
    }

    /// Which timeout holds now, and when it ends the session if no byte comes.
    fn silence(&self) -> Option<(&'static str, Duration, Timestamp)> {
        let playing = [State::Play; 2] == self.states() || matches!(self.phase, Phase::Relay(_));
        let timeouts = &self.config.timeouts;
        let (name, limit) = match playing {
            true => ("idle", timeouts.idle?),
            false => ("login", timeouts.login?),
        };
        Some((name, limit, self.last_byte.plus(limit)))
    }
}

/// How long the rest of a ping may take: its forms differ only in what follows the first byte. The
/// answer that there is no server can wait that long.
const SETTLE: Duration = Duration::from_millis(500);
