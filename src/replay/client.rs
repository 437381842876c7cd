use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::client_play::Acting;
use super::end::End;
use super::secret;
use super::server_login::with;
use super::{ClientOptions, Departure, Tally};
use crate::capture::Entry;
use crate::link::Upstream;
use crate::link::{Engine, Input, Output, Side};
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::schema::{Direction, Role, State, Value};

/// The client of a recorded session, for one server, sans-IO.
#[derive(Debug)]
pub struct ClientReplay {
    pub(super) options: Arc<ClientOptions>,
    pub(super) tally: Tally,
    pub(super) end: End,
    pub(super) phase: Phase,
    name: String,
    random: ChaCha20Rng,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// For the server to let us in; no longer than until then.
    Login(Timestamp),
    Play(Box<Acting>),
    /// For the server to close, which was told that no more comes; no longer than until then.
    Leaving(Timestamp),
}

impl ClientReplay {
    /// Begins with a connection that has just been made.
    #[must_use]
    pub fn new(options: Arc<ClientOptions>, departure: Departure, tally: Tally) -> Self {
        let recording = &options.recording;
        let Departure { session, at, client, server, upstream, name, seed } = departure;
        let context = Context {
            session,
            opened: at,
            client,
            server: Some(server),
            upstream: upstream.to_string(),
            player: Some(name.clone()),
            protocol: Arc::clone(recording.protocol()),
            version: Some(recording.version()),
            guess: recording.context.guess,
        };
        let end = End::new(Side::Server, context, options.limits);
        let phase = Phase::Login(at.plus(LOGIN));
        let random = ChaCha20Rng::from_seed(seed);
        let mut replay = Self { options, tally, end, phase, name, random };
        replay.log_in(&upstream);
        replay
    }

    fn log_in(&mut self, upstream: &Upstream) {
        let recording = Arc::clone(&self.options.recording);
        if recording.is_alpha() {
            self.end.set_bare();
            self.end.enter(State::Play);
            let name = Value::map([("username", Value::from(&*self.name))]);
            self.end.say(Role::Greeting, &name);
            return;
        }
        let handshake = Value::map([
            ("protocolVersion", Value::Int(recording.version().into())),
            ("serverHost", Value::from(&*upstream.host)),
            ("serverPort", Value::Int(upstream.port.into())),
            ("nextState", Value::Int(2)),
        ]);
        self.end.say(Role::Handshake, &handshake);
        self.end.enter(State::Login);
        if !self.say_login(Role::LoginStart, &[]) {
            self.fail("this version's login is not known");
        }
    }

    /// The packet that logs in, as recorded as far as it is known.
    fn say_login(&mut self, role: Role, made: &[(&str, Value)]) -> bool {
        let recorded = self.options.recording.login.clone();
        let recorded = recorded.map(|value| unsigned(with(value, "username", &self.name)));
        let name = [("username", Value::from(&*self.name))];
        let made = Value::map(made.iter().cloned().chain(name));
        recorded.into_iter().chain([made]).any(|value| self.end.say(role, &value))
    }

    fn pump(&mut self) {
        while !self.end.is_over()
            && let Some(packet) = self.end.poll()
        {
            self.on_packet(packet);
        }
        if let Phase::Play(_) = self.phase {
            self.play();
        }
    }

    fn on_packet(&mut self, packet: Packet) {
        if let Content::Raw(..) = packet.content {
            self.end.record(packet, None);
            return self.fail("what the server sends is not understood");
        }
        let role = packet.kind().and_then(|packet| packet.role());
        if role == Some(Role::Disconnect) {
            let reason = packet.value().ok();
            let reason = reason.as_ref().and_then(|value| value.get("reason")?.as_text());
            let told = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            self.end.reason.get_or_insert_with(|| format!("disconnected by the server{told}"));
        }
        match &self.phase {
            Phase::Play(_) => self.on_game_packet(packet, role),
            Phase::Login(_) => self.on_login_packet(packet, role),
            Phase::Leaving(_) => self.end.record(packet, None),
        }
    }

