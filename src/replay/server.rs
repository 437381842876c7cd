use std::sync::Arc;
use std::time::Duration;

use super::end::End;
use super::server_play::Playing;
use super::{Arrival, ServerOptions, Tally};
use crate::capture::Entry;
use crate::link::KeyMaterial;
use crate::link::{
    Detected, Engine, Handshake, Input, Old, Output, Side, detect, detect_last, disconnect_body,
};
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::ping::{Answerer, Form, Reply, Status};
use crate::schema::{Direction, LEGACY_PING_ID, Match, Role, State, Value};

/// The server of a recorded session, for one client, sans-IO.
///
/// ```text
///  Detect ──> Handshake ──> Status
///    │            │
///    │            └───────> Login ──> AwaitKey ──> AwaitSecret ──┐
///    │ Alpha                  └───────────────────────────┬──────┘
///    └──────────────────────> Login of Alpha ──┐          v
///                                              ├────> AwaitAcknowledge (since 1.20.2)
///                                              v          │
///                                             Play <──────┘ ──> Leaving
/// ```
#[derive(Debug)]
pub struct ServerReplay {
    pub(super) options: Arc<ServerOptions>,
    pub(super) tally: Tally,
    pub(super) end: End,
    pub(super) phase: Phase,
    pub(super) seed: u64,
    /// The number that the client's handshake says.
    pub(super) version: i32,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// For enough bytes to know what the client speaks.
    Detect {
        held: Vec<u8>,
        /// When a ping that may be whole is taken to be.
        quiet: Option<Timestamp>,
    },
    Handshake,
    Status,
    Login,
    /// The login of Alpha, which tells the version.
    OldLogin,
    AwaitKey(String),
    AwaitSecret {
        name: String,
        material: Box<KeyMaterial>,
    },
    AwaitAcknowledge,
    Play(Box<Playing>),
    /// For a client that was told to go; no longer than until then.
    Leaving(Timestamp),
}

impl ServerReplay {
    /// Begins with a client that has just connected.
    #[must_use]
    pub fn new(options: Arc<ServerOptions>, arrival: Arrival, tally: Tally) -> Self {
        let recording = &options.recording;
        // Until the client has said its version: handshake and status are the same in every one.
        let java = options.catalog.find(ANY_JAVA).filter(|_| recording.is_alpha());
        let protocol = java.map_or_else(|| Arc::clone(recording.protocol()), |it| it.protocol);
        let context = Context {
            session: arrival.session,
            opened: arrival.at,
            client: arrival.client,
            server: Some(arrival.server),
            upstream: format!("replay of {}", recording.context.upstream),
            player: None,
            protocol,
            version: None,
            guess: false,
        };
        let end = End::new(Side::Client, context, options.limits);
        let phase = Phase::Detect { held: Vec::new(), quiet: None };
        Self { options, tally, end, phase, seed: arrival.seed, version: 0 }
    }

    fn pump(&mut self) {
        while !self.end.is_over() && self.takes_packets() {
            let Some(packet) = self.end.poll() else { break };
            self.on_packet(packet);
        }
        if let Phase::Play(_) = self.phase {
            self.play();
        }
    }

    fn on_timeout(&mut self) {
        let now = self.end.now;
        match &self.phase {
            Phase::Detect { held, quiet: Some(quiet) } if *quiet <= now => {
                let held = held.clone();
                self.on_legacy_ping(&held);
            }
            Phase::Leaving(until) if *until <= now => self.end.end("the client stayed"),
            Phase::Play(_) | Phase::Leaving(_) => {}
            _ if self.late() <= now => self.end.end("the client did not log in within 30 s"),
            _ => {}
        }
    }

    fn takes_packets(&mut self) -> bool {
        match self.phase {
            Phase::Detect { .. } | Phase::AwaitKey(_) => false,
            Phase::OldLogin => self.knows_version(),
            _ => true,
        }
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        let Phase::Detect { held, .. } = &mut self.phase else { return self.end.receive(bytes) };
        held.extend_from_slice(bytes);
        let held = held.clone();
        let detected = if held.len() > MAX_HELD { Detected::Other } else { detect(&held) };
        self.on_detected(detected, &held);
    }

