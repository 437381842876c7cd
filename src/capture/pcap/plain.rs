use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::super::{Entry, Event, EventKind, Outcome, Record};
use super::flow::{FIRST_EPHEMERAL, TcpFlow, UsedEndpoints};
use super::ip::{ACK, Endpoints, MAX_DATAGRAM, MAX_PAYLOAD, PSH};
use crate::capture::Reason;
use crate::packet::{Content, Context, Timestamp};
use crate::schema::{Direction, Family, Role};
use crate::wire::write_varint;

/// The view `plain`: a session as a TCP connection between client and server that was neither
/// encrypted nor compressed; Query as the datagrams that it is.
///
/// Each direction's stream is what went to the peer: frames in plain framing, whatever went through
/// unframed as it was. What did not go, and the packets that switch encryption and compression on,
/// are not in it and are handed out beside it.
#[derive(Debug, Default)]
pub(crate) struct PlainView {
    flows: HashMap<u64, PlainSession>,
    /// The ends of all connections so far.
    pub(crate) used: UsedEndpoints,
    bytes: Vec<u8>,
    frame: Vec<u8>,
}

/// What takes the view.
pub(crate) trait PlainFrameSink {
    /// Whether it has use for comments.
    const COMMENTS: bool;

    /// Takes an Ethernet frame.
    fn frame(&mut self, frame: &PlainFrame<'_>) -> io::Result<()>;

    /// Takes an entry that is not in the stream, or not only.
    fn aside(&mut self, entry: &Entry) -> io::Result<()>;
}

/// An Ethernet frame of the view.
pub(crate) struct PlainFrame<'a> {
    pub(crate) at: Timestamp,
    pub(crate) bytes: &'a [u8],
    pub(crate) comment: Option<&'a str>,
    /// The packet whose last segment it carries.
    pub(crate) record: Option<&'a Record>,
}

/// What is session of a session.
#[derive(Debug, Default)]
struct PlainSession {
    /// None until something is in the stream.
    flow: Option<TcpFlow>,
    notes: PendingNotes,
}

impl PlainView {
    pub(crate) fn write<T: PlainFrameSink>(
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
                // Inflated once, before its id is asked for.
                let _ = record.packet.body();
                if streams(record) {
                    return self.send(record, sink);
                }
                if let Some(note) = note(record).filter(|_| T::COMMENTS) {
                    self.session(&record.packet.context).notes.push(note);
                }
                sink.aside(entry)
            }
        }
    }

    fn send<T: PlainFrameSink>(&mut self, record: &Record, sink: &mut T) -> io::Result<()> {
        let packet = &record.packet;
        if is_query(&packet.context) {
            return self.send_datagram(record, sink);
        }
        self.open(&packet.context, packet.at, sink)?;
        self.bytes.clear();
        write_stream(&mut self.bytes, &packet.content);

        let Some(session) = self.flows.get_mut(&packet.context.session) else { return Ok(()) };
        let Some(flow) = &mut session.flow else { return Ok(()) };
        let comment = if T::COMMENTS { comment(record, &mut session.notes) } else { None };
        let mut chunks = self.bytes.chunks(MAX_PAYLOAD).peekable();
        while let Some(payload) = chunks.next() {
            let segment = flow.segment(packet.direction, PSH | ACK, payload);
            flow.ends.write(&mut self.frame, &segment);
            let last = chunks.peek().is_none();
            sink.frame(&PlainFrame {
                at: packet.at,
                bytes: &self.frame,
                comment: comment.as_deref().filter(|_| last),
                record: Some(record).filter(|_| last),
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
        write_stream(&mut self.bytes, &packet.content);
        let notes = &mut self.flows.entry(packet.context.session).or_default().notes;
        let comment = if T::COMMENTS { comment(record, notes) } else { None };
        endpoints(&packet.context).write_datagram(&mut self.frame, packet.direction, &self.bytes);
        sink.frame(&PlainFrame {
            at: packet.at,
            bytes: &self.frame,
            comment: comment.as_deref(),
            record: Some(record),
        })
    }

    /// Begins the connection, unless it has begun: SYN and SYN-ACK.
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
            ends.write(&mut self.frame, &segment);
            sink.frame(&PlainFrame { at, bytes: &self.frame, comment, record: None })?;
        }
        self.session(context).flow = Some(flow);
        Ok(())
    }

    /// Ends the connection, if it has begun: a FIN from either side.
    fn close<T: PlainFrameSink>(&mut self, event: &Event, sink: &mut T) -> io::Result<()> {
        let Some(mut session) = self.flows.remove(&event.context.session) else { return Ok(()) };
        let Some(flow) = &mut session.flow else { return Ok(()) };
        let mut comment = if T::COMMENTS { session.notes.take() } else { None };
        for direction in [Direction::Serverbound, Direction::Clientbound] {
            let fin = flow.end(direction);
            flow.ends.write(&mut self.frame, &fin);
            let comment = comment.take();
            let comment = comment.as_deref();
            sink.frame(&PlainFrame { at: event.at, bytes: &self.frame, comment, record: None })?;
        }
        Ok(())
    }

    fn session(&mut self, context: &Context) -> &mut PlainSession {
        self.flows.entry(context.session).or_default()
    }
}