    fn on_login_packet(&mut self, packet: Packet, role: Option<Role>) {
        let value = packet.value().unwrap_or(Value::Absent);
        self.end.record(packet, None);
        match role {
            Some(Role::EncryptionRequest) => self.on_encryption_request(&value),
            Some(Role::SetCompression) => self.on_set_compression(&value),
            Some(Role::LoginSuccess) => {
                if self.end.role(Role::LoginAcknowledged).is_some() {
                    self.end.say(Role::LoginAcknowledged, &Value::map([]));
                    self.end.enter(State::Configuration);
                } else {
                    self.end.enter(State::Play);
                }
                self.begin();
            }
            Some(Role::Greeting) => match value.get("connectionHash").and_then(Value::as_text) {
                Some("-") => {
                    let version = self.options.recording.version();
                    let made = [
                        ("protocolVersion", Value::Int(version.into())),
                        ("password", Value::from("Password")),
                    ];
                    if self.say_login(Role::Login, &made) {
                        self.begin();
                    } else {
                        self.fail("the recording has no login, and none can be made");
                    }
                }
                _ => self.fail("the server wants the name proved, which a replay cannot do"),
            },
            Some(Role::Disconnect) => self.end.end("disconnected by the server"),
            _ => {}
        }
    }

    fn on_encryption_request(&mut self, request: &Value) {
        let mut key = [0; 16];
        self.random.fill_bytes(&mut key);
        let responses = secret::responses(request, &key, &mut self.random);
        let responses = responses.into_iter().flatten();
        let responses: Vec<Value> = responses.collect();
        match responses.iter().any(|it| self.end.say(Role::EncryptionResponse, it)) {
            true => self.end.set_cipher(&key),
            false => self.fail("the server's Encryption Request holds no key that can be used"),
        }
    }

    pub(super) fn on_set_compression(&mut self, value: &Value) {
        let threshold = value.get("threshold").and_then(Value::as_int);
        self.end.set_compression(threshold.and_then(|it| usize::try_from(it).ok()));
    }

    fn begin(&mut self) {
        self.tally.begun();
        let acting = Acting::new(&self.options, self.end.now);
        self.phase = Phase::Play(Box::new(acting));
    }

    fn fail(&mut self, why: &str) {
        self.end.reason = Some(why.to_owned());
        self.finish(why);
    }

    /// Ends the connection.
    pub(super) fn finish(&mut self, why: &str) {
        self.leave_game();
        self.end.end(why);
    }

    /// Says no more, and waits a while for the server to close.
    pub(super) fn leave(&mut self, why: &str) {
        self.leave_game();
        self.end.reason.get_or_insert_with(|| why.to_owned());
        self.end.shutdown();
        self.phase = Phase::Leaving(self.end.now.plus(LINGER));
    }

    fn leave_game(&mut self) {
        let Phase::Play(acting) = &mut self.phase else { return };
        acting.count(&self.tally);
        self.tally.ended();
        self.phase = Phase::Leaving(self.end.now);
    }
}

impl Engine for ClientReplay {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.end.now = at;
        if self.end.is_over() {
            return;
        }
        match input {
            Input::Received(Side::Server, bytes) => self.end.receive(bytes),
            Input::Closed(Side::Server) => {
                self.pump();
                self.finish("closed by the server");
            }
            Input::Lost(Side::Server, why) => {
                self.pump();
                self.finish(&format!("lost the server: {why}"));
            }
            Input::Timeout => match self.phase {
                Phase::Login(until) if until <= at => {
                    self.fail("the server did not let the client in within 30 s");
                }
                Phase::Leaving(until) if until <= at => self.end.end("the server stayed"),
                _ => {}
            },
            Input::Stop(why) => self.finish(&why),
            _ => {}
        }
        if !self.end.is_over() {
            self.pump();
        }
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
        self.end.wants_read(side) && !self.end.is_full()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        if self.end.is_over() {
            return None;
        }
        match &self.phase {
            Phase::Login(until) | Phase::Leaving(until) => Some(*until),
            Phase::Play(acting) => acting.timeout(&self.end),
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_over()
    }
}

/// Without the recorded client's signature, which is only good for its own account.
fn unsigned(value: Value) -> Value {
    let Value::Map(mut fields) = value.plain().clone() else { return value };
    for (key, value) in &mut fields {
        if **key == *"signature" {
            *value = Value::Absent;
        }
    }
    Value::Map(fields)
}

/// The direction of what we send.
pub(super) const OURS: Direction = Direction::Serverbound;

/// How long a server may take to let a client in, as the game's has it.
const LOGIN: Duration = Duration::from_secs(30);

/// How long a server that was told that no more comes may take to close.
const LINGER: Duration = Duration::from_secs(2);
