use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::values::Values;
use super::{LintReport, LintRule, LintSession};
use crate::capture::{Entry, EventKind, Record, Sink};
use crate::report::{Around, Finding, Place};
use mitmcraft_protocol::contents::{Contents, ContentsError};
use mitmcraft_protocol::meaning::{SessionMemory, diagnose};
use mitmcraft_protocol::packet::{Diagnostic, RawReason, Undecoded, any_position};
use mitmcraft_protocol::schema::{DecodeCause, Direction, Family, Release};

/// Judges the packets of servers by the rules of the game: a sink for the entries of captures.
///
/// Packets are judged as the server sent them. A packet is kept for each kind of packet and field that has a
/// fault, up to 64 MiB; beyond that, one for each rule.
#[derive(Debug, Default)]
pub struct Linter {
    source: Option<Arc<str>>,
    sessions: HashMap<u64, LintSession>,
    memory: SessionMemory,
    /// The number of judged packets by version.
    judged: BTreeMap<(i32, String), u64>,
    findings: BTreeMap<Key, Finding>,
    /// The bytes of the packets in `findings`.
    kept: usize,
}

/// What findings have in common that are counted together.
type Key = (i32, LintRule, String, Option<String>);

/// A rule that a packet breaks, and where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: LintRule,
    pub(super) certain: bool,
    pub(super) reason: String,
    pub(super) field: Option<String>,
    pub(super) span: Option<Range<usize>>,
}

impl Fault {
    /// Creates a fault of a packet as a whole that the game certainly refuses.
    pub(super) fn new(rule: LintRule, reason: impl Into<String>) -> Self {
        Self { rule, certain: true, reason: reason.into(), field: None, span: None }
    }
}

impl Linter {
    /// Begins a capture, whose session numbers are independent of those of the one before.
    pub fn begin(&mut self, source: &str) {
        self.end();
        self.source = Some(source.into());
    }

    /// Adds what a linter has found that is finished, in captures that follow.
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

    /// Returns the findings so far; of everything once the linter is [finished](Sink::finish).
    #[must_use]
    pub fn report(&self) -> LintReport {
        let (judged, findings) = (self.judged.clone(), self.findings.values().cloned().collect());
        LintReport { judged, findings, visits: Vec::new() }
    }

    fn end(&mut self) {
        let mut sessions: Vec<(u64, LintSession)> = self.sessions.drain().collect();
        sessions.sort_by_key(|(session, _)| *session);
        for (number, session) in sessions {
            self.memory.forget(number);
            self.end_session(session);
        }
    }

    fn end_session(&mut self, session: LintSession) {
        if let Some(begin) = session.bundle.begin {
            let reason = "the session ended within this bundle";
            let fault = Fault::new(LintRule::BundleOpen, reason);
            self.add(&begin, Fault { certain: false, ..fault });
        }
    }

    fn judge(&mut self, record: &Record) {
        let packet = &record.packet;
        let protocol = &packet.context().protocol;
        let version = (protocol.version(), protocol.newest_name().to_owned());
        *self.judged.entry(version).or_default() += 1;
        if let Some(error) = packet.error() {
            self.undecoded(record, &error);
            return;
        }
        let about = self.memory.take(packet);
        let session = self.sessions.entry(packet.context().session).or_default();
        let faults = session.take_clientbound(record);
        let Some(kind) = packet.kind() else { return };
        let mut values = Values::read(packet, kind, about);
        for fault in faults {
            let span = fault.field.as_deref().and_then(|field| values.place(field));
            self.add(record, Fault { span, ..fault });
        }
        for diagnostic in diagnose(packet).iter() {
            // The values have those of components, with their places.
            let rule = LintRule::Diagnosed(diagnostic);
            if diagnostic != Diagnostic::JsonInvalid && LintRule::ALL.contains(&rule) {
                let field = field_of(diagnostic);
                let span = field.and_then(|field| values.place(field));
                let (certain, field) = (is_certain(diagnostic), field.map(str::to_owned));
                let fault = Fault::new(rule, diagnostic.description());
                self.add(record, Fault { certain, field, span, ..fault });
            }
        }
        for fault in std::mem::take(&mut values.faults) {
            self.add(record, fault);
        }
        if let Some(Err(error)) = Contents::read(packet) {
            // The game ignores what is left, and a section without numbers is of one block for it.
            let certain = !matches!(
                error,
                ContentsError::Rest { .. }
                    | ContentsError::Field(_)
                    | ContentsError::Longs { found: 0, .. }
            );
            let data = ["chunkData", "data", "compressedChunkData"];
            let span = data.into_iter().find_map(|field| values.place(field));
            let fault = Fault::new(LintRule::ChunkInvalid, error.to_string());
            self.add(record, Fault { certain, span, ..fault });
        }
    }

