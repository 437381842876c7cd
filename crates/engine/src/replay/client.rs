use std::sync::Arc;
use std::time::Duration;

use super::client_play::ClientPlay;
use super::filtered::{Filtered, session_config};
use super::{ClientOptions, Tally};
use crate::filter::Pipeline;
use crate::link::{Endpoint, Input, Opening, PeerEngine, Request, Side, Upstream};
use mitmcraft_protocol::codec::KeyLogLine;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Name, Role, State, Value};

/// The client of a recorded session on a connection to a server, sans-IO.
#[derive(Debug)]
pub struct ClientReplay {
    pub(super) options: Arc<ClientOptions>,
    pub(super) tally: Tally,
    pub(super) endpoint: Endpoint,
    pub(super) phase: Phase,
    name: String,
    /// The shared secret that the server has not confirmed, from 1.3 to 1.6.
    unconfirmed: Option<KeyLogLine>,
    seed: [u8; 32],
    /// The number of plugin requests that have been answered in the login.
    answered: usize,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waiting until this time for the server to accept the login.
    Login(Timestamp),
    /// In the game.
    Play(Box<ClientPlay>),
    /// Waiting until this time for the server to close the connection.
    Leaving(Timestamp),
}

impl ClientReplay {
    /// Starts with a new connection, as the player `name`. `upstream` is the server in the handshake.
    #[must_use]
    pub fn new(
        options: Arc<ClientOptions>,
        opening: &Opening,
        upstream: &Upstream,
        name: &str,
        tally: Tally,
    ) -> Self {
        let recording = &options.recording;
        let context = Context {
            upstream: upstream.to_string(),
            player: Some(name.to_owned()),
            version: Some(recording.version()),
            guess: recording.context.guess,
            registries: Arc::clone(&recording.context.registries),
            ..opening.context(Arc::clone(recording.protocol()))
        };
        let endpoint = Endpoint::new(Side::Server, context, options.limits);
        let phase = Phase::Login(opening.at.plus(LOGIN));
        let (name, seed, unconfirmed, answered) = (name.to_owned(), opening.seed, None, 0);
        let mut replay =
            Self { options, tally, endpoint, phase, name, unconfirmed, seed, answered };
        replay.log_in(upstream);
        replay
    }

    /// Puts filters between the client, which has just connected, and the server.
    #[must_use]
    pub fn filtered(self, pipeline: Pipeline) -> Filtered<Self> {
        let ClientOptions { recording, catalog, limits, memory, .. } = &*self.options;
        let config = session_config(recording, catalog.clone(), *limits, memory.clone());
        let context = Context::clone(self.endpoint.context());
        Filtered::new(self, Side::Server, config, context, pipeline)
    }

    /// Ends the connection.
    pub(super) fn finish(&mut self, reason: &str) {
        self.leave_game();
        self.endpoint.end(reason);
    }

    /// Sends nothing more, and waits for the server to close the connection.
    pub(super) fn leave(&mut self, reason: &str) {
        self.leave_game();
        self.endpoint.give_reason(reason);
        self.endpoint.shutdown();
        self.phase = Phase::Leaving(self.endpoint.now().plus(LINGER));
    }

    fn log_in(&mut self, upstream: &Upstream) {
        let recording = &self.options.recording;
        if recording.is_unframed() {
            let name = Value::map([("username", Value::from(&*self.name))]);
            let released = Value::map([
                ("protocolVersion", Value::Int(recording.version().into())),
                ("username", Value::from(&*self.name)),
                ("serverHost", Value::from(&*upstream.host)),
                ("serverPort", Value::Int(upstream.port.into())),
            ]);
            self.endpoint.enter(State::Play);
            self.endpoint.set_bare();
            self.endpoint.send_first(Role::Greeting, [released, name]);
            return;
        }
        self.endpoint.shake_hands(recording.version(), upstream, State::Login);
        if !self.send_login(Role::LoginStart, &[]) {
            self.finish("the login of this version is unknown");
        }
    }

