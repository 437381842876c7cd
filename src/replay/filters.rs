use std::collections::HashMap;

use bytes::Bytes;

use super::framed::framed;
use crate::capture::{Entry, Event, EventKind, Outcome, Record, Summary};
use crate::filter::{Effects, Injection, Judgement, Notes, Pipeline, RuleCount, RuleSet, Verdict};
use crate::packet::{Content, Origin, Packet, RawReason};
use crate::schema::{Direction, Role};

/// The rules of filter files at work on a capture, offline: each session meets them as it would
/// have live.
///
/// What came from a peer is judged. What an earlier rule has dropped or rewritten counts as it came;
/// what the proxy made beside that, and what it put in the place of a packet that drives the
/// connection, stays.
#[derive(Debug)]
pub struct FilterReplay {
    sets: Vec<RuleSet>,
    sessions: HashMap<u64, Progress>,
}

/// What has become of an entry.
#[derive(Debug, Default)]
pub struct Judged {
    /// It and what goes with it, numbered anew. Nothing behind the end of a session that a rule
    /// closes.
    pub entries: Vec<Entry>,
    /// The rules that acted on it, or failed to, in order.
    pub rules: Vec<String>,
    /// What else would have been done, in words that the entries do not have.
    pub done: Vec<String>,
}

/// How far a session is.
#[derive(Debug, Default)]
struct Progress {
    pipeline: Pipeline,
    seq: u64,
    /// Whether a rule has closed it.
    closed: bool,
    /// A packet whose replacement stays: its number in the capture, and the new one.
    kept: Option<(u64, u64)>,
    /// Packets and bytes that came, by direction.
    packets: [u64; 2],
    bytes: [u64; 2],
}

impl FilterReplay {
    /// Judges by these rules, file by file.
    #[must_use]
    pub fn new(sets: Vec<RuleSet>) -> Self {
        Self { sets, sessions: HashMap::new() }
    }

    /// Takes the next entry of the capture.
    pub fn handle(&mut self, entry: Entry) -> Judged {
        let session = entry.context().session;
        let sets = &self.sets;
        let progress = self.sessions.entry(session).or_insert_with(|| Progress::new(sets));
        let record = match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => {
                let closed = progress.closed;
                if let EventKind::Close(_) = event.kind {
                    self.sessions.remove(&session);
                }
                let entries = if closed { Vec::new() } else { vec![Entry::Event(event)] };
                return Judged { entries, ..Judged::default() };
            }
        };
        if progress.closed {
            return Judged::default();
        }
        let mut judged = Judged::default();
        // Most packets no rule wants: those cost no counting.
        let wanted = record.outcome.came() && progress.pipeline.wants(&record.packet);
        let before = if wanted { counts(&self.sets) } else { Vec::new() };
        progress.on_record(record, wanted, &mut judged);
        // Offline nobody else counts.
        let after = if wanted { counts(&self.sets) } else { Vec::new() };
        for (before, after) in before.iter().zip(after) {
            if (before.acted, before.failed) != (after.acted, after.failed) {
                judged.rules.push(after.name);
            }
        }
        judged
    }

    /// What each rule has done so far.
    #[must_use]
    pub fn counts(&self) -> Vec<RuleCount> {
        counts(&self.sets)
    }
}

impl Progress {
    fn new(sets: &[RuleSet]) -> Self {
        let mut pipeline = Pipeline::default();
        for set in sets {
            pipeline.push(Box::new(set.filter()));
        }
        Self { pipeline, ..Self::default() }
    }

    fn on_record(&mut self, mut record: Record, wanted: bool, judged: &mut Judged) {
        if !record.outcome.came() {
            return self.on_made(record, judged);
        }
        let number = record.packet.seq;
        self.seq += 1;
        record.packet.seq = self.seq;
        self.packets[record.packet.direction as usize] += 1;
        self.bytes[record.packet.direction as usize] += record.packet.wire_size() as u64;
        let role = record.packet.kind().and_then(|packet| packet.role());
        // A client whose server could not be reached was answered by the proxy itself.
        let unreached = record.outcome == Outcome::Drop && record.packet.context.server.is_none();
        let exchange = matches!(role, Some(Role::EncryptionRequest | Role::EncryptionResponse));
        if unreached || exchange || !wanted {
            return match record.outcome {
                Outcome::Rewrite if drives(role) => self.keep(record, number, judged),
                _ if unreached => judged.entries.push(Entry::Packet(record)),
                _ => judged.entries.push(Entry::Packet(Record::passed(record.packet))),
            };
        }
        let mut judgement = self.pipeline.apply(&record.packet);
        restrain(&mut judgement, &record.packet, role);
        if judgement.verdict == Verdict::Pass && record.outcome == Outcome::Rewrite && drives(role)
        {
            return self.keep(record.noted(judgement.effects.notes), number, judged);
        }
        self.carry_out(record.packet, judgement, judged);
    }

    /// What the proxy had made.
    fn on_made(&mut self, mut record: Record, judged: &mut Judged) {
        match (record.of, self.kept) {
            (None, _) => {}
            (Some(of), Some((number, new))) if of == number => record.of = Some(new),
            // It went in the place of a packet that is judged anew.
            (Some(_), _) => return,
        }
        self.seq += 1;
        record.packet.seq = self.seq;
        judged.entries.push(Entry::Packet(record));
    }

