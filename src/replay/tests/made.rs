//! Recordings made by the tests: of Alpha, and of a version with a configuration state.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use super::pair::{Pair, SIZES, client, client_options, game, reason, server, server_options};
use super::*;
use crate::codec::Frame;
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::replay::framed::framed;
use crate::replay::{Pace, Tally};
use crate::schema::{Direction, Protocol, State, Value};

/// Records a made session, packet by packet.
struct Scribe {
    context: Arc<Context>,
    entries: Vec<Entry>,
}

impl Scribe {
    fn new(protocol: Arc<Protocol>) -> Self {
        let context = Context {
            session: 1,
            opened: Timestamp(0),
            client: ([127, 0, 0, 1], 1).into(),
            server: Some(([127, 0, 0, 1], 2).into()),
            upstream: "localhost:2".into(),
            player: Some("Steve".into()),
            version: Some(protocol.version()),
            protocol,
            guess: false,
        };
        Self { context: Arc::new(context), entries: Vec::new() }
    }

    fn body(&mut self, direction: Direction, state: State, body: Vec<u8>) {
        let seq = self.entries.len() as u64 + 1;
        let frame: Frame = framed(&self.context.protocol, Bytes::from(body));
        let at = Timestamp(0).plus(Duration::from_millis(seq));
        let context = Arc::clone(&self.context);
        let packet = Packet::new(context, seq, at, direction, state, Content::Frame(frame));
        self.entries.push(Entry::Packet(Record::passed(packet)));
    }

    fn say<const N: usize>(
        &mut self,
        direction: Direction,
        state: State,
        name: &str,
        fields: [(&str, Value); N],
    ) {
        let protocol = Arc::clone(&self.context.protocol);
        let packet = protocol.named(state, direction, name).unwrap();
        let body = protocol.encode(packet, &Value::map(fields)).unwrap();
        self.body(direction, state, body);
    }

    fn recording(&self) -> Arc<Recording> {
        Arc::new(Recording::read(self.entries.clone().into_iter().map(Ok), None).unwrap())
    }
}

use Direction::{Clientbound, Serverbound};

/// Returns the bodies of all packets that a version of Alpha has in the golden file, without those of
/// the login.
fn goldens(version: i64) -> HashMap<Direction, Vec<Vec<u8>>> {
    let file: toml::Table = include_str!("../../../tests/golden/alpha.toml").parse().unwrap();
    let mut all: HashMap<Direction, Vec<_>> = HashMap::new();
    for packet in file["packet"].as_array().unwrap() {
        let name = packet["name"].as_str().unwrap();
        let [first, last] = [0, 1].map(|it| packet["versions"][it].as_integer().unwrap());
        let direction = packet["direction"].as_str().unwrap().parse().unwrap();
        let apart = ["login", "handshake", "kick_disconnect", "keep_alive"];
        if !(first..=last).contains(&version) || apart.contains(&name) {
            continue;
        }
        for case in packet["case"].as_array().unwrap() {
            let digits = case["hex"].as_str().unwrap().replace(' ', "");
            let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            let body = (0..digits.len()).step_by(2).map(byte).collect();
            all.entry(direction).or_default().push(body);
        }
    }
    all
}

/// Makes a session of Alpha with every packet type, ended by a kick.
fn alpha(version: i32) -> Scribe {
    let mut scribe = Scribe::new(Catalog::embedded().alpha(version).protocol);
    let play = State::Play;
    scribe.say(Serverbound, play, "handshake", [("username", "Steve".into())]);
    scribe.say(Clientbound, play, "handshake", [("connectionHash", "-".into())]);
    let mut login = vec![
        ("protocolVersion", Value::from(version)),
        ("username", "Steve".into()),
        ("password", "Password".into()),
    ];
    if version >= 3 {
        login.extend([("mapSeed", Value::Int(0)), ("dimension", Value::Int(0))]);
    }
    let protocol = Arc::clone(&scribe.context.protocol);
    let packet = protocol.named(play, Serverbound, "login").unwrap();
    scribe.body(Serverbound, play, protocol.encode(packet, &Value::map(login)).unwrap());
    let mut answer =
        vec![("entityId", Value::Int(7)), ("serverName", "".into()), ("motd", "".into())];
    if version >= 3 {
        answer.extend([("mapSeed", Value::Int(-5)), ("dimension", Value::Int(-1))]);
    }
    let packet = protocol.named(play, Clientbound, "login").unwrap();
    scribe.body(Clientbound, play, protocol.encode(packet, &Value::map(answer)).unwrap());
    let mut goldens = goldens(version.into());
    for direction in [Clientbound, Serverbound] {
        for body in goldens.remove(&direction).unwrap() {
            scribe.body(direction, play, body);
        }
    }
    scribe.say(Clientbound, play, "keep_alive", []);
    scribe.say(Clientbound, play, "kick_disconnect", [("reason", "bye".into())]);
    scribe
}

