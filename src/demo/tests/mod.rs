//! Whole demos in memory, their wire cut into pieces of a given size, and some over real sockets.

mod replay;
mod sockets;
mod wire;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use self::wire::{START, Wire, bodies, counts, opening};
use super::client::{Client, Visit};
use super::connection::Connection;
use super::message::{Message, Received};
use super::server::Server;
use super::*;
use mitmcraft_engine::capture::Entry;
use mitmcraft_engine::link::{Engine, Input, Side};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

fn client(options: &DemoOptions, visit: Visit) -> Client {
    let report = DemoReport::default();
    Client::new(Arc::new(options.clone()), &opening(), visit, report)
}

fn server(options: &DemoOptions) -> Server {
    Server::new(Arc::new(options.clone()), &opening())
}

/// A client and a server of these options, and what comes of a visit of one to the other.
fn visit(options: &DemoOptions, visit: Visit, size: usize) -> Wire<Client, Server> {
    let mut wire = Wire::new(client(options, visit), server(options), size);
    wire.run();
    wire
}

fn game() -> Wire<Client, Server> {
    visit(&DemoOptions::default(), Visit::Game, usize::MAX)
}

/// Options of a game without encryption and compression.
fn plain() -> DemoOptions {
    DemoOptions { encrypt: false, threshold: None, ..DemoOptions::default() }
}

/// A client of the test's own, and the server that answers it.
struct Manual {
    connection: Connection,
    server: Server,
}

impl Manual {
    fn new(options: &DemoOptions) -> Self {
        Self { connection: Connection::new(Side::Server, &opening()), server: server(options) }
    }

    fn handshake(options: &DemoOptions, version: i32) -> Self {
        let mut manual = Self::new(options);
        let handshake = json!({
            "protocolVersion": version, "serverHost": "x", "serverPort": 1, "nextState": 2,
        });
        manual.send(&Message::new("set_protocol", handshake));
        manual.connection.endpoint.enter(State::Login);
        manual
    }

    fn login(options: &DemoOptions, name: &str) -> Self {
        let mut manual = Self::handshake(options, 47);
        manual.send(&Message::new("login_start", json!({ "username": name })));
        manual
    }

    fn send(&mut self, message: &Message) {
        self.connection.send(message).unwrap();
        let bytes = self.connection.endpoint.pending(Side::Server).to_vec();
        self.connection.endpoint.advance(Side::Server, bytes.len());
        self.handle(Duration::ZERO, Input::Received(Side::Client, &bytes));
    }

    fn handle(&mut self, after: Duration, input: Input<'_>) {
        self.server.handle(START.plus(after), input);
        wire::answer_outputs(&mut self.server, START.plus(after));
    }

    fn receive(&mut self) -> Vec<Received> {
        let bytes = self.server.pending(Side::Client).to_vec();
        self.server.advance(Side::Client, bytes.len());
        self.connection.endpoint.receive(&bytes);
        let mut received = Vec::new();
        while let Some(packet) = self.connection.poll().unwrap() {
            if *packet.name == *"success" {
                self.connection.endpoint.enter(State::Play);
            }
            received.push(packet);
        }
        received
    }

    /// The packets that the server has seen and that cannot be decoded.
    fn undecoded(&mut self) -> usize {
        let mut entries = Vec::new();
        self.server.take_entries(&mut entries);
        undecoded(&entries)
    }
}

fn undecoded(entries: &[Entry]) -> usize {
    wire::packets(entries).filter(|packet| packet.value().is_err()).count()
}

#[test]
fn a_client_sees_the_status_and_the_latency() {
    for size in [1, 7, usize::MAX] {
        let wire = visit(&DemoOptions::default(), Visit::Status, size);
        assert!(wire.server.is_over());
        let packets = wire::packets(&wire.client_entries);
        let names: Vec<String> = packets.map(|it| it.kind().unwrap().name().to_string()).collect();
        assert_eq!(names, ["set_protocol", "ping_start", "server_info", "ping", "ping"]);
        let report = wire.client.finish().unwrap();
        let status: serde_json::Value = serde_json::from_str(&report.status).unwrap();
        assert_eq!(status["version"]["protocol"], 47);
    }
}

