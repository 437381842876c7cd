use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::damaged::{blank_body, blank_frame};
use super::leaf_kinds::{LeafKind, LeafKinds};
use super::nbt::redact_nbt;
use super::policy::{FieldContext, keeps_payload};
use super::pseudonyms::Pseudonyms;
use super::text::EMPTY_BLOB;
use crate::capture::{Entry, Event, EventKind, Record};
use crate::filter::own_words;
use mitmcraft_protocol::meaning::Part;
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason};
use mitmcraft_protocol::schema::{Name, Value};

/// Makes entries of captures safe to share. Replaces the names and UUIDs of players, addresses and
/// hosts, chat and other text, keys and tokens, skins, and payloads of plugin channels in every field
/// of every packet, in events and in comments.
///
/// Equal values have equal replacements within a capture and in all captures redacted with the same
/// seed. Without the seed the replacement cannot be reversed. A packet that does not decode keeps its
/// error, and the numbers before it; bytes that are not a packet become zeros, with a comment that says
/// so.
pub struct Redactor {
    pseudonyms: Pseudonyms,
    /// The original and the redacted context of each session.
    contexts: HashMap<u64, (Arc<Context>, Arc<Context>)>,
    /// Names of players, which may occur where only names of the game are expected.
    names: HashSet<String>,
    /// The bytes of attempts to make frames with the faults of others. Beyond them, such a frame becomes zeros.
    /// Grows with what is redacted.
    effort: usize,
}

impl Redactor {
    /// Creates a redactor with a seed, which must be kept secret.
    #[must_use]
    pub fn new(seed: &[u8]) -> Self {
        let (contexts, names) = (HashMap::new(), HashSet::new());
        Self { pseudonyms: Pseudonyms::new(seed), contexts, names, effort: MOST_EFFORT }
    }

    /// Redacts an entry.
    #[must_use]
    pub fn redact(&mut self, entry: Entry) -> Entry {
        match entry {
            Entry::Packet(record) => Entry::Packet(self.record(record)),
            Entry::Event(event) => Entry::Event(self.event(event)),
        }
    }

    fn event(&mut self, event: Event) -> Event {
        let session = event.context.session;
        let context = self.context(&event.context);
        let kind = match event.kind {
            EventKind::Close(mut summary) => {
                self.contexts.remove(&session);
                summary.reason = self.own(&summary.reason);
                EventKind::Close(summary)
            }
            kind => kind,
        };
        Event { context, at: event.at, kind }
    }

    fn record(&mut self, record: Record) -> Record {
        let Record { mut packet, outcome, of, comment, .. } = record;
        let mut comment = comment.map(|comment| self.own(&comment));
        let context = self.context(packet.context());
        let (wire, noted) = (packet.wire_size(), packet.noted());
        self.effort = MOST_EFFORT.min(self.effort + wire * EFFORT);
        match self.content(&packet) {
            Redacted::Nothing => {}
            Redacted::Body(body) => packet.replace_body(body),
            Redacted::Damaged(content) => packet.set_content(content),
            Redacted::Zeros(length, reason) => {
                packet.set_content(Content::Raw(vec![0; length].into(), reason));
                comment = Some(match comment {
                    Some(comment) => format!("{comment}; {BLANKED}"),
                    None => BLANKED.to_owned(),
                });
            }
        }
        packet.set_context(context);
        packet.set_wire_size(wire);
        packet.note(noted);
        Record { packet, outcome, of, comment, notes: None }
    }

