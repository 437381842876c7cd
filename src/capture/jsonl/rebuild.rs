use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::super::{Entry, EntryError, Event, EventKind, LegState, Outcome, Record, Summary};
use super::keys::{Keys, Read, Required};
use super::line;
use crate::codec::{Decoder, Frame, Limits, Unit};
use crate::packet::{Content, Context, Origin, Packet, RawReason, Timestamp};
use crate::schema::{Catalog, Direction, Family, Protocol, Value, query_magic};
use crate::wire::VarInt;

/// Rebuilds entries from what captures contain of them. Keeps the context of each session until
/// the session closes.
pub(in crate::capture) struct Rebuilder {
    catalog: Catalog,
    contexts: HashMap<u64, Arc<Context>>,
    /// The memory that one entry may take.
    memory: usize,
}

impl Rebuilder {
    pub(in crate::capture) fn within(catalog: &Catalog, memory: usize) -> Self {
        Self { catalog: catalog.clone(), contexts: HashMap::new(), memory }
    }

    fn parse<'j>(&self, text: &'j [u8]) -> Read<Keys<'j>> {
        check_values(text, self.memory / PER_MEMBER, 1)?;
        Keys::parse(text)
    }

    /// Rebuilds an entry from its line.
    pub(in crate::capture) fn line(&mut self, text: &[u8]) -> Read<Entry> {
        let keys = self.parse(text)?;
        let version = keys.integer("v").required("v")?;
        if version != line::VERSION {
            return Err(EntryError::Version(version));
        }
        let at = keys.parsed::<Moment>("time").required("time")?.0;
        if keys.has("event") {
            return self.event(&keys, at).map(Entry::Event);
        }
        let direction = keys.parsed("dir").required("dir")?;
        self.record(&keys, at, direction, None).map(Entry::Packet)
    }

    /// Rebuilds a packet from its head and its bytes in the stream.
    pub(in crate::capture) fn streamed(
        &mut self,
        head: &[u8],
        at: Timestamp,
        direction: Direction,
        bytes: Bytes,
    ) -> Read<Entry> {
        let keys = self.parse(head)?;
        self.record(&keys, at, direction, Some(bytes)).map(Entry::Packet)
    }

    fn record(
        &mut self,
        keys: &Keys<'_>,
        at: Timestamp,
        direction: Direction,
        streamed: Option<Bytes>,
    ) -> Read<Record> {
        let context = self.context_of(keys, at)?;
        let seq = keys.integer("seq").required("seq")?;
        let state = keys.parsed("state").required("state")?;
        let raw = keys.text("raw")?;
        let content = match (&raw, streamed) {
            (Some(raw), Some(bytes)) => content(keys, raw, bytes)?,
            (Some(raw), None) => {
                content(keys, raw, keys.bytes("bytes")?.ok_or(EntryError::NoBody)?)?
            }
            (None, Some(bytes)) => Content::Frame(match context.protocol.family() {
                Family::Java => unframe(bytes)?,
                Family::Alpha | Family::LegacyPing => Frame::bare(bytes),
                Family::Query => datagram(direction, bytes)?,
            }),
            (None, None) => {
                let body = match keys.bytes("body")? {
                    Some(body) => body,
                    None => encode(keys, &context.protocol, self.memory)?,
                };
                Content::Frame(match context.protocol.family() {
                    Family::Java => Frame::from_body(body),
                    Family::Alpha | Family::LegacyPing => Frame::bare(body),
                    Family::Query => {
                        datagram(direction, [query_magic(direction), &body].concat().into())?
                    }
                })
            }
        };
        let mut packet = Packet::new(context, seq, at, direction, state, content);
        packet.origin = keys.parsed::<Origin>("origin")?.unwrap_or(packet.origin);
        packet.set_wire_size(keys.integer("wire").required("wire")?);
        match keys.integer("size")? {
            Some(declared) if declared != packet.size() => {
                return Err(EntryError::Size { declared, found: packet.size() });
            }
            _ => {}
        }
        Ok(Record {
            packet,
            outcome: keys.parsed("verdict")?.unwrap_or(Outcome::Pass),
            of: keys.integer("of")?,
            comment: keys.text("comment")?,
            notes: None,
        })
    }

    fn event(&mut self, keys: &Keys<'_>, at: Timestamp) -> Read<Event> {
        let session = keys.integer("session").required("session")?;
        let name = keys.text("event").required("event")?;
        let kind = match &*name {
            "open" => {
                let mut context = self.stranger(session, at)?;
                context.client = keys.parsed("client").required("client")?;
                context.upstream = keys.text("upstream").required("upstream")?;
                context.server = keys.parsed("server")?;
                self.contexts.insert(session, Arc::new(context));
                EventKind::Open
            }
            "state" => EventKind::State(self.legs(keys, session, at)?),
            "close" => EventKind::Close(summary(keys)?),
            _ => return Err(EntryError::invalid("event", &name)),
        };
        let context = match kind {
            EventKind::Close(_) => self.contexts.remove(&session),
            _ => self.contexts.get(&session).map(Arc::clone),
        };
        let context = match context {
            Some(context) => context,
            None => Arc::new(self.stranger(session, at)?),
        };
        Ok(Event { context, at, kind })
    }

    /// Reads a `state` event and updates the session's context.
    fn legs(&mut self, keys: &Keys<'_>, session: u64, at: Timestamp) -> Read<LegState> {
        let mut context = match self.contexts.get(&session) {
            Some(context) => Context::clone(context),
            None => self.stranger(session, at)?,
        };
        context.version = keys.integer("protocol")?;
        context.guess = keys.flag("guess")?;
        context.player = keys.text("player")?;
        let name = keys.text("version")?;
        match keys.parsed("family")?.unwrap_or(Family::Java) {
            Family::Java => {
                let protocol = self.protocol_of(name.as_deref(), context.version);
                context.protocol = protocol.unwrap_or(context.protocol);
            }
            family => {
                // Before the login of Alpha only the name says which description was used.
                let is_named = |version: &i32| {
                    let found = self.catalog.find_in(family, *version);
                    found.is_some_and(|found| Some(found.protocol.name()) == name.as_deref())
                };
                let version = context.version.or_else(|| (1..=6).find(is_named));
                let found = self.catalog.find_in(family, version.unwrap_or_default());
                context.protocol = found.ok_or(EntryError::NoProtocol)?.protocol;
            }
        }
        let (client, server) = (keys.inside("client")?, keys.inside("server")?);
        context.client = client.parsed("address")?.unwrap_or(context.client);
        context.server = server.parsed("address")?.or(context.server);
        self.contexts.insert(session, Arc::new(context));
        Ok(LegState {
            state: keys.parsed("state").required("state")?,
            client_threshold: client.integer("threshold")?,
            server_threshold: server.integer("threshold")?,
            client_encrypted: client.flag("encrypted")?,
            server_encrypted: server.flag("encrypted")?,
        })
    }

    /// Returns the context of a packet's session, with the protocol that the packet names.
    fn context_of(&mut self, keys: &Keys<'_>, at: Timestamp) -> Read<Arc<Context>> {
        let session = keys.integer("session").required("session")?;
        let version: i32 = keys.integer("protocol").required("protocol")?;
        let family = keys.parsed("family")?.unwrap_or(Family::Java);
        let found = self.catalog.find_in(family, version).ok_or(EntryError::NoProtocol)?;
        let guess = keys.flag("guess")? || !found.exact;
        let opened = keys.json("t").and_then(|t| opened(at, t));
        let known = match self.contexts.get(&session) {
            Some(context) => Arc::clone(context),
            None => Arc::new(self.stranger(session, opened.unwrap_or(at))?),
        };
        // The `open` event has nanoseconds, `t` only microseconds.
        let opened = opened.filter(|opened| opened.0 / 1000 != known.opened.0 / 1000);
        let is = (known.protocol.family(), known.protocol.version());
        let same = known.guess == guess && is == (family, found.protocol.version());
        let context = match (same, opened) {
            (true, None) => known,
            _ => Arc::new(Context {
                protocol: found.protocol,
                guess,
                opened: opened.unwrap_or(known.opened),
                ..Context::clone(&known)
            }),
        };
        self.contexts.insert(session, Arc::clone(&context));
        Ok(context)
    }

    /// Returns the context of a session whose beginning is not in the capture.
    fn stranger(&self, session: u64, opened: Timestamp) -> Read<Context> {
        let newest = self.catalog.find(i32::MAX).ok_or(EntryError::NoProtocol)?;
        Ok(Context {
            session,
            opened,
            client: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            server: None,
            upstream: String::new(),
            player: None,
            protocol: newest.protocol,
            version: None,
            guess: false,
        })
    }

    /// Finds the protocol of that name, else the one for that version number.
    fn protocol_of(&self, name: Option<&str>, version: Option<i32>) -> Option<Arc<Protocol>> {
        match (name.and_then(|name| self.catalog.by_name(name)), version) {
            (Some(protocol), _) => Some(protocol),
            (None, Some(version)) => Some(self.catalog.find(version)?.protocol),
            (None, None) => None,
        }
    }
}

/// A timestamp, parsed from text.
struct Moment(Timestamp);

impl std::str::FromStr for Moment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Timestamp::parse(text).map(Self).ok_or(())
    }
}

/// Rebuilds content that the capture has as raw bytes.
fn content(keys: &Keys<'_>, raw: &str, bytes: Bytes) -> Read<Content> {
    let reason = match raw {
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
        "frame" => return broken_frame(keys, &bytes).map(Content::Frame),
        _ => return Err(EntryError::invalid("raw", raw)),
    };
    Ok(Content::Raw(bytes, reason))
}

/// Rebuilds a frame whose body does not inflate, by decoding it under the conditions of that time.
fn broken_frame(keys: &Keys<'_>, bytes: &[u8]) -> Read<Frame> {
    let inflated = keys.integer("limit")?.unwrap_or(Limits::MAX);
    let mut decoder = Decoder::new(Limits { frame: bytes.len(), inflated });
    decoder.set_compression(keys.integer("threshold")?);
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
