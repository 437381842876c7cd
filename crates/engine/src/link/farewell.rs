use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::{Direction, Family, Protocol, Role, State, Value};

/// The text that players read when the program ends: the reason is for the log.
pub(crate) const SHUTTING_DOWN: &str = "The proxy is shutting down. Please reconnect in a moment.";

/// The form of a Server List Ping from before 1.7, as far as its answer depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LegacyPingForm {
    /// `true` if the request is one byte: the form up to 1.3, whose answer has fewer parts.
    pub one_byte: bool,
    /// The protocol number in the request, which only the form of 1.6 has.
    pub version: Option<i32>,
}

/// Builds the packet that ends a session in `state` and shows `text` to the player: a Disconnect,
/// or in the status state an answer. `None` where the protocol has none.
///
/// `ping` is the form of the client's ping, if it is one from before 1.7.
pub fn farewell(
    context: &Context,
    state: State,
    text: &str,
    ping: LegacyPingForm,
) -> Option<Vec<u8>> {
    match context.protocol.family() {
        Family::LegacyPing => ping_answer(&context.protocol, text, ping),
        Family::Java | Family::Query if state == State::Status => status_body(context, text),
        Family::Java | Family::Query | Family::Alpha | Family::Legacy => {
            disconnect_body(&context.protocol, state, text)
        }
    }
}

/// Builds the body of a Disconnect with that text; `None` where the state has none.
pub fn disconnect_body(protocol: &Protocol, state: State, text: &str) -> Option<Vec<u8>> {
    let packet = protocol.role(state, Direction::Clientbound, Role::Disconnect)?;
    let encode = |reason| protocol.encode(packet, &Value::map([("reason", reason)])).ok();
    if protocol.family() != Family::Java {
        return encode(Value::from(text));
    }
    let component = serde_json::json!({ "text": text });
    let json = Value::from(component.to_string().as_str());
    let nbt = Value::from_json(&serde_json::json!({
        "type": "compound",
        "value": { "text": { "type": "string", "value": text } },
    }));
    // Since 1.20.3 the reason is NBT, except in the login state.
    [json, nbt].into_iter().find_map(encode)
}

/// Builds a status response whose description is `text`, in the client's own version, so that the
/// client shows it.
pub fn status_body(context: &Context, text: &str) -> Option<Vec<u8>> {
    let protocol = &context.protocol;
    let packet = protocol.role(State::Status, Direction::Clientbound, Role::StatusResponse)?;
    let version = context.version.unwrap_or_else(|| protocol.version());
    let status = serde_json::json!({
        "version": { "name": "mitmcraft", "protocol": version },
        "players": { "max": 0, "online": 0 },
        "description": { "text": text },
    });
    let value = Value::map([("response", Value::from(status.to_string().as_str()))]);
    protocol.encode(packet, &value).ok()
}

/// Builds the answer to a Server List Ping from before 1.7, with `text` as the server's name. The
/// fields are separated by `§` up to 1.3, and by NULs since 1.4.
pub fn ping_answer(protocol: &Protocol, text: &str, ping: LegacyPingForm) -> Option<Vec<u8>> {
    let packet = protocol.role(State::Status, Direction::Clientbound, Role::StatusResponse)?;
    let clean = |char: &char| !matches!(char, '§' | '\0');
    let motd: String = text.chars().filter(clean).take(LONGEST_MOTD).collect();
    let version = ping.version.unwrap_or(NO_VERSION);
    let zero = || Value::Int(0);
    let mut parts = vec![("motd", motd.as_str().into()), ("online", zero()), ("max", zero())];
    if !ping.one_byte {
        parts.push(("protocolVersion", Value::Int(version.into())));
        parts.push(("version", "mitmcraft".into()));
    }
    protocol.encode(packet, &Value::map(parts)).ok()
}

/// Characters of a server's name that every client accepts.
const LONGEST_MOTD: usize = 200;

/// A protocol number that no old client has, so that it shows the version's name.
const NO_VERSION: i32 = 127;
