use std::time::Duration;

use bytes::Bytes;

use super::incoming::Incoming;
use super::login::encode;
use super::phase::{AwaitedSecret, Phase, leave};
use super::verification::{HeldLogin, Next};
use super::{AuthMode, Session};
use crate::auth::AuthError;
use crate::link::{Answer, Exchange, KeyMaterial, Notice, Output, Request, RequestVariant, Side};
use mitmcraft_protocol::codec::KeyLogLine;
use mitmcraft_protocol::packet::{Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, Role, State, Value};

/// The use of a key that the session waits for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Replaces the key in this Encryption Request of the server before the client gets it.
    Show(Packet, Request),
    /// Answers this Encryption Request of the server, hidden from the client.
    Answer(Packet, Request),
    /// Goes to a client that has to be verified.
    Verify(HeldLogin),
}

/// The reason for asking a client for its secret.
#[derive(Debug)]
pub(super) enum Question {
    /// The server asked: its request, and the proxy's key material.
    Server(Box<(Request, KeyMaterial)>),
    /// The client has to be verified.
    Verify(HeldLogin),
}

/// A client's answer to the server's Encryption Request, and what the server gets instead.
pub(super) struct Reply {
    /// The client's response.
    pub(super) response: Packet,
    /// The server hash of the client's leg.
    hash: String,
    /// `true` if the server will ask the session service who has joined.
    asks: bool,
    answer: Answer,
    body: Vec<u8>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

/// A response to the server held until the account has joined.
pub(super) struct Joining {
    /// The client's response, which it replaces; `None` if the client was not asked.
    pub(super) response: Option<Packet>,
    body: Vec<u8>,
    key: KeyLogLine,
}

impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Joining")
    }
}

/// Encryption of the two legs.
impl Session {
    /// Handles the server's request. The client has to encrypt for the proxy, so it gets a key of
    /// the proxy's.
    pub(super) fn on_encryption_request(&mut self, incoming: Incoming) {
        if self.keys.is_some() {
            return self.watch_request(incoming);
        }
        let packet = incoming.packet;
        let Some(request) = packet.value().ok().and_then(Request::of) else {
            return self.on_sealed(packet);
        };
        let authenticates = request.authenticates();
        if authenticates && self.config.auth == AuthMode::Offline {
            self.wants_account = true;
            let upstream = self.upstream.clone();
            self.outputs.push_back(Output::Notice(Notice::WantsAccount { upstream }));
        }
        // From 1.3 to 1.6 a client logs in only after the exchange.
        let asked = self.unconfirmed.client.is_some() || !self.confirms_encryption();
        let alone = self.config.auth.answers_alone() && asked;
        let purpose = if alone && self.identity.claimed().is_none() {
            Purpose::Answer(packet, request)
        } else {
            Purpose::Show(packet, request)
        };
        self.want_key(purpose);
    }

    pub(super) fn on_key(&mut self, material: KeyMaterial) {
        let purpose = leave!(self.phase, Phase::AwaitKey(purpose) => *purpose);
        let Some(purpose) = purpose else { return };
        match purpose {
            Purpose::Show(packet, request) => self.show(packet, request, material),
            Purpose::Answer(packet, request) => self.answer_alone(packet, &request, &material),
            Purpose::Verify(login) => self.ask_who(login, &material),
        }
    }

    pub(super) fn on_encryption_response(&mut self, incoming: Incoming) {
        if let Phase::AwaitResponse(challenge) = self.phase {
            self.judge_and_deliver(incoming);
            return self.on_encryption(challenge);
        }
        let awaited = leave!(self.phase, Phase::AwaitSecret(awaited) => *awaited);
        let Some(AwaitedSecret { exchange, question, .. }) = awaited else {
            if !self.identity.is_proved() {
                return self.turn_away_unverified(incoming.packet);
            }
            return self.judge_and_deliver(incoming);
        };
        let packet = incoming.packet;
        let response = packet.value().ok();
        let opened = response.as_ref().and_then(|response| exchange.open(response));
        let (Some(response), Some(opened)) = (response, opened) else {
            return self.turn_away(packet, BAD_RESPONSE);
        };
        match question {
            Question::Server(asked) => {
                let (request, material) = *asked;
                let secret = self.server_secret(Some(opened.key.secret), &material);
                let answer = request.answer(&secret, material.seed);
                let body = answer.as_ref().and_then(|answer| {
                    // The signature needs the key that was removed from the Login Start.
                    if Exchange::is_signed(&response) && !self.delivery.guard.key_in_login {
                        self.own_response(answer)
                    } else {
                        encode(&packet, &answer.instead(&response))
                    }
                });
                let (Some(answer), Some(body)) = (answer, body) else {
                    return self.turn_away(packet, BAD_RESPONSE);
                };
                self.set_key(Side::Client, opened.key);
                let (hash, asks) = (opened.hash, request.authenticates());
                let reply = Reply { response: packet, hash, asks, answer, body };
                match self.identity.claimed().map(str::to_owned) {
                    Some(name) => {
                        let hash = reply.hash.clone();
                        let next = Next::Answer(Box::new(reply));
                        self.verify(HeldLogin { name, next }, hash);
                    }
                    None => self.reply(reply),
                }
            }
            Question::Verify(login) => {
                self.swallow(packet, "for the proxy, which has asked");
                self.set_key(Side::Client, opened.key);
                self.state_event();
                self.verify(login, opened.hash);
            }
        }
    }

