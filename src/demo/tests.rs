//! Whole demos in memory, their wire cut into pieces of a given size, and one over real sockets.

mod replay;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::alpha_client::AlphaClient;
use super::alpha_server::AlphaServer;
use super::client::ClientCore;
use super::end::End;
use super::message::{Message, Received};
use super::peer::{self, Input, Peer};
use super::server::{House, ServerCore, ServerKey};
use super::world::{World, column_size};
use super::*;
use crate::link::Upstream;
use crate::ping::Form;
use crate::proxy::{self as ask, Clock};
use crate::query::{Kind, QueryOptions, Stat};
use crate::schema::{Catalog, Direction, State, Value};

fn options() -> DemoOptions {
    DemoOptions { key_seed: Some(7), record: true, ..DemoOptions::default() }
}

fn house(options: &DemoOptions) -> Arc<House> {
    let mut random = ChaCha20Rng::from_seed([3; 32]);
    let key = options.encrypt.then(|| ServerKey::generate(&mut random).unwrap());
    Arc::new(House { options: Arc::new(options.clone()), world: World::new(options.seed), key })
}

fn random() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([9; 32])
}

/// Two ends with a wire between them that carries at most `size` bytes at once, and a clock that
/// jumps to when something is due.
struct Wire<C = ClientCore, S = ServerCore> {
    client: C,
    server: S,
    clock: Duration,
    size: usize,
}

impl Wire {
    fn new(client: ClientCore, options: &DemoOptions, size: usize) -> Self {
        let server = ServerCore::new(house(options), [5; 32]);
        Self { client, server, clock: Duration::ZERO, size }
    }

    fn game(options: &DemoOptions, size: usize) -> Self {
        let given = Arc::new(options.clone());
        let report = DemoReport::default();
        let client = ClientCore::game(given, random(), "localhost", 25565, report);
        Self::new(client, options, size)
    }
}

impl<C: Peer, S: Peer> Wire<C, S> {
    fn run(&mut self) {
        loop {
            while carry(&mut self.client, &mut self.server, self.clock, self.size)
                | carry(&mut self.server, &mut self.client, self.clock, self.size)
            {}
            if self.client.is_over() {
                return;
            }
            if self.server.is_over() {
                self.client.handle(self.clock, Input::Closed);
                return;
            }
            self.clock = self.client.timeout().min(self.server.timeout()).max(self.clock);
            for peer in [&mut self.client as &mut dyn DynPeer, &mut self.server] {
                peer.wake(self.clock);
            }
        }
    }
}

trait DynPeer {
    fn wake(&mut self, now: Duration);
}

impl<P: Peer> DynPeer for P {
    fn wake(&mut self, now: Duration) {
        if now >= self.timeout() {
            self.handle(now, Input::Timeout);
        }
    }
}

fn carry(from: &mut impl Peer, to: &mut impl Peer, now: Duration, size: usize) -> bool {
    let count = from.end().pending().len().min(size);
    to.handle(now, Input::Received(&from.end().pending()[..count]));
    from.end_mut().advance(count);
    count > 0
}

/// What an end of our own says to a server core, and what that answers.
struct Hand {
    end: End,
    server: ServerCore,
}

impl Hand {
    fn new(options: &DemoOptions) -> Self {
        let server = ServerCore::new(house(options), [5; 32]);
        Self { end: End::new(Direction::Serverbound, false), server }
    }

    fn shake(options: &DemoOptions, version: i32, next: i32) -> Self {
        let mut hand = Self::new(options);
        let handshake = json!({
            "protocolVersion": version, "serverHost": "x", "serverPort": 1, "nextState": next,
        });
        hand.say(&Message::new("set_protocol", handshake));
        hand.end.set_state(if next == 1 { State::Status } else { State::Login });
        hand
    }

    fn say(&mut self, message: &Message) {
        self.end.send(message).unwrap();
        self.carry();
    }

    fn carry(&mut self) {
        let bytes = self.end.pending().to_vec();
        self.end.advance(bytes.len());
        self.server.handle(Duration::ZERO, Input::Received(&bytes));
    }

    fn hear(&mut self) -> Vec<Received> {
        let bytes = self.server.end().pending().to_vec();
        self.server.end_mut().advance(bytes.len());
        self.end.receive(&bytes);
        let mut heard = Vec::new();
        while let Some(packet) = self.end.poll().unwrap() {
            if *packet.name == *"success" {
                self.end.set_state(State::Play);
            }
            heard.push(packet);
        }
        heard
    }
}