#[test]
fn a_whole_game_comes_to_its_end_however_the_wire_is_cut() {
    for (size, encrypt, threshold) in [
        (1, true, Some(256)),
        (7, true, Some(0)),
        (1000, false, Some(64)),
        (usize::MAX, true, None),
        (usize::MAX, false, None),
    ] {
        let options = DemoOptions { encrypt, threshold, ..DemoOptions::default() };
        let wire = visit(&options, Visit::Game, size);
        for direction in Direction::ALL {
            // No `assert_eq`, which would print them all.
            let seen = [&wire.client_entries, &wire.server_entries];
            assert!(bodies(seen[0], direction) == bodies(seen[1], direction), "{direction}");
        }
        assert_eq!(undecoded(&wire.client_entries), 0);
        let received = counts(&wire.client_entries, Direction::Clientbound);
        let sent = counts(&wire.client_entries, Direction::Serverbound);
        let report = wire.client.finish().unwrap();
        assert_eq!((report.encrypted, report.threshold), (encrypt, threshold));
        assert_eq!(report.uuid, "5627dd98-e6be-3c21-b8a8-e92344183641");
        assert_eq!(report.kick.as_deref(), Some("Goodbye, Steve ☃"));
        for text in [
            "Welcome, Steve! Say /bye to leave. Grüße, 你好, мир 🎮☃",
            "<Steve> Hello from the demo!",
            "<Steve> Grüße, 你好, мир, مرحبا ☃",
            "<Steve> 🎮🧱 emoji, too 👋🏽",
            "/bye /help",
        ] {
            assert!(report.chat.iter().any(|it| it == text), "{text} in {:?}", report.chat);
        }
        assert_eq!(report.received, received.values().sum::<u64>());
        assert_eq!(report.sent, sent.values().sum::<u64>());
        assert!(received["keep_alive"] >= 6);
        assert!(sent["keep_alive"] + 1 >= received["keep_alive"]);
        assert_eq!(received["tab_complete"], 2);
    }
}

#[test]
fn the_demo_shows_most_of_what_1_8_has() {
    let wire = game();
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let missing = |direction| {
        let seen = counts(&wire.client_entries, direction);
        let all: BTreeSet<String> = protocol
            .packets()
            .iter()
            .filter(|packet| packet.state() == State::Play && packet.direction() == direction)
            .map(|packet| packet.name().to_string())
            .filter(|name| !seen.contains_key(name))
            .collect();
        all.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        missing(Direction::Clientbound),
        "bed block_action camera close_window craft_progress_bar open_sign_entity open_window \
         resource_pack_send respawn set_compression update_entity_nbt"
    );
    assert_eq!(
        missing(Direction::Serverbound),
        "enchant_item resource_pack_receive set_creative_slot spectate steer_vehicle transaction \
         update_sign"
    );
}

#[test]
fn the_server_replies_to_what_the_player_does() {
    let mut manual = Manual::login(&plain(), "Odd");
    manual.receive();
    let place = json!({ "x": 9, "y": 15, "z": 8 });
    for (name, fields, reply, value) in [
        (
            "chat",
            json!({ "message": "/nope" }),
            "chat",
            json!({
                "message": r#"{"translate":"commands.generic.notFound","color":"red"}"#, "position": 1,
            }),
        ),
        (
            "tab_complete",
            json!({ "text": "/", "block": null }),
            "tab_complete",
            json!({
                "matches": ["/bye", "/help"],
            }),
        ),
        (
            "tab_complete",
            json!({ "text": "hi Al", "block": null }),
            "tab_complete",
            json!({
                "matches": ["Alex"],
            }),
        ),
        (
            "tab_complete",
            json!({ "text": "O", "block": null }),
            "tab_complete",
            json!({
                "matches": ["Odd"],
            }),
        ),
        (
            "block_dig",
            json!({ "status": 2, "location": place, "face": 1 }),
            "block_change",
            json!({
                "location": place, "type": 0,
            }),
        ),
        (
            "block_place",
            json!({
                "location": place, "direction": 1, "heldItem": { "blockId": -1 },
                "cursorX": 8, "cursorY": 15, "cursorZ": 8,
            }),
            "block_change",
            json!({ "location": { "x": 9, "y": 16, "z": 8 }, "type": 0 }),
        ),
        (
            "window_click",
            json!({
                "windowId": 0, "slot": 36, "mouseButton": 0, "action": 7, "mode": 0,
                "item": { "blockId": -1 },
            }),
            "transaction",
            json!({ "windowId": 0, "action": 7, "accepted": true }),
        ),
        (
            "use_entity",
            json!({ "target": 2, "mouse": 1 }),
            "entity_status",
            json!({
                "entityId": 2, "entityStatus": 2,
            }),
        ),
    ] {
        manual.send(&Message::new(name, fields));
        let received = manual.receive();
        assert_eq!(received.len(), 1, "{name}: {received:?}");
        assert_eq!((&*received[0].name, received[0].value.to_json()), (reply, value), "{name}");
    }
    let use_item = json!({
        "location": { "x": -1, "y": -1, "z": -1 }, "direction": -1, "heldItem": { "blockId": -1 },
        "cursorX": 8, "cursorY": 15, "cursorZ": 8,
    });
    manual.send(&Message::new("block_place", use_item));
    assert!(manual.receive().is_empty(), "nothing is placed by using an item");
}