    /// Handles the server's confirmation, after which it encrypts: from 1.3 to 1.6.
    pub(super) fn on_encryption_started(&mut self, incoming: Incoming) {
        let close = self.judge_and_pass(incoming);
        for side in Side::ALL {
            if let Some(key) = self.unconfirmed[side].take() {
                self.ends[side].set_cipher(&key.secret);
            }
        }
        self.finish_change(close, true);
    }

    /// Confirms the secret of a verified client that its server lets in without encryption: from 1.3 to 1.6.
    pub(super) fn confirm_secret(&mut self) {
        let Some(key) = self.unconfirmed.client.take() else { return };
        let (direction, role) = (Direction::Clientbound, Role::EncryptionStarted);
        let empty = || Value::Bytes(Bytes::new());
        let form = Value::map([("sharedSecret", empty()), ("verifyToken", empty())]);
        if let Some(body) = self.own_body(direction, role, &[form]) {
            self.send(direction, self.login_state(), body);
        }
        self.ends.client.set_cipher(&key.secret);
        self.state_event();
    }

    /// Returns whether the version's servers confirm the shared secret in the clear, and encrypt only then.
    pub(super) fn confirms_encryption(&self) -> bool {
        let (state, direction) = (State::Play, Direction::Clientbound);
        self.context().protocol.role(state, direction, Role::EncryptionStarted).is_some()
    }

    pub(super) fn want_key(&mut self, purpose: Purpose) {
        self.phase = Phase::AwaitKey(Box::new(purpose));
        self.outputs.push_back(Output::GenerateKey);
    }

    /// Handles a request without a usable key: both sides will encrypt for each other, and the
    /// proxy cannot read it.
    fn on_sealed(&mut self, packet: Packet) {
        if self.config.auth == AuthMode::Offline {
            if let Some(request) = self.admit(packet, Some(Role::EncryptionRequest), None) {
                self.judge_and_deliver(request);
            }
            return self.relay(sealed());
        }
        self.swallow(packet, SEALED);
        self.dismiss(&format!("{SEALED}, so the account cannot join"));
    }

    fn show(&mut self, packet: Packet, request: Request, material: KeyMaterial) {
        let spared = self.config.auth.spares_client();
        let (signs, by_id) = (self.delivery.guard.key_in_login, self.confirms_encryption());
        let shown = request.shown(&material, RequestVariant { signs, spared, by_id });
        let shown = shown.and_then(|(value, exchange)| Some((encode(&packet, &value)?, exchange)));
        let Some((body, exchange)) = shown else { return self.on_sealed(packet) };
        let comment = if self.wants_account {
            "key and token are the proxy's; the server asks for an account"
        } else {
            "key and token are the proxy's"
        };
        self.delivery.replace(&mut self.ends, packet, body, comment);
        let question = Question::Server(Box::new((request, material)));
        self.phase =
            Phase::AwaitSecret(Box::new(AwaitedSecret { exchange, question, until: None }));
    }

    fn answer_alone(&mut self, packet: Packet, request: &Request, material: &KeyMaterial) {
        let secret = self.server_secret(self.unused_secret(), material);
        let answer = request.answer(&secret, material.seed);
        let body = answer.as_ref().and_then(|answer| self.own_response(answer));
        let (Some(answer), Some(body)) = (answer, body) else { return self.on_sealed(packet) };
        self.swallow(packet, "answered by the proxy: the client's leg is its own");
        self.join(request.authenticates(), answer, body, None);
    }

    /// Answers the server in place of the client.
    pub(super) fn reply(&mut self, reply: Reply) {
        let Reply { response, hash, asks, answer, body } = reply;
        self.join(asks, answer, body, Some((response, hash)));
    }

    /// Has the session service told that the account joins, if the server will ask for it, and then
    /// answers the server. `client` is the client's response and the server hash of its leg, if it was
    /// asked.
    fn join(
        &mut self,
        asks: bool,
        answer: Answer,
        body: Vec<u8>,
        client: Option<(Packet, String)>,
    ) {
        let Answer { key, hash: server_hash, .. } = answer;
        let (response, client_hash) = client.unzip();
        let joining = Joining { response, body, key };
        if !asks || self.config.auth == AuthMode::Offline {
            return self.send_response(joining);
        }
        if joining.response.is_some() {
            self.state_event();
        }
        let lends = matches!(self.config.auth, AuthMode::Client { .. });
        let lent = client_hash.filter(|_| lends);
        self.outputs.push_back(Output::Join { server_hash, lent });
        self.phase = Phase::AwaitJoined(Box::new(joining), self.patience());
    }