    fn on_detected(&mut self, detected: Detected, held: &[u8]) {
        let recording = Arc::clone(&self.options.recording);
        match detected {
            Detected::Unsure | Detected::LegacyPing if held.first() == Some(&LEGACY_PING_ID) => {
                self.on_legacy_ping(held);
            }
            Detected::Unsure => {}
            Detected::Handshake => {
                self.phase = Phase::Handshake;
                self.end.receive(held);
            }
            Detected::Alpha | Detected::Old(Old::Login(_)) => {
                let alpha = match recording.is_alpha() {
                    true => Arc::clone(recording.protocol()),
                    false => self.options.catalog.alpha(ANY_ALPHA).protocol,
                };
                self.end.update_context(|context| context.protocol = alpha);
                self.end.set_bare();
                self.end.enter(State::Play);
                self.phase = Phase::OldLogin;
                self.end.receive(held);
                if !recording.is_alpha() {
                    self.refuse("your client is older");
                }
            }
            Detected::Old(Old::Beta | Old::Release(_)) => {
                self.use_legacy_ping();
                let text = format!("{}; your client speaks another version", self.played());
                let fields = Value::map([("reason", Value::from(text.as_str()))]);
                if let Some(body) = self.end.body(Role::StatusResponse, &fields) {
                    self.end.put(body.into());
                }
                self.leave("a client of another version");
            }
            Detected::LegacyPing | Detected::Other => {
                self.end.receive(held);
                self.end.end("the client does not speak Minecraft");
            }
        }
    }

    /// A ping from before 1.7; or, when it is not whole yet, what may be one.
    fn on_legacy_ping(&mut self, held: &[u8]) {
        let mut answerer = Answerer::new(self.status());
        let now = self.end.now;
        let reply = match (answerer.handle_received(held), &self.phase) {
            (Reply::Wait, Phase::Detect { quiet: Some(quiet), .. }) if *quiet <= now => {
                answerer.handle_quiet()
            }
            (reply, _) => reply,
        };
        match reply {
            Reply::Wait => {
                // What was not whole then is not so by itself later.
                if let Phase::Detect { quiet, .. } = &mut self.phase {
                    *quiet = match *quiet {
                        Some(until) if until <= now => None,
                        quiet => Some(quiet.unwrap_or_else(|| now.plus(QUIET))),
                    };
                }
            }
            Reply::Send(answer) | Reply::Close(answer) => {
                self.use_legacy_ping();
                self.end.set_bare_status();
                self.end.receive(held);
                while let Some(packet) = self.end.poll() {
                    self.end.record(packet, None);
                }
                self.end.put(answer.into());
                self.leave("the status was asked for");
            }
            Reply::Other(_) => {
                self.phase = Phase::Handshake;
                self.end.receive(held);
            }
        }
    }

    fn use_legacy_ping(&mut self) {
        let ping = self.options.catalog.legacy_ping();
        self.end.update_context(|context| context.protocol = ping);
        self.end.enter(State::Status);
    }

    fn on_packet(&mut self, packet: Packet) {
        if let Content::Raw(..) = packet.content {
            self.end.record(packet, None);
            return self.end.end("what the client sends is not understood");
        }
        match &self.phase {
            Phase::Handshake => self.on_handshake(packet),
            Phase::Status => self.on_status_packet(packet),
            Phase::Login | Phase::AwaitSecret { .. } | Phase::AwaitAcknowledge => {
                self.on_login_packet(packet);
            }
            Phase::OldLogin => self.on_old_login(packet),
            Phase::Play(_) => self.on_game_packet(packet),
            Phase::Detect { .. } | Phase::AwaitKey(_) | Phase::Leaving(_) => {
                self.end.record(packet, None);
            }
        }
    }

    fn on_handshake(&mut self, packet: Packet) {
        let handshake = packet.value().ok().as_ref().and_then(Handshake::of);
        self.end.record(packet, None);
        let Some((handshake, next)) = handshake.and_then(|it| Some((it.clone(), it.next?))) else {
            return self.end.end("the client's handshake is none");
        };
        let version = handshake.version;
        self.version = version;
        if let Some(Match { protocol, exact }) = self.options.catalog.find(version) {
            // What the recording was decoded by is what its clients are.
            let recording = &self.options.recording;
            let same = version == recording.version() && !recording.is_alpha();
            self.end.update_context(|context| {
                context.protocol = if same { Arc::clone(recording.protocol()) } else { protocol };
                context.guess = !exact;
                context.version = Some(version);
            });
        }
        self.end.enter(next);
        self.phase = if next == State::Status { Phase::Status } else { Phase::Login };
    }