/// The bodies of one direction of a connection.
fn bodies(packets: &[DemoPacket], connection: usize, direction: Direction) -> Vec<&DemoPacket> {
    let of =
        |packet: &&DemoPacket| packet.connection == connection && packet.direction == direction;
    packets.iter().filter(of).collect()
}

#[test]
fn a_client_sees_the_status_and_the_latency() {
    for size in [1, 7, usize::MAX] {
        let given = Arc::new(options());
        let client = ClientCore::status(given, random(), "localhost", 25565);
        let mut wire = Wire::new(client, &options(), size);
        wire.run();
        assert!(wire.server.is_over());
        let report = wire.client.finish(0).unwrap();
        let status: serde_json::Value = serde_json::from_str(&report.status).unwrap();
        assert_eq!(status["version"]["protocol"], 47);
        let names: Vec<&str> = report.packets.iter().filter_map(|it| it.name.as_deref()).collect();
        assert_eq!(names, ["set_protocol", "ping_start", "server_info", "ping", "ping"]);
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
        let options = DemoOptions { encrypt, threshold, ..options() };
        let mut wire = Wire::game(&options, size);
        wire.run();
        let server = wire.server.end_mut().take_packets(1);
        let report = wire.client.finish(1).unwrap();
        assert_eq!((report.encrypted, report.threshold), (encrypt, threshold));
        assert_eq!(report.uuid, "5627dd98-e6be-3c21-b8a8-e92344183641");
        assert_eq!(report.kick.as_deref(), Some("Goodbye, Steve ☃"));
        assert_eq!(report.undecoded, 0);
        for text in [
            "Welcome, Steve! Say /bye to leave. Grüße, 你好, мир 🎮☃",
            "<Steve> Hello from the demo!",
            "<Steve> Grüße, 你好, мир, مرحبا ☃",
            "<Steve> 🎮🧱 emoji, too 👋🏽",
            "/bye /help",
        ] {
            assert!(report.chat.iter().any(|it| it == text), "{text} in {:?}", report.chat);
        }
        assert!(report.received["keep_alive"] >= 6);
        assert!(report.sent["keep_alive"] + 1 >= report.received["keep_alive"]);
        assert_eq!(report.received["tab_complete"], 2);
        for direction in Direction::ALL {
            // No `assert_eq`, which would print them all.
            assert!(bodies(&server, 1, direction) == bodies(&report.packets, 1, direction));
        }
    }
}

#[test]
fn the_demo_shows_most_of_what_1_8_has() {
    let mut wire = Wire::game(&options(), usize::MAX);
    wire.run();
    let report = wire.client.finish(1).unwrap();
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let all = |direction| {
        let packets = protocol.packets().iter();
        packets
            .filter(move |packet| packet.state() == State::Play && packet.direction() == direction)
            .map(|packet| packet.name().to_string())
            .collect::<BTreeSet<_>>()
    };
    let missing = |seen: &std::collections::BTreeMap<_, _>, direction| {
        let seen: BTreeSet<String> = seen.keys().map(ToString::to_string).collect();
        all(direction).difference(&seen).cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        missing(&report.received, Direction::Clientbound),
        "bed block_action camera close_window craft_progress_bar open_sign_entity open_window \
         resource_pack_send respawn set_compression update_entity_nbt"
    );
    assert_eq!(
        missing(&report.sent, Direction::Serverbound),
        "enchant_item resource_pack_receive set_creative_slot spectate steer_vehicle transaction \
         update_sign"
    );
}

