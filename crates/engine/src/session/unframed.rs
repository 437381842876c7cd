use std::sync::Arc;

use super::Session;
use super::incoming::Incoming;
use super::login::encode;
use super::phase::Phase;
use crate::filter::Verdict;
use crate::link::{Side, Upstream, any_unframed};
use mitmcraft_protocol::packet::RawReason;
use mitmcraft_protocol::schema::{Direction, Protocol, Role, State, Value};
use mitmcraft_protocol::wire::Encoding;

/// Sessions of Alpha to 1.6.4: no frames, one state, and a version that only the login packet contains.
///
/// Until the login, packets are decoded as those of any version with the same encoding of text: what is
/// sent before (handshake, its answer, a kick) is the same in all of them.
impl Session {
    pub(super) fn begin_unframed(&mut self, text: Encoding) {
        self.describe_unframed(any_unframed(&self.config.catalog, text));
        self.delivery.recorder.update_context(|context| context.version = None);
        self.enter_unframed();
    }

    /// Begins a session whose handshake has the protocol number, as from 1.3 to 1.6.
    pub(super) fn begin_release(&mut self, version: i32) {
        match self.config.catalog.unframed_release(version) {
            Some(protocol) => {
                self.describe_unframed(protocol);
                self.enter_unframed();
            }
            None => self.relay(not_understood(version)),
        }
    }

    fn enter_unframed(&mut self) {
        self.delivery.recorder.enter(State::Play);
        for side in Side::ALL {
            self.measure(side);
            self.ends[side].leg.encoder.set_bare();
        }
        self.state_event();
    }

    /// Chooses the description when the client's next packet is its login. Returns whether more
    /// bytes of that packet are needed.
    pub(super) fn awaits_version(&mut self) -> bool {
        let context = self.context();
        let decoder = &self.ends.client.leg.decoder;
        let protocol = &context.protocol;
        let undecided = protocol.family().is_unframed_game() && context.version.is_none();
        if !undecided || !decoder.is_bare() {
            return false;
        }
        let login = protocol.role(State::Play, Direction::Serverbound, Role::UnframedLogin);
        let login = login.and_then(|login| u8::try_from(login.id()).ok());
        match *decoder.peek() {
            // Every version's login begins with the number, so unknown ones do too.
            [id, a, b, c, d, ..] if Some(id) == login => {
                self.on_version(i32::from_be_bytes([a, b, c, d]));
                false
            }
            [id, ..] => Some(id) == login,
            [] => false,
        }
    }

    fn on_version(&mut self, version: i32) {
        let protocol = &self.context().protocol;
        let text = protocol.release().unframed_text();
        let found = text.and_then(|text| self.config.catalog.unframed(text, version));
        let Some(protocol) = found else {
            return match self.phase {
                Phase::Refused(_) => self.ends.client.leg.decoder.set_opaque(),
                _ => self.relay(not_understood(version)),
            };
        };
        self.describe_unframed(protocol);
        for side in Side::ALL {
            if self.ends[side].leg.decoder.is_bare() {
                self.measure(side);
            }
        }
    }

    fn describe_unframed(&mut self, protocol: Arc<Protocol>) {
        self.delivery.recorder.update_context(|context| {
            context.version = Some(protocol.version());
            context.protocol = protocol;
            context.guess = false;
        });
    }

    /// Handles the client's name, or the server's answer that says how to authenticate. The client
    /// does that itself: it authenticates to that server, whoever forwards the bytes.
    pub(super) fn on_greeting(&mut self, incoming: Incoming) {
        if incoming.packet.direction() == Direction::Clientbound {
            return self.judge_and_deliver(incoming);
        }
        self.note_player(&incoming.packet);
        let Incoming { packet, role, decided, .. } = incoming;
        let mut judgement = self.delivery.judge(&packet, role, decided);
        if judgement.verdict == Verdict::Pass
            && let Ok(value) = packet.value()
        {
            let upstream = Some(&self.upstream).filter(|_| !self.config.keep_host);
            let moved = upstream.and_then(|upstream| towards(&value, upstream));
            let renamed = self.account_name(moved.as_ref().unwrap_or(&value));
            let mut note = |what: &str| judgement.effects.notes.remark(what);
            moved.iter().for_each(|_| note("host and port are the upstream's"));
            renamed.iter().for_each(|_| note("the player is the account's"));
            let body = renamed.or(moved).and_then(|value| encode(&packet, &value));
            if let Some(body) = body {
                judgement.verdict = Verdict::Replace(body.into());
            }
        }
        match self.identity.is_proved() {
            true => self.deliver(packet, judgement),
            false if self.confirms_encryption() => self.hold(packet, judgement),
            // The client would say who it is with its session id, which only its server may see.
            false => self.turn_away(packet, TOO_OLD),
        }
    }

    /// Puts the account's name into a handshake from 1.3 on; before, only the client itself can join.
    fn account_name(&self, handshake: &Value) -> Option<Value> {
        let name = &self.config.auth.profile()?.name;
        let theirs = handshake.get("username").and_then(Value::as_text)?;
        let renames = handshake.get("protocolVersion").is_some() && theirs != name;
        renames.then(|| handshake.clone().with_field("username", name.as_str().into()))
    }

    pub(super) fn on_login(&mut self, incoming: Incoming) {
        self.note_player(&incoming.packet);
        let close = self.judge_and_pass(incoming);
        self.finish_change(close, true);
    }
}

const TOO_OLD: &str = "players can be verified from 1.3 on";

/// Replaces host and port in a handshake by the upstream's; `None` if it has none, or these. 1.2 has them
/// behind the player's name: `Steve;localhost:25565`.
fn towards(value: &Value, upstream: &Upstream) -> Option<Value> {
    let (host, port) = (upstream.host.as_str(), Value::Int(upstream.port.into()));
    if let Some(known) = value.get("serverHost").and_then(Value::as_text) {
        let same = known == host && value.get("serverPort") == Some(&port);
        let moved = || value.clone().with_field("serverHost", host.into());
        return (!same).then(|| moved().with_field("serverPort", port));
    }
    let text = value.get("username")?.as_text()?;
    let (name, _) = text.split_once(';')?;
    let new = format!("{name};{upstream}");
    (new != text).then(|| value.clone().with_field("username", new.as_str().into()))
}

/// Returns why a session with this protocol number is relayed as bytes.
pub(super) fn not_understood(version: i32) -> RawReason {
    let why = "before 1.7, the releases from Alpha 1.0.17 on are understood";
    RawReason::Opaque(format!("login with the unknown protocol number {version}; {why}"))
}
