use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::super::{Entry, EntryError, Event, EventKind, LegState, Outcome, Record, Summary};
use super::keys::{Keys, Read, Required};
use super::line::RAW_BYTES;
use super::preamble::{self, FORMAT_VERSION};
use super::tables::Tables;
use crate::capture::head::{Head, ProtocolId, RawKind};
use mitmcraft_protocol::codec::{Decoder, Frame, Limits, Unit};
use mitmcraft_protocol::packet::{
    Content, Context, Diagnostic, Diagnostics, Origin, Packet, RawReason, SentRegistries, Timestamp,
};
use mitmcraft_protocol::schema::{Catalog, Direction, Family, Protocol, Value, query_magic};
use mitmcraft_protocol::wire::VarInt;

/// Rebuilds entries from what captures contain of them. Keeps the context of each session until
/// the session closes; of sessions beyond what the memory holds, an entry has the context that it
/// contains itself.
pub(in crate::capture) struct Rebuilder {
    tables: Tables,
    contexts: BTreeMap<u64, KnownSession>,
    /// The state of [`take_crowded`](Self::take_crowded).
    crowded: Crowded,
    /// The memory that one entry may take.
    memory: usize,
}

impl Rebuilder {
    pub(in crate::capture) fn within(catalog: &Catalog, memory: usize) -> Self {
        let (tables, contexts) = (Tables::new(catalog, memory), BTreeMap::new());
        Self { tables, contexts, crowded: Crowded::No, memory }
    }

    /// Returns the number of sessions whose contexts are kept if another one has begun, once.
    pub(in crate::capture) fn take_crowded(&mut self) -> Option<EntryError> {
        if self.crowded != Crowded::New {
            return None;
        }
        self.crowded = Crowded::Reported;
        Some(EntryError::Sessions { limit: self.memory / PER_SESSION })
    }

    fn remember(&mut self, session: u64, context: Arc<Context>) {
        let full = self.contexts.len() >= self.memory / PER_SESSION;
        if let Some(known) = self.contexts.get_mut(&session) {
            known.context = context;
        } else if !full {
            self.contexts.insert(session, KnownSession { context, has_open: false });
        } else if self.crowded == Crowded::No {
            self.crowded = Crowded::New;
        }
    }

