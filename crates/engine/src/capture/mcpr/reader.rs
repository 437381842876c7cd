use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;

use super::super::{
    Entry, EntryError, Event, EventKind, FilePosition, LegState, ReadError, Record,
};
use super::metadata::Metadata;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Neighbors, Packet, SentRegistries, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, PerDirection, Role, State, Value};

/// Reads the packets of a recording of ReplayMod as one session, whose number is 1.
///
/// There is no end of the session: the recording does not say how it ended. The first packet has a comment that says
/// what the recording lacks. A record that is too long yields an error, and iteration continues with the next one.
pub(in crate::capture) struct McprReader<R> {
    reader: R,
    context: Arc<Context>,
    /// The other version around that of the recording, if that has no description.
    neighbors: Option<Neighbors>,
    state: State,
    /// The greatest length of a packet in bytes.
    limit: usize,
    /// The number of the last packet.
    seq: u64,
    /// The number of the last record in the file.
    place: u64,
    /// Entries that follow from what has been read.
    ready: VecDeque<Entry>,
    comment: Option<&'static str>,
    begun: Timestamp,
    done: bool,
}

impl<R: Read> McprReader<R> {
    /// Reads `recording.tmcpr` from `reader`, in `memory` bytes.
    pub(in crate::capture) fn within(
        reader: R,
        metadata: Metadata,
        catalog: &Catalog,
        memory: usize,
    ) -> Result<Self, ReadError> {
        let Metadata { protocol: number, has_login, begun, server } = metadata;
        let found = catalog.find(number);
        let found =
            found.ok_or(ReadError::Entry(FilePosition::Record(1), EntryError::NoProtocol))?;
        let later = catalog.later(number).filter(|_| !found.exact);
        let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let mut context = Context::new(1, begun, nobody, found.protocol);
        context.upstream = server;
        context.version = Some(number);
        context.guess = !found.exact;
        let mut reader = Self {
            reader,
            neighbors: later.map(Neighbors::new),
            context: Arc::new(context),
            state: if has_login { State::Login } else { State::Play },
            limit: memory / PER_BYTE,
            seq: 0,
            place: 0,
            ready: VecDeque::new(),
            comment: Some(if has_login { LACKS } else { LACKS_LOGIN }),
            begun,
            done: false,
        };
        reader.event(begun, EventKind::Open);
        reader.state_event(begun);
        Ok(reader)
    }

    /// Reads the next packet. Returns `None` at the end.
    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            let place = FilePosition::Record(self.place + 1);
            let failed = |error| ReadError::at(place, error);
            let mut first = [0];
            if self.reader.read(&mut first).map_err(failed)? == 0 {
                return Ok(None);
            }
            let mut rest = [0; 7];
            self.reader.read_exact(&mut rest).map_err(failed)?;
            let [t0] = first;
            let [t1, t2, t3, l0, l1, l2, l3] = rest;
            let [millis, length] = [[t0, t1, t2, t3], [l0, l1, l2, l3]].map(i32::from_be_bytes);
            if millis == END || length == END {
                return Ok(None);
            }
            self.place += 1;
            let (Ok(millis), Ok(size)) = (u64::try_from(millis), usize::try_from(length)) else {
                let value = format!("{millis} and {length}");
                let error = EntryError::invalid("time and length", &value);
                self.done = true;
                return Err(ReadError::Entry(place, error));
            };
            if size > self.limit {
                self.skip(size as u64).map_err(failed)?;
                let (length, limit) = (size as u64, self.limit);
                return Err(ReadError::Entry(place, EntryError::TooLong { length, limit }));
            }
            // What a length says is not believed before the bytes are there.
            let mut body = Vec::new();
            (&mut self.reader).take(size as u64).read_to_end(&mut body).map_err(failed)?;
            if body.len() < size {
                return Err(ReadError::CutOff(place));
            }
            if !body.is_empty() {
                let at = Timestamp(self.begun.0.saturating_add(millis * 1_000_000));
                return Ok(Some(self.packet(at, body.into())));
            }
        }
    }

    fn packet(&mut self, at: Timestamp, body: Bytes) -> Entry {
        self.seq += 1;
        let content = Content::Frame(Frame::from_body(body));
        let mut packet = self.read_as(at, content.clone());
        let mut comment = self.comment.take().map(str::to_owned);
        if let Some((protocol, state)) = self.neighbors.as_mut().and_then(|it| it.take(&packet)) {
            Arc::make_mut(&mut self.context).protocol = protocol;
            if state != self.state {
                self.state = state;
                self.state_event(at);
            }
            packet = self.read_as(at, content);
            let why = Neighbors::FITS_BETTER;
            comment = Some(comment.map_or_else(|| why.to_owned(), |it| format!("{it}; {why}")));
        }
        if SentRegistries::takes(&packet) {
            let registries = Arc::new(self.context.registries.with(&packet));
            Arc::make_mut(&mut self.context).registries = registries;
        }
        if packet.role() == Some(Role::LoginSuccess) {
            Arc::make_mut(&mut self.context).player = player(&packet);
        }
        let mut states = PerDirection::new(self.state, self.state);
        if let Some(role) = packet.role() {
            self.context.protocol.follow(role, packet.direction(), &mut states);
        }
        let next = states.clientbound;
        if next != self.state {
            self.state = next;
            self.state_event(at);
        }
        Entry::Packet(Record { comment, ..Record::passed(packet) })
    }

    /// Returns the packet that `content` is in the version in use.
    fn read_as(&self, at: Timestamp, content: Content) -> Packet {
        let (context, direction) = (Arc::clone(&self.context), Direction::Clientbound);
        Packet::new(context, self.seq, at, direction, self.state, content)
    }

    fn state_event(&mut self, at: Timestamp) {
        let legs = LegState {
            state: self.state,
            client_threshold: None,
            server_threshold: None,
            client_encrypted: false,
            server_encrypted: false,
        };
        self.event(at, EventKind::State(legs));
    }

    fn event(&mut self, at: Timestamp, kind: EventKind) {
        let context = Arc::clone(&self.context);
        self.ready.push_back(Entry::Event(Event { context, at, kind }));
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.reader).take(length), &mut io::sink())? {
            passed if passed == length => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl<R: Read> Iterator for McprReader<R> {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(entry) = self.ready.pop_front() {
            return Some(Ok(entry));
        }
        if self.done {
            return None;
        }
        let read = self.read();
        self.done |= !matches!(read, Ok(Some(_)) | Err(ReadError::Entry(..)));
        read.transpose()
    }
}

/// Returns the name in a Login Success.
fn player(packet: &Packet) -> Option<String> {
    let fields = packet.value().ok()?;
    let name = fields.get("username").and_then(Value::as_text)?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The comment of the first packet.
const LACKS: &str = "from a recording of ReplayMod: only what the client received from Login Success on, without \
                     its form on the wire; the recorder may have added packets about the player itself";

/// The comment of the first packet of a recording that begins in the game.
const LACKS_LOGIN: &str = "from a recording of ReplayMod: only what the client received in the game, without the login \
                           and its form on the wire; the recorder may have added packets about the player itself";

/// A time or a length that ends a recording.
const END: i32 = -1;

/// Memory that reading a packet takes at most per byte.
const PER_BYTE: usize = 8;
