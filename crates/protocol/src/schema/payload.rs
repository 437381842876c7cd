use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use super::decode::ValueVisitor;
use super::{
    DecodeError, Direction, EncodeError, Flow, Leaf, Name, PacketType, Protocol, Role, Scalar,
    State, Value, Visitor,
};
use crate::wire::Encoding;

/// What is inside a field of a packet, and its layout: the payload of a plugin channel, or the host of a
/// handshake, to which proxies and mods append data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Payload<'p> {
    /// The layout, named as the channel.
    pub layout: &'p PacketType,
    /// The range of the payload in the packet's body.
    pub bytes: Range<usize>,
}

impl Protocol {
    /// Returns the layouts that payloads of a packet may have; none unless the packet belongs to a
    /// plugin channel, or is a handshake.
    pub fn payload_layouts(&self, packet: &PacketType) -> impl Iterator<Item = &PacketType> {
        let direction = packet.direction;
        let state = match packet.state {
            state @ (State::Handshaking | State::Login) => state,
            _ => State::Play,
        };
        let carries = has_payloads(packet);
        self.channels()
            .iter()
            .filter(move |layout| carries && layout.direction == direction && layout.state == state)
    }

    /// Finds the payload of a plugin channel in `body`, whose fields begin at offset `start`.
    ///
    /// Returns `None` if the channel is not described, or the payload does not have exactly the layout
    /// that is. A response in the login state does not name its channel: it has the first layout that
    /// fits.
    #[must_use]
    pub fn payload(&self, packet: &PacketType, body: &[u8], start: usize) -> Option<Payload<'_>> {
        if !has_payloads(packet) {
            return None;
        }
        let mut found = Finder::default();
        // A mod's own fields may follow those of a handshake.
        let walked = self.walk_dyn(packet, body, start, &mut found);
        if packet.state != State::Handshaking {
            walked.ok()?;
        }
        let bytes = found.data?;
        let names_none = matches!(packet.state, State::Handshaking | State::Login)
            && packet.direction == Direction::Serverbound;
        let fits = |layout: &&PacketType| {
            let named = match &found.channel {
                Some(channel) => **channel == *layout.name,
                None => names_none,
            };
            let end = || self.run(layout, &body[..bytes.end], bytes.start, &mut Strict);
            named && end().is_ok_and(|end| end == Some(bytes.end))
        };
        let layout = self.payload_layouts(packet).find(fits)?;
        Some(Payload { layout, bytes })
    }

    /// Returns whether the payload of a packet has more than one value: not that of a handshake's host to
    /// which nothing is appended.
    pub(crate) fn has_parts(&self, payload: &Payload<'_>, body: &[u8]) -> bool {
        let Payload { layout, bytes } = payload;
        let mut first = FirstText::default();
        let _ = self.run(layout, &body[..bytes.end], bytes.start, &mut first);
        layout.state != State::Handshaking || first.0 != Some(bytes.end)
    }

    /// Encodes a payload: the fields of `value` in the given layout.
    ///
    /// # Errors
    /// [`EncodeError`] with the field that is missing, unknown or out of range.
    pub fn encode_payload(
        &self,
        layout: &PacketType,
        value: &Value,
    ) -> Result<Vec<u8>, EncodeError> {
        let mut data = Vec::new();
        self.write(layout, value, &mut data)?;
        Ok(data)
    }

    /// Reports the fields of a packet as [`walk`](Self::walk) does, and after them those of the payload
    /// of a plugin channel, if its layout is known, as the field `payload`.
    ///
    /// # Errors
    /// [`DecodeError`] with the field and its offset; the visitor has seen everything before it.
    pub fn walk_with_payload(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
        visitor: &mut impl Visitor,
    ) -> Result<usize, DecodeError> {
        let Some(payload) = self.payload(packet, body, start) else {
            return self.walk(packet, body, start, visitor);
        };
        self.walk_and_payload(packet, (body, start), &payload, visitor)
    }

    /// Reports the fields of a packet, and after them those of its payload.
    pub(crate) fn walk_and_payload(
        &self,
        packet: &PacketType,
        (body, start): (&[u8], usize),
        payload: &Payload<'_>,
        visitor: &mut dyn Visitor,
    ) -> Result<usize, DecodeError> {
        let mut whole = WithPayload { visitor, protocol: self, payload, body, depth: 0 };
        self.walk_dyn(packet, body, start, &mut whole)
    }

    /// Decodes the fields of a body from offset `start`, with the payload of a plugin channel, if its
    /// layout is known, as a last field `payload`. The value cannot be encoded.
    ///
    /// # Errors
    /// [`DecodeError`] with the field and its offset.
    pub fn decode_with_payload(
        &self,
        packet: &PacketType,
        body: &[u8],
        start: usize,
    ) -> Result<Value, DecodeError> {
        let mut visitor = ValueVisitor::default();
        self.walk_with_payload(packet, body, start, &mut visitor)?;
        Ok(visitor.finish())
    }
}

