use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::super::head::crossed;
use super::super::{Entry, Event, EventKind, Outcome, Reason, Record};
use super::flow::{FIRST_EPHEMERAL, TcpFlow, UsedEndpoints};
use super::ip::{Endpoints, MAX_DATAGRAM, MAX_PAYLOAD};
use mitmcraft_protocol::packet::{Content, Context, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Role};
use mitmcraft_protocol::wire::write_varint;

/// The view `plain`: sessions as TCP connections between client and server without encryption and
/// compression, and Query as datagrams.
///
/// Each direction's stream consists of what was sent to the peer: frames in plain framing, and
/// unframed bytes unchanged. Packets that were not sent, and those that enable encryption or
/// compression, are not part of it and are passed to [`PlainFrameSink::aside`].
#[derive(Debug, Default)]
pub(in crate::capture) struct PlainView {
    flows: BTreeMap<u64, PlainSession>,
    /// The endpoints of all connections so far.
    pub(in crate::capture) used: UsedEndpoints,
    bytes: Vec<u8>,
    headers: Vec<u8>,
}

/// A consumer of the view's frames.
pub(in crate::capture) trait PlainFrameSink {
    /// `true` if comments are used.
    const COMMENTS: bool;

    /// Takes an Ethernet frame.
    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()>;

    /// Takes an event, or a packet that is not part of the stream.
    fn aside(&mut self, entry: &Entry) -> io::Result<()>;
}

/// An Ethernet frame of the view.
pub(in crate::capture) struct PlainFrame<'a> {
    pub(in crate::capture) at: Timestamp,
    /// The headers of Ethernet, IP, and TCP or UDP.
    pub(in crate::capture) headers: &'a [u8],
    /// The bytes that the TCP segment or the UDP datagram carries.
    pub(in crate::capture) payload: &'a [u8],
    pub(in crate::capture) comment: Option<&'a str>,
    pub(in crate::capture) carries: Carried<'a>,
}

/// The part of a packet in a frame.
#[derive(Debug, Clone, Copy)]
pub(in crate::capture) enum Carried<'a> {
    /// The frame opens or closes a connection.
    Nothing,
    /// The packet continues in the next frame.
    Part,
    /// The frame ends the packet, whose bytes in the stream are `streamed`.
    Packet { record: &'a Record, streamed: &'a [u8] },
}

/// The view's state of a session.
#[derive(Debug, Default)]
struct PlainSession {
    /// `None` until there is something in the stream.
    flow: Option<TcpFlow>,
    notes: PendingNotes,
}

impl PlainView {
    pub(in crate::capture) fn write<T: PlainFrameSink>(
        &mut self,
        entry: &Entry,
        sink: &mut T,
    ) -> io::Result<()> {
        match entry {
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.close(event, sink)?;
                }
                sink.aside(entry)
            }
            Entry::Packet(record) => {
                record.packet.inflate();
                if streams(record) {
                    return self.send(record, sink);
                }
                if let Some(note) = note(record).filter(|_| T::COMMENTS) {
                    self.session(record.packet.context()).notes.push(note);
                }
                sink.aside(entry)
            }
        }
    }

    fn send<T: PlainFrameSink>(&mut self, record: &Record, sink: &mut T) -> io::Result<()> {
        let packet = &record.packet;
        if is_query(packet.context()) {
            return self.send_datagram(record, sink);
        }
        self.open(packet.context(), packet.at(), sink)?;
        self.bytes.clear();
        write_stream(&mut self.bytes, packet.content());

        let Some(session) = self.flows.get_mut(&packet.context().session) else { return Ok(()) };
        let Some(flow) = &mut session.flow else { return Ok(()) };
        let comment = if T::COMMENTS { comment(record, &mut session.notes) } else { None };
        let mut chunks = self.bytes.chunks(MAX_PAYLOAD).peekable();
        while let Some(payload) = chunks.next() {
            let segment = flow.data(packet.direction(), payload);
            flow.ends.write(&mut self.headers, &segment);
            let last = chunks.peek().is_none();
            sink.frame(&PlainFrame {
                at: packet.at(),
                headers: &self.headers,
                payload,
                comment: comment.as_deref().filter(|_| last),
                carries: match last {
                    true => Carried::Packet { record, streamed: &self.bytes },
                    false => Carried::Part,
                },
            })?;
        }
        Ok(())
    }

    fn send_datagram<T: PlainFrameSink>(
        &mut self,
        record: &Record,
        sink: &mut T,
    ) -> io::Result<()> {
        let packet = &record.packet;
        self.bytes.clear();
        write_stream(&mut self.bytes, packet.content());
        let notes = &mut self.flows.entry(packet.context().session).or_default().notes;
        let comment = if T::COMMENTS { comment(record, notes) } else { None };
        let (headers, payload) = (&mut self.headers, &self.bytes);
        endpoints(packet.context()).write_datagram(headers, packet.direction(), payload);
        sink.frame(&PlainFrame {
            at: packet.at(),
            headers,
            payload,
            comment: comment.as_deref(),
            carries: Carried::Packet { record, streamed: payload },
        })
    }

    /// Writes SYN and SYN-ACK unless the connection has begun.
    fn open<T: PlainFrameSink>(
        &mut self,
        context: &Context,
        at: Timestamp,
        sink: &mut T,
    ) -> io::Result<()> {
        if self.session(context).flow.is_some() {
            return Ok(());
        }
        let (ends, comment) = self.used.take(endpoints(context));
        let mut flow = TcpFlow::new(ends);
        for (segment, comment) in flow.begin().into_iter().zip([comment.as_deref(), None]) {
            ends.write(&mut self.headers, &segment);
            let (headers, payload, carries) = (&self.headers, segment.payload, Carried::Nothing);
            sink.frame(&PlainFrame { at, headers, payload, comment, carries })?;
        }
        self.session(context).flow = Some(flow);
        Ok(())
    }

    /// Writes a FIN for each direction if the connection has begun.
    fn close<T: PlainFrameSink>(&mut self, event: &Event, sink: &mut T) -> io::Result<()> {
        let Some(mut session) = self.flows.remove(&event.context.session) else { return Ok(()) };
        let Some(flow) = &mut session.flow else { return Ok(()) };
        let comment = if T::COMMENTS { session.notes.take() } else { None };
        let ends = [(Direction::Serverbound, comment.as_deref()), (Direction::Clientbound, None)];
        for (direction, comment) in ends {
            let fin = flow.end(direction);
            flow.ends.write(&mut self.headers, &fin);
            let (at, headers, payload) = (event.at, &self.headers, fin.payload);
            let carries = Carried::Nothing;
            sink.frame(&PlainFrame { at, headers, payload, comment, carries })?;
        }
        Ok(())
    }

    fn session(&mut self, context: &Context) -> &mut PlainSession {
        self.flows.entry(context.session).or_default()
    }
}