    fn content(&mut self, packet: &Packet) -> Redacted {
        let body = match (packet.body(), packet.content()) {
            (Ok(body), _) => body,
            (Err(_), Content::Raw(bytes, reason)) => {
                return Redacted::Zeros(bytes.len(), reason.clone());
            }
            (Err(error), Content::Frame(frame)) => {
                return blank_frame(packet, frame, &mut self.effort).map_or_else(
                    || Redacted::Zeros(frame.wire().len(), RawReason::Opaque(error.to_string())),
                    Redacted::Damaged,
                );
            }
        };
        let mut leaves = LeafKinds::default();
        if packet.walk_dyn(&mut leaves).is_err() {
            return self.damaged(packet, &body);
        }
        if leaves.harmless() {
            return Redacted::Nothing;
        }
        let (Ok(mut value), Some(known)) = (packet.value(), packet.kind()) else {
            return self.damaged(packet, &body);
        };
        let protocol = &packet.context().protocol;
        let channel = value.get("channel").and_then(Value::as_text);
        let mut fields = ValueRedaction {
            payload: channel.is_some_and(keeps_payload),
            field: FieldContext::of(packet),
            kinds: leaves.kinds.into_iter(),
            redactor: self,
        };
        let whole = fields.value("", &mut value).is_some() && fields.kinds.next().is_none();
        match protocol.encode(known, &value) {
            Ok(body) if whole => Redacted::Body(body.into()),
            _ => self.damaged(packet, &body),
        }
    }

    /// Redacts a packet that does not decode, or not to something that can be encoded again.
    fn damaged(&self, packet: &Packet, body: &Bytes) -> Redacted {
        let error =
            || packet.error().map_or_else(|| UNENCODED.to_owned(), |error| error.to_string());
        match blank_body(packet, body, &self.pseudonyms, &self.names) {
            Some(body) => Redacted::Body(body),
            None => Redacted::Zeros(body.len(), RawReason::Opaque(error())),
        }
    }

    fn context(&mut self, context: &Arc<Context>) -> Arc<Context> {
        if let Some((known, redacted)) = self.contexts.get(&context.session)
            && Arc::ptr_eq(known, context)
        {
            return Arc::clone(redacted);
        }
        if let Some(player) = &context.player {
            self.learn(player);
        }
        let redacted = Arc::new(Context {
            client: self.pseudonyms.address(context.client),
            server: context.server.map(|server| self.pseudonyms.address(server)),
            upstream: self.upstream(&context.upstream),
            player: context.player.as_ref().map(|player| self.pseudonyms.text(player)),
            ..Context::clone(context)
        });
        if self.contexts.len() >= MAX_SESSIONS {
            self.contexts.clear();
        }
        let pair = (Arc::clone(context), Arc::clone(&redacted));
        self.contexts.insert(context.session, pair);
        redacted
    }

    /// Redacts `host:port`, keeping the port.
    fn upstream(&self, upstream: &str) -> String {
        if let Ok(address) = upstream.parse() {
            return self.pseudonyms.address(address).to_string();
        }
        match upstream.rsplit_once(':') {
            Some((host, port)) => format!("{}:{port}", self.pseudonyms.text(host)),
            None => self.pseudonyms.text(upstream),
        }
    }

