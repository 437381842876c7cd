use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::bundle::{self, Bundle};
use super::channels::RegisteredChannels;
use super::finding::Finding;
use super::values::{Fault, Values};
use super::{LintReport, LintRule};
use crate::capture::{Entry, EventKind, Record, Sink};
use mitmcraft_protocol::contents::{Contents, ContentsError};
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Diagnostic, RawReason, Undecoded};
use mitmcraft_protocol::schema::{DecodeCause, Direction, Family};

/// Judges the packets of servers by the rules of the game: a sink for the entries of captures.
///
/// Packets are judged as the server sent them. Memory is bounded by the versions, packets and fields
/// that have faults.
#[derive(Debug, Default)]
pub struct Linter {
    source: Option<Arc<str>>,
    bundles: HashMap<u64, Bundle>,
    channels: HashMap<u64, RegisteredChannels>,
    /// The number of judged packets by version.
    judged: BTreeMap<(i32, String), u64>,
    findings: BTreeMap<Key, Finding>,
}

/// What findings have in common that are counted together.
type Key = (i32, LintRule, String, Option<String>);

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
        LintReport::new(self.judged.clone(), self.findings.values().cloned().collect())
    }

    fn end(&mut self) {
        self.channels.clear();
        let mut bundles: Vec<(u64, Bundle)> = self.bundles.drain().collect();
        bundles.sort_by_key(|(session, _)| *session);
        bundles.into_iter().for_each(|(_, bundle)| self.end_bundle(bundle));
    }

    fn end_bundle(&mut self, bundle: Bundle) {
        if let Some(begin) = bundle.end() {
            let reason = "the session ended within this bundle".to_owned();
            self.add(&begin, LintRule::BundleOpen, false, reason, None, None);
        }
    }

    fn judge(&mut self, record: &Record) {
        let packet = &record.packet;
        let protocol = &packet.context().protocol;
        let version = (protocol.version(), protocol.name().to_owned());
        *self.judged.entry(version).or_default() += 1;
        if let Some(error) = packet.error() {
            self.undecoded(record, &error);
            return;
        }
        let bundle = self.bundles.entry(packet.context().session).or_default();
        if bundle.take(record) {
            let reason = format!("more than {} packets in a bundle", bundle::MAX);
            self.add(record, LintRule::BundleTooLong, true, reason, None, None);
        }
        let channels = self.channels.get(&packet.context().session);
        if let Some(reason) = channels.and_then(|channels| channels.fault(packet)) {
            let field = Some("channel".to_owned());
            self.add(record, LintRule::ChannelUnregistered, false, reason, field, None);
        }
        let Some(kind) = packet.kind() else { return };
        let mut values = Values::read(packet, kind);
        for diagnostic in diagnose(packet).iter() {
            // The values have those of components, with their places.
            let rule = LintRule::Diagnosed(diagnostic);
            if diagnostic != Diagnostic::JsonInvalid && LintRule::ALL.contains(&rule) {
                let field = field_of(diagnostic);
                let span = field.and_then(|field| values.place(field));
                let reason = diagnostic.description().to_owned();
                self.add(
                    record,
                    rule,
                    is_certain(diagnostic),
                    reason,
                    field.map(str::to_owned),
                    span,
                );
            }
        }
        for Fault { rule, certain, reason, field, span } in std::mem::take(&mut values.faults) {
            self.add(record, rule, certain, reason, field, Some(span));
        }
        if let Some(Err(error)) = Contents::read(packet) {
            let certain = !matches!(error, ContentsError::Rest { .. } | ContentsError::Field(_));
            let data = ["chunkData", "data", "compressedChunkData"];
            let span = data.into_iter().find_map(|field| values.place(field));
            self.add(record, LintRule::ChunkInvalid, certain, error.to_string(), None, span);
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
                    DecodeCause::Empty => LintRule::BytesMissing,
                    DecodeCause::Wire(error) if error.is_incomplete() => LintRule::BytesMissing,
                    _ => LintRule::FieldInvalid,
                };
                let end = if rule == LintRule::BytesLeft { len } else { at + 1 };
                let start = if rule == LintRule::IdUnknown { 0 } else { at };
                let field = Some(without_indices(&error.path)).filter(|path| !path.is_empty());
                (rule, field, Some(start..end))
            }
        };
        self.add(record, rule, true, error.to_string(), field, span);
    }

    fn add(
        &mut self,
        record: &Record,
        rule: LintRule,
        certain: bool,
        reason: String,
        field: Option<String>,
        span: Option<Range<usize>>,
    ) {
        let context = record.packet.context();
        let name = record.packet.kind().map_or_else(
            || record.packet.id().map(|id| format!("0x{id:02x}")).unwrap_or_default(),
            |kind| format!("{} {}", kind.state(), kind.name()),
        );
        let key = (context.protocol.version(), rule, name, field.clone());
        // The description of another version proves nothing.
        let certain = certain && !context.guess;
        let (source, record) = (self.source.clone(), record.clone());
        let new = || Finding { rule, certain, reason, source, record, field, span, count: 0 };
        self.findings.entry(key).or_insert_with(new).count += 1;
    }
}

impl Sink for Linter {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Packet(record) => {
                let packet = &record.packet;
                let is_game =
                    matches!(packet.context().protocol.family(), Family::Java | Family::Alpha);
                if !record.outcome.came() || !is_game {
                    return Ok(());
                }
                match packet.direction() {
                    Direction::Clientbound => self.judge(record),
                    Direction::Serverbound => {
                        self.channels.entry(packet.context().session).or_default().take(packet);
                    }
                }
            }
            Entry::Event(event) => {
                if let EventKind::Open | EventKind::Close(_) = event.kind {
                    self.channels.remove(&event.context.session);
                    if let Some(bundle) = self.bundles.remove(&event.context.session) {
                        self.end_bundle(bundle);
                    }
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end();
        Ok(())
    }
}

/// Returns the field that a diagnostic is about.
fn field_of(diagnostic: Diagnostic) -> Option<&'static str> {
    match diagnostic {
        Diagnostic::DimensionInvalid => Some("dimension"),
        Diagnostic::HeldItemInvalid => Some("currentItem"),
        Diagnostic::MetadataMissing => Some("metadata"),
        Diagnostic::PaintingTitleTooLong => Some("title"),
        _ => None,
    }
}

/// Returns `false` for what the game may bear.
fn is_certain(diagnostic: Diagnostic) -> bool {
    !matches!(
        diagnostic,
        // The game inflates what it is told to; only a length below the threshold is refused. It waits for
        // any packet, not for keep-alives alone.
        Diagnostic::UncompressedAboveThreshold | Diagnostic::KeepAliveOverdue
    )
}

/// Replaces the indices of a path: `items[3].id` becomes `items[*].id`.
fn without_indices(path: &str) -> String {
    let mut out = String::new();
    let mut in_index = false;
    for char in path.chars() {
        match char {
            '[' => {
                out.push_str("[*]");
                in_index = true;
            }
            ']' => in_index = false,
            char if !in_index => out.push(char),
            _ => {}
        }
    }
    out
}
