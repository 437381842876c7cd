use std::sync::Arc;
use std::time::Duration;

use super::filtered::{Filtered, session_config};
use super::server_play::ServerPlay;
use super::{ServerOptions, Tally};
use crate::filter::Pipeline;
use crate::link::{
    ANY_VERSION, Endpoint, Exchange, Handshake, Input, Opening, PeerEngine, SHUTTING_DOWN, Side,
    disconnect_body,
};
use crate::ping::{Form, Status};
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Match, Role, State, Value};

/// The server of a recorded session on a connection to one client, sans-IO.
///
/// ```text
///  Detect ──> Handshake ──> Status
///    │            │
///    │            └───────> Login ──> AwaitKey ──> AwaitSecret ──┐
///    │ Alpha                  └───────────────────────────┬──────┘
///    └──────────────────────> UnframedLogin ──────┐          v
///                                              ├────> AwaitAcknowledge (since 1.20.2)
///                                              v          │
///                                             Play <──────┘ ──> Leaving
/// ```
#[derive(Debug)]
pub struct ServerReplay {
    pub(super) options: Arc<ServerOptions>,
    pub(super) tally: Tally,
    pub(super) endpoint: Endpoint,
    pub(super) phase: Phase,
    pub(super) seed: u64,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waiting for enough bytes to know what the client speaks.
    Detect(Detection),
    /// Waiting for the handshake.
    Handshake,
    /// Answering status requests.
    Status,
    /// Waiting for Login Start.
    Login,
    /// Waiting for the login of a version before 1.7, which contains the protocol version.
    UnframedLogin,
    /// Waiting for an RSA key, to let in the player of this name.
    AwaitKey(String),
    /// Waiting for the client's shared secret, to let in the player of this name.
    AwaitSecret(String, Box<Exchange>),
    /// Waiting for Login Acknowledged.
    AwaitAcknowledge,
    /// In the game.
    Play(Box<ServerPlay>),
    /// Waiting until this time for the client to close the connection.
    Leaving(Timestamp),
}

/// The data of [`Phase::Detect`].
#[derive(Debug, Default)]
pub(super) struct Detection {
    /// The bytes that the client has sent.
    pub(super) held: Vec<u8>,
    /// The time when a ping that could still grow counts as complete.
    pub(super) settle: Option<Timestamp>,
}

impl ServerReplay {
    /// Starts with a client that has just connected.
    #[must_use]
    pub fn new(options: Arc<ServerOptions>, opening: &Opening, tally: Tally) -> Self {
        let recording = &options.recording;
        // Until the client has sent its version.
        let java = options.catalog.find(ANY_VERSION).filter(|_| recording.is_unframed());
        let protocol = java.map_or_else(|| Arc::clone(recording.protocol()), |it| it.protocol);
        let context = Context {
            upstream: format!("replay of {}", recording.context.upstream),
            ..opening.context(protocol)
        };
        let mut endpoint = Endpoint::new(Side::Client, context, options.limits);
        endpoint.set_budget(&options.memory);
        let phase = Phase::Detect(Detection::default());
        let seed = opening.seed.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self { options, tally, endpoint, phase, seed }
    }

    /// Puts filters between the client, which has just connected, and the server.
    #[must_use]
    pub fn filtered(self, pipeline: Pipeline) -> Filtered<Self> {
        let ServerOptions { recording, catalog, limits, memory, .. } = &*self.options;
        let config = session_config(recording, catalog.clone(), *limits, memory.clone());
        let context = Context::clone(self.endpoint.context());
        Filtered::new(self, Side::Client, config, context, pipeline)
    }

    /// Ends the connection, and shows the player why if the state has a packet for it.
    pub(super) fn disconnect(&mut self, reason: &str) {
        let state = self.endpoint.state(Direction::Clientbound);
        let text = format!("mitmcraft: {reason}");
        if let Some(body) = disconnect_body(&self.endpoint.context().protocol, state, &text) {
            self.endpoint.send(&body);
        }
        self.leave(reason);
    }

    /// Disconnects a client that cannot play the recording.
    pub(super) fn reject(&mut self, why: &str) {
        self.disconnect(&format!("{}, and {why}", self.description()));
    }

    /// Sends nothing more, and gives the client time to read what was sent.
    pub(super) fn leave(&mut self, reason: &str) {
        self.leave_game();
        self.endpoint.give_reason(reason);
        self.endpoint.shutdown();
        self.phase = Phase::Leaving(self.endpoint.now().plus(LINGER));
    }

    /// Ends the connection.
    pub(super) fn finish(&mut self, reason: &str) {
        self.leave_game();
        self.endpoint.end(reason);
    }

    /// Describes what is played, for players with another version.
    pub(super) fn description(&self) -> String {
        let recording = &self.options.recording;
        let name = recording.protocol().newest_name();
        format!("this is a recording of {name} (protocol {})", recording.version())
    }

    /// The answer to status requests: the recorded one, or one that names the player.
    pub(super) fn status(&self) -> Status {
        let recording = &self.options.recording;
        let recorded = recording.status.as_deref().and_then(|it| Status::from_json(it).ok());
        recorded.unwrap_or_else(|| {
            let player = recording.context.player.as_deref().unwrap_or("an unknown player");
            let text = serde_json::json!({ "text": format!("a recorded session of {player}") });
            Status {
                version: Some(recording.protocol().newest_name().to_owned()),
                protocol: Some(recording.version().into()),
                online: Some(0),
                max: Some(1),
                ..Status::new(Form::V1_7, text.to_string())
            }
        })
    }