#[test]
fn metadata_of_every_type_and_columns_of_the_right_size_are_among_it() {
    let (mut types, mut columns) = (BTreeSet::new(), 0);
    for packet in wire::packets(&game().client_entries) {
        let (name, value) = (packet.kind().unwrap().name(), packet.value().unwrap());
        if let Some(Value::List(metadata)) = value.get("metadata") {
            types.extend(metadata.iter().map(|it| it.get("type").unwrap().as_int().unwrap()));
        }
        let sections = |it: &Value| it.get("bitMap").unwrap().as_int().unwrap().count_ones();
        let bytes = |name| value.get(name).unwrap().as_bytes().unwrap().len();
        match &**name {
            "map_chunk" => {
                columns += 1;
                assert_eq!(bytes("chunkData"), landscape::column_size(sections(&value)));
            }
            "map_chunk_bulk" => {
                let Some(Value::List(meta)) = value.get("meta") else { panic!("{value:?}") };
                columns += meta.len();
                let sizes = meta.iter().map(|it| landscape::column_size(sections(it)));
                assert_eq!(bytes("data"), sizes.sum::<usize>());
            }
            _ => {}
        }
    }
    assert_eq!(types, (0..8).collect());
    assert_eq!(columns, 25 + 2);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let packets = |seed| {
        let options = DemoOptions { seed, ..DemoOptions::default() };
        let wire = visit(&options, Visit::Game, usize::MAX);
        Direction::ALL.map(|direction| bodies(&wire.client_entries, direction))
    };
    assert!(packets(1) == packets(1));
    assert!(packets(1) != packets(2));
}

