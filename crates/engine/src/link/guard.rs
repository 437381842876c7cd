use bytes::Bytes;

use super::{LegacyPingForm, Recorder};
use crate::filter::{Effects, Injection, Judgement, Pipeline, Verdict};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Family, PacketType, Protocol, Role, State, Value};

/// Keeps rules from breaking the connection: removes from judgements what would end the session,
/// and says so in the packet's record.
///
/// A server that has the player's key (1.19 on) accepts only messages signed with it, and since
/// 1.19.1 only in order: it ends the session over a message that was changed or is missing. Without
/// the key it accepts everything, unless it enforces signed chat. A client handles the packets
/// between two bundle delimiters (1.19.4 on) together, and waits for the second one however long it
/// takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    /// `true` if the client has had the first delimiter of a bundle, and not the second.
    pub(crate) bundled: bool,
    /// `true` if the player's key went to the server with the Login Start (1.19 to 1.19.2).
    pub(crate) key_in_login: bool,
    /// `true` if the player's key went to the server in the game.
    key_in_game: bool,
    /// `true` if the server enforces signed chat; `None` until it says.
    pub(crate) enforced: Option<bool>,
    /// The client's ping, if it is one from before 1.7.
    pub(crate) ping: LegacyPingForm,
    /// `true` if the client has had a Disconnect.
    pub(crate) dismissed: bool,
}

impl Guard {
    /// Learns from a packet before it is judged.
    #[inline]
    pub(crate) fn observe(&mut self, packet: &Packet, role: Option<Role>) {
        match role {
            Some(Role::LoginStart) => {
                let signature = packet.value().ok().and_then(|it| it.get("signature").cloned());
                self.key_in_login = signature.is_some_and(|it| *it.plain() != Value::Absent);
            }
            Some(Role::JoinGame | Role::ServerData) => {
                let value = packet.value().ok();
                let said = value.as_ref().and_then(|value| value.get("enforcesSecureChat"));
                if let Some(Value::Bool(enforced)) = said.map(Value::plain) {
                    self.enforced = Some(*enforced);
                }
            }
            Some(Role::BundleDelimiter) => self.bundled = !self.bundled,
            Some(Role::Disconnect) => {
                self.dismissed |= packet.direction() == Direction::Clientbound;
            }
            _ => {}
        }
        let serverbound = packet.direction() == Direction::Serverbound;
        if serverbound && packet.context().protocol.family() == Family::LegacyPing {
            let version = packet.value().ok().and_then(|it| it.get("protocolVersion")?.as_int());
            let version = version.and_then(|version| version.try_into().ok());
            self.ping = LegacyPingForm { one_byte: packet.size() == 1, version };
        }
    }

