use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::finding::{LagEvidence, LagFinding, MAX_EVIDENCE};
use super::judge::{Judgement, judge};
use super::measured::Measured;
use super::observed::{MAX_SECONDS, Observed};
use super::shares::{Share, ShareKind};
use super::{LagPlace, LagReport};
use crate::capture::{Entry, EventKind, Record, Sink};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::State;

/// Finds out when sessions lagged, and where that came from: a sink for the entries of captures.
///
/// Memory is bounded: sessions are judged when they end and after every half hour, 64 are followed at a time,
/// each with up to 4 MB, and the packets of players take up to 8 MB: 264 MB in all for a thread that reads captures;
/// and of what was found the first 1,000 periods are kept. Sessions that begin while others take all places are only
/// counted.
#[derive(Debug, Default)]
pub struct Lag {
    source: Option<Arc<str>>,
    sessions: HashMap<u64, Followed>,
    /// Open sessions that are not followed; at most [`MAX_NAMES`] are known.
    others: HashSet<u64>,
    players: Players,
    report: LagReport,
}

/// A session that has not ended.
#[derive(Debug)]
struct Followed {
    seen: Observed,
    measured: Measured,
    /// The time of the last entry.
    last: Timestamp,
}

/// Packets and bytes of each player, by time.
#[derive(Debug, Default)]
struct Players {
    slots: BTreeMap<u64, HashMap<u64, (u64, u64)>>,
    names: HashMap<u64, String>,
}

impl Lag {
    /// Begins a capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self, source: &str) {
        self.end();
        self.players = Players::default();
        self.source = Some(source.into());
    }

    /// Adds what was found in captures that follow.
    pub fn merge(&mut self, other: Self) {
        self.end();
        self.report.merge(other.into_report());
    }

    /// Judges all sessions that are still open, and returns what was found.
    #[must_use]
    pub fn into_report(mut self) -> LagReport {
        self.end();
        self.report
    }

    /// Removes what was found of a session, in the order of time: all of it if the session has ended.
    pub(crate) fn findings_of(&mut self, session: u64) -> Vec<LagFinding> {
        self.report.remove(session)
    }

    fn end(&mut self) {
        let mut sessions: Vec<(u64, Followed)> = self.sessions.drain().collect();
        sessions.sort_by_key(|(session, _)| *session);
        for (_, session) in sessions {
            self.finish_session(session, false);
        }
        self.others.clear();
    }

    fn take(&mut self, record: &Record) {
        let packet = &record.packet;
        let (session, at) = (packet.context().session, packet.at());
        if packet.state() == State::Play {
            self.players.count(packet);
        }
        if self.others.contains(&session) {
            return;
        }
        if !self.sessions.contains_key(&session) && self.sessions.len() >= MAX_SESSIONS {
            let idle = self.sessions.iter().filter(|(_, it)| at.since(it.last) >= IDLE);
            let oldest = idle.min_by_key(|(_, it)| it.last).map(|(id, _)| *id);
            if oldest.is_none() {
                if self.others.len() < MAX_NAMES {
                    self.others.insert(session);
                    self.report.pass_over();
                }
                return;
            }
            if let Some(followed) = oldest.and_then(|id| self.sessions.remove(&id)) {
                self.finish_session(followed, false);
            }
        }
        let source = &self.source;
        let followed = self.sessions.entry(session).or_insert_with(|| Followed {
            seen: Observed::new(Arc::clone(packet.context()), at),
            measured: Measured::new(source.clone(), Arc::clone(packet.context())),
            last: at,
        });
        let before = followed.last;
        followed.last = before.max(at);
        let is_due = followed.seen.time(followed.last) >= MAX_SECONDS;
        let full = is_due.then(|| {
            let next = followed.seen.next(followed.last);
            std::mem::replace(&mut followed.seen, next)
        });
        followed.seen.number(packet.seq());
        followed.seen.take(record, &mut followed.measured);
        if followed.seen.is_partial {
            followed.seen.down.forget_gaps();
            followed.measured.is_partial = true;
        }
        if let Some(seen) = full {
            followed.measured.follow(&seen, seen.time(before));
            self.judge(&seen, before, false);
        }
    }

    fn finish_session(&mut self, session: Followed, is_closed: bool) {
        let Followed { seen, mut measured, last } = session;
        measured.follow(&seen, seen.time(last));
        measured.context = Arc::clone(&seen.context);
        self.judge(&seen, last, is_closed);
        if measured.seconds > 0.0 {
            self.report.measure(measured);
        }
    }

    fn judge(&mut self, seen: &Observed, end: Timestamp, is_closed: bool) {
        for judgement in judge(seen, seen.time(end), is_closed) {
            let finding = self.finding(seen, judgement);
            self.report.add(finding);
        }
    }

    fn finding(&self, seen: &Observed, judgement: Judgement) -> LagFinding {
        let Judgement { span, place, among, certainty, reason, mut facts } = judgement;
        let (begin, end) = (seen.moment(span.from), seen.moment(span.to));
        facts.truncate(MAX_EVIDENCE);
        let evidence = facts.into_iter().map(|it| LagEvidence {
            at: seen.moment(it.at),
            seq: it.seq,
            text: it.text,
        });
        let sums = [&seen.down, &seen.up].map(|flow| flow.sum(span.from, span.to));
        let mut shares = self.players.top(begin, end);
        shares.extend(seen.shares.top(span.from, span.to));
        LagFinding {
            source: self.source.clone(),
            context: Arc::clone(&seen.context),
            begin,
            end,
            place,
            among: if place == LagPlace::Unknown { among.to_vec() } else { Vec::new() },
            certainty,
            reason,
            evidence: evidence.collect(),
            shares,
            total: (sums[0].0 + sums[1].0, sums[0].1 + sums[1].1),
        }
    }
}