    fn on_status_packet(&mut self, packet: Packet) {
        let role = packet.kind().and_then(|packet| packet.role());
        let value = packet.value();
        self.end.record(packet, None);
        match role {
            Some(Role::StatusRequest) => {
                let json = self.options.recording.status.clone();
                let json = json.unwrap_or_else(|| self.status().to_json());
                let fields = Value::map([("response", Value::from(json.as_str()))]);
                self.end.say(Role::StatusResponse, &fields);
            }
            Some(Role::Ping) => {
                self.end.say(Role::Ping, &value.unwrap_or(Value::Absent));
                self.leave("the status was asked for");
            }
            _ => self.end.end("the client asks for a status in a way that is not known"),
        }
    }

    /// Ends the connection, and tells the player why where there is a packet for it.
    pub(super) fn send_away(&mut self, why: &str) {
        let state = self.end.state(Direction::Clientbound);
        let text = format!("mitmcraft: {why}");
        if let Some(body) = disconnect_body(&self.end.context.protocol, state, &text) {
            self.end.send(&body, None);
        }
        self.leave(why);
    }

    /// Says no more, and gives the client a while to read what was said.
    pub(super) fn leave(&mut self, why: &str) {
        if let Phase::Play(_) = self.phase {
            self.tally.ended();
        }
        self.end.reason.get_or_insert_with(|| why.to_owned());
        self.end.shutdown();
        self.phase = Phase::Leaving(self.end.now.plus(LINGER));
    }

    fn finish(&mut self, why: &str) {
        if let Phase::Play(_) = self.phase {
            self.tally.ended();
            self.phase = Phase::Leaving(self.end.now);
        }
        self.end.end(why);
    }

    /// When a client that is not in the game yet has taken too long.
    fn late(&self) -> Timestamp {
        self.end.context.opened.plus(LOGIN)
    }

    /// What is played here, in words.
    pub(super) fn played(&self) -> String {
        let recording = &self.options.recording;
        let name = recording.protocol().name();
        format!("this is a recording of {name} (protocol {})", recording.version())
    }

    /// What is said to those who ask.
    fn status(&self) -> Status {
        let recording = &self.options.recording;
        let recorded = recording.status.as_deref().and_then(|it| Status::from_json(it).ok());
        recorded.unwrap_or_else(|| {
            let player = recording.context.player.as_deref().unwrap_or("somebody");
            let text = serde_json::json!({ "text": format!("a recorded session of {player}") });
            Status {
                version: Some(recording.protocol().name().to_owned()),
                protocol: Some(recording.version().into()),
                online: Some(0),
                max: Some(1),
                ..Status::new(Form::V1_7, text.to_string())
            }
        })
    }
}

impl Engine for ServerReplay {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.end.now = at;
        if self.end.is_over() {
            return;
        }
        match input {
            Input::Received(Side::Client, bytes) => self.on_bytes(bytes),
            Input::Closed(Side::Client) => {
                if let Phase::Detect { held, .. } = &mut self.phase {
                    let held = std::mem::take(held);
                    if !held.is_empty() {
                        self.on_detected(detect_last(&held), &held);
                    }
                }
                self.pump();
                self.finish("closed by the client");
            }
            Input::Lost(Side::Client, why) => self.finish(&format!("lost the client: {why}")),
            Input::Key(material) => self.on_key(material),
            Input::Timeout => self.on_timeout(),
            Input::Stop(why) => {
                self.send_away(&why);
                self.finish(&why);
            }
            _ => {}
        }
        self.pump();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.end.outputs.pop_front()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.end.take_entries(into);
    }

    fn advance(&mut self, side: Side, count: usize) {
        self.end.advance(side, count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        self.end.pending(side)
    }

    fn wants_read(&self, side: Side) -> bool {
        self.end.wants_read(side) && !matches!(self.phase, Phase::AwaitKey(_))
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        if self.end.is_over() {
            return None;
        }
        match &self.phase {
            Phase::Detect { quiet: Some(quiet), .. } => Some(*quiet),
            Phase::Play(playing) => playing.timeout(&self.end),
            Phase::Leaving(until) => Some(*until),
            _ => Some(self.late()),
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_over()
    }
}

/// More than any handshake has.
const MAX_HELD: usize = 4096;

/// A version whose description reads any handshake.
const ANY_JAVA: i32 = 47;

/// The version of the document: what is said before the login is the same in all.
const ANY_ALPHA: i32 = 5;

/// How long the rest of a ping from before 1.7 may take.
const QUIET: Duration = Duration::from_millis(300);

/// How long a client may take to log in, as the game's servers have it.
const LOGIN: Duration = Duration::from_secs(30);

/// How long a client that was told to go may take to read it.
const LINGER: Duration = Duration::from_secs(5);