    /// Leaves a packet as the proxy had rewritten it.
    fn keep(&mut self, record: Record, number: u64, judged: &mut Judged) {
        self.kept = Some((number, record.packet.seq));
        judged.entries.push(Entry::Packet(record));
    }

    /// As a live session would.
    fn carry_out(&mut self, packet: Packet, judgement: Judgement, judged: &mut Judged) {
        let Judgement { verdict, effects } = judgement;
        let Effects { notes, sends, copies, delay, close } = effects;
        if let Some(delay) = delay {
            judged.done.push(format!("delayed by {:?}", delay.by));
        }
        if notes.hidden || notes.unrecorded {
            judged.done.push("hidden from the log".to_owned());
        }
        let (before, after): (Vec<_>, Vec<_>) = sends.into_iter().partition(|send| send.before);
        self.inject(&packet, before, judged);
        let of = packet.seq;
        let again = match verdict {
            Verdict::Pass => {
                judged.entries.push(Entry::Packet(Record::passed(packet.clone()).noted(notes)));
                packet.body().ok()
            }
            Verdict::Drop => {
                let dropped = Record { outcome: Outcome::Drop, ..Record::passed(packet.clone()) };
                judged.entries.push(Entry::Packet(dropped.noted(notes)));
                None
            }
            Verdict::Replace(body) => {
                let rewritten =
                    Record { outcome: Outcome::Rewrite, ..Record::passed(packet.clone()) };
                judged.entries.push(Entry::Packet(rewritten.noted(notes.clone())));
                self.send(&packet, packet.direction, body.clone(), (Some(of), notes), judged);
                Some(body)
            }
        };
        for body in again.iter().cycle().take(copies as usize) {
            let of = (None, Notes::default());
            self.send(&packet, packet.direction, body.clone(), of, judged);
        }
        self.inject(&packet, after, judged);
        if let Some(reason) = close {
            self.close(&packet, &reason, judged);
        }
    }

    fn inject(&mut self, packet: &Packet, sends: Vec<Injection>, judged: &mut Judged) {
        for Injection { direction, body, framed, .. } in sends {
            if framed {
                self.send(packet, direction, body, (None, Notes::default()), judged);
            } else {
                let made = self.made(packet, direction, Content::Raw(body, RawReason::Injected));
                judged.entries.push(made);
            }
        }
    }

    fn send(
        &mut self,
        packet: &Packet,
        direction: Direction,
        body: Bytes,
        (of, notes): (Option<u64>, Notes),
        judged: &mut Judged,
    ) {
        let frame = framed(&packet.context.protocol, body);
        let Entry::Packet(record) = self.made(packet, direction, Content::Frame(frame)) else {
            return;
        };
        judged.entries.push(Entry::Packet(Record { of, ..record }.noted(notes)));
    }

    /// A packet of the proxy's own, made when `packet` came.
    fn made(&mut self, packet: &Packet, direction: Direction, content: Content) -> Entry {
        self.seq += 1;
        let context = packet.context.clone();
        let mut made = Packet::new(context, self.seq, packet.at, direction, packet.state, content);
        made.origin = Origin::Proxy;
        Entry::Packet(Record { outcome: Outcome::Send, ..Record::passed(made) })
    }

    fn close(&mut self, packet: &Packet, reason: &str, judged: &mut Judged) {
        let protocol = &packet.context.protocol;
        if let Some(body) = crate::link::disconnect_body(protocol, packet.state, reason) {
            let of = (None, Notes::default());
            self.send(packet, Direction::Clientbound, body.into(), of, judged);
        }
        self.closed = true;
        let [clientbound, serverbound] = Direction::ALL.map(|direction| direction as usize);
        let summary = Summary {
            reason: format!("closed by a rule: {reason}"),
            serverbound_packets: self.packets[serverbound],
            clientbound_packets: self.packets[clientbound],
            serverbound_bytes: self.bytes[serverbound],
            clientbound_bytes: self.bytes[clientbound],
        };
        let (context, at) = (packet.context.clone(), packet.at);
        judged.entries.push(Entry::Event(Event { context, at, kind: EventKind::Close(summary) }));
        judged.done.push("the rest of the session left out".to_owned());
    }
}

/// What a live session does not let rules do to the packets that drive it.
fn restrain(judgement: &mut Judgement, packet: &Packet, role: Option<Role>) {
    match role {
        Some(Role::Handshake | Role::LoginSuccess) => {
            if judgement.verdict == Verdict::Drop {
                judgement.verdict = Verdict::Pass;
            }
            judgement.effects.delay = None;
        }
        Some(role) if role.drives() => {
            if judgement.verdict != Verdict::Pass {
                let name = packet.kind().map_or("", |packet| packet.name());
                let comment =
                    format!("a rule wanted to change `{name}`, which the connection needs");
                judgement.effects.notes.comments.push(comment);
            }
            judgement.keep();
        }
        _ => {}
    }
}

fn drives(role: Option<Role>) -> bool {
    role.is_some_and(Role::drives)
}

fn counts(sets: &[RuleSet]) -> Vec<RuleCount> {
    sets.iter().flat_map(RuleSet::counts).collect()
}