    /// Redacts a comment or a reason, except for the words of the proxy.
    fn own(&self, text: &str) -> String {
        let parts = text.split("; ").map(|part| match own_words(part) {
            Some((own, None)) => own.to_owned(),
            Some((own, Some(quoted))) => format!("{own}: {}", self.pseudonyms.text(quoted)),
            None => self.pseudonyms.text(part),
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    fn learn(&mut self, name: &str) {
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.to_owned());
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The seed must not be printed.
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

enum Redacted {
    Nothing,
    Body(Bytes),
    /// The same fault without the rest of its packet.
    Damaged(Content),
    /// That many bytes of which nothing is kept, and the reason why they are no packet.
    Zeros(usize, RawReason),
}

/// The redaction of one packet's value.
struct ValueRedaction<'a, 'r> {
    /// `true` if the payload of the plugin channel is kept.
    payload: bool,
    field: FieldContext<'a>,
    kinds: std::vec::IntoIter<LeafKind>,
    redactor: &'r mut Redactor,
}

impl ValueRedaction<'_, '_> {
    /// Redacts the value of a field. Returns `None` if the kinds of leaves do not fit it.
    fn value(&mut self, name: &str, value: &mut Value) -> Option<()> {
        match value {
            Value::Exact(exact)
                if matches!(exact.value.plain(), Value::Map(_) | Value::List(_)) =>
            {
                self.value(name, &mut exact.value)
            }
            Value::Map(fields) => self.map(fields),
            Value::List(items) => items.iter_mut().try_for_each(|item| self.value(name, item)),
            leaf => self.leaf(name, leaf),
        }
    }

    fn map(&mut self, fields: &mut [(Name, Value)]) -> Option<()> {
        let property = is_property(fields);
        fields.iter_mut().try_for_each(|(name, value)| match (property, &**name) {
            (true, "value") => self.fixed(value, EMPTY_BLOB),
            (true, "signature") => self.fixed(value, ""),
            (true, "name") => self.kinds.next().map(|_| ()),
            (_, name) => self.value(name, value),
        })
    }

    fn leaf(&mut self, name: &str, value: &mut Value) -> Option<()> {
        let kind = self.kinds.next()?;
        let field = FieldContext { name, ..self.field };
        let redactor = &mut *self.redactor;
        let other = match (kind, value.plain()) {
            (LeafKind::Text, Value::Text(text)) => {
                if field.keeps(Part::Text) {
                    return Some(());
                }
                if NAMES.contains(&name) {
                    redactor.learn(text);
                }
                Value::from(&*redactor.pseudonyms.text(text))
            }
            (LeafKind::Uuid, Value::Uuid(uuid)) => Value::Uuid(redactor.pseudonyms.uuid(*uuid)),
            (LeafKind::Bytes, Value::Bytes(bytes)) => {
                if self.payload || field.keeps(Part::Bytes) {
                    return Some(());
                }
                Value::Bytes(Bytes::from(vec![0; bytes.len()]))
            }
            (LeafKind::Nbt, _) if field.keeps(Part::Nbt) => return Some(()),
            (LeafKind::Nbt, Value::Nbt(nbt)) => {
                let mut nbt = nbt.clone();
                redact_nbt(&mut nbt, &redactor.pseudonyms, &redactor.names);
                Value::Nbt(nbt)
            }
            // NBT that does not parse.
            (LeafKind::Nbt, Value::Bytes(bytes)) => Value::Bytes(Bytes::from(vec![0; bytes.len()])),
            (LeafKind::Nbt, _) => Value::Absent,
            _ => return Some(()),
        };
        *value = other;
        Some(())
    }

    /// Replaces a text by a fixed one, unless it is absent.
    fn fixed(&mut self, value: &mut Value, text: &str) -> Option<()> {
        self.kinds.next()?;
        if value.as_text().is_some() {
            *value = Value::from(text);
        }
        Some(())
    }
}

/// Returns `true` for the property of a profile that holds a skin and its signature.
fn is_property(fields: &[(Name, Value)]) -> bool {
    let of = |name: &str| fields.iter().find(|(key, _)| **key == *name).map(|(_, value)| value);
    let textures = of("name").and_then(Value::as_text).is_some_and(|name| name == "textures");
    textures && of("value").is_some_and(|value| value.as_text().is_some())
}

/// Fields that hold a player's name.
const NAMES: [&str; 4] = ["username", "name", "playerName", "player"];

/// The comment of bytes of which nothing is kept.
const BLANKED: &str = "redacted: its bytes are zeros";

const UNENCODED: &str = "redacted: could not be encoded again";

/// Bytes of attempts for each byte of a packet.
const EFFORT: usize = 64;

/// Greatest number of bytes of attempts: some tens of packets in a row, or a part of a second.
const MOST_EFFORT: usize = 64 << 20;

/// Greatest number of contexts kept.
const MAX_SESSIONS: usize = 4096;

/// Greatest number of names kept.
const MAX_NAMES: usize = 1 << 16;