/// Returns whether packets of a type may have payloads.
fn has_payloads(packet: &PacketType) -> bool {
    matches!(packet.role, Some(Role::Handshake | Role::PluginMessage))
}

/// Returns the name of the field under which a payload is reported.
pub fn payload_name() -> &'static Name {
    static PAYLOAD: LazyLock<Name> = LazyLock::new(|| Name::from("payload"));
    &PAYLOAD
}

/// A visitor that finds the channel and the data of a plugin message.
#[derive(Debug, Default)]
struct Finder {
    name: Option<Name>,
    channel: Option<String>,
    data: Option<Range<usize>>,
}

impl Visitor for Finder {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        match (self.name.take().as_deref(), leaf.value) {
            (Some("channel"), value) => self.channel = value.text().map(|text| text.into_owned()),
            (Some("data"), Scalar::Bytes(bytes))
            | (Some("serverHost"), Scalar::Text(bytes, Encoding::Utf8)) => {
                let end = leaf.span().end;
                self.data = Some(end - bytes.len()..end);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.name = Some(Name::clone(name));
        ControlFlow::Continue(())
    }
}

/// A visitor that takes the end of the first text.
#[derive(Debug, Default)]
struct FirstText(Option<usize>);

impl Visitor for FirstText {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.0 = Some(leaf.span().end);
        ControlFlow::Break(())
    }
}

/// A visitor that stops at text that is not UTF-8 or has control characters, which says that a layout
/// is not that of the payload.
#[derive(Debug)]
struct Strict;