/// What became of packets that are not in the stream, until a frame comes to tell it.
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

/// Whether the packet is in the stream: it went to the peer, and a plain session has it.
fn streams(record: &Record) -> bool {
    let packet = &record.packet;
    let fits = !is_query(&packet.context) || packet.wire_size() <= MAX_DATAGRAM;
    record.outcome.went() && !switches(record) && packet.wire_size() > 0 && fits
}

fn is_query(context: &Context) -> bool {
    context.protocol.family() == Family::Query
}

/// Whether it is one of the packets that switch encryption or compression on.
fn switches(record: &Record) -> bool {
    matches!(
        record.packet.kind().and_then(|packet| packet.role()),
        Some(Role::EncryptionRequest | Role::EncryptionResponse | Role::SetCompression)
    )
}

fn write_stream(out: &mut Vec<u8>, content: &Content) {
    match content {
        Content::Raw(bytes, _) => out.extend_from_slice(bytes),
        Content::Frame(frame) if frame.is_bare() => out.extend_from_slice(frame.wire()),
        Content::Frame(frame) => match frame.body() {
            Ok(body) => {
                write_varint(out, i32::try_from(body.len()).expect("a body has less than 2 GiB"));
                out.extend_from_slice(&body);
            }
            Err(_) => out.extend_from_slice(frame.wire()),
        },
    }
}

/// Tells of a packet that is not in the stream.
fn note(record: &Record) -> Option<String> {
    let what = match record.outcome {
        Outcome::Drop => "dropped by the proxy",
        // Its replacement tells.
        Outcome::Rewrite => return None,
        Outcome::Pass | Outcome::Send => "left out, as this is the session in plain",
    };
    let why = record.comment.as_deref().map_or(String::new(), |why| format!(" ({why})"));
    Some(format!("before this, {}: {what}{why}", name(record)))
}

/// What is exceptional about a packet, and what came before it.
fn comment(record: &Record, notes: &mut PendingNotes) -> Option<String> {
    let mut parts: Vec<String> = notes.take().into_iter().collect();
    match (record.outcome, record.of) {
        (_, Some(of)) => parts.push(format!("rewritten by the proxy: packet {of} came")),
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
    let name = match (packet.kind(), packet.id()) {
        (Some(packet), _) => packet.name().to_string(),
        (None, Some(id)) => format!("0x{id:02x}"),
        (None, None) => "bytes that are no packet".to_owned(),
    };
    format!("{} {name}, packet {}", packet.direction, packet.seq)
}

/// The session's ends, as far as they are known; what is not is an address for documentation
/// (RFC 5737, RFC 3849), and the port that the user named or the game's own.
pub(crate) fn endpoints(context: &Context) -> Endpoints {
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

/// The server as the user named it.
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

/// PendingNotes that are told in full; a rule may drop thousands of packets in a row.
const MAX_NOTES: usize = 8;

const GAME_PORT: u16 = 25_565;
