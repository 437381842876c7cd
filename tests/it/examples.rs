//! The filter of `examples/shout.rs` in sessions of every version.

use std::sync::Arc;

use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::link::{Engine as _, Input, Side, Upstream};
use mitmcraft_engine::session::{Config, Session, Start};
use mitmcraft_protocol::codec::{Frame, Leg, Unit};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, EncodeCause, Family, Protocol, State, Value};
use serde_json::{Value as Json, json};

use Direction::{Clientbound, Serverbound};

#[expect(dead_code, reason = "the test does without its `main`")]
#[path = "../../examples/shout.rs"]
mod shout;

// The filter encoded the message alone, which fails since 1.19, where chat has more fields.
#[test]
fn players_shout_in_every_version() {
    let catalog = Catalog::embedded();
    let newest = catalog.newest_release().unwrap();
    let mut shouted = Vec::new();
    for protocol in catalog.protocols().filter(|it| it.family() == Family::Java) {
        let version = protocol.version();
        let mut game = Game::start(protocol);
        let [said, in_capitals] = ["Hello!", "HELLO!"].map(|it| game.chat_body(it, None));
        game.client_sends(&said);
        assert_eq!(game.server_got(), [in_capitals], "{version}");
        shouted.push(version);
    }
    assert!([47, newest].iter().all(|version| shouted.contains(version)), "{shouted:?}");
}

#[test]
fn commands_of_1_8_stay_as_they_are() {
    let mut game = Game::start(&Catalog::embedded().find(47).unwrap().protocol);
    let command = game.chat_body("/tp Steve", None);
    game.client_sends(&command);
    assert_eq!(game.server_got(), [command]);
}

#[test]
fn signed_chat_is_in_capitals_unless_the_server_enforces_signatures() {
    let newest = Catalog::embedded().newest_release().unwrap();
    let protocol = Catalog::embedded().find(newest).unwrap().protocol;
    for enforces in [false, true] {
        let mut game = Game::start(&protocol);
        let join = game.body(State::Play, Clientbound, "login", &join(enforces));
        game.server_sends(&join);
        let key = json!({
            "sessionUUID": UUID, "expireTime": 1, "publicKey": "AQ==", "signature": "AQ==",
        });
        let key = game.body(State::Play, Serverbound, "chat_session_update", &key);
        game.client_sends(&key);
        let signature = "A".repeat(342) + "==";
        let [said, in_capitals] = ["hello", "HELLO"].map(|it| game.chat_body(it, Some(&signature)));
        game.client_sends(&said);
        let expected = if enforces { vec![key, said] } else { vec![in_capitals] };
        assert_eq!(game.server_got(), expected, "enforces: {enforces}");
    }
}

/// A session of one version in the state Play, and the server's end of it.
struct Game {
    session: Session,
    protocol: Arc<Protocol>,
    server: Leg,
}

