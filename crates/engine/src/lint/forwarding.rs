use super::{Fault, LintRule};
use crate::capture::Record;
use mitmcraft_protocol::meaning::{DisconnectText, DisconnectTopic};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Role, State, Value};

/// What a proxy in front of a server forwards of the player, and whether the server reads it.
#[derive(Debug, Default)]
pub(super) struct Forwarding {
    /// The player's UUID in the handshake, in hex digits, as BungeeCord forwards it.
    handshake: Option<String>,
    /// The player's UUID in an answer to the server's question, as Velocity forwards it.
    answer: Option<String>,
    /// The number of the server's question for Velocity's forwarding, and its packet.
    question: Option<(i64, Record)>,
}

impl Forwarding {
    /// Takes a packet of the client. Returns the server's question and the fault if this is an answer without
    /// data, as of a client without a proxy in front of the server.
    pub(super) fn take(&mut self, packet: &Packet) -> Option<(Record, Fault)> {
        match (packet.state(), packet.role()) {
            (State::Handshaking, Some(Role::Handshake)) => {
                let value = packet.value_with_payload().ok()?;
                let forwarded = value.get("payload")?.get("forwarded")?;
                self.handshake = digits(forwarded.get("uuid")?);
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
                self.answer = value.get("payload").and_then(|it| digits(it.get("uuid")?));
                None
            }
            _ => None,
        }
    }

    /// Takes a packet of the server, and returns what shows that the server does not read what is forwarded.
    pub(super) fn take_clientbound(&mut self, record: &Record) -> Option<Fault> {
        let packet = &record.packet;
        match packet.role()? {
            Role::PluginMessage if packet.state() == State::Login => {
                let value = packet.value().ok()?;
                let asks = value.get("channel")?.as_text()? == "velocity:player_info";
                let number = value.get("messageId")?.as_int()?;
                self.question = asks.then(|| (number, record.clone()));
                self.handshake.as_ref().filter(|_| asks)?;
                let reason = "the server asks for Velocity's forwarding, but the handshake has BungeeCord's: the \
                              proxy and the server are set up for different ones";
                Some(Fault { certain: false, ..fault(reason) })
            }
            Role::LoginSuccess => {
                let value = packet.value().ok()?;
                let own = digits(value.get("uuid")?)?;
                let forwarded = self.answer.take().or_else(|| self.handshake.take())?;
                (own != forwarded).then(|| {
                    let reason = format!(
                        "the UUID {forwarded} is forwarded, and the server lets the player in as {own}: it does \
                         not read what is forwarded"
                    );
                    Fault { certain: false, field: Some("uuid".to_owned()), ..fault(reason) }
                })
            }
            Role::Disconnect => {
                let words = packet.reason()?;
                let known = DisconnectText::find(&words)?;
                let is_about = known.topic == DisconnectTopic::Forwarding;
                is_about.then(|| fault(format!("the server says `{words}`: {}", known.cause)))
            }
            _ => None,
        }
    }
}

fn fault(reason: impl Into<String>) -> Fault {
    Fault::new(LintRule::ForwardingUnread, reason)
}

/// Returns the hex digits of a UUID in any form that versions have: a number, four of them, or text.
fn digits(value: &Value) -> Option<String> {
    let text = match value.plain() {
        Value::Uuid(uuid) => format!("{uuid:032x}"),
        Value::List(ints) => {
            let digits = |it: &Value| Some(format!("{:08x}", it.as_int()? as u32));
            ints.iter().map(digits).collect::<Option<String>>()?
        }
        Value::Text(text) => text.replace('-', "").to_ascii_lowercase(),
        _ => return None,
    };
    (text.len() == 32 && text.bytes().all(|it| it.is_ascii_hexdigit())).then_some(text)
}
