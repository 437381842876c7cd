use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use crate::store::{Matches, Snapshot};
use crate::view::protocol::ExportFormat;
use crate::view::{PacketExpression, packet_expression, packet_rule};
use mitmcraft_engine::capture::{
    Compression, CreateOptions, Entry, Event, EventKind, FileType, Format, LegState, Record, Sink,
    write_sink,
};
use mitmcraft_engine::lang::{Condition, Path};
use mitmcraft_engine::text::shell_quoted;
use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::{Catalog, Name};
use mitmcraft_protocol::wire::to_hex;

/// Packets that are being exported, piece by piece.
///
/// A capture has what people noted in the comments of its packets. Sessions begin with their state as it
/// was when the first of their packets was recorded.
pub(super) struct Export {
    form: Form,
    out: Piece,
    /// The chosen packets; `None` for all of the list.
    rows: Option<Vec<u64>>,
    /// The place in the list or in `rows` at which the next piece begins.
    next: u64,
    /// The capture that has the packets, for a command line.
    capture: Option<Arc<str>>,
    /// The context and the state that the capture has, by session.
    told: HashMap<u64, (Arc<Context>, Option<LegState>)>,
}

enum Form {
    Capture(Box<dyn Sink>),
    Json {
        first: bool,
    },
    Hex,
    /// The conditions of the rules so far, by what they are about.
    Rule(HashMap<Name, HashSet<String>>),
    Command,
}

impl Export {
    /// Begins an export of these rows, or of the list. The packets are in `capture`, if that is known.
    pub(super) fn new(
        format: ExportFormat,
        rows: Option<Vec<u64>>,
        capture: Option<Arc<str>>,
    ) -> io::Result<Self> {
        let out = Piece::default();
        let sink = |format| {
            let kind = FileType { format, compression: Compression::None };
            let options = CreateOptions::default();
            write_sink(Box::new(out.clone()), kind, &options).map(Form::Capture)
        };
        let form = match format {
            ExportFormat::Pcapng => sink(Format::Pcapng)?,
            ExportFormat::Jsonl => sink(Format::Jsonl)?,
            ExportFormat::Json => Form::Json { first: true },
            ExportFormat::Hex => Form::Hex,
            ExportFormat::Rule => Form::Rule(HashMap::new()),
            ExportFormat::Command => Form::Command,
        };
        Ok(Self { form, out, rows, next: 0, capture, told: HashMap::new() })
    }

    /// Returns the next piece as base64, and `true` if it is the last one.
    pub(super) fn advance(&mut self, matches: &Matches, catalog: &Catalog) -> (String, bool) {
        if matches!(self.form, Form::Command) {
            return self.command(self.condition(matches).as_ref());
        }
        let snapshot = matches.snapshot();
        let mut from = self.next;
        let mut records = Vec::new();
        let mut size = 0;
        let next = loop {
            let mut found = |row, record: Record| {
                size += record.packet.size();
                records.push((row, record));
            };
            let next = match &self.rows {
                None => matches.records(from, 1, found),
                Some(rows) => {
                    let row = rows.get(from as usize);
                    if let Some((row, record)) =
                        row.and_then(|row| Some((*row, snapshot.record(*row)?)))
                    {
                        found(row, record);
                    }
                    Some(from + 1).filter(|next| *next < rows.len() as u64)
                }
            };
            match next {
                Some(next) if size < PIECE && records.len() < MAX_RECORDS => from = next,
                next => break next,
            }
        };
        for (row, record) in records {
            self.add(snapshot, row, &record, catalog);
        }
        self.next = next.unwrap_or_default();
        self.piece(next.is_none())
    }

    /// Returns the condition that selects the packets on a command line; `None` for all packets.
    fn condition(&self, matches: &Matches) -> Option<Condition> {
        let session = |id: u64| Path::words(["session", "id"]).equals(id);
        let Some(rows) = &self.rows else {
            let selection = matches.selection();
            // What was compiled is an expression.
            let filter = selection.filter.as_ref().and_then(|it| Condition::parse(it.text()).ok());
            let session = match selection.sessions[..] {
                [id] => Some(session(id)),
                _ => None,
            };
            return filter.into_iter().chain(session).reduce(Condition::and);
        };
        let records = rows.iter().filter_map(|row| matches.snapshot().record(*row));
        let mut packets: Vec<(u64, u64)> =
            records.map(|it| (it.packet.context().session, it.packet.seq())).collect();
        packets.dedup();
        let packets = packets
            .into_iter()
            .map(|(id, number)| session(id).and(Path::words(["pkt", "n"]).equals(number)));
        packets.reduce(Condition::or)
    }