impl Game {
    fn start(protocol: &Arc<Protocol>) -> Self {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(shout::Shout));
        let upstream = Upstream { host: "mc.example.org".into(), port: 25565 };
        let client = ([127, 0, 0, 1], 50000).into();
        let start = Start { session: 1, at: AT, client, upstream };
        let session = Session::new(Arc::new(Config::default()), start, pipeline).unwrap();
        let mut game = Self { session, protocol: Arc::clone(protocol), server: Leg::default() };
        game.session.handle(AT, Input::Connected(([127, 0, 0, 1], 25565).into()));
        let handshake = json!({
            "protocolVersion": protocol.version(), "serverHost": "localhost", "serverPort": 25566,
            "nextState": 2,
        });
        game.send(State::Handshaking, Serverbound, "set_protocol", &handshake);
        let login = json!({ "username": "Steve", "signature": null, "playerUUID": UUID });
        game.send(State::Login, Serverbound, "login_start", &login);
        let success = json!({
            "uuid": UUID, "username": "Steve", "properties": [], "strictErrorHandling": false,
            "sessionId": UUID,
        });
        game.send(State::Login, Clientbound, "success", &success);
        if protocol.named(State::Login, Serverbound, "login_acknowledged").is_some() {
            game.send(State::Login, Serverbound, "login_acknowledged", &json!({}));
            for direction in Direction::ALL {
                game.send(State::Configuration, direction, "finish_configuration", &json!({}));
            }
        }
        game.server_got();
        game
    }

    fn send(&mut self, state: State, direction: Direction, name: &str, fields: &Json) {
        let body = self.body(state, direction, name, fields);
        match direction {
            Serverbound => self.client_sends(&body),
            Clientbound => self.server_sends(&body),
        }
    }

    fn client_sends(&mut self, body: &[u8]) {
        let frame = Frame::from_body(body.to_vec().into());
        self.session.handle(AT, Input::Received(Side::Client, frame.wire()));
    }

    fn server_sends(&mut self, body: &[u8]) {
        let frame = Frame::from_body(body.to_vec().into());
        self.session.handle(AT, Input::Received(Side::Server, frame.wire()));
    }

    /// Returns the bodies of the packets that the server has received since the last call.
    fn server_got(&mut self) -> Vec<Vec<u8>> {
        let sent = self.session.pending(Side::Server).to_vec();
        self.session.advance(Side::Server, sent.len());
        self.server.decoder.receive(&sent);
        let mut bodies = Vec::new();
        while let Some(unit) = self.server.decoder.poll() {
            let Unit::Frame(frame) = unit else { panic!("{unit:?}") };
            bodies.push(frame.body().unwrap().to_vec());
        }
        bodies
    }

    /// Encodes a packet with those of the fields that this version has.
    fn body(&self, state: State, direction: Direction, name: &str, fields: &Json) -> Vec<u8> {
        let packet = self.protocol.named(state, direction, name).unwrap();
        let mut fields = fields.clone();
        loop {
            match self.protocol.encode(packet, &Value::from_json(&fields)) {
                Ok(body) => return body,
                Err(error) if error.cause == EncodeCause::UnknownField => {
                    fields.as_object_mut().unwrap().remove(&*error.path).unwrap();
                }
                Err(error) => panic!("{}: {name}: {error}", self.protocol.name()),
            }
        }
    }

    /// Encodes a message, with the signature in base64.
    fn chat_body(&self, text: &str, signature: Option<&str>) -> Vec<u8> {
        let unsigned = if self.protocol.version() < 761 { json!("") } else { Json::Null };
        let fields = json!({
            "message": text, "timestamp": 1_700_000_000_000_i64, "salt": -5,
            "signature": signature.map_or(unsigned, Json::from),
            "signedPreview": false, "previousMessages": [], "lastRejectedMessage": null,
            "offset": 3, "acknowledged": "AQID", "checksum": 7,
        });
        let name = ["chat_message", "chat"]
            .into_iter()
            .find(|name| self.protocol.named(State::Play, Serverbound, name).is_some());
        self.body(State::Play, Serverbound, name.unwrap(), &fields)
    }
}

/// Returns the fields of the packet with which the newest version's game begins.
fn join(enforces_secure_chat: bool) -> Json {
    json!({
        "entityId": 1, "isHardcore": false, "worldNames": [], "maxPlayers": 20, "viewDistance": 8,
        "simulationDistance": 8, "reducedDebugInfo": false, "enableRespawnScreen": true,
        "doLimitedCrafting": false, "onlineMode": true,
        "worldState": {
            "dimension": 0, "name": "minecraft:overworld", "hashedSeed": 1, "gamemode": "survival",
            "previousGamemode": 255, "isDebug": false, "isFlat": false, "death": null,
            "portalCooldown": 0, "seaLevel": 63,
        },
        "enforcesSecureChat": enforces_secure_chat,
    })
}

const AT: Timestamp = Timestamp(1_700_000_000_000_000_000);
const UUID: &str = "b50ad385-829d-3141-a216-7e7d7539ba7f";
