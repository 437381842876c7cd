use std::collections::{BTreeMap, HashMap, btree_map};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::values::Values;
use super::{LintReport, LintRule, LintSession, LintSide, LiveFinding};
use crate::analysis::VersionCheck;
use crate::capture::{Entry, EventKind, Record, Sink};
use crate::report::{Around, Finding, Place};
use crate::text::Escaped;
use mitmcraft_protocol::codec::CodecError;
use mitmcraft_protocol::contents::{Contents, ContentsError};
use mitmcraft_protocol::meaning::{About, Breach, Grade, RegistryKind, SessionMemory, registry};
use mitmcraft_protocol::packet::{
    Diagnostic, Packet, RawReason, Reading, Timestamp, Undecoded, any_position,
};
use mitmcraft_protocol::schema::{DecodeCause, Direction, Family, Release};

/// Judges packets by the rules of the game: a sink for the entries of captures.
///
/// Packets are judged as they were sent. A packet is kept for each kind of packet and field that has a
/// fault, up to 64 MiB; beyond that, one for each rule.
#[derive(Debug, Default)]
pub struct Linter {
    source: Option<Arc<str>>,
    side: LintSide,
    /// `true` to skip the slow guess at what packets that do not decode were meant to be.
    is_brief: bool,
    sessions: HashMap<u64, LintSession>,
    memory: SessionMemory,
    versions: VersionCheck,
    /// The upstreams that speak another version than their clients, each with the clients' version.
    strangers: Vec<(String, i32)>,
    /// The number of judged packets by version.
    judged: BTreeMap<(i32, String), u64>,
    findings: BTreeMap<Key, Finding>,
    /// The memory that `findings` take, in bytes.
    kept: usize,
    /// The findings of the current entry; `None` unless they are reported as they happen.
    live: Option<Vec<LiveFinding>>,
}

/// The properties that findings share if they are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    version: i32,
    rule: LintRule,
    /// The direction, state and name of the packet; empty for the rest of a rule with many kinds of faults.
    packet: String,
    field: Option<String>,
    grade: Grade,
    is_uncertain: bool,
    /// While a capture is read, the upstream of packets that do not decode, which its version may explain.
    upstream: Option<String>,
}

/// A rule that a packet breaks, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: LintRule,
    pub(super) certain: bool,
    pub(super) reason: String,
    pub(super) field: Option<String>,
    pub(super) span: Option<Range<usize>>,
    pub(super) grade: Grade,
    /// The consequence, if that depends on the version.
    pub(super) then: Option<&'static str>,
}

impl Fault {
    /// Creates a certain fault of a packet as a whole.
    pub(super) fn new(rule: LintRule, reason: impl Into<String>) -> Self {
        let (reason, grade) = (reason.into(), rule.grade());
        Self { rule, certain: true, reason, field: None, span: None, grade, then: None }
    }
}

impl Linter {
    /// Creates a linter of what one side sends, or both.
    #[must_use]
    pub fn new(side: LintSide) -> Self {
        Self { side, ..Self::default() }
    }

    /// Creates a linter that does not guess what is meant by packets that do not decode.
    #[must_use]
    pub fn brief(side: LintSide) -> Self {
        Self { is_brief: true, ..Self::new(side) }
    }

    /// Creates a brief linter of what both sides send, whose findings are reported as they happen. Those in its
    /// report have no packets.
    #[must_use]
    pub fn live() -> Self {
        Self { live: Some(Vec::new()), ..Self::brief(LintSide::Both) }
    }

    /// Takes the next entry, and returns its findings. Those about the entry's own packet are added to its comment,
    /// for the captures that are written later.
    pub fn take_live(&mut self, entry: &mut Entry) -> Vec<LiveFinding> {
        // Judging does not fail.
        let _ = self.write(entry);
        let found = self.live.as_mut().map(std::mem::take).unwrap_or_default();
        if let Entry::Packet(record) = entry {
            let (session, seq) = (record.packet.context().session, record.packet.seq());
            for finding in found.iter().filter(|it| (it.session, it.seq) == (session, seq)) {
                let words = format!("{}: {}", finding.label(), finding.reason);
                record.comment = Some(match record.comment.take() {
                    Some(comment) => format!("{comment}; {words}"),
                    None => words,
                });
            }
        }
        found
    }