    fn parse<'j>(&self, text: &'j [u8]) -> Read<Keys<'j>> {
        check_values(text, self.memory / PER_MEMBER, 1)?;
        Keys::parse(text)
    }

    /// Rebuilds an entry from its line. Returns `None` for a line about the capture itself.
    pub(in crate::capture) fn line(&mut self, text: &[u8]) -> Read<Option<Entry>> {
        let keys = self.parse(text)?;
        let version = keys.integer("v").required("v")?;
        if version != FORMAT_VERSION {
            return Err(EntryError::Version { format: version });
        }
        let event = keys.text("event")?;
        match event.as_deref() {
            Some(preamble::CAPTURE) => return Ok(None),
            Some(preamble::TABLE) => return self.tables.read(&keys).map(|()| None),
            _ => {}
        }
        let at = keys.parsed::<Moment>("time").required("time")?.0;
        if let Some(name) = event {
            return self.event(&keys, &name, at).map(|event| Some(Entry::Event(event)));
        }
        let direction = keys.parsed("dir").required("dir")?;
        let opened = keys.json("t").and_then(|t| opened(at, t));
        let head = head(&keys)?;
        let context = self.context_of(&head, at, opened)?;
        let content = self.stored(&keys, &head, &context, direction)?;
        let record = self.record(context, head, at, direction, content);
        match keys.integer("size")? {
            Some(declared) if declared != record.packet.size() => {
                Err(EntryError::Size { declared, found: record.packet.size() })
            }
            _ => Ok(Some(Entry::Packet(record))),
        }
    }

    /// Rebuilds a packet from its head and its bytes in the stream.
    pub(in crate::capture) fn streamed(
        &mut self,
        head: Head,
        at: Timestamp,
        direction: Direction,
        bytes: Bytes,
    ) -> Read<Entry> {
        let context = self.context_of(&head, at, None)?;
        let content = match &head.raw {
            Some(kind) => raw_content(kind, bytes)?,
            None => Content::Frame(match context.protocol.family() {
                Family::Java => unframe(bytes)?,
                Family::Alpha | Family::Legacy | Family::LegacyPing => Frame::bare(bytes),
                Family::Query => datagram(direction, bytes)?,
            }),
        };
        Ok(Entry::Packet(self.record(context, head, at, direction, content)))
    }

    /// Rebuilds the content of a packet from its line.
    fn stored(
        &self,
        keys: &Keys<'_>,
        head: &Head,
        context: &Context,
        direction: Direction,
    ) -> Read<Content> {
        if let Some(kind) = &head.raw {
            let bytes = keys.bytes(RAW_BYTES)?.ok_or(EntryError::NoBody)?;
            return raw_content(kind, bytes);
        }
        let body = match keys.bytes("body")? {
            Some(body) => body,
            None => encode(keys, &context.protocol, self.memory)?,
        };
        Ok(Content::Frame(match context.protocol.family() {
            Family::Java => Frame::from_body(body),
            Family::Alpha | Family::Legacy | Family::LegacyPing => Frame::bare(body),
            Family::Query => datagram(direction, [query_magic(direction), &body].concat().into())?,
        }))
    }

    fn event(&mut self, keys: &Keys<'_>, name: &str, at: Timestamp) -> Read<Event> {
        let session = keys.integer("session").required("session")?;
        let kind = match name {
            "open" => {
                let mut context = self.stranger(session, at)?;
                context.client = keys.inside("client")?.parsed("address").required("client")?;
                context.upstream = keys.text("upstream").required("upstream")?;
                context.server = keys.inside("server")?.parsed("address")?;
                let context = Arc::new(context);
                self.remember(session, Arc::clone(&context));
                if let Some(known) = self.contexts.get_mut(&session) {
                    known.has_open = true;
                }
                return Ok(Event { context, at, kind: EventKind::Open });
            }
            "state" => EventKind::State(self.legs(keys, session, at)?),
            "close" => EventKind::Close(summary(keys)?),
            _ => return Err(EntryError::invalid("event", name)),
        };
        let context = self.known(session, at)?;
        if let EventKind::Close(_) = kind {
            self.contexts.remove(&session);
        }
        Ok(Event { context, at, kind })
    }

    /// Reads a `state` event and updates the session's context.
    fn legs(&mut self, keys: &Keys<'_>, session: u64, at: Timestamp) -> Read<LegState> {
        let mut context = Context::clone(&*self.known(session, at)?);
        context.version = keys.integer("protocol")?;
        context.guess = keys.flag("guess")?;
        context.player = keys.text("player")?;
        let name = keys.text("version")?;
        match keys.parsed("family")?.unwrap_or(Family::Java) {
            Family::Java => {
                let table = keys.parsed("table")?;
                let protocol = self.tables.named(table, name.as_deref(), context.version)?;
                context.protocol = protocol.unwrap_or(context.protocol);
            }
            family => {
                // Before the login only the name says which description was used.
                let catalog = self.tables.catalog();
                let number = context.version.and_then(|it| catalog.find_in(family, it));
                let named = || {
                    let is = |it: &Arc<Protocol>| {
                        it.family() == family && Some(it.name()) == name.as_deref()
                    };
                    catalog.old().find(is)
                };
                let found = number.map(|it| it.protocol).or_else(named);
                let any = || catalog.find_in(family, 0).map(|it| it.protocol);
                context.protocol = found.or_else(any).ok_or(EntryError::NoProtocol)?;
            }
        }
        let (client, server) = (keys.inside("client")?, keys.inside("server")?);
        context.client = client.parsed("address")?.unwrap_or(context.client);
        context.server = server.parsed("address")?.or(context.server);
        self.remember(session, Arc::new(context));
        Ok(LegState {
            state: keys.parsed("state").required("state")?,
            client_threshold: client.integer("threshold")?,
            server_threshold: server.integer("threshold")?,
            client_encrypted: client.flag("encrypted")?,
            server_encrypted: server.flag("encrypted")?,
        })
    }

    /// Makes a packet's record. What the server's registries say holds for the packets after it.
    fn record(
        &mut self,
        context: Arc<Context>,
        head: Head,
        at: Timestamp,
        direction: Direction,
        content: Content,
    ) -> Record {
        let mut packet = Packet::new(context, head.seq, at, direction, head.state, content);
        if let Some(origin) = head.origin {
            packet.set_origin(origin);
        }
        packet.set_wire_size(head.wire);
        packet.note(head.noted);
        if SentRegistries::takes(&packet)
            && let Some(known) = self.contexts.get_mut(&packet.context().session)
        {
            let registries = Arc::new(known.context.registries.with(&packet));
            Arc::make_mut(&mut known.context).registries = registries;
        }
        Record { packet, outcome: head.outcome, of: head.of, comment: head.comment, notes: None }
    }

    /// Returns the context of a packet's session, with the protocol that the packet names.
    fn context_of(
        &mut self,
        head: &Head,
        at: Timestamp,
        opened: Option<Timestamp>,
    ) -> Read<Arc<Context>> {
        let session = head.session;
        let (protocol, exact) = self.tables.find(head.protocol)?;
        let guess = head.guess || !exact;
        let known = self.known(session, opened.unwrap_or(at))?;
        // The `open` event decides. Without one, `t` does: packets of several runs may follow each other.
        let has_open = self.contexts.get(&session).is_some_and(|it| it.has_open);
        let opened = opened.filter(|opened| !has_open && opened.0 / 1000 != known.opened.0 / 1000);
        let same = known.guess == guess && Arc::ptr_eq(&known.protocol, &protocol);
        let context = match (same, opened) {
            (true, None) => known,
            _ => Arc::new(Context {
                protocol,
                guess,
                opened: opened.unwrap_or(known.opened),
                ..Context::clone(&known)
            }),
        };
        self.remember(session, Arc::clone(&context));
        Ok(context)
    }

    /// Returns the context of a session, or a new one if nothing is known of it.
    fn known(&self, session: u64, opened: Timestamp) -> Read<Arc<Context>> {
        match self.contexts.get(&session) {
            Some(known) => Ok(Arc::clone(&known.context)),
            None => self.stranger(session, opened).map(Arc::new),
        }
    }

    /// Returns the context of a session whose beginning is not in the capture.
    fn stranger(&self, session: u64, opened: Timestamp) -> Read<Context> {
        let newest = self.tables.catalog().find(i32::MAX).ok_or(EntryError::NoProtocol)?;
        let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Ok(Context::new(session, opened, unknown, newest.protocol))
    }
}