#[test]
fn both_ends_see_a_session_of_every_version_of_alpha() {
    for version in 1..=6 {
        let scribe = alpha(version);
        let recording = scribe.recording();
        for size in SIZES {
            let tally = Tally::default();
            let options = server_options(Arc::clone(&recording), Pace::LOCKSTEP);
            let client_options = client_options(Arc::clone(&recording));
            let mut pair =
                Pair::new(server(options, &tally), client(client_options, "Alex", &tally), size);
            pair.run();
            // The greeting is the live one, and the server's as recorded.
            let came = game(&pair.client_entries, Clientbound);
            assert_eq!(came, game(&scribe.entries, Clientbound), "version {version}");
            // Where the client is it says by itself.
            let without_movement = |entries: &[Entry]| {
                let all = game(entries, Serverbound).into_iter();
                let names = ["flying", "position", "look", "position_look", "login", "handshake"];
                all.filter(|(name, _)| !names.contains(&&**name)).collect::<Vec<_>>()
            };
            assert_eq!(
                without_movement(&pair.server_entries),
                without_movement(&scribe.entries),
                "version {version}"
            );
            let login = pair.server_entries.iter().filter_map(record);
            let login = login.filter(|it| it.packet.direction == Serverbound);
            let login = login.filter(|it| name(it) == "login").map(|it| text(it, "username"));
            assert_eq!(login.collect::<Vec<_>>(), ["Alex"]);
            assert_eq!(reason(&pair.client_entries), "disconnected by the server: bye");
            let counted = tally.counted();
            assert_eq!((counted.sessions, counted.finished, counted.missed), (2, 2, 0));
            let undecoded = pair.server_entries.iter().filter_map(record);
            assert_eq!(undecoded.filter(|it| it.packet.error().is_some()).count(), 0);
        }
    }
}

#[test]
fn a_client_of_another_alpha_is_told() {
    let tally = Tally::default();
    let options = server_options(alpha(6).recording(), Pace::ASAP);
    let other = client_options(alpha(2).recording());
    let mut pair = Pair::new(server(options, &tally), client(other, "Alex", &tally), 1);
    pair.run();
    let reason = reason(&pair.client_entries);
    assert!(reason.contains("(protocol 6), and your client speaks protocol 2"), "{reason}");
}

#[test]
fn a_client_of_today_is_told_that_the_recording_is_of_alpha() {
    let tally = Tally::default();
    let options = server_options(alpha(6).recording(), Pace::ASAP);
    let today = client_options(recording("session-1.8.jsonl"));
    let mut pair = Pair::new(server(options, &tally), client(today, "Alex", &tally), 7);
    pair.run();
    let reason = reason(&pair.client_entries);
    assert!(reason.contains("(protocol 6), and your client speaks 1.8"), "{reason}");
}

/// Makes a session of 1.20.4: the configuration, the game, and both again.
fn modern() -> Scribe {
    let mut scribe = Scribe::new(Catalog::embedded().find(765).unwrap().protocol);
    let (login, configuration, play) = (State::Login, State::Configuration, State::Play);
    let uuid = Value::Uuid(5);
    scribe.say(
        Serverbound,
        login,
        "login_start",
        [("username", "Steve".into()), ("playerUUID", uuid.clone())],
    );
    let properties = Value::List(Vec::new());
    scribe.say(
        Clientbound,
        login,
        "success",
        [("uuid", uuid), ("username", "Steve".into()), ("properties", properties)],
    );
    scribe.say(Serverbound, login, "login_acknowledged", []);
    let settings = [
        ("locale", Value::from("en_US")),
        ("viewDistance", 8.into()),
        ("chatFlags", 0.into()),
        ("chatColors", Value::Bool(true)),
        ("skinParts", 127.into()),
        ("mainHand", 1.into()),
        ("enableTextFiltering", Value::Bool(false)),
        ("enableServerListing", Value::Bool(true)),
    ];
    let round = |scribe: &mut Scribe, number: i32| {
        scribe.say(Serverbound, configuration, "settings", settings.clone());
        scribe.say(Clientbound, configuration, "ping", [("id", number.into())]);
        scribe.say(Serverbound, configuration, "pong", [("id", number.into())]);
        scribe.say(Clientbound, configuration, "finish_configuration", []);
        scribe.say(Serverbound, configuration, "finish_configuration", []);
        let health = [
            ("health", Value::Float64(20.0)),
            ("food", number.into()),
            ("foodSaturation", Value::Float64(5.0)),
        ];
        scribe.say(Clientbound, play, "update_health", health);
        scribe.say(Serverbound, play, "held_item_slot", [("slotId", number.into())]);
    };
    round(&mut scribe, 1);
    scribe.say(Clientbound, play, "start_configuration", []);
    scribe.say(Serverbound, play, "configuration_acknowledged", []);
    round(&mut scribe, 2);
    scribe
}

#[test]
fn later_versions_come_through_configuration_and_back() {
    let scribe = modern();
    let recording = scribe.recording();
    for (size, encrypt) in SIZES.into_iter().zip([true, false, true]) {
        let tally = Tally::default();
        let mut options = server_options(Arc::clone(&recording), Pace::LOCKSTEP);
        (options.encrypt, options.threshold) = (encrypt, Some(10));
        let client_options = client_options(Arc::clone(&recording));
        let mut pair =
            Pair::new(server(options, &tally), client(client_options, "Alex", &tally), size);
        pair.run();
        let seen = |entries: &[Entry], direction| {
            let records = entries.iter().filter_map(record);
            let records = records.filter(|it| it.packet.direction == direction);
            let later = records.filter(|it| it.packet.state >= State::Configuration);
            later.map(|it| (it.packet.state, name(it))).collect::<Vec<_>>()
        };
        let mut came = seen(&pair.client_entries, Clientbound);
        // The recording ends without a Disconnect, so the replay sends one.
        assert_eq!(came.pop(), Some((State::Play, "kick_disconnect".to_owned())));
        assert_eq!(came, seen(&scribe.entries, Clientbound));
        let mut sent = seen(&pair.server_entries, Serverbound);
        let mut recorded = seen(&scribe.entries, Serverbound);
        sent.sort();
        recorded.sort();
        assert_eq!(sent, recorded);
        assert_eq!(tally.counted().missed, 0);
        let undecoded = pair.server_entries.iter().filter_map(record);
        assert_eq!(undecoded.filter(|it| it.packet.error().is_some()).count(), 0);
    }
}