    /// Begins a capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self, source: &str) {
        self.end();
        self.source = Some(source.into());
    }

    /// Adds the findings of a finished linter of later captures.
    pub fn merge(&mut self, other: Self) {
        self.end();
        for (version, packets) in other.judged {
            *self.judged.entry(version).or_default() += packets;
        }
        for (key, finding) in other.findings {
            match self.findings.get_mut(&key) {
                Some(known) => known.count += finding.count,
                None => drop(self.findings.insert(key, finding)),
            }
        }
    }

    /// Returns the findings so far. They are complete once the linter is [finished](Sink::finish).
    #[must_use]
    pub fn report(&self) -> LintReport {
        let (judged, findings) = (self.judged.clone(), together(self.findings.clone()));
        let findings = findings.into_values().collect();
        LintReport { judged, findings, visits: Vec::new(), is_strict: false }
    }

    fn end(&mut self) {
        let mut sessions: Vec<(u64, LintSession)> = self.sessions.drain().collect();
        sessions.sort_by_key(|(session, _)| *session);
        for (number, session) in sessions {
            self.memory.forget(number);
            self.end_session(session, None);
        }
        self.versions = VersionCheck::default();
        self.strangers.clear();
        self.findings = together(std::mem::take(&mut self.findings));
        self.kept = self.findings.values().map(|it| memory(&it.around)).sum();
    }

    /// Ends a session, which was closed at a time, if that is known.
    fn end_session(&mut self, session: LintSession, closed: Option<Timestamp>) {
        let at = closed.unwrap_or(session.last_at);
        if let Some((owed, record, fault)) = session.waits(at)
            && self.side.judges(owed)
        {
            self.add(&record, fault);
        }
        if self.side.judges(Direction::Serverbound) && !session.has_gaps() {
            for (record, fault) in session.client.end(at) {
                self.add(&record, fault);
            }
        }
        if !self.side.judges(Direction::Clientbound) {
            return;
        }
        for (record, fault) in closed.into_iter().flat_map(|at| session.take_end(at)) {
            self.add(&record, fault);
        }
        if let Some(begin) = session.bundle.begin {
            let reason = "the session ended within this bundle";
            let fault = Fault::new(LintRule::BundleOpen, reason);
            self.add(&begin, Fault { certain: false, ..fault });
        }
    }

    /// Judges a packet. `about` is what earlier packets say of its subject.
    fn judge(&mut self, record: &Record, about: Option<About>) {
        let packet = &record.packet;
        let protocol = &packet.context().protocol;
        let version = (protocol.version(), protocol.newest_name().to_owned());
        *self.judged.entry(version).or_default() += 1;
        if let Some(Breach { diagnostic, certain, reason, .. }) = Breach::of_inflated(packet) {
            let fault = Fault::new(LintRule::Diagnosed(diagnostic), reason);
            self.add(record, Fault { certain, ..fault });
        }
        if packet.noted().has(Diagnostic::FrameTooLong) {
            self.add(record, Fault::new(LintRule::FrameInvalid, FRAME_TOO_LONG));
        }
        if let Some(error) = packet.error() {
            self.undecoded(record, &error);
            return;
        }
        let is_server = packet.direction() == Direction::Clientbound;
        let of_dead = self.attributes_of_none(packet);
        let session = self.sessions.entry(packet.context().session).or_default();
        let faults = if is_server { session.take_clientbound(record) } else { Vec::new() };
        let Some(kind) = packet.kind() else { return };
        let mut values = Values::read(packet, kind, about);
        for fault in faults.into_iter().chain(of_dead) {
            let span = fault.field.as_deref().and_then(|field| values.place(field));
            self.add(record, Fault { span, ..fault });
        }
        if values.stance.as_ref().is_some_and(|it| it.is_illegal()) {
            let diagnostic = Diagnostic::StanceIllegal;
            let fault = Fault::new(LintRule::Diagnosed(diagnostic), diagnostic.description());
            let (field, span) = (Some("stance".to_owned()), values.place("stance"));
            self.add(record, Fault { field, span, ..fault });
        }
        for fault in std::mem::take(&mut values.faults) {
            self.add(record, fault);
        }
        let contents = Contents::read(packet);
        let data = ["chunkData", "data", "compressedChunkData"];
        let span = || data.into_iter().find_map(|field| values.place(field));
        // It may read another block or biome.
        let unknown = contents.as_ref().and_then(|it| {
            let contents = it.as_ref().ok()?;
            contents.unknown_block().or_else(|| contents.unknown_biome())
        });
        if let Some(reason) = unknown {
            let fault = Fault::new(LintRule::ChunkInvalid, reason);
            self.add(record, Fault { certain: false, span: span(), ..fault });
        }
        if let Some(Err(error)) = contents {
            // The game ignores what is left, and a section without numbers is of one block for it.
            let certain = !matches!(
                error,
                ContentsError::Rest { .. }
                    | ContentsError::Field(_)
                    | ContentsError::Longs { found: 0, .. }
            );
            let fault = Fault::new(LintRule::ChunkInvalid, error.to_string());
            self.add(record, Fault { certain, span: span(), ..fault });
        }
    }

    /// Returns a fault if the packet sets attributes of an entity that is not a living one: the game accepts no others.
    fn attributes_of_none(&self, packet: &Packet) -> Option<Fault> {
        let kind = packet.kind()?;
        if !matches!(&**kind.name(), "update_attributes" | "entity_update_attributes") {
            return None;
        }
        let id = packet.value().ok()?.get("entityId")?.as_int()?;
        let entity = self.memory.entity(packet.context().session, id)?;
        let keys = registry(&packet.context().protocol, RegistryKind::Metadata)?;
        let release = packet.context().protocol.release();
        let key = if release < Release::V1_9 { "health" } else { "living_entity_flags" };
        let is_living = keys.has_key(entity, key)?;
        let reason = || format!("the entity is of type {entity}, which has no attributes");
        let field = Some("entityId".to_owned());
        (!is_living).then(|| Fault { field, ..Fault::new(LintRule::AttributesInvalid, reason()) })
    }

    /// Adds the diagnostics that follow from earlier packets or from the form of the frame. Some are the fault of
    /// the peer that receives the packet.
    fn take_noted(&mut self, record: &Record) {
        let packet = &record.packet;
        for diagnostic in packet.noted().iter() {
            let at_fault = match diagnostic {
                Diagnostic::FrameTooLong => continue,
                Diagnostic::KeepAliveOverdue => Direction::Clientbound,
                Diagnostic::KeepAliveUnanswered => Direction::Serverbound,
                _ => packet.direction(),
            };
            if self.side.judges(at_fault) {
                let fault = Fault::new(LintRule::Diagnosed(diagnostic), diagnostic.description());
                self.add(record, Fault { certain: is_certain(diagnostic, packet), ..fault });
            }
        }
    }

    /// Adds what the client does differently from the game by a packet that it has received or sent.
    fn judge_client(&mut self, record: &Record) {
        let packet = &record.packet;
        let Some(session) = self.sessions.get_mut(&packet.context().session) else { return };
        if session.has_gaps() || packet.context().guess {
            return;
        }
        if packet.direction() == Direction::Clientbound {
            let faults =
                if record.outcome.went() { session.client.hear(record) } else { Vec::new() };
            for (record, fault) in faults {
                self.add(&record, fault);
            }
            return;
        }
        if !record.outcome.came() {
            return;
        }
        let memory = &self.memory;
        let type_of = |id| memory.entity(packet.context().session, id);
        let faults = session.client.say(record, &type_of);
        if faults.is_empty() {
            return;
        }
        let values = packet.kind().map(|kind| Values::read(packet, kind, None));
        for (record, fault) in faults {
            let is_of_packet = record.packet.seq() == packet.seq();
            let values = values.as_ref().filter(|_| is_of_packet);
            let span = values.and_then(|values| values.place(fault.field.as_deref()?));
            self.add(&record, Fault { span, ..fault });
        }
    }

    /// Checks the server's version. Packets that do not decode because it is another one, as the server's status
    /// says, become one finding.
    fn judge_version(&mut self, entry: &Entry) {
        let mismatch = self.versions.take(entry).filter(|it| it.status.is_some());
        let Some(mismatch) = mismatch else { return };
        let (number, _) = mismatch.client;
        let upstream = &entry.context().upstream;
        let kept = &mut self.kept;
        self.findings.retain(|key, it| {
            let is_explained = key.version == number && key.upstream.as_ref() == Some(upstream);
            if is_explained {
                *kept = kept.saturating_sub(memory(&it.around));
            }
            !is_explained
        });
        self.strangers.push((upstream.clone(), number));
        let session = self.sessions.get(&mismatch.session);
        if let Some(record) = session.and_then(|it| it.first_heard.clone()) {
            self.add(&record, Fault::new(LintRule::VersionDiffers, mismatch.to_string()));
        }
    }

    fn undecoded(&mut self, record: &Record, error: &Undecoded) {
        let packet = &record.packet;
        let len = packet.body_or_bytes().len();
        let at = error.at();
        let release = packet.context().protocol.release();
        let mut certain = true;
        let (rule, field, span) = match error {
            Undecoded::Raw(reason) if reason.is_fault_of_stream() => {
                (LintRule::FrameInvalid, None, None)
            }
            // The peer that was to receive it may have left.
            Undecoded::Raw(RawReason::CutOff) => {
                certain = false;
                (LintRule::FrameInvalid, None, None)
            }
            // It is judged by the number of bytes that the game inflates.
            Undecoded::Codec(CodecError::InflatedLimit { .. }) => return,
            Undecoded::Codec(error) => {
                let is_of_length = matches!(
                    error,
                    CodecError::InflatedShort { .. } | CodecError::InflatedLong { .. }
                );
                // Before, the game reads as much as there is.
                certain = !is_of_length || release >= Release::V1_20_2;
                (LintRule::FrameInvalid, None, None)
            }
            // Nothing that a peer got wrong.
            Undecoded::Raw(_) | Undecoded::Foreign(_) => return,
            Undecoded::Decode(error) => {
                let rule = match &error.cause {
                    DecodeCause::UnknownId { .. } => LintRule::IdUnknown,
                    DecodeCause::Trailing(_) => LintRule::BytesLeft,
                    DecodeCause::UnknownNumber(_) | DecodeCause::UnknownName(_) => {
                        LintRule::EntryUnknown
                    }
                    DecodeCause::Empty => LintRule::BytesMissing,
                    DecodeCause::Wire(error) if error.is_incomplete() => LintRule::BytesMissing,
                    _ => LintRule::FieldInvalid,
                };
                certain = match &error.cause {
                    // Before, the game ignores empty frames.
                    DecodeCause::Empty => release >= Release::V1_21_11,
                    // Mods have names and numbers of their own.
                    DecodeCause::UnknownNumber(_) | DecodeCause::UnknownName(_) => {
                        release >= Release::V1_20_5
                    }
                    _ => true,
                };
                let end = if rule == LintRule::BytesLeft { len } else { at + 1 };
                let start = if rule == LintRule::IdUnknown { 0 } else { at };
                let field = Some(any_position(&error.path)).filter(|path| !path.is_empty());
                (rule, field, Some(start..end))
            }
        };
        self.add(record, Fault { certain, field, span, ..Fault::new(rule, error.to_string()) });
    }

    fn add(&mut self, record: &Record, fault: Fault) {
        let Fault { rule, certain, reason, field, span, grade, then } = fault;
        let context = record.packet.context();
        let version = context.protocol.version();
        let is_stranger = |(upstream, number): &(String, i32)| {
            *number == version && *upstream == context.upstream
        };
        if is_of_decoding(rule) && self.strangers.iter().any(is_stranger) {
            return;
        }
        let packet = record.packet.kind().map_or_else(
            || record.packet.id().map(|id| format!("0x{id:02x}")).unwrap_or_default(),
            |kind| format!("{} {}", kind.state(), kind.name()),
        );
        // The description of another version proves nothing.
        let certain = certain && !context.guess;
        let mut key = Key {
            version,
            rule,
            packet: format!("{} {packet}", record.packet.direction()),
            field: field.clone(),
            grade,
            is_uncertain: !certain,
            upstream: is_of_decoding(rule).then(|| context.upstream.clone()),
        };
        let (around, most_kept) = match self.live {
            // Nobody reads them.
            Some(_) => (Around::default(), MOST_KEPT_LIVE),
            None => (Around::only(record.clone()), MOST_KEPT),
        };
        let size = memory(&around);
        if !self.findings.contains_key(&key) && self.kept + size > most_kept {
            // With many kinds of faults, the rest of a rule is counted together.
            key = Key { packet: String::new(), field: None, upstream: None, ..key };
        }
        let is_new = !self.findings.contains_key(&key);
        if let Some(live) = self.live.as_mut().filter(|it| it.len() < MOST_LIVE) {
            let player = context.player.as_ref();
            let player = player.map(|it| format!(" of {}", Escaped(it))).unwrap_or_default();
            let subject = format!(" ({}{player})", Escaped(&packet));
            let (session, seq, reason) = (context.session, record.packet.seq(), reason.clone());
            live.push(LiveFinding { session, seq, rule, certain, grade, reason, is_new, subject });
        }
        let new = || {
            // Only the first packet of a kind is read as something else.
            let reading = if self.is_brief { None } else { Reading::of(&record.packet) };
            let reading = reading.map(|it| format!("; it {it}"));
            let reason = reason + &reading.unwrap_or_default();
            let (source, context) = (self.source.clone(), Arc::clone(context));
            let place = Place { source, context, at: record.packet.at() };
            let (player_sees, count) = (Some(then.unwrap_or_else(|| rule.player_sees())), 0);
            let finding = Finding::new(rule.name(), reason, place, around);
            let grade = Some(grade);
            self.kept += size;
            Finding { certain, field, span, count, player_sees, grade, ..finding }
        };
        self.findings.entry(key).or_insert_with(new).count += 1;
    }
}

