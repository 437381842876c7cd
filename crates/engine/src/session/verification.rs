use bytes::Bytes;

use super::Session;
use super::encryption::{Purpose, Question, Reply};
use super::ends::UNVERIFIED;
use super::identity::Identity;
use super::incoming::Incoming;
use super::login::is_of;
use super::phase::{AwaitedSecret, Phase, leave};
use crate::auth::{AuthError, Profile};
use crate::capture::{Outcome, Record};
use crate::filter::{Judgement, Verdict};
use crate::link::{Decided, Exchange, KeyMaterial, Notice, Output};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Release, Role};

/// A login that waits until its player is verified.
#[derive(Debug)]
pub(super) struct HeldLogin {
    /// The name that the client claims.
    pub(super) name: String,
    pub(super) next: Next,
}

/// The step of a login that follows when the player is verified.
#[derive(Debug)]
pub(super) enum Next {
    /// The server gets the Login Start: this body, in place of the packet with that `seq`.
    Start(Bytes, u64),
    /// The server, which has the Login Start, gets the answer to its Encryption Request.
    Answer(Box<Reply>),
    /// The client gets this packet: the server has the Login Start, and asks for no encryption.
    Admit(Box<Incoming>),
}

impl HeldLogin {
    /// Returns whether what the server says has to wait too.
    pub(super) fn holds_server(&self) -> bool {
        matches!(self.next, Next::Admit(_))
    }

    /// Returns the packet that waits for the player's verification, if there is one.
    pub(super) fn packet(&self) -> Option<&Packet> {
        match &self.next {
            Next::Start(..) => None,
            Next::Answer(reply) => Some(&reply.response),
            Next::Admit(incoming) => Some(&incoming.packet),
        }
    }
}

/// Verification of players by the proxy.
impl Session {
    /// Asks the client for its secret before the server sees its Login Start, unless the server may
    /// want the player's key in it.
    pub(super) fn verify_first(&mut self, login: Incoming) {
        if self.identity.claimed().is_some() {
            return self.turn_away_unverified(login.packet);
        }
        if self.has_own_key(&login.packet) {
            self.phase = Phase::AwaitPolicy(Box::new(login));
            self.outputs.push_back(Output::AskPolicy);
        } else {
            self.hold_login(login, false);
        }
    }

    /// Goes on with a Login Start that has the player's key. A server that enforces signed chat, or does
    /// not say, gets it at once: the player signs the verify token of such a server, and signs only one.
    pub(super) fn on_policy(&mut self, enforces: Option<bool>) {
        let login = leave!(self.phase, Phase::AwaitPolicy(login) => *login);
        if let Some(login) = login {
            self.hold_login(login, enforces != Some(false));
        }
    }

    /// Holds a Login Start until its player is verified; if `asks_first`, the server gets it before, but
    /// no answer to its Encryption Request.
    fn hold_login(&mut self, login: Incoming, asks_first: bool) {
        let Incoming { packet: login, role, decided, .. } = login;
        let mut judgement = self.delivery.judge(&login, role, decided);
        if asks_first && judgement.verdict == Verdict::Pass {
            if let Some(name) = self.context().player.clone() {
                self.identity = Identity::Claimed(name);
            }
            judgement.effects.notes.remark(ASKED_FIRST);
            return self.deliver(login, judgement);
        }
        self.hold(login, judgement);
    }

    /// Holds the packet with which a player logs in, judged, until the player is verified.
    pub(super) fn hold(&mut self, login: Packet, mut judgement: Judgement) {
        let own = match &judgement.verdict {
            Verdict::Pass => self.renamed(&login).map(Bytes::from).or_else(|| login.body().ok()),
            Verdict::Replace(body) => Some(body.clone()),
            Verdict::Drop => return self.swallow(login, "dropped by a rule"),
        };
        let name = login.value().ok();
        let name = name.as_ref().and_then(|value| value.get("username")?.as_text());
        let (Some(body), Some(name)) = (own, name) else { return self.turn_away(login, NO_NAME) };
        let held = HeldLogin { name: name.to_owned(), next: Next::Start(body, login.seq()) };
        judgement.effects.notes.remark("waits until the player is verified");
        self.record_rewritten(login, judgement);
        if !self.closing.has_stopped() {
            self.want_key(Purpose::Verify(held));
        }
    }

    /// Records a packet whose replacement follows later.
    fn record_rewritten(&mut self, packet: Packet, judgement: Judgement) {
        let came = Record { outcome: Outcome::Rewrite, ..Record::passed(packet) };
        self.record(came.noted(judgement.effects.notes));
        self.delivery.inject(&mut self.ends, judgement.effects.sends);
        self.close_by_rule(judgement.effects.close);
    }

