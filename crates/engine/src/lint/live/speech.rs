use bytes::Bytes;

use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{
    Direction, EncodeCause, Name, PacketType, Protocol, Release, State, Value,
};

/// The packets that a client sends, in the form that its version has.
pub(super) struct Speech<'p> {
    protocol: &'p Protocol,
    state: State,
}

impl<'p> Speech<'p> {
    pub(super) fn new(protocol: &'p Protocol, state: State) -> Self {
        Self { protocol, state }
    }

    /// Encodes the packet of that name with those of the fields that the version has. Returns `None` if it
    /// has no such packet, or one with other fields.
    pub(super) fn packet<'a>(
        &self,
        name: &str,
        fields: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Option<Vec<u8>> {
        let kind = self.protocol.named(self.state, Direction::Serverbound, name)?;
        let fields = fields.into_iter().map(|(name, value)| (Name::from(name), value)).collect();
        self.encode(kind, fields)
    }

    /// Encodes what starts the login of a player.
    pub(super) fn login(&self, name: &str, id: u128) -> Option<Vec<u8>> {
        let fields = [
            ("username", Value::from(name)),
            ("signature", Value::Absent),
            ("playerUUID", Value::Uuid(id)),
        ];
        self.packet("login_start", fields)
    }

    /// Encodes the brand of the client.
    pub(super) fn brand(&self) -> Option<Vec<u8>> {
        let channel =
            if self.protocol.release() < Release::V1_13 { "MC|Brand" } else { "minecraft:brand" };
        let data = Bytes::from_static(b"\x07vanilla");
        self.packet("custom_payload", [("channel", channel.into()), ("data", Value::Bytes(data))])
    }

    /// Encodes the settings of the client.
    pub(super) fn settings(&self) -> Option<Vec<u8>> {
        let fields = |status: Value| {
            [
                ("locale", Value::from("en_US")),
                ("viewDistance", Value::Int(8)),
                ("chatFlags", Value::Int(0)),
                ("chatColors", Value::Bool(true)),
                ("skinParts", Value::Int(0x7f)),
                ("mainHand", Value::Int(1)),
                ("disableTextFiltering", Value::Bool(true)),
                ("enableTextFiltering", Value::Bool(false)),
                ("enableServerListing", Value::Bool(true)),
                // Up to 1.7.
                ("difficulty", Value::Int(2)),
                ("showCape", Value::Bool(true)),
                ("particleStatus", status),
            ]
        };
        let forms = [Value::from("all"), Value::Int(0)];
        forms.into_iter().find_map(|status| self.packet("settings", fields(status)))
    }

    /// Encodes a chat message, unsigned.
    pub(super) fn chat(&self, message: &str, now: Timestamp) -> Option<Vec<u8>> {
        let text = || [("message", Value::from(message))];
        if let Some(body) = self.packet("chat", text()) {
            return Some(body);
        }
        // Until 1.19.2 an empty signature, since then none.
        let signatures = [Value::Absent, Value::Bytes(Bytes::new())];
        signatures.into_iter().find_map(|signature| {
            let signature = [("signature", signature)];
            self.packet("chat_message", text().into_iter().chain(signature).chain(unsigned(now)))
        })
    }

    /// Encodes a command, without its slash.
    pub(super) fn command(&self, command: &str, now: Timestamp) -> Option<Vec<u8>> {
        let text = [("command", Value::from(command))];
        self.packet("chat_command", text.into_iter().chain(unsigned(now)))
            .or_else(|| self.packet("chat", [("message", Value::from(&*format!("/{command}")))]))
    }

    /// Encodes that the player respawns.
    pub(super) fn respawn(&self) -> Option<Vec<u8>> {
        // In 1.8 the field has another name.
        self.packet("client_command", [("payload", Value::Int(0)), ("actionId", Value::Int(0))])
    }

    /// Encodes a look.
    pub(super) fn look(&self, yaw: f32) -> Option<Vec<u8>> {
        let off = || ("onGround", Value::Bool(true));
        let fields = [
            ("yaw", Value::Float32(yaw)),
            ("pitch", Value::Float32(0.0)),
            off(),
            // Since 1.21.2.
            ("flags", Value::map([off(), ("hasHorizontalCollision", Value::Bool(false))])),
        ];
        self.packet("look", fields)
    }

    /// Encodes a swing of the arm.
    pub(super) fn swing(&self) -> Option<Vec<u8>> {
        // Since 26.3 it has another name.
        let hand = || [("hand", Value::Int(0))];
        self.packet("arm_animation", hand()).or_else(|| self.packet("punch", hand()))
    }

    fn encode(&self, kind: &PacketType, mut fields: Vec<(Name, Value)>) -> Option<Vec<u8>> {
        loop {
            let value = Value::Map(fields);
            let error = match self.protocol.encode(kind, &value) {
                Ok(body) => return Some(body),
                Err(error) => error,
            };
            let Value::Map(all) = value else { return None };
            fields = all;
            let known = fields.len();
            // Fields that another version has; a packet without fields has no name for them.
            if error.cause == EncodeCause::UnknownField {
                fields.retain(|(name, _)| !error.path.is_empty() && **name != *error.path);
            }
            if fields.len() == known {
                return None;
            }
        }
    }
}

/// The fields of chat and commands that are not signed, in all versions since 1.19.
fn unsigned(now: Timestamp) -> [(&'static str, Value); 11] {
    let millis = i64::try_from(now.0 / 1_000_000).unwrap_or(i64::MAX);
    [
        ("timestamp", Value::Int(millis)),
        ("salt", Value::Int(0)),
        ("argumentSignatures", Value::List(Vec::new())),
        ("signedPreview", Value::Bool(false)),
        ("previousMessages", Value::List(Vec::new())),
        ("lastRejectedMessage", Value::Absent),
        ("lastMessage", Value::Absent),
        ("offset", Value::Int(0)),
        ("messageCount", Value::Int(0)),
        ("acknowledged", Value::Bytes(Bytes::from_static(&[0; 3]))),
        ("checksum", Value::Int(0)),
    ]
}
