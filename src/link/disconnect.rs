use crate::schema::{Direction, Family, Protocol, Role, State, Value};

/// The body of a Disconnect with that text; None where the state has none.
pub(crate) fn disconnect_body(protocol: &Protocol, state: State, text: &str) -> Option<Vec<u8>> {
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
    // Since 1.20.3 the reason is NBT.
    [json, nbt].into_iter().find_map(encode)
}