#[test]
fn metadata_of_every_type_and_columns_of_the_right_size_are_among_it() {
    let mut wire = Wire::game(&options(), usize::MAX);
    wire.run();
    let report = wire.client.finish(1).unwrap();
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let (mut types, mut columns) = (BTreeSet::new(), 0);
    for packet in bodies(&report.packets, 1, Direction::Clientbound) {
        let (kind, start) =
            protocol.identify(packet.state, packet.direction, &packet.body).unwrap();
        let value = protocol.decode(kind, &packet.body, start).unwrap();
        if let Some(Value::List(metadata)) = value.get("metadata") {
            types.extend(metadata.iter().map(|it| it.get("type").unwrap().as_int().unwrap()));
        }
        let sections = |it: &Value| it.get("bitMap").unwrap().as_int().unwrap().count_ones();
        match &**kind.name() {
            "map_chunk" => {
                columns += 1;
                let data = value.get("chunkData").unwrap().as_bytes().unwrap();
                assert_eq!(data.len(), column_size(sections(&value) as usize));
            }
            "map_chunk_bulk" => {
                let Some(Value::List(meta)) = value.get("meta") else { panic!("{value:?}") };
                columns += meta.len();
                let sizes = meta.iter().map(|it| column_size(sections(it) as usize));
                assert_eq!(
                    value.get("data").unwrap().as_bytes().unwrap().len(),
                    sizes.sum::<usize>()
                );
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
        let mut wire = Wire::game(&DemoOptions { seed, ..options() }, usize::MAX);
        wire.run();
        wire.client.finish(1).unwrap().packets
    };
    assert!(packets(1) == packets(1));
    assert!(packets(1) != packets(2));
}

#[test]
fn a_client_that_answers_no_keep_alive_is_kicked() {
    let options = DemoOptions { encrypt: false, threshold: None, ..options() };
    let mut hand = Hand::shake(&options, 47, 2);
    hand.say(&Message::new("login_start", json!({ "username": "Idle" })));
    hand.server.handle(Duration::ZERO, Input::Timeout);
    assert!(hand.hear().iter().any(|packet| *packet.name == *"keep_alive"));
    let wrong = json!({ "keepAliveId": -1 });
    hand.say(&Message::new("keep_alive", wrong));
    hand.server.handle(options.timeout, Input::Timeout);
    let heard = hand.hear();
    let last = heard.last().unwrap();
    assert_eq!(&*last.name, "kick_disconnect");
    assert_eq!(last.text("reason").unwrap(), r#"{"translate":"disconnect.timeout"}"#);
    assert!(hand.server.is_over());
}

#[test]
fn who_cannot_log_in_is_told_why() {
    let mut hand = Hand::shake(&options(), 760, 2);
    let heard = hand.hear();
    assert_eq!(&*heard[0].name, "disconnect");
    for name in ["", "a_name_of_17_chars"] {
        let mut hand = Hand::shake(&options(), 47, 2);
        hand.say(&Message::new("login_start", json!({ "username": name })));
        assert_eq!(&*hand.hear()[0].name, "disconnect");
        assert!(hand.server.is_over());
    }
}

#[test]
fn a_wrong_answer_to_the_key_exchange_is_the_same_whatever_is_wrong() {
    for (secret, token) in [(vec![], vec![]), (vec![1; 128], vec![2; 128]), (vec![0; 500], vec![])]
    {
        let mut hand = Hand::shake(&options(), 47, 2);
        hand.say(&Message::new("login_start", json!({ "username": "Eve" })));
        assert_eq!(&*hand.hear()[0].name, "encryption_begin");
        let answer = Message::new("encryption_begin", json!({}))
            .with_bytes("sharedSecret", secret)
            .with_bytes("verifyToken", token);
        hand.say(&answer);
        let heard = hand.hear();
        let reason = heard[0].text("reason").unwrap();
        assert_eq!(reason, r#"{"text":"the key exchange failed","color":"red"}"#);
        assert!(hand.server.is_over());
    }
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    for bytes in [&[0xff; 40][..], b"GET / HTTP/1.1\r\n\r\n", &[0, 0, 0], &[0x05, 0x7f, 0, 0, 0, 0]]
    {
        let mut hand = Hand::new(&options());
        hand.server.handle(Duration::ZERO, Input::Received(bytes));
        hand.server.handle(options().timeout, Input::Timeout);
        assert!(hand.server.is_over(), "{bytes:?}");
    }
}

#[test]
fn in_the_game_a_packet_that_does_not_decode_is_passed_over() {
    let options = DemoOptions { encrypt: false, threshold: None, ..options() };
    let mut hand = Hand::shake(&options, 47, 2);
    hand.say(&Message::new("login_start", json!({ "username": "Odd" })));
    hand.hear();
    hand.server.handle(Duration::ZERO, Input::Received(&[2, 0x7f, 0x00, 3, 0x03, 0x01, 0x01]));
    hand.say(&Message::new("chat", json!({ "message": "still here" })));
    assert!(hand.hear().iter().any(|packet| *packet.name == *"chat"));
    assert_eq!(hand.server.end().counts().2, 2);
}

#[test]
fn a_server_that_is_silent_or_gone_is_an_error() {
    let given = Arc::new(options());
    let client = || {
        let report = DemoReport::default();
        ClientCore::game(Arc::clone(&given), random(), "localhost", 1, report)
    };
    let mut silent = client();
    silent.handle(given.timeout, Input::Timeout);
    assert!(matches!(silent.finish(1), Err(DemoError::Silent(State::Login))));
    let mut gone = client();
    gone.handle(Duration::ZERO, Input::Closed);
    assert!(matches!(gone.finish(1), Err(DemoError::Closed(State::Login))));
    let mut wire = Wire::game(&DemoOptions { username: String::new(), ..options() }, 7);
    wire.run();
    let refused = wire.client.finish(1);
    assert!(matches!(refused, Err(DemoError::Disconnected { state: State::Login, .. })));
}

#[test]
fn a_game_without_time_comes_to_its_end_too() {
    let (tick, duration) = (Duration::ZERO, Duration::ZERO);
    let mut wire = Wire::game(&DemoOptions { tick, duration, ..options() }, usize::MAX);
    wire.run();
    assert!(wire.client.finish(1).unwrap().kick.is_some());
}

#[test]
fn a_client_that_leaves_is_not_talked_after() {
    let options = DemoOptions { encrypt: false, ..options() };
    let mut hand = Hand::shake(&options, 47, 2);
    hand.say(&Message::new("login_start", json!({ "username": "Gone" })));
    let told = hand.server.end().pending().len();
    hand.server.handle(Duration::ZERO, Input::Closed);
    assert!(hand.server.is_over());
    assert_eq!(hand.server.end().pending().len(), told);
}

#[test]
fn a_server_that_does_not_kick_is_an_error() {
    let mut wire = Wire::game(&DemoOptions { farewell: "see you".into(), ..options() }, 1000);
    wire.run();
    assert!(matches!(wire.client.finish(1), Err(DemoError::NotKicked)));
}

#[tokio::test]
async fn plays_over_real_sockets_and_both_ends_saw_the_same() {
    let options = DemoOptions {
        tick: Duration::from_millis(5),
        keep_alive: Duration::from_millis(50),
        duration: Duration::from_millis(300),
        ..options()
    };
    let server = DemoServer::bind("127.0.0.1:0", options.clone()).await.unwrap();
    let address = server.local_addr();
    let (first, second) = tokio::join!(play(address, options.clone()), play(address, options));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.kick.as_deref(), Some("Goodbye, Steve ☃"));
    // What the server says by itself and what it answers can come in either order.
    let said = |report: &DemoReport| {
        let mut lines = report.chat.clone();
        lines.sort();
        lines
    };
    assert_eq!(said(&first), said(&second));

    let visits = server.stop().await;
    assert_eq!(visits.len(), 4);
    let games: Vec<&DemoVisit> = visits.iter().filter(|visit| visit.player.is_some()).collect();
    for direction in Direction::ALL {
        for report in [&first, &second] {
            let ours: Vec<_> = bodies(&report.packets, 1, direction);
            let same = |visit: &&&DemoVisit| {
                let theirs = bodies(&visit.packets, visit.connection, direction);
                theirs.len() == ours.len()
                    && theirs.iter().zip(&ours).all(|(theirs, ours)| theirs.body == ours.body)
            };
            assert!(games.iter().any(|visit| same(&visit)), "{direction}");
        }
    }
}

#[tokio::test]
async fn a_server_that_stops_kicks_its_players() {
    let options = DemoOptions { duration: Duration::from_secs(60), encrypt: false, ..options() };
    let server = DemoServer::bind("127.0.0.1:0", options.clone()).await.unwrap();
    let mut socket = TcpStream::connect(server.local_addr()).await.unwrap();
    let report = DemoReport::default();
    let mut client = ClientCore::game(Arc::new(options), random(), "localhost", 1, report);
    while client.end().state() != State::Play {
        let sent = client.end().pending().to_vec();
        socket.write_all(&sent).await.unwrap();
        client.end_mut().advance(sent.len());
        let mut buffer = [0; 100];
        let count = socket.read(&mut buffer).await.unwrap();
        client.handle(Duration::ZERO, Input::Received(&buffer[..count]));
    }
    let play_on = async {
        peer::run(&mut client, &mut socket).await;
        peer::close(&mut client, socket).await;
    };
    tokio::join!(server.stop(), play_on);
    let error = client.finish(1).unwrap_err();
    assert!(matches!(error, DemoError::Disconnected { state: State::Play, .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_at_the_address_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert!(matches!(play(address, options()).await, Err(DemoError::Connect(_))));
}

#[test]
fn a_game_of_alpha_comes_to_its_end_however_the_wire_is_cut() {
    for size in [1, 7, usize::MAX] {
        let given = Arc::new(options());
        let server = AlphaServer::new(Arc::clone(&given));
        let client = AlphaClient::new(given);
        let mut wire = Wire { client, server, clock: Duration::ZERO, size };
        wire.run();
        assert!(wire.server.is_over());
        assert_eq!(wire.server.player(), Some("Steve"));
        let report = wire.client.finish().unwrap();
        assert_eq!((report.kick.as_deref(), report.undecoded), (Some("Goodbye!"), 0));
        assert!(report.chat.contains(&"<Steve> Hello from Alpha! ☃".to_owned()), "{report:?}");
        for name in ["map_chunk", "tile_entity_data", "multi_block_change", "keep_alive"] {
            assert!(report.received.contains_key(name), "{name} {:?}", report.received);
        }
        let sent = wire.server.end_mut().take_packets(0);
        let theirs = bodies(&sent, 0, Direction::Clientbound).into_iter().map(|it| &it.body);
        let ours = bodies(&report.packets, 0, Direction::Clientbound);
        assert!(theirs.eq(ours.into_iter().map(|it| &it.body)));
    }
}

#[test]
fn a_player_of_alpha_with_another_protocol_is_told_so() {
    let mut server = AlphaServer::new(Arc::new(options()));
    let mut end = End::alpha(Direction::Serverbound, false);
    let login = json!({
        "protocolVersion": 6, "username": "Steve", "password": "", "mapSeed": 0, "dimension": 0,
    });
    end.send(&Message::new("login", login)).unwrap();
    server.handle(Duration::ZERO, Input::Received(end.pending()));
    end.receive(server.end().pending());
    let told = end.poll().unwrap().unwrap();
    assert!(told.text("reason").unwrap().contains("protocol 5"), "{told:?}");
    assert!(server.is_over());
}

#[test]
fn a_server_of_alpha_that_does_not_kick_is_found_out() {
    let given = DemoOptions { farewell: "/stay".into(), ..options() };
    let given = Arc::new(given);
    let server = AlphaServer::new(Arc::clone(&given));
    let mut wire =
        Wire { client: AlphaClient::new(given), server, clock: Duration::ZERO, size: usize::MAX };
    wire.run();
    assert!(matches!(wire.client.finish(), Err(DemoError::NotKicked)));
}

#[tokio::test]
async fn one_port_answers_every_ping_query_and_a_player_of_alpha() {
    let options = DemoOptions { tick: Duration::from_millis(1), ..options() };
    let options = DemoOptions { duration: Duration::from_millis(20), ..options };
    let server = DemoServer::bind("127.0.0.1:0", options.clone()).await.unwrap();
    let address = server.local_addr();
    let upstream = Upstream { host: address.ip().to_string(), port: address.port() };
    let clock = Clock::new();
    for form in Form::ALL {
        let status = ask::ping(&clock, &upstream, form, options.timeout).await.unwrap();
        assert!(status.motd().plain().starts_with("mitmcraft demo"), "{form}: {status:?}");
        assert_eq!((status.online, status.max), (Some(2), Some(20)));
    }
    let stat = ask::query(&clock, &upstream, Kind::Full, QueryOptions::default()).await.unwrap();
    let Stat::Full(stat) = stat else { panic!("{stat:?}") };
    assert_eq!(stat.players, ["Alex", "Steffi"]);
    assert!(stat.values.contains(&("hostport".into(), address.port().to_string())));
    let report = play_alpha(address, options).await.unwrap();
    assert_eq!(report.kick.as_deref(), Some("Goodbye!"));
    let visits = server.stop().await;
    let players: Vec<_> = visits.iter().filter_map(|visit| visit.player.as_deref()).collect();
    assert_eq!(players, ["Steve"]);
}