    fn undecoded(&mut self, record: &Record, error: &Undecoded) {
        let len = record.packet.body_or_bytes().len();
        let at = error.at();
        let (rule, field, span) = match error {
            Undecoded::Raw(RawReason::Opaque(_)) | Undecoded::Codec(_) => {
                (LintRule::FrameInvalid, None, None)
            }
            // Nothing that the server got wrong.
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
                let end = if rule == LintRule::BytesLeft { len } else { at + 1 };
                let start = if rule == LintRule::IdUnknown { 0 } else { at };
                let field = Some(any_position(&error.path)).filter(|path| !path.is_empty());
                (rule, field, Some(start..end))
            }
        };
        // Mods have names and numbers of their own.
        let protocol = &record.packet.context().protocol;
        let certain = rule != LintRule::EntryUnknown || protocol.release() >= Release::V1_20_5;
        self.add(record, Fault { certain, field, span, ..Fault::new(rule, error.to_string()) });
    }

    fn add(&mut self, record: &Record, fault: Fault) {
        let Fault { rule, certain, reason, field, span } = fault;
        let context = record.packet.context();
        let name = record.packet.kind().map_or_else(
            || record.packet.id().map(|id| format!("0x{id:02x}")).unwrap_or_default(),
            |kind| format!("{} {}", kind.state(), kind.name()),
        );
        let mut key = (context.protocol.version(), rule, name, field.clone());
        let size = size_of::<Finding>() + record.packet.memory();
        if !self.findings.contains_key(&key) {
            if self.kept + size > MOST_KEPT {
                // With many kinds of faults, the rest of a rule is counted together.
                key = (key.0, rule, String::new(), None);
            }
            self.kept += size;
        }
        // The description of another version proves nothing.
        let certain = certain && !context.guess;
        let new = || {
            let (source, context) = (self.source.clone(), Arc::clone(context));
            let place = Place { source, context, at: record.packet.at() };
            let around = Around::only(record.clone());
            let (player_sees, count) = (Some(rule.player_sees()), 0);
            let finding = Finding::new(rule.name(), reason, place, around);
            Finding { certain, field, span, count, player_sees, ..finding }
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
                let session = self.sessions.entry(packet.context().session).or_default();
                if let Some((record, fault)) = session.take(record) {
                    self.add(&record, fault);
                }
                if packet.direction() == Direction::Clientbound && record.outcome.came() {
                    self.judge(record);
                }
            }
            Entry::Event(event) => {
                if let EventKind::Open | EventKind::Close(_) = event.kind {
                    let number = event.context.session;
                    self.memory.forget(number);
                    if let Some(session) = self.sessions.remove(&number) {
                        self.end_session(session);
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

/// The bytes of packets with faults that are kept at most, one for each kind of fault.
const MOST_KEPT: usize = 64 << 20;

/// Returns the field that a diagnostic is about.
fn field_of(diagnostic: Diagnostic) -> Option<&'static str> {
    match diagnostic {
        Diagnostic::DimensionInvalid => Some("dimension"),
        Diagnostic::HeldItemInvalid => Some("currentItem"),
        Diagnostic::MetadataMissing => Some("metadata"),
        Diagnostic::PaintingTitleTooLong => Some("title"),
        Diagnostic::TeamMemberTooLong => Some("players"),
        Diagnostic::PackHashInvalid => Some("hash"),
        _ => None,
    }
}

/// Returns `false` for what the game may bear.
fn is_certain(diagnostic: Diagnostic) -> bool {
    !matches!(
        diagnostic,
        // The game inflates what it is told to; only a length below the threshold is refused. It waits for
        // any packet, not for keep-alives alone, and takes a pack that it cannot verify.
        Diagnostic::UncompressedAboveThreshold
            | Diagnostic::KeepAliveOverdue
            | Diagnostic::PackHashInvalid
    )
}