    /// Returns the reason why the player's chat session (1.19.3 on) is kept from the server: rules
    /// change chat, which could not be changed if it were signed, and the server does not insist on
    /// signatures.
    pub(crate) fn withholds(
        &self,
        packet: &Packet,
        role: Option<Role>,
        pipeline: &Pipeline,
    ) -> Option<&'static str> {
        if role != Some(Role::ChatSession) || self.enforced != Some(false) {
            return None;
        }
        let protocol = &packet.context().protocol;
        let chat = protocol.role(State::Play, Direction::Serverbound, Role::Chat)?;
        pipeline.changes(protocol, chat).then_some(WITHHELD)
    }

    /// Removes from `judgement` what would break the connection if done to a handshake, key exchange,
    /// compression or state packet.
    pub(crate) fn restrain(&mut self, packet: &Packet, role: Role, judgement: &mut Judgement) {
        match role {
            // The host, and the name that the client is told, may be changed.
            Role::Handshake | Role::LoginSuccess => {
                if judgement.verdict == Verdict::Drop {
                    judgement.pass();
                }
                if role == Role::LoginSuccess {
                    judgement.effects.delay = None;
                }
            }
            // The proxy exchanges keys with each side, and nothing may come between.
            Role::EncryptionRequest | Role::EncryptionResponse | Role::EncryptionStarted => {
                if !judgement.is_plain() || judgement.effects.close.is_some() {
                    judgement.effects.notes.remark(needed(packet));
                }
                judgement.pass();
                let notes = std::mem::take(&mut judgement.effects.notes);
                judgement.effects = Effects { notes, ..Effects::default() };
            }
            Role::SetCompression
            | Role::LoginAcknowledged
            | Role::StartConfiguration
            | Role::ConfigurationAcknowledged
            | Role::FinishConfiguration
            | Role::BundleDelimiter => {
                if judgement.verdict != Verdict::Pass {
                    judgement.effects.notes.remark(needed(packet));
                }
                judgement.keep();
            }
            Role::ChatSession => self.key_in_game |= judgement.verdict != Verdict::Drop,
            Role::Disconnect
                if judgement.verdict == Verdict::Drop || judgement.effects.close.is_some() =>
            {
                self.dismissed = false;
            }
            Role::Greeting => {
                if let Some(comment) = greeting_comment(packet) {
                    judgement.effects.notes.remark(comment);
                }
            }
            _ => {}
        }
    }

    /// Closes the open bundle: returns the delimiter that ends it.
    pub(crate) fn close_bundle(&mut self, protocol: &Protocol) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.bundled) {
            return None;
        }
        let role = Role::BundleDelimiter;
        let packet = protocol.role(State::Play, Direction::Clientbound, role)?;
        protocol.encode(packet, &Value::Map(Vec::new())).ok()
    }

    /// Takes out of a judgement what would end the session.
    pub(crate) fn check(&self, recorder: &Recorder, packet: &Packet, judgement: &mut Judgement) {
        if judgement.is_plain() {
            return;
        }
        if let Some(reason) = self.refusal(&recorder.context.protocol, packet, judgement) {
            judgement.pass();
            judgement.effects.copies = 0;
            judgement.effects.notes.remark(reason);
        }
        self.filter(recorder, judgement);
    }

    /// Returns why no later packet may overtake this one, if none may.
    pub(crate) fn keeps_order(&self, packet: &Packet) -> Option<&'static str> {
        let clientbound = packet.direction() == Direction::Clientbound;
        match packet.role() {
            Some(role) if role.drives() => Some(CHANGES_READING),
            Some(Role::BundleDelimiter) => Some(IN_BUNDLE),
            _ if clientbound && self.bundled => Some(IN_BUNDLE),
            Some(Role::Chat | Role::Command | Role::ChatSession)
                if !clientbound && self.key_is_known() =>
            {
                Some(CHAINED)
            }
            Some(Role::PlayerChat) => Some(CHAINED),
            // Messages count what was acknowledged before them.
            None if packet.kind().is_some_and(|it| &**it.name() == "message_acknowledgement") => {
                Some(CHAINED)
            }
            _ => None,
        }
    }

    /// Returns why a packet of the proxy's own cannot be sent now, if it cannot.
    pub(crate) fn refuses(
        &self,
        recorder: &Recorder,
        direction: Direction,
        body: &Bytes,
    ) -> Option<String> {
        let (before, framed, body) = (false, true, body.clone());
        let injection = Injection { direction, before, body, framed, rule: None };
        if role_of(recorder, &injection).is_some_and(|(_, role)| role.drives()) {
            return Some(CHANGES_CONNECTION.into());
        }
        let mut judgement = Judgement { verdict: Verdict::Pass, effects: Effects::default() };
        judgement.effects.sends.push(injection);
        self.filter(recorder, &mut judgement);
        judgement.effects.notes.comments.pop()
    }

    /// Returns the reason why a packet must be forwarded unchanged, if there is one.
    fn refusal(
        &self,
        protocol: &Protocol,
        packet: &Packet,
        judgement: &mut Judgement,
    ) -> Option<&'static str> {
        let role = packet.kind()?.role()?;
        let untouched = judgement.verdict == Verdict::Pass && judgement.effects.copies == 0;
        let chained = has(protocol, "message_acknowledgement");
        match (packet.direction(), role) {
            (Direction::Serverbound, Role::Chat | Role::Command) if !untouched => {
                let value = packet.value().ok()?;
                let drops = judgement.verdict == Verdict::Drop;
                if !self.key_is_known() || !is_signed(&value) {
                    if drops && let Some(acknowledged) = acknowledgement(protocol, &value) {
                        judgement.effects.sends.push(acknowledged);
                    }
                    return None;
                }
                (chained || !drops).then_some(SIGNED)
            }
            (Direction::Clientbound, Role::PlayerChat) => {
                let value = packet.value().ok()?;
                let (signed, counted) = (is_signed(&value), value.get("globalIndex").is_some());
                if let Some(delay) = judgement.effects.delay.as_mut().filter(|_| signed || counted)
                {
                    delay.reorder = false;
                }
                let rewrites = matches!(judgement.verdict, Verdict::Replace(_));
                let sessions = has(protocol, "chat_session_update");
                if untouched || !(signed || counted) {
                    return None;
                }
                if !rewrites || judgement.effects.copies > 0 {
                    return (counted || chained).then_some(COUNTED);
                }
                if signed && sessions {
                    judgement.effects.notes.remark(UNPROVEN);
                }
                (signed && !sessions).then_some(SIGNED)
            }
            _ => None,
        }
    }

    /// Removes injected packets that the peer would end the session over.
    fn filter(&self, recorder: &Recorder, judgement: &mut Judgement) {
        let effects = &mut judgement.effects;
        let mut delimiters = 0;
        effects.sends.retain(|send| {
            let reason = match role_of(recorder, send) {
                Some((Direction::Serverbound, Role::Chat)) => {
                    self.key_is_known().then_some(UNSIGNED)
                }
                Some((_, Role::PlayerChat)) => {
                    let value = value_of(recorder, send);
                    value.is_some_and(|it| it.get("globalIndex").is_some()).then_some(INDEXED)
                }
                Some((_, Role::BundleDelimiter)) => {
                    delimiters += 1;
                    None
                }
                _ => None,
            };
            reason.into_iter().for_each(|reason| effects.notes.remark(reason));
            reason.is_none()
        });
        if delimiters % 2 == 1 {
            let is_delimiter = |send: &Injection| {
                matches!(role_of(recorder, send), Some((_, Role::BundleDelimiter)))
            };
            effects.sends.retain(|send| !is_delimiter(send));
            effects.notes.remark(UNPAIRED);
        }
    }

    /// Returns whether the server has the player's key.
    fn key_is_known(&self) -> bool {
        self.key_in_login || self.key_in_game
    }
}

