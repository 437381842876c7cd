use super::session::MAX_KEPT;
use super::{Fault, LintRule};
use crate::capture::Record;
use crate::filter::shortened;
use mitmcraft_protocol::meaning::{DisconnectText, DisconnectTopic};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Role, State, Value};

/// The player's data that a proxy in front of a server forwards, and whether the server reads it.
#[derive(Debug, Default)]
pub(super) struct Forwarding {
    /// The player's UUID in the handshake, as BungeeCord forwards it.
    handshake: Option<u128>,
    /// The player's UUID in an answer to the server's question, as Velocity forwards it.
    answer: Option<u128>,
    /// The number of the server's question for Velocity's forwarding, and its packet.
    question: Option<(i64, Record)>,
}

impl Forwarding {
    /// Takes a packet of the client. Returns the server's question and a fault if this answers it without data, as
    /// clients do if no proxy is in front of the server.
    pub(super) fn take(&mut self, packet: &Packet) -> Option<(Record, Fault)> {
        match (packet.state(), packet.role()) {
            (State::Handshaking, Some(Role::Handshake)) => {
                let value = packet.value_with_payload().ok()?;
                let forwarded = value.get("payload")?.get("forwarded")?;
                self.handshake = forwarded.get("uuid")?.as_uuid();
                None
            }
            (State::Login, Some(Role::PluginMessage)) => {
                let value = packet.value_with_payload().ok()?;
                let number = value.get("messageId")?.as_int()?;
                let (_, question) = self.question.take_if(|(asked, _)| *asked == number)?;
                let data = value.get("data").and_then(Value::as_bytes);
                if data.is_none_or(|it| it.is_empty()) {
                    let reason = "the server asks for Velocity's forwarding, and the client has none: no proxy in \
                                  front of the server, or one that forwards otherwise";
                    return Some((question, Fault { certain: false, ..fault(reason) }));
                }
                self.answer = value.get("payload").and_then(|it| it.get("uuid")?.as_uuid());
                None
            }
            _ => None,
        }
    }

    /// Takes a packet of the server. Returns a fault if it shows that the server does not read the forwarded data.
    pub(super) fn take_clientbound(&mut self, record: &Record) -> Option<Fault> {
        let packet = &record.packet;
        match packet.role()? {
            Role::PluginMessage if packet.state() == State::Login => {
                let value = packet.value().ok()?;
                let asks = value.get("channel")?.as_text()? == "velocity:player_info";
                let number = value.get("messageId")?.as_int()?;
                let is_kept = asks && record.memory() <= MAX_KEPT;
                self.question = is_kept.then(|| (number, record.clone()));
                self.handshake.as_ref().filter(|_| asks)?;
                let reason = "the server asks for Velocity's forwarding, but the handshake has BungeeCord's: the \
                              proxy and the server are set up for different ones";
                Some(Fault { certain: false, ..fault(reason) })
            }
            Role::LoginSuccess => {
                let value = packet.value().ok()?;
                let own = value.get("uuid")?.as_uuid()?;
                let forwarded = self.answer.take().or_else(|| self.handshake.take())?;
                (own != forwarded).then(|| {
                    let reason = format!(
                        "the UUID {forwarded:032x} is forwarded, but the server lets the player in as {own:032x}: it does \
                         not read what is forwarded"
                    );
                    Fault { certain: false, field: Some("uuid".to_owned()), ..fault(reason) }
                })
            }
            Role::Disconnect => {
                let words = packet.reason()?;
                let known = DisconnectText::find(&words)?;
                let is_about = known.topic == DisconnectTopic::Forwarding;
                is_about.then(|| {
                    let words = shortened(words, MAX_WORDS);
                    fault(format!("the server says `{words}`: {}", known.cause))
                })
            }
            _ => None,
        }
    }
}

fn fault(reason: impl Into<String>) -> Fault {
    Fault::new(LintRule::ForwardingUnread, reason)
}

/// The most bytes of a server's words that are shown.
const MAX_WORDS: usize = 200;
