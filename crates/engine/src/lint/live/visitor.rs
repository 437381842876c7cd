use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::script::{Action, Script};
use super::speech::Speech;
use super::{Stage, VisitOptions};
use crate::link::{Answer, Endpoint, Input, Opening, Output, PeerEngine, Request, Side};
use mitmcraft_protocol::packet::{Content, Context, Packet, SentRegistries, Timestamp};
use mitmcraft_protocol::schema::{Direction, Release, Role, State, Value};

/// A client that visits a server, sans-IO: on one connection it asks for the status, or joins and plays a
/// script. Everything that crosses the connection is recorded.
#[derive(Debug)]
pub struct Visitor {
    options: Arc<VisitOptions>,
    endpoint: Endpoint,
    phase: Phase,
    /// The time at which the phase has taken too long.
    limit: Timestamp,
    seed: [u8; 32],
    /// The stages that were reached.
    pub(super) stages: BTreeSet<Stage>,
    /// The reason why the connection ends, once it does.
    pub(super) end: String,
    /// `true` once the server has asked for a verified player and the visitor has no account.
    is_unverified: bool,
    /// `true` once the server has taken longer than it may.
    is_late: bool,
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the status and the answer to the ping.
    Status,
    /// Waiting for the game, through login and configuration.
    Entering,
    /// Waiting for the session service, before the answer to the Encryption Request is sent.
    Joining(Box<Answer>),
    /// In the game.
    Play(Box<Script>),
    /// Waiting for the server to close the connection.
    Leaving,
}

impl Visitor {
    /// Asks for the status on a new connection, as a game does for its list of servers.
    #[must_use]
    pub fn status(options: Arc<VisitOptions>, opening: &Opening) -> Self {
        let mut visitor = Self::new(options, opening, Phase::Status, State::Status);
        visitor.endpoint.send_role(Role::StatusRequest, &Value::map([]));
        visitor.limit = opening.at.plus(STATUS_LIMIT);
        visitor
    }

    /// Joins over a new connection, and plays.
    #[must_use]
    pub fn player(options: Arc<VisitOptions>, opening: &Opening) -> Self {
        let mut visitor = Self::new(options, opening, Phase::Entering, State::Login);
        let player = &visitor.options.player;
        if let Some(body) = visitor.speech().login(&player.name, player.id) {
            visitor.endpoint.send(&body);
        } else {
            visitor.finish("the login of this version is unknown");
        }
        visitor
    }

    fn new(options: Arc<VisitOptions>, opening: &Opening, phase: Phase, next: State) -> Self {
        let protocol = Arc::clone(&options.protocol);
        let version = protocol.version();
        let context = Context {
            upstream: options.upstream.to_string(),
            player: Some(options.player.name.clone()),
            version: Some(version),
            ..opening.context(protocol)
        };
        let mut endpoint = Endpoint::new(Side::Server, context, options.limits);
        endpoint.shake_hands(version, &options.upstream, next);
        let limit = opening.at.plus(LIMIT);
        let (stages, end) = (BTreeSet::new(), String::new());
        let seed = opening.seed;
        let (is_unverified, is_late) = (false, false);
        Self { options, endpoint, phase, limit, seed, stages, end, is_unverified, is_late }
    }

