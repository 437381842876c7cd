use std::sync::Arc;

use bytes::Bytes;

use super::{body, fields, handshake, success};
use crate::capture::{Entry, EventKind, JsonlReader, JsonlSink, Outcome, Record, Sink as _};
use crate::filter::Pipeline;
use crate::link::{Engine as _, Input, Output, PerSide, Side, Upstream};
use crate::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{Leg, Limits, Unit};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// A client and a server with the session between them.
pub(super) struct Pair {
    pub(super) session: Session,
    pub(super) client: Leg,
    pub(super) server: Leg,
    /// What each peer has received: bodies, or bytes that are no frame.
    pub(super) client_got: Vec<Bytes>,
    pub(super) server_got: Vec<Bytes>,
    /// The bytes that each peer has sent, and those that it has received.
    pub(super) sent: PerSide<Vec<u8>>,
    pub(super) arrived: PerSide<Vec<u8>>,
    pub(super) entries: Vec<Entry>,
    pub(super) outputs: Vec<Output>,
    pub(super) clock: u64,
    pub(super) size: usize,
    /// The peers that read nothing.
    pub(super) deaf: PerSide<bool>,
}

impl Pair {
    pub(super) fn new(size: usize) -> Self {
        Self::with(size, Config::default(), Pipeline::default())
    }

    pub(super) fn with(size: usize, config: Config, pipeline: Pipeline) -> Self {
        let start = Start {
            session: 1,
            at: Timestamp(1_000_000_000),
            client: "127.0.0.1:50000".parse().unwrap(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let session = Session::new(Arc::new(config), start, pipeline).unwrap();
        let leg = || Leg::new(Limits::default());
        let mut pair = Self {
            session,
            client: leg(),
            server: leg(),
            client_got: Vec::new(),
            server_got: Vec::new(),
            sent: PerSide::default(),
            arrived: PerSide::default(),
            entries: Vec::new(),
            outputs: Vec::new(),
            clock: 1_000_000_000,
            size,
            deaf: PerSide::default(),
        };
        pair.run();
        pair
    }

    pub(super) fn connected(size: usize) -> Self {
        let mut pair = Self::new(size);
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair
    }

    /// In play, with that threshold.
    pub(super) fn playing(size: usize, threshold: i32) -> Self {
        Self::playing_with(size, threshold, Config::default())
    }

    /// In play, with that threshold and configuration.
    pub(super) fn playing_with(size: usize, threshold: i32, config: Config) -> Self {
        let mut pair = Self::with(size, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "compress", fields([("threshold", threshold.into())]));
        pair.client.set_compression(usize::try_from(threshold).ok());
        pair.server.set_compression(usize::try_from(threshold).ok());
        pair.server_says(State::Login, "success", success());
        pair
    }

    /// The entries in a capture of the session.
    pub(super) fn captured(&self) -> Vec<Entry> {
        let mut text = Vec::new();
        let mut sink = JsonlSink::new(&mut text);
        self.entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.flush().unwrap();
        drop(sink);
        JsonlReader::new(&text[..], Catalog::embedded()).map(Result::unwrap).collect()
    }

    pub(super) fn input(&mut self, input: Input<'_>) {
        self.clock += 1_000_000;
        self.session.handle(Timestamp(self.clock), input);
        self.run();
    }

    pub(super) fn client_says(&mut self, state: State, name: &str, value: Value) {
        let body = body(state, Direction::Serverbound, name, &value);
        self.client.encoder.send(&body);
        self.run();
    }

    pub(super) fn server_says(&mut self, state: State, name: &str, value: Value) {
        let body = body(state, Direction::Clientbound, name, &value);
        self.server.encoder.send(&body);
        self.run();
    }

    /// Carries bytes until nothing moves any more.
    pub(super) fn run(&mut self) {
        loop {
            let moved = self.carry();
            while let Some(output) = self.session.poll_output() {
                self.outputs.push(output);
            }
            self.session.take_entries(&mut self.entries);
            // Packets that waited for a peer to read are handled once it has.
            let resumes = self.session.congested.values().any(|it| *it)
                && self.session.poll_timeout().is_some_and(|at| at.0 <= self.clock);
            if resumes {
                self.session.handle(Timestamp(self.clock), Input::Timeout);
            } else if !moved {
                return;
            }
        }
    }

    pub(super) fn carry(&mut self) -> bool {
        let mut moved = false;
        for side in Side::ALL {
            let (leg, got) = match side {
                Side::Client => (&mut self.client, &mut self.client_got),
                Side::Server => (&mut self.server, &mut self.server_got),
            };
            let out = leg.encoder.pending();
            if self.session.wants_read(side) && !out.is_empty() {
                let count = out.len().min(self.size);
                self.clock += 1000;
                self.session.handle(Timestamp(self.clock), Input::Received(side, &out[..count]));
                self.sent[side].extend_from_slice(&out[..count]);
                leg.encoder.advance(count);
                moved = true;
            }
            let count = self.session.pending(side).len().min(self.size);
            if count > 0 && !self.deaf[side] {
                let pending = &self.session.pending(side)[..count];
                leg.decoder.receive(pending);
                self.arrived[side].extend_from_slice(pending);
                self.session.advance(side, count);
                moved = true;
            }
            while let Some(unit) = leg.decoder.poll() {
                got.push(match unit {
                    Unit::Frame(frame) => frame.body().unwrap_or_else(|_| frame.wire().clone()),
                    unit => unit.wire().clone(),
                });
            }
        }
        moved
    }

    pub(super) fn records(&self) -> Vec<&Record> {
        self.entries.iter().filter_map(Entry::record).collect()
    }

    /// The names of what was seen, with what became of it.
    pub(super) fn seen(&self) -> Vec<String> {
        let name = |record: &&Record| {
            let packet = &record.packet;
            let name = packet.kind().map_or_else(|| "?".into(), |packet| packet.name().to_string());
            let mark = match record.outcome {
                Outcome::Pass => "",
                Outcome::Drop => "-",
                Outcome::Rewrite => "~",
                Outcome::Send => "+",
            };
            format!("{mark}{name}")
        };
        self.records().iter().map(name).collect()
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Event(event) => match &event.kind {
                EventKind::Close(summary) => Some(summary.reason.as_str()),
                _ => None,
            },
            Entry::Packet(_) => None,
        })
    }
}
