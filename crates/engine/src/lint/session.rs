use std::time::Duration;

use super::bundle::{self, Bundle};
use super::channels::RegisteredChannels;
use super::forwarding::Forwarding;
use super::order::Order;
use super::{Client, Fault, LintRule};
use crate::analysis::Join;
use crate::capture::Record;
use mitmcraft_protocol::packet::{Diagnostic, Timestamp};
use mitmcraft_protocol::schema::{Direction, Role, State};

/// The state of a session in a linter.
#[derive(Debug, Default)]
pub(super) struct LintSession {
    pub(super) bundle: Bundle,
    channels: RegisteredChannels,
    order: Order,
    forwarding: Forwarding,
    pub(super) client: Client,
    join: Join,
    /// The number of the packet with which the last reported wait began.
    reported_wait: Option<u64>,
    /// The time of the last packet.
    pub(super) last_at: Timestamp,
    /// The first packet of the server that is small enough to be kept.
    pub(super) first_heard: Option<Record>,
    /// The last packet of the server, and whether a silence after it was reported.
    heard: Option<(Record, bool)>,
    /// The time of the server's first packet of the game, and whether a keep-alive came since, or was missed.
    keep_alives: Option<(Timestamp, bool)>,
}

impl LintSession {
    /// Follows a client from its login to its world. If the next packet shows that something never came, returns
    /// the direction in which it was due, the packet after which the session waited, and the fault.
    pub(super) fn take_join(&mut self, next: &Record) -> Option<(Direction, Record, Fault)> {
        let packet = &next.packet;
        self.order.number(packet.seq());
        if !next.outcome.came() {
            return None;
        }
        self.last_at = self.last_at.max(packet.at());
        let is_heard = packet.direction() == Direction::Clientbound;
        if is_heard && self.first_heard.is_none() && next.memory() <= MAX_KEPT {
            self.first_heard = Some(next.clone());
        }
        let before = self.join.begun();
        let waits = self.waits(packet.at());
        self.join.take(next);
        let found = waits?;
        // A packet may come late. That it never comes is known when the client begins anew, or gives up.
        let begins_anew = matches!(
            packet.role(),
            Some(Role::JoinGame | Role::StartConfiguration | Role::FinishConfiguration)
        );
        let is_over = begins_anew && self.join.begun() != before
            || self.join.waits(packet.at()).is_some_and(|it| it.time > PATIENCE);
        if is_over {
            self.reported_wait = before;
        }
        is_over.then_some(found)
    }

    /// Returns the direction of what the session waits for at `now`, the packet after which it waits, and the fault;
    /// `None` if that was already reported.
    pub(super) fn waits(&self, now: Timestamp) -> Option<(Direction, Record, Fault)> {
        if self.order.has_gaps() || self.join.begun() == self.reported_wait {
            return None;
        }
        let waiting = self.join.waits(now)?;
        // A client that acts before it shows its world is no client of the game, and the server's fault remains.
        if waiting.owed == Direction::Serverbound && waiting.is_up_to_player {
            return None;
        }
        let fault = Fault::new(LintRule::JoinIncomplete, waiting.reason());
        let certain = waiting.time >= KEEP_ALIVE;
        Some((waiting.owed, waiting.record.clone(), Fault { certain, ..fault }))
    }

    /// Returns whether packets are missing.
    pub(super) fn has_gaps(&self) -> bool {
        self.order.has_gaps()
    }

    /// Takes the next packet, of either side or of the proxy. Returns an earlier packet of the server if only this one
    /// shows its fault: a question about forwarding without a good answer, or a silence after it for longer than the
    /// game waits.
    pub(super) fn take(&mut self, next: &Record) -> Option<(Record, Fault)> {
        let packet = &next.packet;
        if packet.direction() == Direction::Serverbound && next.outcome.came() {
            self.channels.take(packet);
            if let Some(found) = self.forwarding.take(packet) {
                return Some(found);
            }
        }
        self.take_keep_alive(next);
        let is_heard = packet.direction() == Direction::Clientbound && next.outcome.came();
        let found = self.heard.as_mut().and_then(|(record, is_reported)| {
            let silence = packet.at().since(record.packet.at());
            let waits = matches!(record.packet.state(), State::Play | State::Configuration);
            if *is_reported || !waits || silence <= PATIENCE {
                return None;
            }
            *is_reported = true;
            let seconds = silence.as_secs();
            let reason = format!("the server sent nothing for {seconds} s after this packet");
            Some((record.clone(), Fault::new(LintRule::ServerSilent, reason)))
        });
        if is_heard {
            self.heard = Some((next.clone(), false));
        }
        found
    }

    /// Ends the session. Returns faults for what the server has not sent, with its last packet.
    pub(super) fn take_end(&self, closed: Timestamp) -> Vec<(Record, Fault)> {
        let Some((record, is_reported)) = &self.heard else { return Vec::new() };
        let silence = closed.since(record.packet.at());
        let waits = matches!(record.packet.state(), State::Play | State::Configuration);
        let mut faults = Vec::new();
        if waits && !is_reported && silence > PATIENCE {
            let seconds = silence.as_secs();
            let reason = format!("the server sent nothing for {seconds} s until the session ended");
            faults.push((record.clone(), Fault::new(LintRule::ServerSilent, reason)));
        }
        if let Some((begun, false)) = self.keep_alives
            && closed.since(begun) > KEEP_ALIVE
        {
            let seconds = closed.since(begun).as_secs();
            let reason = format!("no keep-alive came in the {seconds} s of the game");
            let rule = LintRule::Diagnosed(Diagnostic::KeepAliveOverdue);
            faults.push((record.clone(), Fault { certain: false, ..Fault::new(rule, reason) }));
        }
        faults
    }

    /// Takes a packet of the server, and returns the rules that it breaks.
    pub(super) fn take_clientbound(&mut self, record: &Record) -> Vec<Fault> {
        let packet = &record.packet;
        let mut faults: Vec<Fault> = self.order.take(packet).into_iter().collect();
        faults.extend(self.forwarding.take_clientbound(record));
        if self.bundle.take(record) {
            let reason = format!("more than {} packets in a bundle", bundle::MAX);
            faults.push(Fault::new(LintRule::BundleTooLong, reason));
        }
        if let Some(reason) = self.channels.fault(packet) {
            let fault = Fault::new(LintRule::ChannelUnregistered, reason);
            faults.push(Fault { certain: false, field: Some("channel".to_owned()), ..fault });
        }
        faults
    }

    fn take_keep_alive(&mut self, next: &Record) {
        let packet = &next.packet;
        let is_of_game =
            packet.direction() == Direction::Clientbound && packet.state() == State::Play;
        if self.keep_alives.is_none() && is_of_game {
            self.keep_alives = Some((packet.at(), false));
        }
        let is_known = packet.noted().has(Diagnostic::KeepAliveOverdue)
            || is_of_game && packet.role() == Some(Role::KeepAlive);
        if let Some((_, settled)) = &mut self.keep_alives {
            *settled |= is_known;
        }
    }
}

/// The time in which every server of the game sends a keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The time after which the game gives up a server from which nothing comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most memory of a packet that is kept for as long as its session lasts, in bytes.
pub(super) const MAX_KEPT: usize = 4 << 10;