    /// Sends the packet that logs in: the recorded one, or one with only the name and these fields.
    fn send_login(&mut self, role: Role, fields: &[(&str, Value)]) -> bool {
        let name = Value::from(&*self.name);
        let recorded = self.options.recording.login.clone();
        // A signature is only valid for the account of the recorded player.
        let recorded = recorded.map(|login| {
            login.with_field("username", name.clone()).with_field("signature", Value::Absent)
        });
        let made = Value::map(fields.iter().cloned().chain([("username", name)]));
        self.endpoint.send_first(role, recorded.into_iter().chain([made]))
    }

    fn pump(&mut self) {
        while !self.endpoint.is_over()
            && let Some(packet) = self.endpoint.poll()
        {
            self.on_packet(packet);
        }
        if let Phase::Play(_) = self.phase {
            self.play();
        }
    }

    fn on_packet(&mut self, packet: Packet) {
        if let Content::Raw(..) = packet.content() {
            self.endpoint.record(packet);
            let hint = self.version_hint();
            return self.finish(&format!("cannot read what the server sends{hint}"));
        }
        let role = packet.role();
        if role == Some(Role::Disconnect) {
            let text = packet.reason().map_or_else(String::new, |text| format!(": {text}"));
            let hint = self.version_hint();
            self.endpoint.give_reason(format!("disconnected by the server{text}{hint}"));
        }
        match &self.phase {
            Phase::Play(_) => self.on_game_packet(packet, role),
            Phase::Login(_) => self.on_login_packet(packet, role),
            Phase::Leaving(_) => self.endpoint.record(packet),
        }
    }

    /// Returns what may be wrong if the server ends the login: it has another version.
    fn version_hint(&self) -> String {
        let Phase::Login(_) = self.phase else { return String::new() };
        let recording = &self.options.recording;
        let (name, number) = (recording.context.game_version(), recording.version());
        format!(" (the recording is of {name}, protocol {number}: is the server too?)")
    }

    fn on_login_packet(&mut self, packet: Packet, role: Option<Role>) {
        let fields = packet.value().unwrap_or(Value::Absent);
        let name = packet.kind().map(|kind| Name::clone(kind.name()));
        self.endpoint.record(packet);
        match role {
            Some(Role::EncryptionRequest) => self.on_encryption_request(fields),
            Some(role @ Role::SetCompression) => self.endpoint.answer(role, &fields),
            Some(role @ Role::LoginSuccess) => {
                self.endpoint.answer(role, &fields);
                self.begin();
            }
            Some(Role::Greeting) => self.on_greeting(&fields),
            Some(Role::EncryptionStarted) => {
                if let Some(key) = self.unconfirmed.take() {
                    self.endpoint.set_cipher(&key.secret);
                }
                self.begin();
            }
            Some(Role::Disconnect) => self.finish("disconnected by the server"),
            _ => self.answer_login(name.as_deref(), &fields),
        }
    }

    /// Answers what a server or its proxy asks in the login, as the recorded client has answered it; what it
    /// was not asked, it does not know.
    fn answer_login(&mut self, name: Option<&str>, asked: &Value) {
        let field = |name: &str| asked.get(name).cloned().unwrap_or(Value::Absent);
        let recorded = self.options.recording.answers.iter();
        match name {
            Some("login_plugin_request") => {
                let mut plugin = recorded.filter(|(name, _)| &**name == "login_plugin_response");
                let data = plugin.nth(self.answered).and_then(|(_, fields)| fields.get("data"));
                let data = data.cloned().unwrap_or(Value::Absent);
                self.answered += 1;
                let answer = [("messageId", field("messageId")), ("data", data)];
                self.endpoint.send_named("login_plugin_response", &Value::map(answer));
            }
            Some("cookie_request") => {
                let key = field("cookie");
                let cookies = recorded.filter(|(name, _)| &**name == "cookie_response");
                let mut cookies = cookies.map(|(_, fields)| fields);
                let cookie = cookies.find(|fields| fields.get("key") == Some(&key));
                let value = cookie.and_then(|fields| fields.get("value")).cloned();
                let answer = [("key", key), ("value", value.unwrap_or(Value::Absent))];
                self.endpoint.send_named("cookie_response", &Value::map(answer));
            }
            _ => {}
        }
    }