/// An open session.
struct KnownSession {
    context: Arc<Context>,
    /// `true` if an `open` event of the session was read, which says when the session opened.
    has_open: bool,
}

/// Whether more sessions are open than contexts are kept of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crowded {
    No,
    New,
    Reported,
}

/// Memory that the context of a session takes, with its place in the map and an address that is long.
const PER_SESSION: usize = 1024;

/// A timestamp, parsed from text.
struct Moment(Timestamp);

impl std::str::FromStr for Moment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Timestamp::parse(text).map(Self).ok_or(())
    }
}

/// Reads a packet's head from JSON.
fn head(keys: &Keys<'_>) -> Read<Head> {
    let session = keys.integer("session").required("session")?;
    let protocol = ProtocolId {
        family: keys.parsed("family")?.unwrap_or(Family::Java),
        version: keys.integer("protocol").required("protocol")?,
        table: keys.parsed("table")?,
    };
    let guess = keys.flag("guess")?;
    let seq = keys.integer("seq").required("seq")?;
    let state = keys.parsed("state").required("state")?;
    let raw = match keys.text("raw")? {
        Some(raw) => Some(raw_kind(keys, &raw)?),
        None => None,
    };
    Ok(Head {
        session,
        seq,
        state,
        protocol,
        guess,
        origin: keys.parsed::<Origin>("origin")?,
        outcome: keys.parsed("verdict")?.unwrap_or(Outcome::Pass),
        of: keys.integer("of")?,
        comment: keys.text("comment")?,
        noted: noted(keys)?,
        wire: keys.integer("wire").required("wire")?,
        raw,
    })
}

/// Reads the diagnostics that the packet's body does not show. Others are ignored: they are found again,
/// and a later version may have more.
fn noted(keys: &Keys<'_>) -> Read<Diagnostics> {
    let Some(text) = keys.json("diagnostic") else { return Ok(Diagnostics::NONE) };
    let names: Vec<&str> =
        serde_json::from_str(text).map_err(|_| EntryError::invalid("diagnostic", text))?;
    Ok(names
        .into_iter()
        .filter_map(|name| name.parse::<Diagnostic>().ok())
        .filter(|it| !it.is_of_body())
        .collect())
}

fn raw_kind(keys: &Keys<'_>, raw: &str) -> Read<RawKind> {
    Ok(RawKind::Bytes(match raw {
        "relay" => RawReason::NotMinecraft,
        "opaque" => {
            let error = keys.text("error").required("error")?;
            RawReason::Opaque(error.strip_prefix(OPAQUE).unwrap_or(&error).to_owned())
        }
        "oversize" => RawReason::Oversize {
            frame: keys.integer("frame").required("frame")?,
            left: keys.integer("left").required("left")?,
        },
        "cutoff" => RawReason::CutOff,
        "injected" => RawReason::Injected,
        "frame" => {
            let (threshold, limit) = (keys.integer("threshold")?, keys.integer("limit")?);
            return Ok(RawKind::Frame { threshold, limit });
        }
        _ => return Err(EntryError::invalid("raw", raw)),
    }))
}