    fn add(&mut self, snapshot: &Snapshot, row: u64, record: &Record, catalog: &Catalog) {
        let packet = &record.packet;
        match &mut self.form {
            Form::Capture(sink) => {
                let legs = snapshot.legs_at(row);
                let context = packet.context();
                let told = self.told.get(&context.session);
                let event = |kind| {
                    let at = if kind == EventKind::Open { context.opened } else { packet.at() };
                    Entry::Event(Event { context: Arc::clone(context), at, kind })
                };
                // Writing to memory does not fail.
                if told.is_none() {
                    let _ = sink.write(&event(EventKind::Open));
                }
                let same = |(known, before): &(Arc<Context>, Option<LegState>)| {
                    Arc::ptr_eq(known, context) && *before == legs
                };
                if let Some(legs) = legs.filter(|_| !told.is_some_and(same)) {
                    let _ = sink.write(&event(EventKind::State(legs)));
                }
                self.told.insert(context.session, (Arc::clone(context), legs));
                let _ = sink.write(&Entry::Packet(record.clone()));
            }
            Form::Json { first } => {
                let mut fields = Vec::new();
                let walked = packet.write_json(&mut fields);
                let fields = serde_json::from_slice::<Json>(&fields).unwrap_or_default();
                let json = json!({
                    "session": packet.context().session,
                    "seq": packet.seq(),
                    "time": packet.at().to_string(),
                    "dir": packet.direction().name(),
                    "state": packet.state().name(),
                    "packet": packet.kind().map(|kind| kind.name().to_string()),
                    "verdict": record.outcome.name(),
                    "comment": record.comment,
                    "fields": fields,
                    "error": walked.err().map(|error| error.to_string()),
                });
                let before = if std::mem::take(first) { "[\n" } else { ",\n" };
                self.out.put(&format!("{before}{json}"));
            }
            Form::Hex => {
                let body = packet.body().unwrap_or_default();
                let name = packet.kind().map_or("(unknown)", |kind| kind.name());
                let mut text = format!(
                    "# {} #{} {} {name}, {} bytes\n",
                    packet.at(),
                    packet.context().session,
                    packet.direction().name(),
                    body.len()
                );
                for (place, line) in body.chunks(16).enumerate() {
                    text.push_str(&format!("{:06x}  {}\n", place * 16, to_hex(line, " ")));
                }
                self.out.put(&text);
            }
            Form::Rule(conditions) => {
                let (Some(kind), Some(PacketExpression { condition, .. })) =
                    (packet.kind(), packet_expression(packet, catalog))
                else {
                    return;
                };
                let conditions = conditions.entry(Name::clone(kind.name())).or_default();
                // Packets that are alike need one rule.
                if conditions.insert(condition.to_string()) {
                    let rule = packet_rule(kind.name(), &condition, conditions.len(), None);
                    self.out.put(&format!("{rule}\n"));
                }
            }
            Form::Command => {}
        }
    }

    fn command(&self, condition: Option<&Condition>) -> (String, bool) {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let select =
            condition.map_or_else(String::new, |it| format!(" -Y {}", quoted(&it.to_string())));
        let capture = self.capture.as_deref().map_or_else(|| "CAPTURE".into(), shell_quoted);
        self.out.put(&format!("mitmcraft show {capture}{select}\n"));
        self.piece_of(true)
    }

    fn piece(&mut self, last: bool) -> (String, bool) {
        match &mut self.form {
            Form::Capture(sink) => {
                // In memory.
                let _ = if last { sink.finish() } else { sink.flush() };
            }
            Form::Json { first } if last => {
                let end = if *first { "[]\n" } else { "\n]\n" };
                self.out.put(end);
            }
            _ => {}
        }
        self.piece_of(last)
    }

    fn piece_of(&self, last: bool) -> (String, bool) {
        (BASE64_STANDARD.encode(self.out.take()), last)
    }
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Export").field("next", &self.next).finish_non_exhaustive()
    }
}

/// Bytes that were written since they were taken last.
#[derive(Debug, Clone, Default)]
struct Piece(Arc<Mutex<Vec<u8>>>);

impl Piece {
    fn put(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text.as_bytes());
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Piece {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of packets after which a piece is complete.
const PIECE: usize = 1 << 20;

/// Most packets of a piece, also if they are small.
const MAX_RECORDS: usize = 10_000;