impl Visitor for Strict {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let readable = |bytes: &[u8], encoding: Encoding| {
            let control = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
            encoding.decode(bytes).is_ok_and(|text| !text.contains(control))
        };
        match leaf.value {
            Scalar::Text(bytes, encoding) if !readable(bytes, encoding) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Passes the parts of a packet on, with its payload as a last field.
struct WithPayload<'a> {
    visitor: &'a mut dyn Visitor,
    protocol: &'a Protocol,
    payload: &'a Payload<'a>,
    body: &'a [u8],
    /// The number of open containers and lists.
    depth: usize,
}

impl Visitor for WithPayload<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.visitor.leaf(leaf)
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.visitor.field(name)
    }

    fn open_map(&mut self, at: usize) -> Flow {
        self.depth += 1;
        self.visitor.open_map(at)
    }

    fn close(&mut self, at: usize) -> Flow {
        self.depth -= 1;
        if self.depth == 0 {
            self.visitor.field(payload_name())?;
            let Payload { layout, bytes } = self.payload;
            let body = &self.body[..bytes.end];
            // The layout fits, so a walk that does not reach the end was stopped by the visitor.
            if !matches!(self.protocol.run(layout, body, bytes.start, self.visitor), Ok(Some(_))) {
                return ControlFlow::Break(());
            }
        }
        self.visitor.close(at)
    }

    fn open_list(&mut self, at: usize, count: Option<usize>) -> Flow {
        self.depth += 1;
        self.visitor.open_list(at, count)
    }

    fn byte_list(&mut self, at: usize, bytes: &[u8]) -> Option<Flow> {
        self.visitor.byte_list(at, bytes)
    }

    fn prefix(&mut self, at: usize, wire: &[u8]) {
        self.visitor.prefix(at, wire);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::schema::Catalog;
    use crate::wire::Tag;
    use crate::wire::write_varint;

    /// Decodes a plugin message of a version. An empty channel is that of a login response.
    fn decoded(version: i32, direction: Direction, channel: &str, data: &[u8]) -> Value {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let (state, name) = match (channel, direction) {
            ("", _) => (State::Login, "login_plugin_response"),
            ("velocity:player_info" | "fml:loginwrapper", _) => {
                (State::Login, "login_plugin_request")
            }
            ("c:version" | "c:register" | "neoforge:split", _) => {
                (State::Configuration, "custom_payload")
            }
            _ => (State::Play, "custom_payload"),
        };
        let packet = protocol.named(state, direction, name).unwrap();
        let (channel, data) = (Value::from(channel), Value::Bytes(data.to_vec().into()));
        let fields = Value::map(match name {
            "custom_payload" => vec![("channel", channel), ("data", data)],
            "login_plugin_request" => {
                vec![("messageId", 7.into()), ("channel", channel), ("data", data)]
            }
            _ => vec![("messageId", 7.into()), ("data", data)],
        });
        let body = protocol.encode(packet, &fields).unwrap();
        let mut id = Vec::new();
        write_varint(&mut id, packet.id());
        let mut decoded = protocol.decode_with_payload(packet, &body, id.len()).unwrap();
        if let Value::Map(given) = &mut decoded {
            let payload = given.pop_if(|(name, _)| name == payload_name());
            let own = protocol.decode(packet, &body, id.len()).unwrap();
            assert_eq!(own, Value::Map(std::mem::take(given)), "the other fields are unchanged");
            return payload.map_or(Value::Absent, |(_, payload)| payload);
        }
        panic!("{decoded:?}");
    }

    fn clientbound(version: i32, channel: &str, data: &[u8]) -> Json {
        decoded(version, Direction::Clientbound, channel, data).to_json()
    }

    fn serverbound(version: i32, channel: &str, data: &[u8]) -> Json {
        decoded(version, Direction::Serverbound, channel, data).to_json()
    }

    #[test]
    fn brands_and_lists_of_channels_are_decoded_in_every_version() {
        let vanilla = json!({ "brand": "vanilla" });
        assert_eq!(clientbound(5, "MC|Brand", b"vanilla"), vanilla);
        assert_eq!(clientbound(47, "MC|Brand", b"\x07vanilla"), vanilla);
        assert_eq!(clientbound(777, "minecraft:brand", b"\x07vanilla"), vanilla);
        let two = json!({ "channels": ["FML|HS", "FML"] });
        assert_eq!(serverbound(5, "REGISTER", b"FML|HS\0FML"), two);
        // Bukkit writes a NUL after each.
        assert_eq!(serverbound(47, "UNREGISTER", b"FML|HS\0FML\0"), two);
        assert_eq!(serverbound(765, "minecraft:register", b""), json!({ "channels": [] }));
        assert_eq!(clientbound(765, "minecraft:register", b"a:b\xff"), Json::Null);
        assert_eq!(clientbound(765, "minecraft:brand", b"\x06vanilla"), Json::Null);
        assert_eq!(clientbound(765, "mymod:brand", b"\x07vanilla"), Json::Null);
    }

    #[test]
    fn bungeecord_asks_and_is_asked() {
        let connect = b"\0\x07Connect\0\x05lobby";
        let asked = json!({ "subchannel": "Connect", "server": "lobby" });
        assert_eq!(clientbound(47, "BungeeCord", connect), asked);
        assert_eq!(clientbound(340, "bungeecord:main", connect), asked);
        let count = b"\0\x0bPlayerCount\0\x03ALL\0\0\0\x2a";
        assert_eq!(
            serverbound(47, "BungeeCord", count),
            json!({ "subchannel": "PlayerCount", "server": "ALL", "count": 42 })
        );
        let forwarded =
            decoded(47, Direction::Serverbound, "BungeeCord", b"\0\x04Mine\0\x02\x01\x02");
        assert_eq!(forwarded.get("data"), Some(&Value::Bytes(vec![1, 2].into())));
        assert_eq!(clientbound(47, "BungeeCord", b"\0\x07Connect\0\x06lobby"), Json::Null);
    }

    /// The payloads of the game's own channels up to 1.12, each byte by byte.
    #[test]
    fn the_channels_of_the_game_itself_are_decoded() {
        // A written book with a title, in NBT.
        let book = b"\x01\x82\x01\x00\x00\x0a\x00\x00\x08\x00\x05title\x00\x02Hi\x00";
        for channel in ["MC|BSign", "MC|BEdit"] {
            for version in [47, 340] {
                let found = decoded(version, Direction::Serverbound, channel, book);
                let item = found.get("book").unwrap();
                assert_eq!(item.get("blockId").and_then(Value::as_int), Some(386));
                let Some(Value::Nbt(nbt)) = item.get("nbtData") else { panic!("{found:?}") };
                let Tag::Compound(root) = &nbt.root else { panic!("{nbt:?}") };
                assert_eq!(root.get("title"), Some(&Tag::text("Hi")));
            }
            assert_eq!(serverbound(47, channel, b"\xff\xff"), json!({ "book": { "blockId": -1 } }));
        }
        assert_eq!(clientbound(47, "MC|BOpen", b""), json!({ "hand": null }));
        assert_eq!(clientbound(340, "MC|BOpen", b"\x01"), json!({ "hand": 1 }));
        let url = json!({ "url": "https://example.org/a.zip" });
        assert_eq!(clientbound(5, "MC|RPack", b"https://example.org/a.zip"), url);
        assert_eq!(clientbound(47, "MC|RPack", b"https://example.org/a.zip"), url);
        let block = json!({ "target": "block", "x": 1, "y": 64, "z": -1, "command": "/say",
            "trackOutput": true });
        let data = b"\x00\0\0\0\x01\0\0\0\x40\xff\xff\xff\xff\x04/say\x01";
        assert_eq!(serverbound(47, "MC|AdvCdm", data), block);
        let minecart = json!({ "target": "minecart", "entityId": 7, "command": "/say",
            "trackOutput": false });
        assert_eq!(serverbound(47, "MC|AdvCdm", b"\x01\0\0\0\x07\x04/say\x00"), minecart);
        let old = serverbound(5, "MC|AdvCdm", b"\x01\0\0\0\x07\x04/say");
        assert_eq!(old["command"], "/say");
        let beacon = json!({ "primary": 1, "secondary": 10 });
        assert_eq!(serverbound(47, "MC|Beacon", b"\0\0\0\x01\0\0\0\x0a"), beacon);
        let name = json!({ "name": "Blade" });
        assert_eq!(serverbound(47, "MC|ItemName", b"\x05Blade"), name);
        assert_eq!(serverbound(5, "MC|ItemName", b"Blade"), name);
        assert_eq!(serverbound(47, "MC|TrSel", b"\0\0\0\x02"), json!({ "trade": 2 }));
        assert_eq!(serverbound(47, "MC|TrSel", b"\0\0\x02"), Json::Null, "a byte is missing");
        // One trade: two emeralds and nothing for a book, used once of seven times.
        let trades = b"\0\0\0\x07\x01\x01\x84\x02\0\0\0\x01\x54\x01\0\0\0\0\0\0\0\0\x01\0\0\0\x07";
        let found = clientbound(47, "MC|TrList", trades);
        assert_eq!(found["windowId"], 7);
        let trade = &found["trades"][0];
        assert_eq!(trade["first"]["blockId"], 388);
        assert_eq!(trade["first"]["itemCount"], 2);
        assert_eq!(trade["result"]["blockId"], 340);
        assert_eq!((&trade["hasSecond"], &trade["second"]), (&json!(false), &Json::Null));
        assert_eq!((&trade["uses"], &trade["maxUses"]), (&json!(1), &json!(7)));
        // Of 1.7: no uses, and items end with the length of their NBT.
        let trades = b"\0\0\0\x07\x01\x01\x84\x02\0\0\xff\xff\x01\x54\x01\0\0\xff\xff\0\x01";
        let found = clientbound(5, "MC|TrList", trades);
        assert_eq!(found["trades"][0]["disabled"], true);
        assert_eq!(found["trades"][0].get("uses"), None);
    }

    #[test]
    fn the_handshakes_of_forge_are_decoded() {
        for (data, message) in [
            (&b"\x00\x01"[..], json!({ "message": "ServerHello", "protocolVersion": 1 })),
            (
                b"\x00\x02\0\0\0\x01",
                json!({ "message": "ServerHello", "protocolVersion": 2, "overrideDimension": 1 }),
            ),
            (b"\x01\x02", json!({ "message": "ClientHello", "protocolVersion": 2 })),
            (
                b"\x02\x01\x03FML\x018",
                json!({ "message": "ModList", "mods": [{ "name": "FML", "version": "8" }] }),
            ),
            (
                b"\x03\0\x01r\x01\x01a\x05\x01\x01s\0",
                json!({
                    "message": "RegistryData", "hasMore": false, "name": "r",
                    "ids": [{ "name": "a", "id": 5 }], "substitutions": ["s"], "dummies": [],
                }),
            ),
            // Of 1.7.
            (
                b"\x03\x01\x01a\x05\x01\x01s\0",
                json!({
                    "message": "ModIdData", "ids": [{ "name": "a", "id": 5 }],
                    "blockSubstitutions": ["s"], "itemSubstitutions": [],
                }),
            ),
            (b"\xff\x02", json!({ "message": "HandshakeAck", "phase": 2 })),
            (b"\xfe", json!({ "message": "HandshakeReset" })),
        ] {
            let mut found = clientbound(47, "FML|HS", data);
            found.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            assert_eq!(found, message);
        }
        let list = b"\x0dfml:handshake\x0c\x01\x01\x01m\x01\x03a:b\x011\0\0";
        let found = clientbound(763, "fml:loginwrapper", list);
        let mods = json!({
            "channel": "fml:handshake", "length": 12, "message": "S2CModList", "mods": ["m"],
            "channels": [{ "name": "a:b", "version": "1" }], "registries": [],
            "dataPackRegistries": [],
        });
        assert_eq!(found, mods);
        let reply = serverbound(404, "", b"\x0dfml:handshake\x07\x02\x01\x01m\0\0");
        assert_eq!((&reply["message"], &reply["mods"]), (&json!("C2SModListReply"), &json!(["m"])));
        let acknowledged = serverbound(404, "", b"\x0dfml:handshake\x01\x63");
        assert_eq!(acknowledged["message"], "C2SAcknowledge");
    }

    #[test]
    fn the_negotiations_of_neoforge_and_fabric_are_decoded() {
        assert_eq!(clientbound(767, "c:version", b"\x02\x01\x02"), json!({ "versions": [1, 2] }));
        assert_eq!(
            serverbound(767, "c:register", b"\x01\x04play\x01\x03a:b"),
            json!({ "version": 1, "phase": "play", "channels": ["a:b"] })
        );
        let query = json!({ "id": "a:b", "version": "1", "flow": "clientbound", "optional": true });
        assert_eq!(
            serverbound(767, "neoforge:register", b"\x01\x01\x01\x03a:b\x01\x011\x01\x01\x01"),
            json!({ "queries": [{ "phase": "play", "channels": [query] }] })
        );
        assert_eq!(
            clientbound(765, "neoforge:register", b"\x00\x01\x03a:b\x01\x011\x01\x01\x01"),
            json!({ "configuration": [], "play": [query] })
        );
    }

    #[test]
    fn payloads_in_parts_are_decoded() {
        let begin = json!({ "channel": "FML|HS", "parts": 2, "length": 40_000_000 });
        let data = b"\x06FML|HS\x02\x02\x62\x5a\x00";
        assert_eq!(clientbound(340, "FML|MP", data), begin);
        let part = decoded(340, Direction::Clientbound, "FML|MP", b"\x01abc");
        assert_eq!(part.get("part").and_then(Value::as_int), Some(1));
        assert_eq!(part.get("data"), Some(&Value::Bytes(b"abc".to_vec().into())));
        for direction in Direction::ALL {
            let first = decoded(765, direction, "neoforge:split", b"\x05\x01\x25abc");
            assert_eq!(first.get("part").and_then(Value::as_text), Some("first"));
            assert_eq!(first.get("packetId").and_then(Value::as_int), Some(0x25));
            let last = decoded(765, direction, "neoforge:split", b"\x03\x02ab");
            assert_eq!(last.get("part").and_then(Value::as_text), Some("last"));
            assert_eq!(last.get("data"), Some(&Value::Bytes(b"ab".to_vec().into())));
        }
    }

    #[test]
    fn payloads_of_forge_for_1_7_have_long_lengths() {
        let protocol = Catalog::embedded().find(5).unwrap().protocol;
        for direction in Direction::ALL {
            let packet = protocol.named(State::Play, direction, "custom_payload").unwrap();
            for (length, prefix) in [
                (40_000usize, &[0x80 | 0x1c, 0x40, 1][..]),
                (32_768, &[0x80, 0, 1]),
                (0x1f_ff9a, &[0xff, 0x9a, 63]),
                // Not as Forge writes it.
                (7, &[0x80, 7, 0]),
            ] {
                let id = u8::try_from(packet.id()).unwrap();
                let body = [&[id][..], b"\x03abc", prefix, &vec![7; length]].concat();
                let value = protocol.decode(packet, &body, 1).unwrap();
                let data = value.get("data").and_then(Value::as_bytes);
                assert_eq!(data.map(|it| it.len()), Some(length));
                assert_eq!(protocol.encode(packet, &value).unwrap(), body);
                assert!(protocol.decode(packet, &body[..body.len() - 1], 1).is_err());
            }
            // As the game has it, and a length that is negative for all.
            let id = u8::try_from(packet.id()).unwrap();
            let body = [&[id][..], b"\x03abc\xff\xff"].concat();
            assert!(protocol.decode(packet, &body, 1).is_err());
        }
    }

    /// Returns what is present of a value.
    fn present(value: Json) -> Json {
        match value {
            Json::Object(fields) => {
                let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
                fields.map(|(name, value)| (name, present(value))).collect()
            }
            value => value,
        }
    }

    #[test]
    fn hosts_of_handshakes_are_taken_apart() {
        let texture = r#"[{"name":"textures","value":"e30=","signature":""}]"#;
        let id = "b50ad385829d3141a2167e7d7539ba7f";
        let bungee = format!("\x00203.0.113.7\0{id}");
        let filter = r"\\ac734797-41b2-458a-962c-f95fc4b0ec52\\198.51.100.7\\";
        for (host, parts) in [
            ("localhost".to_owned(), json!({ "host": "localhost" })),
            ("play.example.com.".into(), json!({ "host": "play.example.com." })),
            ("[2001:db8::1]".into(), json!({ "host": "[2001:db8::1]" })),
            (String::new(), json!({ "host": "" })),
            ("a\0FML\0".into(), json!({ "host": "a", "forge": "FML" })),
            ("a\0FML2\0".into(), json!({ "host": "a", "forge": "FML2" })),
            ("a\0FML3".into(), json!({ "host": "a", "forge": "FML3" })),
            ("a\0FORGE".into(), json!({ "host": "a", "forge": "FORGE" })),
            ("a\0NEOFORGE\0".into(), json!({ "host": "a", "forge": "NEOFORGE" })),
            (
                format!("a{bungee}"),
                json!({ "host": "a", "forwarded": { "address": "203.0.113.7", "uuid": id } }),
            ),
            (
                format!("a{bungee}\0{texture}"),
                json!({ "host": "a", "forwarded": {
                    "address": "203.0.113.7", "uuid": id, "properties": texture,
                } }),
            ),
            (
                format!("a\0FML\0{bungee}"),
                json!({ "host": "a", "forge": "FML",
                    "forwarded": { "address": "203.0.113.7", "uuid": id } }),
            ),
            (
                format!("a\0^Floodgate^>AbC!dEf{bungee}"),
                json!({ "host": "a", "floodgate": "^Floodgate^>AbC!dEf",
                    "forwarded": { "address": "203.0.113.7", "uuid": id } }),
            ),
            (
                "a///203.0.113.7:54321///1700000000///c2ln//bmF0dXJl\0FML\0".into(),
                json!({ "host": "a", "forge": "FML", "shield": {
                    "address": "203.0.113.7:54321", "time": "1700000000",
                    "signature": "c2ln//bmF0dXJl",
                } }),
            ),
            (
                "a///203.0.113.7:54321///1".into(),
                json!({ "host": "a",
                    "shield": { "address": "203.0.113.7:54321", "time": "1" } }),
            ),
            (
                format!("a{filter}"),
                json!({ "host": "a", "filter": {
                    "id": "ac734797-41b2-458a-962c-f95fc4b0ec52", "address": "198.51.100.7",
                } }),
            ),
            ("a;extra".into(), json!({ "host": "a", "rest": [";extra"] })),
            ("a//203.0.113.7".into(), json!({ "host": "a", "rest": ["//203.0.113.7"] })),
            (
                format!("a{bungee}\0[]\0more"),
                json!({ "host": "a", "rest": ["", "more"], "forwarded": {
                    "address": "203.0.113.7", "uuid": id, "properties": "[]",
                } }),
            ),
            // Not the text of a host.
            ("a\x1b[2J".into(), json!(null)),
        ] {
            for version in [5, 47, 765, 777] {
                let protocol = Catalog::embedded().find(version).unwrap().protocol;
                let serverbound = Direction::Serverbound;
                let packet = protocol.named(State::Handshaking, serverbound, "set_protocol");
                let packet = packet.unwrap();
                let value = Value::map([
                    ("protocolVersion", version.into()),
                    ("serverHost", host.as_str().into()),
                    ("serverPort", 25565.into()),
                    ("nextState", 2.into()),
                ]);
                let fields = protocol.encode(packet, &value).unwrap();
                // What mods append to the fields does not matter.
                let longer = [&fields[..], &[7]].concat();
                assert!(protocol.payload(packet, &longer, 1).is_some() || parts.is_null());
                let decoded = protocol.decode_with_payload(packet, &fields, 1).unwrap();
                let payload = decoded.get("payload").map_or(Json::Null, Value::to_json);
                assert_eq!(present(payload), parts, "{host:?}");
                let Some(found) = protocol.payload(packet, &fields, 1) else { continue };
                let Payload { layout, bytes } = &found;
                let read = protocol.decode(layout, &fields[..bytes.end], bytes.start).unwrap();
                let written = protocol.encode_payload(layout, &read).unwrap();
                assert_eq!(written, host.as_bytes(), "{host:?}");
                let has_parts = parts.as_object().is_some_and(|parts| parts.len() > 1);
                assert_eq!(protocol.has_parts(&found, &fields), has_parts, "{host:?}");
            }
        }
    }

    #[test]
    fn the_forwarding_of_velocity_is_decoded_though_responses_name_no_channel() {
        let asked = clientbound(765, "velocity:player_info", b"\x04");
        assert_eq!(asked, json!({ "version": 4 }));
        let mut answer = vec![0xab; 32];
        answer.extend_from_slice(b"\x01\x0b203.0.113.9");
        answer.extend_from_slice(&[7; 16]);
        answer.extend_from_slice(b"\x05Notch\x01\x08textures\x02ab\0");
        let found = decoded(765, Direction::Serverbound, "", &answer);
        assert_eq!(found.get("name").unwrap().as_text(), Some("Notch"));
        assert_eq!(found.get("address").unwrap().as_text(), Some("203.0.113.9"));
        assert_eq!(found.get("signature"), Some(&Value::Bytes(vec![0xab; 32].into())));
        answer.push(0);
        assert_eq!(serverbound(765, "", &answer), Json::Null);
        assert_eq!(serverbound(765, "", b""), Json::Null);
    }
}