    /// Returns whether the server took longer than it may to let the client in or to answer it.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    fn speech(&self) -> Speech<'_> {
        Speech::new(&self.options.protocol, self.endpoint.state(Direction::Serverbound))
    }

    /// Sends a packet, if the version has it.
    fn say(&mut self, body: Option<Vec<u8>>) {
        if let Some(body) = body {
            self.endpoint.send(&body);
        }
    }

    fn reached(&mut self, stage: Stage) {
        self.stages.insert(stage);
        if let Phase::Play(script) = &mut self.phase {
            script.reached(stage);
        }
    }

    /// Ends the connection.
    fn finish(&mut self, reason: &str) {
        self.give_reason(reason);
        self.endpoint.end(reason);
    }

    /// Sends nothing more, and waits for the server to close the connection.
    fn leave(&mut self, reason: &str) {
        if let Phase::Leaving = self.phase {
            return;
        }
        self.give_reason(reason);
        self.endpoint.shutdown();
        self.phase = Phase::Leaving;
        self.limit = self.endpoint.now().plus(LINGER);
    }

    /// Sets why the connection ends, unless a reason is known already.
    fn give_reason(&mut self, reason: &str) {
        self.endpoint.give_reason(reason);
        if self.end.is_empty() {
            reason.clone_into(&mut self.end);
        }
    }

    fn pump(&mut self) {
        while !self.endpoint.is_over()
            && let Some(packet) = self.endpoint.poll()
        {
            self.on_packet(packet);
        }
        self.play();
    }

    fn on_packet(&mut self, packet: Packet) {
        if let Content::Raw(..) = packet.content() {
            self.endpoint.record(packet);
            return self.finish("cannot read what the server sends");
        }
        let role = packet.role();
        if role == Some(Role::Disconnect) {
            let text = packet.reason().map_or_else(String::new, |text| format!(": {text}"));
            let refused = self.is_unverified && !self.stages.contains(&Stage::Login);
            let hint = if refused { UNVERIFIED } else { "" };
            self.give_reason(&format!("disconnected by the server{text}{hint}"));
        }
        let registries = SentRegistries::takes(&packet)
            .then(|| Arc::new(self.endpoint.context().registries.with(&packet)));
        let name = packet.kind().map(|kind| kind.name().to_string());
        let wanted =
            role.is_some_and(answers) || name.as_deref().is_some_and(|it| ANSWERED.contains(&it));
        // What does not decode is a finding, and is not answered.
        let fields = if wanted { packet.value().ok() } else { None };
        self.endpoint.record(packet);
        if let Some(registries) = registries {
            self.endpoint.update_context(|context| context.registries = registries);
        }
        let Some(fields) = fields else { return };
        match (role, name.as_deref()) {
            (Some(role), _) if answers(role) => self.on_role(role, fields),
            (_, Some(name)) => self.on_named(name, &fields),
            _ => {}
        }
    }

    /// Answers a packet that leads to the next phase.
    fn on_role(&mut self, role: Role, fields: Value) {
        match role {
            // A server that repeats itself is not asked again.
            Role::StatusResponse if self.stages.contains(&Stage::Status) => {}
            Role::StatusResponse => {
                self.reached(Stage::Status);
                let time = i64::try_from(self.endpoint.now().0 / 1_000_000).unwrap_or(i64::MAX);
                self.endpoint.send_role(Role::Ping, &Value::map([("time", Value::Int(time))]));
            }
            Role::Ping => self.leave("the status was received"),
            Role::EncryptionRequest => self.on_encryption_request(fields),
            Role::LoginSuccess => {
                self.reached(Stage::Login);
                self.endpoint.answer(role, &fields);
                if self.endpoint.state(Direction::Serverbound) == State::Configuration {
                    self.introduce();
                }
            }
            Role::FinishConfiguration => {
                self.reached(Stage::Configuration);
                self.endpoint.answer(role, &fields);
            }
            Role::JoinGame => self.on_join(),
            Role::Teleport => self.on_teleport(&fields),
            _ => self.endpoint.answer(role, &fields),
        }
    }

    /// Answers a packet without a role.
    fn on_named(&mut self, name: &str, fields: &Value) {
        let field = |name: &str| fields.get(name).cloned().unwrap_or(Value::Absent);
        let body = match name {
            "login_plugin_request" => {
                let answer = [("messageId", field("messageId")), ("data", Value::Absent)];
                self.speech().packet("login_plugin_response", answer)
            }
            "cookie_request" => {
                let answer = [("key", field("cookie")), ("value", Value::Absent)];
                self.speech().packet("cookie_response", answer)
            }
            "select_known_packs" => {
                let packs = [("packs", known_packs(fields))];
                self.speech().packet("select_known_packs", packs)
            }
            "code_of_conduct" => self.speech().packet("accept_code_of_conduct", []),
            "chunk_batch_finished" => {
                let rate = [("chunksPerTick", Value::Float32(CHUNKS_PER_TICK))];
                self.speech().packet("chunk_batch_received", rate)
            }
            "resource_pack_send" | "add_resource_pack" => {
                for result in [ACCEPTED, LOADED] {
                    let answer = [
                        ("uuid", field("uuid")),
                        ("hash", field("hash")),
                        ("result", Value::Int(result)),
                    ];
                    let body = self.speech().packet("resource_pack_receive", answer);
                    self.say(body);
                }
                None
            }
            "update_health" => {
                let is_dead = match fields.get("health").map(Value::plain) {
                    Some(Value::Float32(health)) => *health <= 0.0,
                    _ => false,
                };
                if is_dead {
                    self.reached(Stage::Death);
                }
                None
            }
            "respawn" => {
                if let Phase::Play(script) = &self.phase
                    && script.awaits(Stage::Respawn)
                {
                    self.reached(Stage::Respawn);
                }
                None
            }
            _ => None,
        };
        self.say(body);
    }

    fn on_encryption_request(&mut self, fields: Value) {
        let request = Request::of(fields);
        let asks = request.as_ref().is_some_and(Request::authenticates);
        let Some(answer) = request.and_then(|request| request.answer_seeded(self.seed)) else {
            return self.finish("the server's Encryption Request has no usable key");
        };
        if asks && self.options.has_account {
            let server_hash = answer.hash.clone();
            self.endpoint.request(Output::Join { server_hash, lent: None });
            self.phase = Phase::Joining(Box::new(answer));
        } else {
            self.is_unverified = asks;
            self.answer_encryption(&answer);
        }
    }

    fn answer_encryption(&mut self, answer: &Answer) {
        self.endpoint.send_first(Role::EncryptionResponse, answer.alone());
        self.endpoint.set_cipher(&answer.key.secret);
    }

    /// Sends brand and settings, as the game does when it begins.
    fn introduce(&mut self) {
        let (brand, settings) = (self.speech().brand(), self.speech().settings());
        self.say(brand);
        self.say(settings);
    }

    fn on_join(&mut self) {
        self.reached(Stage::Join);
        if let Phase::Play(_) = self.phase {
            // Another world of the same visit.
            return;
        }
        if !self.stages.contains(&Stage::Configuration) {
            self.introduce();
        }
        let now = self.endpoint.now();
        self.phase = Phase::Play(Box::new(Script::new(&self.options, now)));
        self.limit = now.plus(Script::limit(&self.options) + LIMIT);
    }

    /// Confirms the position to which the server has moved the player.
    fn on_teleport(&mut self, fields: &Value) {
        let Phase::Play(script) = &mut self.phase else { return };
        let stage = if script.awaits(Stage::Teleport) { Stage::Teleport } else { Stage::Spawn };
        script.position = script.position.teleported(fields);
        let confirmation = script.position.confirmation(&self.options.protocol);
        self.endpoint.answer(Role::Teleport, fields);
        self.say(confirmation);
        if !self.stages.contains(&Stage::Spawn) {
            // Since 1.21.4.
            let loaded = self.speech().packet("player_loaded", []);
            self.say(loaded);
        }
        self.reached(stage);
    }

    /// Does everything that is due.
    fn play(&mut self) {
        let now = self.endpoint.now();
        while self.can_act()
            && let Phase::Play(script) = &mut self.phase
            && let Some(action) = script.take(now, &self.options)
        {
            self.act(action, now);
        }
    }

    /// Returns whether the player can do something.
    fn can_act(&self) -> bool {
        !self.endpoint.is_over()
            && !self.endpoint.is_full()
            && self.endpoint.state(Direction::Serverbound) == State::Play
    }

    fn act(&mut self, action: Action, now: Timestamp) {
        let Phase::Play(script) = &mut self.phase else { return };
        let is_dead = self.stages.contains(&Stage::Death) && !self.stages.contains(&Stage::Respawn);
        let has_position = self.stages.contains(&Stage::Spawn);
        let body = match action {
            Action::Walk if has_position && !is_dead => {
                script.position = script.position.stepped(STEP);
                script.position.confirmation(&self.options.protocol)
            }
            Action::Walk | Action::Stay => None,
            Action::Look => self.speech().look(90.0),
            Action::Swing => self.speech().swing(),
            Action::Chat => self.speech().chat("hello", now),
            Action::Command => self.speech().command("help", now),
            Action::Teleport => {
                // Before 1.13 a command without a target was about the player.
                let target =
                    if self.options.protocol.release() < Release::V1_13 { "" } else { "@s " };
                self.speech().command(&format!("tp {target}~ ~1 ~"), now)
            }
            Action::Die => self.speech().command("kill", now),
            Action::Respawn if is_dead => self.speech().respawn(),
            Action::Respawn => {
                script.awaited = None;
                None
            }
            Action::Leave => {
                self.reached(Stage::Leave);
                return self.leave("the visit has ended");
            }
        };
        self.say(body);
    }

    fn on_timeout(&mut self) {
        if self.limit > self.endpoint.now() {
            return;
        }
        self.is_late = matches!(self.phase, Phase::Status | Phase::Entering);
        let seconds = LIMIT.as_secs();
        let reason = match &self.phase {
            Phase::Status => {
                format!("the server did not answer within {} s", STATUS_LIMIT.as_secs())
            }
            Phase::Entering => {
                format!("the server did not let the player into the game within {seconds} s")
            }
            Phase::Joining(_) => {
                format!("the session server has not answered within {seconds} s")
            }
            Phase::Play(_) => "the server left the player in the configuration".to_owned(),
            Phase::Leaving => "the server did not close the connection".to_owned(),
        };
        self.finish(&reason);
    }
}

