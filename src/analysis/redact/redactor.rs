use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::leaf_kinds::{LeafKind, LeafKinds};
use super::nbt::redact_nbt;
use super::policy::{FieldContext, keeps_payload};
use super::pseudonyms::Pseudonyms;
use super::text::EMPTY_BLOB;
use crate::capture::{Entry, Event, EventKind, Record};
use crate::packet::{Content, Context, Packet, RawReason};
use crate::schema::{Name, Value};

/// Makes entries of captures safe to share: player names, UUIDs, addresses and hosts, all that is
/// said and written, keys and tokens, skins, and payloads of plugin channels are replaced, in every
/// field of every packet, in events and comments.
///
/// What was the same is the same again, within a capture and between captures of the same seed;
/// without the seed there is no way back. What does not decode becomes zeros, and says so.
pub struct Redactor {
    pseudonyms: Pseudonyms,
    /// Sessions' contexts, as they were and as they are.
    contexts: HashMap<u64, (Arc<Context>, Arc<Context>)>,
    /// Names of players, which can stand where only the game's own pseudonyms are expected.
    names: HashSet<String>,
}

impl Redactor {
    /// Replaces by that seed, which nobody should know.
    #[must_use]
    pub fn new(seed: &[u8]) -> Self {
        Self { pseudonyms: Pseudonyms::new(seed), contexts: HashMap::new(), names: HashSet::new() }
    }