/// Rebuilds content without a body.
pub fn raw_content(kind: &RawKind, bytes: Bytes) -> Read<Content> {
    Ok(match kind {
        RawKind::Bytes(reason) => Content::Raw(bytes, reason.clone()),
        RawKind::Frame { threshold, limit } => {
            Content::Frame(broken_frame(*threshold, *limit, &bytes)?)
        }
    })
}

/// Rebuilds a frame whose body does not inflate, by decoding it under the conditions of that time.
fn broken_frame(threshold: Option<usize>, limit: Option<usize>, bytes: &[u8]) -> Read<Frame> {
    let inflated = limit.unwrap_or(Limits::MAX);
    let mut decoder = Decoder::new(Limits::new(bytes.len(), inflated));
    decoder.set_compression(threshold);
    decoder.receive(bytes);
    match decoder.poll() {
        Some(Unit::Frame(frame)) if frame.wire().len() == bytes.len() => Ok(frame),
        _ => Err(EntryError::NoFrame),
    }
}

/// Rebuilds a Query datagram.
fn datagram(direction: Direction, bytes: Bytes) -> Read<Frame> {
    let magic = query_magic(direction);
    if bytes.starts_with(magic) {
        Ok(Frame::datagram(bytes, magic.len()))
    } else {
        Err(EntryError::NoFrame)
    }
}

/// Rebuilds a frame from its bytes in a plain stream.
fn unframe(bytes: Bytes) -> Read<Frame> {
    let prefix = VarInt::read(&bytes).map_err(|_| EntryError::NoFrame)?;
    let body = bytes.slice(prefix.length..);
    match usize::try_from(prefix.value) {
        Ok(length) if length == body.len() => Ok(Frame::from_body(body)),
        _ => Err(EntryError::NoFrame),
    }
}

/// Encodes a body that was not recorded from the fields that were.
fn encode(keys: &Keys<'_>, protocol: &Protocol, memory: usize) -> Read<Bytes> {
    let fields = keys.json("fields").filter(|_| !keys.has("error")).ok_or(EntryError::NoBody)?;
    let name = keys.text("packet")?.ok_or(EntryError::NoBody)?;
    let state = keys.parsed("state").required("state")?;
    let direction = keys.parsed("dir").required("dir")?;
    let packet = protocol.named(state, direction, &name).ok_or(EntryError::NoBody)?;
    check_values(fields.as_bytes(), memory / PER_VALUE, usize::MAX)?;
    let fields = serde_json::from_str(fields).map_err(|_| EntryError::invalid("fields", fields))?;
    Ok(protocol.encode(packet, &Value::from_json(&fields))?.into())
}

/// Checks that a JSON text has at most `limit` values down to `depth` levels, before it is parsed. A
/// value that is short in JSON takes many times its length in memory.
fn check_values(text: &[u8], limit: usize, depth: usize) -> Read<()> {
    // Each value but the first follows a comma.
    if text.len() <= limit {
        return Ok(());
    }
    let (mut level, mut commas) = (0usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => level += 1,
            b']' | b'}' => level = level.saturating_sub(1),
            b',' if level <= depth => commas += 1,
            _ => {}
        }
    }
    if commas >= limit { Err(EntryError::TooManyValues { limit }) } else { Ok(()) }
}

/// Memory that a member of a line takes, besides its text.
const PER_MEMBER: usize = 256;

/// Memory that a value takes, as JSON and as a field: 32 bytes each, with the room of lists that grow.
const PER_VALUE: usize = 256;

fn summary(keys: &Keys<'_>) -> Read<Summary> {
    let (packets, bytes) = (keys.inside("packets")?, keys.inside("bytes")?);
    Ok(Summary {
        reason: keys.text("reason").required("reason")?,
        serverbound_packets: packets.integer("serverbound").required("packets")?,
        clientbound_packets: packets.integer("clientbound").required("packets")?,
        serverbound_bytes: bytes.integer("serverbound").required("bytes")?,
        clientbound_bytes: bytes.integer("clientbound").required("bytes")?,
    })
}

/// Computes when a session was opened, in microseconds, from a time `t` seconds later.
fn opened(at: Timestamp, t: &str) -> Option<Timestamp> {
    let lasted = Duration::try_from_secs_f64(t.parse().ok()?).ok()?;
    let micros = u64::try_from((lasted.as_nanos() + 500) / 1000).ok()?;
    Some(Timestamp((at.0 / 1000).checked_sub(micros)?.checked_mul(1000)?))
}

/// The prefix of [`RawReason::Opaque`] when it is displayed.
const OPAQUE: &str = "no longer understood: ";
