use std::time::Duration;

use super::Session;
use super::closing::Farewell;
use super::phase::{Phase, Refusal};
use crate::link::{Engine as _, MAX_PENDING, Side};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, State};

/// The clocks of a session: each phase has its own timer, delayed packets have theirs, and silence
/// ends a session at some point.
impl Session {
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        let flows =
            |direction: &Direction| !self.ends[Side::from(*direction).other()].is_full(MAX_PENDING);
        let released = Direction::ALL.into_iter().filter(flows);
        let released = released.filter_map(|it| self.delivery.queues[it].next());
        let resumed = self.resumes().then(|| self.now());
        let silence = self.silence().map(|(_, _, at)| at);
        let takes = |direction| self.takes_units(direction) && !self.congested[direction];
        let control = self.control.timer(takes);
        let filters = self.delivery.pipeline.poll_timeout().filter(|_| self.filters_may_act());
        let timers =
            released.chain(self.phase.timer()).chain(silence).chain(control).chain(filters);
        let timers = timers.chain(resumed);
        timers.min().filter(|_| !self.is_over())
    }

    pub(super) fn on_timeout(&mut self) {
        self.release(false);
        // A rule may have closed the session at a packet that was released.
        if self.closing.has_stopped() {
            return;
        }
        if self.filters_may_act() {
            let close = self.delivery.on_filter_timeout(&mut self.ends);
            self.close_by_rule(close);
        }
        if self.closing.has_stopped() {
            return;
        }
        self.on_control_timeout();
        self.end_of_patience();
        self.end_of_lingering();
        if let Some((name, limit, _)) = self.silence().filter(|(_, _, at)| *at <= self.now()) {
            let reason = format!("nothing came for {} s (timeout `{name}`)", limit.as_secs_f64());
            let (text, reason) = (Some(reason.clone()), Some(reason));
            self.closing.end_soon(Farewell { text, reason, timed_out: true });
        }
    }

    /// Returns whether packets that had to wait for a peer to read are to be handled now.
    fn resumes(&self) -> bool {
        let waited = |direction: &Direction| self.congested[*direction];
        Direction::ALL.into_iter().filter(waited).any(|it| !self.is_congested(it))
    }

    /// Returns when a ping that could still grow counts as complete.
    pub(super) fn settle_time(&self) -> Timestamp {
        self.now().plus(SETTLE)
    }

    /// Ends a ping that has not grown for a while. Returns whether there was one.
    pub(super) fn end_settled_ping(&mut self) -> bool {
        let now = self.now();
        let settled = |settle: Option<Timestamp>| settle.is_some_and(|settle| settle <= now);
        match &self.phase {
            Phase::LegacyPing(ping) if settled(ping.settle) => self.end_ping(),
            Phase::Refused(Refusal { ping: Some(ping), .. }) if settled(ping.settle) => {
                self.on_refused_ping(&[], true);
            }
            _ => return false,
        }
        true
    }

    /// Returns whether filters may send packets of their own now: both peers read frames.
    pub(super) fn filters_may_act(&self) -> bool {
        matches!(self.phase, Phase::Frames) && self.keys.is_none()
    }

    fn end_of_lingering(&mut self) {
        let linger = match &self.phase {
            Phase::Detect(detection) => detection.reach.linger(),
            Phase::Refused(refusal) => Some(refusal.linger),
            _ => None,
        };
        if linger.is_some_and(|linger| linger <= self.now()) {
            self.closing.end_soon(Farewell::default());
        }
    }

    /// Returns the timeout that applies now, its length, and when it ends the session if no byte
    /// comes.
    fn silence(&self) -> Option<(&'static str, Duration, Timestamp)> {
        let states = self.delivery.recorder.states;
        let playing = states.values().all(|state| *state == State::Play);
        let timeouts = &self.config.timeouts;
        let (name, limit) = if playing || matches!(self.phase, Phase::Relay(_)) {
            ("idle", timeouts.idle?)
        } else {
            ("login", timeouts.login?)
        };
        let last = self.heard.client.max(self.heard.server);
        Some((name, limit, last.plus(limit)))
    }
}

/// Time that the rest of a ping may take: its forms differ only in what follows the first byte. The
/// answer that there is no server can wait that long.
const SETTLE: Duration = Duration::from_millis(500);