impl Sink for Linter {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) => {
                let packet = &record.packet;
                if !matches!(packet.context().protocol.family(), Family::Java | Family::Alpha) {
                    return Ok(());
                }
                let number = packet.context().session;
                let session = self.sessions.entry(number).or_default();
                let waits = session.take_join(record);
                let found = session.take(record);
                if let Some((owed, record, fault)) = waits
                    && self.side.judges(owed)
                {
                    self.add(&record, fault);
                }
                if let Some((record, fault)) =
                    found.filter(|_| self.side.judges(Direction::Clientbound))
                {
                    self.add(&record, fault);
                }
                let about = if record.outcome.came() { self.memory.take(packet) } else { None };
                if self.side.judges(Direction::Serverbound) {
                    self.judge_client(record);
                }
                if self.side.judges(Direction::Clientbound) {
                    self.judge_version(entry);
                }
                if record.outcome.came() {
                    self.take_noted(record);
                    if self.side.judges(packet.direction()) {
                        self.judge(record, about);
                    }
                }
            }
            Entry::Event(event) => {
                if let EventKind::Open | EventKind::Close(_) = event.kind {
                    let number = event.context.session;
                    self.memory.forget(number);
                    let is_end = matches!(event.kind, EventKind::Close(_));
                    if is_end && self.side.judges(Direction::Clientbound) {
                        self.judge_version(entry);
                    }
                    if let Some(session) = self.sessions.remove(&number) {
                        self.end_session(session, is_end.then_some(event.at));
                    }
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

/// The most memory that findings take with their packets, in bytes.
const MOST_KEPT: usize = 64 << 20;

/// Returns the memory that a finding with these packets takes, in bytes.
fn memory(around: &Around) -> usize {
    size_of::<Finding>() + around.records.iter().map(Record::memory).sum::<usize>()
}

/// Counts the findings of all upstreams together.
fn together(findings: BTreeMap<Key, Finding>) -> BTreeMap<Key, Finding> {
    let mut all = BTreeMap::new();
    for (key, finding) in findings {
        match all.entry(Key { upstream: None, ..key }) {
            btree_map::Entry::Vacant(free) => drop(free.insert(finding)),
            btree_map::Entry::Occupied(mut known) => {
                let known: &mut Finding = known.get_mut();
                known.count += finding.count;
            }
        }
    }
    all
}

/// Returns whether a rule is about packets that do not decode.
fn is_of_decoding(rule: LintRule) -> bool {
    matches!(
        rule,
        LintRule::IdUnknown
            | LintRule::BytesMissing
            | LintRule::BytesLeft
            | LintRule::FieldInvalid
            | LintRule::EntryUnknown
            | LintRule::FrameInvalid
    )
}

/// Returns the words that follow the rule of a finding: ` (uncertain)`.
pub(super) fn label(certain: bool, grade: Option<Grade>) -> &'static str {
    match (certain, grade) {
        (false, _) => " (uncertain)",
        (true, Some(Grade::Corrects)) => " (corrected)",
        (true, Some(Grade::Differs)) => " (differs)",
        (true, _) => "",
    }
}

/// Returns `false` for a diagnostic that the game may tolerate.
fn is_certain(diagnostic: Diagnostic, packet: &Packet) -> bool {
    let release = packet.context().protocol.release();
    match diagnostic {
        // The game inflates what it is told to; only a length below the threshold is refused. It waits for
        // any packet, not for keep-alives alone.
        Diagnostic::UncompressedAboveThreshold | Diagnostic::KeepAliveOverdue => false,
        // Since then, only servers compare the length with the threshold.
        Diagnostic::CompressedBelowThreshold => {
            packet.direction() == Direction::Serverbound || release < Release::V1_17
        }
        _ => true,
    }
}

/// The most memory that findings take while a proxy runs, in bytes.
const MOST_KEPT_LIVE: usize = 8 << 20;

/// The most findings that are reported of one entry.
const MOST_LIVE: usize = 64;

const FRAME_TOO_LONG: &str =
    "the length of the frame takes more than three bytes, the game reads up to three";