    fn pump(&mut self) {
        while !self.endpoint.is_over() && self.takes_packets() {
            let Some(packet) = self.endpoint.poll() else { break };
            self.on_packet(packet);
        }
        if let Phase::Play(_) = self.phase {
            self.play();
        }
    }

    fn takes_packets(&mut self) -> bool {
        match self.phase {
            Phase::Detect(_) | Phase::AwaitKey(_) => false,
            Phase::UnframedLogin => self.knows_version(),
            _ => true,
        }
    }

    fn on_packet(&mut self, packet: Packet) {
        if let Content::Raw(..) = packet.content() {
            self.endpoint.record(packet);
            return self.finish("cannot read what the client sends");
        }
        match &self.phase {
            Phase::Handshake => self.on_handshake(packet),
            Phase::Status => self.on_status_packet(packet),
            Phase::Login | Phase::AwaitSecret(..) | Phase::AwaitAcknowledge => {
                self.on_login_packet(packet);
            }
            Phase::UnframedLogin => self.on_unframed_login(packet),
            Phase::Play(_) => self.on_game_packet(packet),
            Phase::Detect(_) | Phase::AwaitKey(_) | Phase::Leaving(_) => {
                self.endpoint.record(packet);
            }
        }
    }

    fn on_handshake(&mut self, packet: Packet) {
        let handshake = packet.value().ok().as_ref().and_then(Handshake::of);
        self.endpoint.record(packet);
        let Some(Handshake { version, next: Some(next), .. }) = handshake else {
            return self.finish("malformed handshake");
        };
        // The recording may have been decoded with a description that the catalog does not have.
        let recording = &self.options.recording;
        let same = version == recording.version() && !recording.is_unframed();
        let found =
            self.options.catalog.find(version).map(|Match { protocol, exact, .. }| match same {
                true => {
                    (Arc::clone(recording.protocol()), recording.protocol().version() == version)
                }
                false => (protocol, exact),
            });
        self.endpoint.update_context(|context| {
            context.version = Some(version);
            if let Some((protocol, exact)) = found {
                context.protocol = protocol;
                context.guess = !exact;
            }
        });
        self.endpoint.enter(next);
        self.phase = if next == State::Status { Phase::Status } else { Phase::Login };
    }

    fn on_status_packet(&mut self, packet: Packet) {
        let role = packet.role();
        let fields = packet.value();
        self.endpoint.record(packet);
        match role {
            Some(Role::StatusRequest) => {
                let json = self.options.recording.status.clone();
                let json = json.unwrap_or_else(|| self.status().to_json());
                let fields = Value::map([("response", Value::from(json.as_str()))]);
                self.endpoint.send_role(Role::StatusResponse, &fields);
            }
            Some(Role::Ping) => {
                self.endpoint.send_role(Role::Ping, &fields.unwrap_or(Value::Absent));
                self.leave("answered a status request");
            }
            _ => self.finish("unknown packet in the status state"),
        }
    }

    fn on_timeout(&mut self) {
        let now = self.endpoint.now();
        match &self.phase {
            Phase::Detect(Detection { settle: Some(settle), .. }) if *settle <= now => {
                self.on_settled();
            }
            Phase::Leaving(until) if *until <= now => {
                self.finish("the client did not close the connection");
            }
            Phase::Play(_) | Phase::Leaving(_) => {}
            _ if self.login_deadline() <= now => {
                let seconds = LOGIN.as_secs();
                self.finish(&format!("the client did not log in within {seconds} s"));
            }
            _ => {}
        }
    }

    fn leave_game(&mut self) {
        if let Phase::Play(_) = self.phase {
            self.tally.end();
            self.phase = Phase::Leaving(self.endpoint.now());
        }
    }

    /// Returns the time until which a client may log in.
    fn login_deadline(&self) -> Timestamp {
        self.endpoint.context().opened.plus(LOGIN)
    }
}

impl PeerEngine for ServerReplay {
    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn on_input(&mut self, input: Input<'_>) {
        match input {
            Input::Received(Side::Client, bytes) => self.on_received(bytes),
            Input::Closed(Side::Client) => {
                self.detect_last();
                self.pump();
                self.finish("closed by the client");
            }
            Input::Lost(Side::Client, why) => self.finish(&format!("lost the client: {why}")),
            Input::Key(material) => self.on_key(&material),
            Input::Timeout => self.on_timeout(),
            Input::Stop(why) => {
                self.disconnect(SHUTTING_DOWN);
                self.finish(&why.to_string());
            }
            _ => {}
        }
        self.pump();
    }

    fn timeout(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Detect(Detection { settle: Some(settle), .. }) => Some(*settle),
            Phase::Play(play) => play.timeout(&self.endpoint),
            Phase::Leaving(until) => Some(*until),
            _ => Some(self.login_deadline()),
        }
    }

    fn reads(&self) -> bool {
        !matches!(self.phase, Phase::AwaitKey(_))
    }
}

/// The time that a client may take to log in: the game's own limit.
const LOGIN: Duration = Duration::from_secs(30);

/// The time that a disconnected client may take to read the reason.
const LINGER: Duration = Duration::from_secs(5);