#[test]
fn a_client_that_answers_no_keep_alive_is_kicked() {
    let options = plain();
    let mut manual = Manual::login(&options, "Idle");
    manual.handle(Duration::ZERO, Input::Timeout);
    assert!(manual.receive().iter().any(|packet| *packet.name == *"keep_alive"));
    manual.send(&Message::new("keep_alive", json!({ "keepAliveId": -1 })));
    manual.handle(options.timeout, Input::Timeout);
    let received = manual.receive();
    let last = received.last().unwrap();
    assert_eq!(&*last.name, "kick_disconnect");
    assert_eq!(last.text("reason").unwrap(), r#"{"translate":"disconnect.timeout"}"#);
    assert!(manual.server.is_over());
}

#[test]
fn a_player_who_cannot_log_in_is_shown_the_reason() {
    let mut manual = Manual::handshake(&DemoOptions::default(), 760);
    let received = manual.receive();
    assert_eq!(&*received[0].name, "disconnect");
    assert_eq!(
        received[0].text("reason").unwrap(),
        r#"{"text":"This demo speaks Minecraft 1.8."}"#
    );
    for name in ["", "a_name_of_17_chars"] {
        let mut manual = Manual::login(&DemoOptions::default(), name);
        assert_eq!(&*manual.receive()[0].name, "disconnect");
        assert!(manual.server.is_over());
    }
}

#[test]
fn a_wrong_answer_to_the_key_exchange_is_the_same_whatever_is_wrong() {
    for (secret, token) in [(vec![], vec![]), (vec![1; 128], vec![2; 128]), (vec![0; 500], vec![])]
    {
        let mut manual = Manual::login(&DemoOptions::default(), "Eve");
        assert_eq!(&*manual.receive()[0].name, "encryption_begin");
        let answer = Message::new("encryption_begin", json!({}))
            .with_bytes("sharedSecret", secret)
            .with_bytes("verifyToken", token);
        manual.send(&answer);
        let received = manual.receive();
        let reason = received[0].text("reason").unwrap();
        assert_eq!(reason, r#"{"text":"the key exchange failed"}"#);
        assert!(manual.server.is_over());
    }
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    for bytes in [&[0xff; 40][..], b"GET / HTTP/1.1\r\n\r\n", &[0, 0, 0], &[0x05, 0x7f, 0, 0, 0, 0]]
    {
        let options = DemoOptions::default();
        let mut manual = Manual::new(&options);
        manual.handle(Duration::ZERO, Input::Received(Side::Client, bytes));
        manual.handle(options.timeout, Input::Timeout);
        assert!(manual.server.is_over(), "{bytes:?}");
    }
}

#[test]
fn in_the_play_state_packets_that_cannot_be_decoded_are_skipped() {
    let mut manual = Manual::login(&plain(), "Odd");
    manual.receive();
    let bytes = [2, 0x7f, 0x00, 3, 0x03, 0x01, 0x01];
    manual.handle(Duration::ZERO, Input::Received(Side::Client, &bytes));
    manual.send(&Message::new("chat", json!({ "message": "still here" })));
    assert!(manual.receive().iter().any(|packet| *packet.name == *"chat"));
    assert_eq!(manual.undecoded(), 2);
}

#[test]
fn a_server_that_is_silent_or_gone_is_an_error() {
    let options = DemoOptions::default();
    let mut silent = client(&options, Visit::Game);
    silent.handle(START.plus(options.timeout), Input::Timeout);
    assert!(matches!(silent.finish(), Err(DemoError::Silent(State::Login))));
    let mut gone = client(&options, Visit::Game);
    gone.handle(START, Input::Closed(Side::Server));
    assert!(matches!(gone.finish(), Err(DemoError::Closed(State::Login))));
    let nameless = DemoOptions { username: String::new(), ..options };
    let refused = visit(&nameless, Visit::Game, 7).client.finish();
    assert!(matches!(refused, Err(DemoError::Disconnected { state: State::Login, .. })));
}

#[test]
fn a_game_without_time_comes_to_its_end_too() {
    let (tick, duration) = (Duration::ZERO, Duration::ZERO);
    let options = DemoOptions { tick, duration, ..DemoOptions::default() };
    let report = visit(&options, Visit::Game, usize::MAX).client.finish().unwrap();
    assert!(report.kick.is_some());
}

#[test]
fn a_client_that_left_is_sent_nothing() {
    let mut manual = Manual::login(&plain(), "Gone");
    let pending = manual.server.pending(Side::Client).len();
    manual.handle(Duration::ZERO, Input::Closed(Side::Client));
    assert!(manual.server.is_over());
    assert_eq!(manual.server.pending(Side::Client).len(), pending);
}

#[test]
fn a_server_that_does_not_kick_is_an_error() {
    for (kind, farewell) in [(Visit::Game, "see you"), (Visit::Alpha, "/stay")] {
        let options = DemoOptions { farewell: farewell.into(), ..DemoOptions::default() };
        let wire = visit(&options, kind, 1000);
        assert!(matches!(wire.client.finish(), Err(DemoError::NotKicked)), "{kind:?}");
    }
}

#[test]
fn a_game_of_alpha_comes_to_its_end_however_the_wire_is_cut() {
    for size in [1, 7, usize::MAX] {
        let wire = visit(&DemoOptions::default(), Visit::Alpha, size);
        assert!(wire.server.is_over());
        let last = wire.server_entries.last().unwrap();
        assert_eq!(last.context().player.as_deref(), Some("Steve"));
        assert_eq!(undecoded(&wire.client_entries), 0);
        let received = counts(&wire.client_entries, Direction::Clientbound);
        for name in ["map_chunk", "tile_entity_data", "multi_block_change", "keep_alive"] {
            assert!(received.contains_key(name), "{name} {received:?}");
        }
        let seen = [&wire.server_entries, &wire.client_entries]
            .map(|entries| bodies(entries, Direction::Clientbound));
        assert!(seen[0] == seen[1]);
        let report = wire.client.finish().unwrap();
        assert_eq!(report.kick.as_deref(), Some("Goodbye!"));
        assert!(report.chat.contains(&"<Steve> Hello from Alpha! ☃".to_owned()), "{report:?}");
    }
}

#[test]
fn a_player_of_alpha_with_another_protocol_is_shown_the_reason() {
    let mut manual = Manual::new(&DemoOptions::default());
    manual.connection.use_alpha();
    let login = json!({
        "protocolVersion": 6, "username": "Steve", "password": "", "mapSeed": 0, "dimension": 0,
    });
    manual.send(&Message::new("login", login));
    let received = manual.receive();
    assert!(received[0].text("reason").unwrap().contains("protocol 5"), "{received:?}");
    assert!(manual.server.is_over());
}