    fn on_encryption_request(&mut self, fields: Value) {
        let answer = Request::of(fields).and_then(|request| request.answer_seeded(self.seed));
        let forms = answer.iter().flat_map(|answer| answer.alone());
        let confirmed = Role::EncryptionStarted;
        let protocol = &self.endpoint.context().protocol;
        let confirms = protocol.role(State::Play, Direction::Clientbound, confirmed).is_some();
        if !self.endpoint.send_first(Role::EncryptionResponse, forms) {
            return self.finish("the server's Encryption Request has no usable key");
        }
        let key = answer.map(|answer| answer.key);
        // Before 1.7 nothing follows before the server has confirmed it, in the clear.
        if confirms {
            self.unconfirmed = key;
        } else if let Some(key) = key {
            self.endpoint.set_cipher(&key.secret);
        }
    }

    /// Answers the greeting of an Alpha server, which says whether the player has to be verified.
    fn on_greeting(&mut self, fields: &Value) {
        if fields.get("connectionHash").and_then(Value::as_text) != Some("-") {
            return self.finish("the server verifies players, which needs an account");
        }
        let version = self.options.recording.version();
        let made = [
            ("protocolVersion", Value::Int(version.into())),
            ("password", Value::from("Password")),
        ];
        if self.send_login(Role::UnframedLogin, &made) {
            self.begin();
        } else {
            self.finish("the recording has no login packet, and this version's is unknown");
        }
    }

    fn begin(&mut self) {
        self.tally.begin();
        let play = ClientPlay::new(&self.options, self.endpoint.now());
        self.phase = Phase::Play(Box::new(play));
    }

    fn leave_game(&mut self) {
        let Phase::Play(play) = &mut self.phase else { return };
        play.count(&self.tally);
        self.tally.end();
        self.phase = Phase::Leaving(self.endpoint.now());
    }

    fn on_timeout(&mut self) {
        let now = self.endpoint.now();
        match self.phase {
            Phase::Login(until) if until <= now => {
                let seconds = LOGIN.as_secs();
                self.finish(&format!("the server did not let the client in within {seconds} s"));
            }
            Phase::Leaving(until) if until <= now => {
                self.finish("the server did not close the connection");
            }
            _ => {}
        }
    }
}

impl PeerEngine for ClientReplay {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn on_input(&mut self, input: Input<'_>) {
        match input {
            Input::Received(Side::Server, bytes) => self.endpoint.receive(bytes),
            Input::Closed(Side::Server) => {
                self.pump();
                let hint = self.version_hint();
                self.finish(&format!("closed by the server{hint}"));
            }
            Input::Lost(Side::Server, why) => {
                self.pump();
                self.finish(&format!("lost the server: {why}"));
            }
            Input::Timeout => self.on_timeout(),
            Input::Stop(why) => self.finish(&why.to_string()),
            _ => {}
        }
        if !self.endpoint.is_over() {
            self.pump();
        }
    }

    fn timeout(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Login(until) | Phase::Leaving(until) => Some(*until),
            Phase::Play(play) => play.timeout(&self.endpoint),
        }
    }
}

/// The direction of what the client sends.
pub(super) const OURS: Direction = Direction::Serverbound;

/// The time that a server may take to accept a login: the game's own limit.
const LOGIN: Duration = Duration::from_secs(30);

/// The time that a server may take to close the connection once the client has.
const LINGER: Duration = Duration::from_secs(2);
