use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Name, Value};

/// A player as packets name it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Player {
    pub(super) name: String,
    pub(super) uuid: Option<u128>,
}

impl Player {
    /// Replaces this player by another one in a packet.
    pub(super) fn replace(&self, other: &Self, packet: &mut Packet) {
        let Ok(fields) = packet.value() else { return };
        let replaced = self.replace_in(other, &fields);
        if replaced == fields {
            return;
        }
        let body = packet.kind().map(|kind| packet.context().protocol.encode(kind, &replaced));
        if let Some(Ok(body)) = body {
            packet.replace_body(body.into());
        }
    }

    fn replace_in(&self, other: &Self, value: &Value) -> Value {
        match value {
            Value::Text(text) if !self.name.is_empty() && text.contains(&self.name) => {
                Value::from(text.replace(&self.name, &other.name).as_str())
            }
            Value::Uuid(uuid) if self.uuid == Some(*uuid) => {
                Value::Uuid(other.uuid.unwrap_or(*uuid))
            }
            Value::List(items) => {
                Value::List(items.iter().map(|item| self.replace_in(other, item)).collect())
            }
            Value::Map(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, value)| (Name::clone(name), self.replace_in(other, value)));
                Value::Map(fields.collect())
            }
            value => value.clone(),
        }
    }
}

/// The UUID in a Login Success.
pub(super) fn uuid(value: &Value) -> Option<u128> {
    value.get("uuid")?.as_uuid()
}