/// Notes about packets that are not in the stream, to be written as a comment of the next frame.
#[derive(Debug, Default)]
struct PendingNotes {
    first: Vec<String>,
    more: usize,
}

impl PendingNotes {
    fn push(&mut self, note: String) {
        if self.first.len() < MAX_NOTES {
            self.first.push(note);
        } else {
            self.more += 1;
        }
    }

    fn take(&mut self) -> Option<String> {
        if self.first.is_empty() {
            return None;
        }
        let mut text = self.first.join("\n");
        if self.more > 0 {
            text.push_str(&format!("\nand {} more", self.more));
        }
        *self = Self::default();
        Some(text)
    }
}

/// Returns `true` if the packet is part of the stream: it was sent, and a plain session has it.
fn streams(record: &Record) -> bool {
    let packet = &record.packet;
    // Its own size: a capture that was read can have another one for the wire.
    let size = crossed(packet.content()).len();
    let fits = !is_query(packet.context()) || size <= MAX_DATAGRAM;
    record.outcome.went() && !switches(record) && size > 0 && fits
}

fn is_query(context: &Context) -> bool {
    context.protocol.family() == Family::Query
}

/// Returns `true` for the packets that enable encryption or compression.
fn switches(record: &Record) -> bool {
    matches!(
        record.packet.role(),
        Some(
            Role::EncryptionRequest
                | Role::EncryptionResponse
                | Role::EncryptionStarted
                | Role::SetCompression
        )
    )
}

fn write_stream(out: &mut Vec<u8>, content: &Content) {
    match content {
        Content::Raw(bytes, _) => out.extend_from_slice(bytes),
        Content::Frame(frame) if frame.is_bare() => out.extend_from_slice(frame.wire()),
        Content::Frame(frame) => {
            let written = frame.with_body(|body| {
                write_varint(out, i32::try_from(body.len()).expect("a body has less than 2 GiB"));
                out.extend_from_slice(body);
            });
            if written.is_err() {
                out.extend_from_slice(frame.wire());
            }
        }
    }
}

/// Describes what became of a packet that is not in the stream.
fn note(record: &Record) -> Option<String> {
    let what = match record.outcome {
        Outcome::Drop => "dropped by the proxy",
        // The comment of the replacement says so.
        Outcome::Rewrite => return None,
        Outcome::Pass | Outcome::Send => "left out: the view is neither encrypted nor compressed",
    };
    let why = record.comment.as_deref().map_or(String::new(), |why| format!(" ({why})"));
    Some(format!("before this, {}: {what}{why}", name(record)))
}

/// Describes what is exceptional about a packet, and the packets left out before it.
fn comment(record: &Record, notes: &mut PendingNotes) -> Option<String> {
    let mut parts: Vec<String> = notes.take().into_iter().collect();
    match (record.outcome, record.of) {
        (_, Some(of)) => parts.push(format!("rewritten by the proxy: replaces packet {of}")),
        (Outcome::Send, None) => parts.push("made by the proxy".to_owned()),
        _ => {}
    }
    if let Some(error) = record.packet.error() {
        parts.push(format!("does not decode: {}", Reason(&error)));
    }
    parts.extend(record.comment.clone());
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn name(record: &Record) -> String {
    let packet = &record.packet;
    let name = record.name_or("bytes without a packet");
    format!("{} {name}, packet {}", packet.direction(), packet.seq())
}

/// Returns the session's endpoints. An unknown address is replaced by one for documentation
/// (RFC 5737, RFC 3849), an unknown port by the one that the user named or the game's default.
pub(in crate::capture) fn endpoints(context: &Context) -> Endpoints {
    let mut client = context.client;
    if client.ip().is_unspecified() {
        client.set_ip(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    }
    if client.port() == 0 {
        client.set_port(FIRST_EPHEMERAL);
    }
    let server = context.server.unwrap_or_else(|| named_server(context, client));
    Endpoints::new(client, server)
}

/// Returns the server's address as the user named it.
fn named_server(context: &Context, client: SocketAddr) -> SocketAddr {
    if let Ok(address) = context.upstream.parse() {
        return address;
    }
    let port = context.upstream.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let ip = match client {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
    };
    SocketAddr::new(ip, port.unwrap_or(GAME_PORT))
}

/// Notes that are written in full; a rule may drop thousands of packets in a row.
const MAX_NOTES: usize = 8;

const GAME_PORT: u16 = 25_565;