    /// Returns whether a Login Start has the player's key, the player claims to be the account, and the
    /// version is one in which the server's status says whether it wants the key.
    fn has_own_key(&self, login: &Packet) -> bool {
        let context = login.context();
        let release = context.version.map(|number| Release::new(context.protocol.family(), number));
        self.delivery.guard.key_in_login
            // The first whose status says whether the server enforces signed chat.
            && release.is_some_and(|release| release >= Release::V1_19_1)
            && self.config.auth.profile().is_some_and(|account| is_of(login, account))
    }

    /// Sends the proxy's own Encryption Request to a client that has to be verified.
    pub(super) fn ask_who(&mut self, login: HeldLogin, material: &KeyMaterial) {
        let asked = Exchange::own(material, true, false).and_then(|(forms, exchange)| {
            let role = Role::EncryptionRequest;
            Some((self.own_body(Direction::Clientbound, role, &forms)?, exchange))
        });
        let Some((body, exchange)) = asked else {
            return self.dismiss("players of this version cannot be verified");
        };
        self.send(Direction::Clientbound, self.login_state(), body);
        let (question, until) = (Question::Verify(login), Some(self.patience()));
        self.phase = Phase::AwaitSecret(Box::new(AwaitedSecret { exchange, question, until }));
    }

    /// Returns a packet that may go on. Otherwise its sender has to prove who it is before, and the session
    /// ends.
    pub(super) fn admit(
        &mut self,
        packet: Packet,
        role: Option<Role>,
        decided: Option<Box<Decided>>,
    ) -> Option<Incoming> {
        let Some(passage) = self.identity.passes(&packet, role) else {
            self.turn_away_unverified(packet);
            return None;
        };
        Some(Incoming { packet, role, decided, _passage: passage })
    }

    /// Asks the client for its secret before it gets this packet.
    pub(super) fn verify_late(&mut self, incoming: Incoming) {
        match (&self.phase, self.identity.claimed().map(str::to_owned)) {
            (Phase::Frames, Some(name)) => {
                let next = Next::Admit(Box::new(incoming));
                self.want_key(Purpose::Verify(HeldLogin { name, next }));
            }
            _ => self.turn_away(incoming.packet, IMPATIENT),
        }
    }

    /// Has the session service asked who has joined with this server hash.
    pub(super) fn verify(&mut self, login: HeldLogin, server_hash: String) {
        let name = login.name.clone();
        self.outputs.push_back(Output::HasJoined { name, server_hash });
        self.phase = Phase::AwaitVerified(Box::new(login), self.patience());
    }

    pub(super) fn on_verified(&mut self, verified: Result<Profile, AuthError>) {
        let login = leave!(self.phase, Phase::AwaitVerified(login, _) => *login);
        let Some(login) = login else { return };
        let admitted = match verified {
            Ok(player) => self.admits(player),
            Err(error) => Err(error.into()),
        };
        if admitted.is_ok() {
            self.identity = Identity::Proved;
        }
        match admitted {
            Ok(()) => match login.next {
                Next::Start(body, of) => {
                    let (direction, state) = (Direction::Serverbound, self.login_state());
                    self.delivery.send(&mut self.ends, direction, state, body, Some(of));
                }
                Next::Answer(reply) => self.reply(*reply),
                Next::Admit(incoming) => self.on_packet(*incoming),
            },
            Err(refusal) => {
                let reason = refusal.to_string();
                if let Some(packet) = login.packet() {
                    self.delivery.swallow(packet.clone(), &reason);
                }
                self.dismiss(&reason);
            }
        }
    }

    /// Decides whether a verified player may play as the account.
    ///
    /// # Errors
    /// [`Refusal::Another`] if the player may not.
    fn admits(&mut self, player: Profile) -> Result<(), Refusal> {
        let Some(account) = self.config.auth.refuses(&player).cloned() else { return Ok(()) };
        let refusal =
            Refusal::Another { player: player.name.clone(), account: account.name.clone() };
        self.outputs.push_back(Output::Notice(Notice::NotAdmitted { player, account }));
        Err(refusal)
    }

    /// Ends the session of a client that says something else before its player is verified.
    pub(super) fn turn_away_unverified(&mut self, packet: Packet) {
        self.swallow(packet, UNVERIFIED);
        self.close_with(UNVERIFIED, UNVERIFIED.to_owned());
    }
}

/// The reason why a player may not play, in words for the player.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// The session service does not verify the player.
    #[error(transparent)]
    Unverified(#[from] AuthError),
    /// The player is another one than that of the account.
    #[error("`{player}` is verified, but the account is `{account}`: play as that")]
    Another { player: String, account: String },
}

const ASKED_FIRST: &str =
    "the server asks the player, who is not verified yet: it may want the player's key";

const IMPATIENT: &str = "the server has not waited for the answer to its Encryption Request";

const NO_NAME: &str = "the packet with which the client logs in says no name";