impl Sink for Lag {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) => {
                record.packet.inflate();
                if record.outcome.came() {
                    self.take(record);
                } else if let Some(followed) =
                    self.sessions.get_mut(&record.packet.context().session)
                {
                    followed.seen.number(record.packet.seq());
                }
            }
            Entry::Event(event) => {
                let session = event.context.session;
                let is_over = matches!(event.kind, EventKind::Close(_) | EventKind::Open);
                if is_over {
                    self.others.remove(&session);
                }
                if is_over && let Some(mut followed) = self.sessions.remove(&session) {
                    let is_closed = entry.is_close();
                    if is_closed {
                        followed.last = followed.last.max(event.at);
                    }
                    self.finish_session(followed, is_closed);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end();
        Ok(())
    }
}

impl Players {
    fn count(&mut self, packet: &Packet) {
        let context = packet.context();
        let slot = self.slots.entry(packet.at().0 / SLOT).or_default();
        if slot.len() < MAX_IN_SLOT || slot.contains_key(&context.session) {
            let (packets, bytes) = slot.entry(context.session).or_default();
            *packets += 1;
            *bytes += packet.wire_size() as u64;
        }
        if self.slots.len() > MAX_SLOTS {
            self.slots.pop_first();
        }
        if !self.names.contains_key(&context.session) {
            if self.names.len() >= MAX_NAMES {
                self.names.clear();
            }
            let name = context.player.clone().unwrap_or_else(|| format!("#{}", context.session));
            self.names.insert(context.session, name);
        }
    }

    /// Returns who took most bytes in a period.
    fn top(&self, begin: Timestamp, end: Timestamp) -> Vec<Share> {
        let mut sums: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (_, slot) in self.slots.range(begin.0 / SLOT..=end.0 / SLOT) {
            for (session, (packets, bytes)) in slot {
                let sum = sums.entry(*session).or_default();
                *sum = (sum.0 + packets, sum.1 + bytes);
            }
        }
        let share = |(session, (packets, bytes))| Share {
            kind: ShareKind::Player,
            direction: None,
            name: self.names.get(&session).cloned().unwrap_or_else(|| format!("#{session}")),
            packets,
            bytes,
        };
        let mut shares: Vec<Share> = sums.into_iter().map(share).collect();
        shares.sort_by(|a, b| (b.bytes, &a.name).cmp(&(a.bytes, &b.name)));
        shares.truncate(TOP);
        shares
    }
}

/// Sessions that are followed at the same time.
pub(super) const MAX_SESSIONS: usize = 64;

/// Time without a packet after which a session gives way to another one.
const IDLE: Duration = Duration::from_secs(60);

/// Nanoseconds whose packets of players are counted together.
const SLOT: u64 = 5_000_000_000;

/// Counted times that are kept: more than sessions are observed before they are judged.
const MAX_SLOTS: usize = 400;

/// Sessions that are counted in a slot.
const MAX_IN_SLOT: usize = 256;

/// Players whose names are known, and sessions that are known not to be followed.
const MAX_NAMES: usize = 1 << 14;

/// Players that are shown.
const TOP: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::tests::context;
    use mitmcraft_protocol::codec::Frame;
    use mitmcraft_protocol::packet::{Content, Context};
    use mitmcraft_protocol::schema::Direction;

    #[test]
    fn of_each_slot_a_bounded_number_of_sessions_is_counted() {
        let mut players = Players::default();
        for session in (1..=1000).chain([1]) {
            let context = Arc::new(Context { session, ..context(340) });
            let content = Content::Frame(Frame::from_body(vec![0; 10].into()));
            let (direction, state) = (Direction::Clientbound, State::Play);
            let packet = Packet::new(context, 1, Timestamp(0), direction, state, content);
            players.count(&packet);
        }
        let [slot] = &*players.slots.values().collect::<Vec<_>>() else { panic!() };
        assert_eq!((slot.len(), slot[&1].0), (MAX_IN_SLOT, 2));
    }
}
