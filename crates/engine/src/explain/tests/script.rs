//! Sessions written packet by packet.

use std::sync::Arc;

use crate::capture::{Entry, Event, EventKind, Record, Summary};
use crate::link::disconnect_body;
use crate::lint::tests::context;
use crate::lint::tests::planted::body::{Body, body};
use crate::lint::tests::planted::{Packet as Sent, chunks, packets};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, RawReason, SentRegistries, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

/// A session in the making.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) version: i32,
    pub(crate) context: Arc<Context>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) at: Timestamp,
    /// The number of the last packet.
    pub(crate) seq: u64,
}

impl Script {
    /// A client that has connected.
    pub(crate) fn new(version: i32) -> Self {
        let context = Arc::new(context(version));
        let registry = |packet: &&Sent| packet.name == "registry_data";
        let entered = packets::entered(version, &[]);
        let sent = entered.iter().filter(registry);
        let registries = sent.fold(SentRegistries::default(), |registries, packet| {
            registries.with(&packet.judged(&context, 1, Timestamp(0)))
        });
        let context = Context { registries: Arc::new(registries), ..Context::clone(&context) };
        let (context, at) = (Arc::new(context), Timestamp(0));
        let open = Event { context: Arc::clone(&context), at, kind: EventKind::Open };
        Self { version, context, entries: vec![Entry::Event(open)], at, seq: 0 }
    }

    /// A client that has sent its handshake and its name.
    pub(crate) fn login(version: i32) -> Self {
        Self::dialled(version, "localhost")
    }

    /// A client that has sent its handshake with a host, and its name.
    pub(super) fn dialled(version: i32, host: &str) -> Self {
        Self::new(version).log_in(host)
    }

    /// A client behind a header of a proxy, that has sent its handshake and its name.
    pub(super) fn behind(version: i32, header: &'static [u8]) -> Self {
        let mut script = Self::new(version);
        script.seq += 1;
        let content = Content::Raw(header.into(), RawReason::NotMinecraft);
        let (context, at) = (Arc::clone(&script.context), script.at);
        let (direction, state) = (Direction::Serverbound, State::Handshaking);
        let packet = Packet::new(context, script.seq, at, direction, state, content);
        script.entries.push(Entry::Packet(Record::passed(packet)));
        script.log_in("localhost")
    }

    fn log_in(self, host: &str) -> Self {
        let handshake = body().varint(self.version).text(host).i16(25565).varint(2);
        let start = body().text("Steve");
        let start = match self.version {
            764.. => start.uuid(),
            761.. => start.i8(0),
            _ => start,
        };
        self.client_in(State::Handshaking, "set_protocol", handshake).client_in(
            State::Login,
            "login_start",
            start,
        )
    }

    /// A client that the server has let in, up to its configuration without some registries.
    pub(crate) fn configured(version: i32, missing: &[&str]) -> Self {
        let mut script = Self::login(version);
        for packet in packets::entered(version, missing) {
            script = script.sent(&packet);
            if version >= 764 && packet.name == "success" {
                script = script.client_in(State::Login, "login_acknowledged", body());
            }
        }
        script
    }

    /// A client that has got Join Game, and nothing more.
    pub(crate) fn joined(version: i32) -> Self {
        let mut script = Self::configured(version, &[]);
        if version >= 764 {
            script = script.client_in(State::Configuration, "finish_configuration", body());
        }
        script.sent(&packets::joined(version))
    }

    /// A session of a minute without a fault, in which the player walks.
    pub(crate) fn healthy(version: i32) -> Self {
        let mut script = Self::joined(version);
        if version >= 765 {
            script = script.server("game_state_change", body().i8(13).f32(0.0));
        }
        script = script.teleport(1);
        if version >= 107 {
            let confirm = body().varint(1);
            let place = |it: Body| it.f64(8.0).f64(70.0).f64(8.0).f32(0.0).f32(0.0);
            let confirm = if version >= 777 { place(confirm) } else { confirm };
            script = script.client("teleport_confirm", confirm);
        }
        for packet in (chunks::chunk(version).build)(false) {
            script = script.sent(&packet);
        }
        for number in 1..=6 {
            script = script.walk().kept_alive(number).wait(10);
        }
        script.walk()
    }