    /// The entry without what nobody should know.
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
        let context = self.context(&packet.context);
        let wire = packet.wire_size();
        match self.content(&packet) {
            Redacted::Nothing => {}
            Redacted::Body(body) => packet.replace_body(body),
            Redacted::Zeros(body, why) => {
                match &packet.content {
                    Content::Frame(_) => packet.replace_body(body),
                    Content::Raw(_, reason) => {
                        let reason = match reason {
                            // It may say what the bytes were.
                            RawReason::Opaque(_) => RawReason::Opaque("redacted".to_owned()),
                            reason => reason.clone(),
                        };
                        packet.content = Content::Raw(body, reason);
                    }
                }
                comment = Some(match comment {
                    Some(comment) => format!("{comment}; {why}"),
                    None => why.to_owned(),
                });
            }
        }
        packet.context = context;
        packet.set_wire_size(wire);
        Record { packet, outcome, of, comment, notes: None }
    }

    fn content(&mut self, packet: &Packet) -> Redacted {
        let zeros = |length: usize, why| Redacted::Zeros(Bytes::from(vec![0; length]), why);
        let body = match (packet.body(), &packet.content) {
            (Ok(body), _) => body,
            (Err(_), Content::Raw(bytes, _)) => return zeros(bytes.len(), NO_PACKET),
            (Err(_), Content::Frame(frame)) => return zeros(frame.wire().len(), UNDECODED),
        };
        let mut leaves = LeafKinds::default();
        if packet.walk(&mut leaves).is_err() {
            return zeros(body.len(), UNDECODED);
        }
        if leaves.harmless() {
            return Redacted::Nothing;
        }
        let (Ok(mut value), Some(known)) = (packet.value(), packet.kind()) else {
            return zeros(body.len(), UNDECODED);
        };
        let protocol = &packet.context.protocol;
        let channel = value.get("channel").and_then(Value::as_text);
        let mut fields = ValueRedaction {
            payload: channel.is_some_and(keeps_payload),
            field: FieldContext {
                family: protocol.family(),
                state: packet.state,
                packet: known.name(),
                name: "",
            },
            kinds: leaves.kinds.into_iter(),
            redactor: self,
        };
        let whole = fields.value(&mut value).is_some() && fields.kinds.next().is_none();
        match protocol.encode(known, &value) {
            Ok(body) if whole => Redacted::Body(body.into()),
            _ => zeros(body.len(), UNENCODED),
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

    /// `host:port`: the port stays.
    fn upstream(&self, upstream: &str) -> String {
        if let Ok(address) = upstream.parse() {
            return self.pseudonyms.address(address).to_string();
        }
        match upstream.rsplit_once(':') {
            Some((host, port)) => format!("{}:{port}", self.pseudonyms.text(host)),
            None => self.pseudonyms.text(upstream),
        }
    }

    /// What the proxy itself said: what it quotes stands behind a colon.
    fn own(&self, text: &str) -> String {
        if OWN.contains(&text) {
            return text.to_owned();
        }
        match text.split_once(": ") {
            Some((front, behind)) if OWN.contains(&front) => {
                format!("{front}: {}", self.pseudonyms.text(behind))
            }
            _ => self.pseudonyms.text(text),
        }
    }

    fn learn(&mut self, name: &str) {
        if self.names.len() < MAX_NAMES {
            self.names.insert(name.to_owned());
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the seed.
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

enum Redacted {
    Nothing,
    Body(Bytes),
    /// The bytes are zeros, and why.
    Zeros(Bytes, &'static str),
}

/// One way through the fields of a packet.
struct ValueRedaction<'a, 'r> {
    /// Whether the bytes of the plugin channel stay.
    payload: bool,
    field: FieldContext<'a>,
    kinds: std::vec::IntoIter<LeafKind>,
    redactor: &'r mut Redactor,
}

impl ValueRedaction<'_, '_> {
    /// Replaces what there is to replace; none when the leaves are not those of the value.
    fn value(&mut self, value: &mut Value) -> Option<()> {
        match value {
            Value::Exact(exact) if matches!(value_of(exact), Value::Map(_) | Value::List(_)) => {
                self.value(&mut exact.value)
            }
            Value::Map(fields) => self.map(fields),
            Value::List(items) => items.iter_mut().try_for_each(|item| self.value(item)),
            leaf => self.leaf(leaf),
        }
    }

    fn map(&mut self, fields: &mut [(Name, Value)]) -> Option<()> {
        let property = is_property(fields);
        for (name, value) in fields {
            let name = Name::clone(name);
            let mut inside = ValueRedaction {
                payload: self.payload,
                field: FieldContext { name: &name, ..self.field },
                kinds: std::mem::take(&mut self.kinds),
                redactor: self.redactor,
            };
            let done = match (property, &*name) {
                (true, "value") => inside.fixed(value, EMPTY_BLOB),
                (true, "signature") => inside.fixed(value, ""),
                (true, "name") => inside.kinds.next().map(|_| ()),
                _ => inside.value(value),
            };
            self.kinds = inside.kinds;
            done?;
        }
        Some(())
    }

    fn leaf(&mut self, value: &mut Value) -> Option<()> {
        let kind = self.kinds.next()?;
        let redactor = &mut *self.redactor;
        let other = match (kind, value.plain()) {
            (LeafKind::Text, Value::Text(text)) => {
                if self.field.keeps_text() {
                    return Some(());
                }
                if NAMES.contains(&self.field.name) {
                    redactor.learn(text);
                }
                Value::from(&*redactor.pseudonyms.text(text))
            }
            (LeafKind::Uuid, Value::Uuid(uuid)) => Value::Uuid(redactor.pseudonyms.uuid(*uuid)),
            (LeafKind::Bytes, Value::Bytes(bytes)) => {
                if self.payload || self.field.keeps_bytes() {
                    return Some(());
                }
                Value::Bytes(Bytes::from(vec![0; bytes.len()]))
            }
            (LeafKind::Nbt, _) if self.field.keeps_nbt() => return Some(()),
            (LeafKind::Nbt, Value::Nbt(nbt)) => {
                let mut nbt = nbt.clone();
                redact_nbt(&mut nbt, &redactor.pseudonyms, &redactor.names);
                Value::Nbt(nbt)
            }
            // What should have been NBT.
            (LeafKind::Nbt, Value::Bytes(bytes)) => Value::Bytes(Bytes::from(vec![0; bytes.len()])),
            (LeafKind::Nbt, _) => Value::Absent,
            _ => return Some(()),
        };
        *value = other;
        Some(())
    }

    /// Puts that text in the place of one that is there.
    fn fixed(&mut self, value: &mut Value, text: &str) -> Option<()> {
        self.kinds.next()?;
        if value.as_text().is_some() {
            *value = Value::from(text);
        }
        Some(())
    }
}

/// What is exact, through all that stands in front.
fn value_of(exact: &crate::schema::Exact) -> &Value {
    exact.value.plain()
}

/// Whether it is a property of a profile: a skin and its signature.
fn is_property(fields: &[(Name, Value)]) -> bool {
    let of = |name: &str| fields.iter().find(|(key, _)| **key == *name).map(|(_, value)| value);
    let textures = of("name").and_then(Value::as_text).is_some_and(|name| name == "textures");
    textures && of("value").is_some_and(|value| value.as_text().is_some())
}

/// ValueRedaction with a player's name.
const NAMES: [&str; 4] = ["username", "name", "playerName", "player"];

/// What the proxy says by itself in comments and reasons.
const OWN: [&str; 24] = [
    "host and port are the upstream's",
    "the key is the proxy's",
    "key and token are the proxy's",
    "secret and token are the proxy's",
    "no authentication",
    "the server asks for a password",
    "authentication at minecraft.net: this is the server's hash",
    "its first bytes were forwarded before it was whole",
    "the connection ended within this packet",
    "a rule wanted to delay it, which Query cannot",
    "made room for another client",
    "both sides closed",
    "closed by the client",
    "closed by the server",
    "closed by a rule",
    "disconnected by the server",
    "lost the client",
    "lost the server",
    "stopped by the user",
    "the demo is over",
    "the server stayed",
    "the client stayed",
    "the recording has ended",
    "the client did not log in",
];

const NO_PACKET: &str = "redacted: no packet";

const UNDECODED: &str = "redacted: it did not decode";

const UNENCODED: &str = "redacted: it could not be encoded again";

const MAX_SESSIONS: usize = 4096;

const MAX_NAMES: usize = 1 << 16;
