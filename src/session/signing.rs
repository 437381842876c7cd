use std::sync::Arc;

use super::Session;
use crate::filter::{Injection, Judgement, Verdict};
use crate::packet::Packet;
use crate::schema::{Direction, Protocol, Role, State, Value};

/// What the server can prove of what the player says (1.19 on).
///
/// A server that has the player's key takes nothing from him that is not signed with it, and since
/// 1.19.1 nothing out of order: it ends the session over a message that was changed or is missing.
/// Without the key it takes everything, unless it enforces signed chat.
#[derive(Debug, Default)]
pub(super) struct Signing {
    /// Whether the server has been given the player's key in the game.
    signed: bool,
    /// Whether the server enforces signed chat; None: it has not said.
    enforced: Option<bool>,
}

impl Session {
    /// The server's word on signed chat: in Server Data (1.19.1 on) or Join Game (1.20.5 on).
    pub(super) fn note_policy(&mut self, packet: Packet) {
        let value = packet.value().ok();
        if let Some(Value::Bool(enforced)) =
            value.as_ref().and_then(|value| value.get("enforcesSecureChat")).map(Value::plain)
        {
            self.later.signing.enforced = Some(*enforced);
            self.later.policy_is_known(packet.context.protocol.as_ref());
        }
        self.judge_and_forward(packet);
    }

    /// The player's key, in versions that have chat sessions (1.19.3 on). It is kept from a server
    /// that can do without it when rules change chat: signed, it could not be changed.
    pub(super) fn on_chat_session(&mut self, packet: Packet) {
        if self.later.signing.enforced == Some(false) && self.changes_chat(&packet.context.protocol)
        {
            return self.swallow(packet, WITHHELD);
        }
        let judgement = self.pipeline.apply(&packet);
        self.later.signing.signed |= judgement.verdict != Verdict::Drop;
        self.carry_out(packet, judgement);
    }

    fn changes_chat(&self, protocol: &Arc<Protocol>) -> bool {
        let chat = protocol.role(State::Play, Direction::Serverbound, Role::Chat);
        chat.is_some_and(|chat| self.pipeline.changes(protocol, chat))
    }

    /// Takes out of a judgement what would end the session, and says so.
    pub(super) fn guard(&self, packet: &Packet, judgement: &mut Judgement) {
        if !self.later.guards || judgement.is_plain() {
            return;
        }
        if let Some(reason) = self.refusal(packet, judgement) {
            judgement.verdict = Verdict::Pass;
            judgement.effects.copies = 0;
            judgement.effects.notes.comments.push(reason.into());
        }
        self.guard_sends(judgement);
    }

    /// Why a packet has to go on as it came.
    fn refusal(&self, packet: &Packet, judgement: &mut Judgement) -> Option<&'static str> {
        let role = packet.kind()?.role()?;
        let untouched = judgement.verdict == Verdict::Pass && judgement.effects.copies == 0;
        let chained = self.has(Direction::Serverbound, "message_acknowledgement");
        match (packet.direction, role) {
            (Direction::Serverbound, Role::Chat | Role::Command) if !untouched => {
                let value = packet.value().ok()?;
                let drops = judgement.verdict == Verdict::Drop;
                if !self.is_known() || !is_signed(&value) {
                    if drops && let Some(acknowledged) = self.acknowledgement(&value) {
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
                let sessions = self.has(Direction::Serverbound, "chat_session_update");
                if untouched || !(signed || counted) {
                    return None;
                }
                if !rewrites || judgement.effects.copies > 0 {
                    return (counted || chained).then_some(COUNTED);
                }
                if signed && sessions {
                    judgement.effects.notes.comments.push(UNPROVEN.into());
                }
                (signed && !sessions).then_some(SIGNED)
            }
            _ => None,
        }
    }

    /// What a message that is dropped has told the server besides: how many it has seen of others.
    fn acknowledgement(&self, value: &Value) -> Option<Injection> {
        let count = value.get("offset").or_else(|| value.get("messageCount"))?.as_int()?;
        let protocol = &self.context.protocol;
        let name = "message_acknowledgement";
        let packet = protocol.named(State::Play, Direction::Serverbound, name)?;
        let body = protocol.encode(packet, &Value::map([("count", Value::Int(count))])).ok()?;
        let (direction, before, framed) = (Direction::Serverbound, false, true);
        (count > 0).then(|| Injection { direction, before, body: body.into(), framed })
    }

    fn guard_sends(&self, judgement: &mut Judgement) {
        let effects = &mut judgement.effects;
        let mut delimiters = 0;
        effects.sends.retain(|send| {
            let reason = match self.role_of(send) {
                Some((Direction::Serverbound, Role::Chat)) => self.is_known().then_some(UNSIGNED),
                Some((_, Role::PlayerChat)) => {
                    let index =
                        self.value_of(send).is_some_and(|it| it.get("globalIndex").is_some());
                    index.then_some(INDEXED)
                }
                Some((_, Role::BundleDelimiter)) => {
                    delimiters += 1;
                    None
                }
                _ => None,
            };
            effects.notes.comments.extend(reason.map(str::to_owned));
            reason.is_none()
        });
        if delimiters % 2 == 1 {
            let is_delimiter =
                |send: &Injection| matches!(self.role_of(send), Some((_, Role::BundleDelimiter)));
            effects.sends.retain(|send| !is_delimiter(send));
            effects.notes.comments.push(UNPAIRED.into());
        }
    }

    fn role_of(&self, send: &Injection) -> Option<(Direction, Role)> {
        let (direction, protocol) = (send.direction, &self.context.protocol);
        let found = protocol.identify(self.state(direction), direction, &send.body);
        let (packet, _) = found.ok().filter(|_| send.framed)?;
        Some((direction, packet.role()?))
    }

    fn value_of(&self, send: &Injection) -> Option<Value> {
        let (direction, protocol) = (send.direction, &self.context.protocol);
        let (packet, start) =
            protocol.identify(self.state(direction), direction, &send.body).ok()?;
        protocol.decode(packet, &send.body, start).ok()
    }

    /// Whether the server has the player's key: from Login Start (1.19 to 1.19.2) or later.
    fn is_known(&self) -> bool {
        self.signs || self.later.signing.signed
    }

    fn has(&self, direction: Direction, name: &str) -> bool {
        self.context.protocol.named(State::Play, direction, name).is_some()
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
const SIGNED: &str = "a rule wanted to change or drop a signed message: its signature, or that of \
                      the next, would be wrong, and the session end";
const COUNTED: &str = "a rule wanted to drop or repeat a message that is counted: the session \
                       would end over the next one";
const UNPROVEN: &str = "its signature is wrong now: the player is told that it is not secure";
const UNSIGNED: &str = "not sent: the server takes only signed messages from this player";
const INDEXED: &str = "not sent: the game counts player_chat, and ends the session over one too \
                       many; send system_chat or profileless_chat";
const UNPAIRED: &str = "not sent: a bundle delimiter alone";