impl PeerEngine for Visitor {
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
                self.finish("closed by the server");
            }
            Input::Lost(Side::Server, why) => {
                self.pump();
                self.finish(&format!("lost the server: {why}"));
            }
            Input::AccountJoined(joined) => {
                if let Phase::Joining(answer) = std::mem::replace(&mut self.phase, Phase::Entering)
                {
                    match joined {
                        Ok(()) => self.answer_encryption(&answer),
                        Err(error) => self.finish(&format!("the account cannot join: {error}")),
                    }
                }
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
            Phase::Play(script) if self.can_act() => Some(script.timeout().min(self.limit)),
            _ => Some(self.limit),
        }
    }
}

/// Returns whether a client does something about the packet with that role.
fn answers(role: Role) -> bool {
    matches!(
        role,
        Role::StatusResponse
            | Role::Ping
            | Role::EncryptionRequest
            | Role::SetCompression
            | Role::LoginSuccess
            | Role::KeepAlive
            | Role::Echo
            | Role::FinishConfiguration
            | Role::StartConfiguration
            | Role::JoinGame
            | Role::Teleport
            | Role::Transaction
    )
}

/// Returns the packs that the game has, of those that the server names: its own.
fn known_packs(fields: &Value) -> Value {
    let Some(Value::List(packs)) = fields.get("packs").map(Value::plain) else {
        return Value::List(Vec::new());
    };
    let is = |pack: &Value, name: &str, value: &str| {
        pack.get(name).and_then(Value::as_text) == Some(value)
    };
    let own =
        packs.iter().filter(|pack| is(pack, "namespace", "minecraft") && is(pack, "id", "core"));
    Value::List(own.cloned().collect())
}

/// A remark on the reason of a disconnect, if the server verifies players and the visitor has no account.
const UNVERIFIED: &str = " (it verifies players, who need an account)";

/// Packets without a role that a client does something about.
const ANSWERED: [&str; 9] = [
    "add_resource_pack",
    "chunk_batch_finished",
    "code_of_conduct",
    "cookie_request",
    "login_plugin_request",
    "resource_pack_send",
    "respawn",
    "select_known_packs",
    "update_health",
];

/// The answers to a resource pack.
const ACCEPTED: i64 = 3;
const LOADED: i64 = 0;

/// The chunks that the client takes in each tick.
const CHUNKS_PER_TICK: f32 = 20.0;

/// The length of a step, in blocks.
const STEP: f64 = 0.2;

/// The time that a server may take to answer: the game's own limit.
const LIMIT: Duration = Duration::from_secs(30);

/// The time that a server may take to answer with its status, before the player joins.
const STATUS_LIMIT: Duration = Duration::from_secs(10);

/// The time that a server may take to close the connection once the client has.
const LINGER: Duration = Duration::from_secs(2);