    pub(super) fn on_account_joined(&mut self, joined: Result<(), AuthError>) {
        let joining = leave!(self.phase, Phase::AwaitJoined(joining, _) => *joining);
        let Some(joining) = joining else { return };
        match joined {
            Ok(()) => self.send_response(joining),
            Err(error) => {
                let reason = match (&self.config.auth, &error) {
                    (AuthMode::Client { advice }, AuthError::NotLent) => {
                        self.outputs.push_back(Output::Notice(Notice::NotLent));
                        format!("{error}: {advice}")
                    }
                    _ => format!("the account cannot join: {error}"),
                };
                if let Some(response) = joining.response {
                    self.delivery.swallow(response, &reason);
                }
                self.dismiss(&reason);
            }
        }
    }

    fn send_response(&mut self, joining: Joining) {
        let Joining { response, body, key } = joining;
        match response {
            Some(packet) => {
                let comment = match self.shares_secret() {
                    true => "secret and token are encrypted with the server's key",
                    false => "secret and token are the proxy's",
                };
                self.delivery.replace(&mut self.ends, packet, body, comment);
            }
            None => self.send(Direction::Serverbound, self.login_state(), body),
        }
        self.set_key(Side::Server, key);
        self.state_event();
    }

    /// Gives up on a client or a service that has not answered in time.
    pub(super) fn end_of_patience(&mut self) {
        let now = self.now();
        let reason = match &self.phase {
            Phase::AwaitSecret(awaited) if awaited.until.is_some_and(|until| until <= now) => {
                "the client has not answered the Encryption Request"
            }
            Phase::AwaitVerified(_, until) | Phase::AwaitJoined(_, until) if *until <= now => {
                "the session server has not answered"
            }
            _ => return,
        };
        self.dismiss(&format!("{reason} within {} s", PATIENCE.as_secs()));
    }

    pub(super) fn patience(&self) -> Timestamp {
        self.now().plus(PATIENCE)
    }

    /// Builds the proxy's own Encryption Response.
    fn own_response(&self, answer: &Answer) -> Option<Vec<u8>> {
        self.own_body(Direction::Serverbound, Role::EncryptionResponse, &answer.alone())
    }

    /// Builds a packet of the proxy's own in the first of these forms that the version has.
    pub(super) fn own_body(
        &self,
        direction: Direction,
        role: Role,
        forms: &[Value],
    ) -> Option<Vec<u8>> {
        let protocol = &self.context().protocol;
        let packet = protocol.role(self.login_state(), direction, role)?;
        forms.iter().find_map(|form| protocol.encode(packet, form).ok())
    }

    /// Returns whether the server's leg may have the client's secret.
    fn shares_secret(&self) -> bool {
        self.config.auth.shares_secret() && !self.config.separate_secrets
    }

    /// Returns the secret for the server's leg: the client's, if that may be, so that what is forwarded
    /// unchanged need not be encrypted again.
    fn server_secret(&self, client: Option<[u8; 16]>, material: &KeyMaterial) -> [u8; 16] {
        client.filter(|_| self.shares_secret()).unwrap_or(material.secret)
    }

    /// Returns the secret of the client's leg if that is encrypted, and nothing has passed there since.
    fn unused_secret(&self) -> Option<[u8; 16]> {
        let leg = &self.ends.client.leg;
        let unused = self.unconfirmed.client.is_some() || leg.encoder.has_unused_cipher();
        leg.decoder.unused_secret().filter(|_| unused)
    }

    fn set_key(&mut self, side: Side, key: KeyLogLine) {
        if self.shares_secret() {
            self.ends[side].leg.decoder.keep_ciphertext();
        }
        if self.confirms_encryption() {
            // The client encrypts from now on, the server only after its confirmation.
            match side {
                Side::Client => self.ends.client.leg.decoder.set_cipher(&key.secret),
                Side::Server => self.ends.server.leg.encoder.set_cipher(&key.secret),
            }
            self.unconfirmed[side] = Some(key);
        } else {
            self.ends[side].set_cipher(&key.secret);
        }
        self.outputs.push_back(Output::LogKey(key));
    }
}

pub(super) fn sealed() -> RawReason {
    RawReason::Opaque(SEALED.into())
}

const SEALED: &str = "the server's Encryption Request holds no key that can be used";

const BAD_RESPONSE: &str = "the client's Encryption Response does not fit the request";

/// Time that a client or a session service may take to answer: servers wait as long for a login.
const PATIENCE: Duration = Duration::from_secs(30);