/// Builds the acknowledgement that a dropped message carried: how many messages of others the
/// client has seen.
fn acknowledgement(protocol: &Protocol, value: &Value) -> Option<Injection> {
    let count = value.get("offset").or_else(|| value.get("messageCount"))?.as_int()?;
    let name = "message_acknowledgement";
    let packet = protocol.named(State::Play, Direction::Serverbound, name)?;
    let body = protocol.encode(packet, &Value::map([("count", Value::Int(count))])).ok()?;
    let (direction, before, framed) = (Direction::Serverbound, false, true);
    (count > 0).then(|| Injection { direction, before, body: body.into(), framed, rule: None })
}

/// Returns the role of a packet to be sent in the present state.
fn role_of(recorder: &Recorder, send: &Injection) -> Option<(Direction, Role)> {
    let (packet, _) = identify(recorder, send).filter(|_| send.framed)?;
    Some((send.direction, packet.role()?))
}

fn value_of(recorder: &Recorder, send: &Injection) -> Option<Value> {
    let (packet, start) = identify(recorder, send)?;
    recorder.context.protocol.decode(packet, &send.body, start).ok()
}

fn identify<'a>(recorder: &'a Recorder, send: &Injection) -> Option<(&'a PacketType, usize)> {
    let (direction, protocol) = (send.direction, &recorder.context.protocol);
    protocol.identify(recorder.states[direction], direction, &send.body).ok()
}

/// Returns whether clients of this version send a packet of that name.
fn has(protocol: &Protocol, name: &str) -> bool {
    protocol.named(State::Play, Direction::Serverbound, name).is_some()
}

/// How the server of an Alpha session wants the player's name to be proved, for the record.
fn greeting_comment(packet: &Packet) -> Option<&'static str> {
    let value = packet.value().ok()?;
    Some(match value.get("connectionHash")?.as_text()? {
        "-" => "no authentication",
        "+" => "the server asks for a password",
        _ => "authentication at minecraft.net: this is the server's hash",
    })
}

fn needed(packet: &Packet) -> String {
    let name = packet.kind().map_or("", |kind| kind.name());
    format!("`{name}` was not changed, because the connection depends on it")
}

/// Returns what the peer does with a signed message once it is changed; `None` for any other packet.
#[must_use]
pub fn signature_warning(packet: &Packet) -> Option<&'static str> {
    let role = packet.role()?;
    if !is_signed(&packet.value().ok()?) {
        return None;
    }
    match (packet.direction(), role) {
        (Direction::Serverbound, Role::Chat | Role::Command) => Some(
            "this message is signed: once it is changed, its signature is wrong, and a server that verifies it \
             ends the session",
        ),
        (Direction::Clientbound, Role::PlayerChat) => Some(
            "this message is signed: once it is changed, its signature is wrong, and the player's game shows it as \
             not secure, or ends the session",
        ),
        _ => None,
    }
}

fn is_signed(value: &Value) -> bool {
    let signature = value.get("signature").and_then(Value::as_bytes);
    let arguments = match value.get("argumentSignatures").map(Value::plain) {
        Some(Value::List(arguments)) => arguments.len(),
        _ => 0,
    };
    signature.is_some_and(|signature| !signature.is_empty()) || arguments > 0
}

const WITHHELD: &str = "rules change chat, so the player's chat session is kept from the server, \
                        which does not insist on it: what the player says goes out unsigned";
const SIGNED: &str = "a signed message was to be changed or dropped: its signature, or that of the \
                      next, would be wrong, and the session would end";
const COUNTED: &str = "a message that is counted was to be dropped or repeated: the session would \
                       end over the next one";
const UNPROVEN: &str = "the change makes its signature invalid: the client marks it as not secure";
const UNSIGNED: &str = "not sent: the server accepts only signed messages from this player";
const INDEXED: &str = "not sent: the game counts player_chat, and ends the session over one too \
                       many; send system_chat or profileless_chat";
const CHANGES_READING: &str = "later packets wait: it changes how they are read";
const IN_BUNDLE: &str = "later packets wait: it belongs to a bundle";
const CHAINED: &str = "later packets wait: the game checks the order of signed messages";
const CHANGES_CONNECTION: &str = "it changes the state, the compression or the encryption of the \
                                  connection, which only the peers can";
const UNPAIRED: &str = "not sent: a single bundle delimiter would leave the bundle open";