    /// Adds the position that the server gives the player.
    pub(crate) fn teleport(self, number: i32) -> Self {
        let place = |it: Body| it.f64(8.0).f64(70.0).f64(8.0);
        let position = match self.version {
            ..107 => place(body()).f32(0.0).f32(0.0).i8(0),
            755..762 => place(body()).f32(0.0).f32(0.0).i8(0).varint(number).i8(0),
            107..768 => place(body()).f32(0.0).f32(0.0).i8(0).varint(number),
            _ => {
                let moved = place(body().varint(number)).f64(0.0).f64(0.0).f64(0.0);
                moved.f32(0.0).f32(0.0).i32(0)
            }
        };
        self.server("position", position)
    }

    /// Adds a step of the player.
    pub(crate) fn walk(self) -> Self {
        self.position(8.5)
    }

    pub(crate) fn position(self, x: f64) -> Self {
        self.client("position", body().f64(x).f64(70.0).f64(8.0).i8(1))
    }

    /// Adds a keep-alive with its answer.
    pub(crate) fn kept_alive(self, number: i32) -> Self {
        let body = keep_alive(self.version, number);
        self.server("keep_alive", body.clone()).client("keep_alive", body)
    }

    /// Adds a keep-alive without an answer.
    pub(crate) fn asked(self, number: i32) -> Self {
        let body = keep_alive(self.version, number);
        self.server("keep_alive", body)
    }

    /// Adds what a server says when it ends the session.
    pub(crate) fn kick(self, state: State, words: &str) -> Self {
        let bytes = disconnect_body(&self.context.protocol, state, words).unwrap();
        self.bytes(Direction::Clientbound, state, bytes)
    }

    pub(crate) fn server(self, name: &str, body: Body) -> Self {
        self.add(Direction::Clientbound, State::Play, name, body)
    }

    pub(crate) fn client(self, name: &str, body: Body) -> Self {
        self.add(Direction::Serverbound, State::Play, name, body)
    }

    pub(crate) fn server_in(self, state: State, name: &str, body: Body) -> Self {
        self.add(Direction::Clientbound, state, name, body)
    }

    pub(crate) fn client_in(self, state: State, name: &str, body: Body) -> Self {
        self.add(Direction::Serverbound, state, name, body)
    }

    /// Adds a packet of the server.
    pub(crate) fn sent(mut self, packet: &Sent) -> Self {
        self = self.wait(packet.after);
        self.seq += 1;
        let mut packet = packet.judged(&self.context, self.seq, self.at);
        packet.set_seq(self.seq);
        packet.set_at(self.at);
        self.entries.push(Entry::Packet(Record::passed(packet)));
        self
    }

    /// Adds a packet of these bytes.
    pub(crate) fn bytes(mut self, direction: Direction, state: State, bytes: Vec<u8>) -> Self {
        self.seq += 1;
        let content = Content::Frame(Frame::from_body(bytes.into()));
        let context = Arc::clone(&self.context);
        let packet = Packet::new(context, self.seq, self.at, direction, state, content);
        self.entries.push(Entry::Packet(Record::passed(packet)));
        self
    }

    /// Lets seconds go by.
    pub(crate) fn wait(self, seconds: u64) -> Self {
        Self { at: Timestamp(self.at.0 + seconds * 1_000_000_000), ..self }
    }

    /// Ends the session.
    pub(crate) fn close(mut self, reason: &str) -> Self {
        let close = Summary { reason: reason.to_owned(), ..Summary::default() };
        let (context, at) = (Arc::clone(&self.context), self.at);
        self.entries.push(Entry::Event(Event { context, at, kind: EventKind::Close(close) }));
        self
    }

    fn add(self, direction: Direction, state: State, name: &str, fields: Body) -> Self {
        let protocol = Arc::clone(&self.context.protocol);
        let packet = protocol.named(state, direction, name).unwrap_or_else(|| panic!("{name}"));
        let bytes = body().varint(packet.id()).raw(&fields.bytes).bytes;
        self.bytes(direction, state, bytes)
    }
}

fn keep_alive(version: i32, number: i32) -> Body {
    if version < 340 { body().varint(number) } else { body().i64(number.into()) }
}
