//! A live session with rules, and the offline replay of the same session through the same rules,
//! must record the same entries.

use std::io::Cursor;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value as Json;

use super::*;
use crate::capture::{JsonlSink, Sink as _, read_capture};
use crate::codec::{Leg, Limits};
use crate::filter::{Pipeline, RuleSet};
use crate::link::{Engine as _, Input, KeyMaterial, Output, PerSide, Side, Upstream};
use crate::packet::{Cause, Timestamp};
use crate::query::{Kind, Relay, RelayOptions, Request};
use crate::replay::FilterReplay;
use crate::schema::tests::random_body;
use crate::schema::{
    Direction, EncodeCause, PacketType, PerDirection, Protocol, Role, State, Value,
};
use crate::session::tests::{encryption::response, key};
use crate::session::{Config, Session, Start};

use Direction::{Clientbound, Serverbound};

/// One step of the peers.
#[derive(Debug, Clone)]
enum Act {
    /// A peer sends a packet.
    Say(Side, Vec<u8>),
    /// A peer sends bytes without a frame.
    Put(Side, Vec<u8>),
    /// Both peers use compression from here on.
    Compress(usize),
    /// The client answers the proxy's Encryption Request, and both legs are encrypted.
    Encrypt(Vec<u8>),
    /// A peer closes its side.
    Close(Side),
}

#[derive(Debug, Clone)]
struct Step {
    /// Milliseconds after the previous step.
    after: u64,
    act: Act,
}

/// A session as the peers play it.
#[derive(Debug, Default)]
struct Script {
    steps: Vec<Step>,
    refused: bool,
    keep_host: bool,
}

/// Longer than any delay in [`ACTIONS`].
const SETTLED: u64 = 200;

impl Script {
    fn act(&mut self, after: u64, act: Act) {
        self.steps.push(Step { after, act });
    }

    /// Runs the session live with these rules.
    fn live(&self, rules: &str) -> Vec<Entry> {
        let mut live = Live::new(self, rules);
        for step in &self.steps {
            live.pass(step.after);
            live.act(&step.act);
        }
        live.pass(60_000);
        live.entries
    }
}

fn pipeline(rules: &str) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(set(rules).filter()));
    pipeline
}

fn set(rules: &str) -> RuleSet {
    let checked = RuleSet::parse(rules, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")))
}

fn start() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").unwrap()
}

struct Live {
    session: Session,
    peers: PerSide<Leg>,
    now: Timestamp,
    entries: Vec<Entry>,
}

impl Live {
    fn new(script: &Script, rules: &str) -> Self {
        let config = Config { keep_host: script.keep_host, ..Config::default() };
        let start = Start {
            session: 7,
            at: start(),
            client: "127.0.0.1:50000".parse().unwrap(),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let now = start.at;
        let session = Session::new(Arc::new(config), start, pipeline(rules)).unwrap();
        let peers = PerSide::from_fn(|_| Leg::new(Limits::default()));
        let mut live = Self { session, peers, now, entries: Vec::new() };
        live.handle(if script.refused {
            Input::Refused(Cause::new("connection refused"))
        } else {
            Input::Connected("127.0.0.1:25565".parse().unwrap())
        });
        live
    }

    /// Advances the time to that of the next step.
    fn pass(&mut self, milliseconds: u64) {
        let until = self.now.plus(Duration::from_millis(milliseconds));
        while let Some(due) = self.session.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.handle(Input::Timeout);
        }
        self.now = until;
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Say(side, body) => {
                self.peers[*side].encoder.send(body);
                let bytes = self.peers[*side].encoder.pending().to_vec();
                self.peers[*side].encoder.advance(bytes.len());
                self.handle(Input::Received(*side, &bytes));
            }
            Act::Put(side, bytes) => self.handle(Input::Received(*side, bytes)),
            Act::Compress(threshold) => {
                self.peers.client.set_compression(Some(*threshold));
                self.peers.server.set_compression(Some(*threshold));
            }
            Act::Encrypt(body) => {
                self.act(&Act::Say(Side::Client, body.clone()));
                self.peers.client.set_cipher(b"client's secret!");
                self.peers.server.set_cipher(b"upstream secret!");
            }
            Act::Close(side) => self.handle(Input::Closed(*side)),
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
        while let Some(output) = self.session.poll_output() {
            if output == Output::GenerateKey {
                let (key, secret) = (key(1), *b"upstream secret!");
                let material = KeyMaterial { key, secret, token: *b"ours", seed: [3; 32] };
                self.session.handle(self.now, Input::Key(Box::new(material)));
            }
        }
        for side in Side::ALL {
            let count = self.session.pending(side).len();
            self.session.advance(side, count);
        }
        self.session.take_entries(&mut self.entries);
    }
}

/// Writes entries as a capture and reads them back, as `replay filters` receives them.
fn recorded(entries: &[Entry]) -> Vec<Entry> {
    let read = read_capture(Cursor::new(jsonl(entries)), Catalog::embedded()).unwrap();
    read.map(Result::unwrap).collect()
}

fn jsonl(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = JsonlSink::new(&mut bytes);
    entries.iter().for_each(|entry| sink.write(entry).unwrap());
    sink.finish().unwrap();
    drop(sink);
    bytes
}

fn offline(entries: Vec<Entry>, rules: &str) -> Vec<Entry> {
    let mut replay = FilterReplay::new(vec![set(rules)]);
    let mut result = Vec::new();
    for entry in entries {
        result.extend(replay.handle(entry).entries);
    }
    result.extend(replay.finish().entries);
    result
}

/// Returns the records without their times: an entry that waited for a delay is recorded when the
/// delay is over, and captures do not show that.
fn lines(entries: &[Entry]) -> Vec<String> {
    let bytes = jsonl(entries);
    let text = String::from_utf8(bytes).unwrap();
    let timeless = text.lines().zip(entries).map(|(line, entry)| {
        let mut line: Json = serde_json::from_str(line).unwrap();
        let object = line.as_object_mut().unwrap();
        object.remove("time");
        object.remove("t");
        object.remove("duration");
        let notes = match entry {
            Entry::Packet(record) => record.notes.as_deref(),
            Entry::Event(_) => None,
        };
        format!("{line} {notes:?}")
    });
    timeless.collect()
}

fn compare(live: &[Entry], offline: &[Entry], about: &str) -> Result<(), TestCaseError> {
    let (live, offline) = (lines(live), lines(offline));
    for (place, pair) in live.iter().zip(&offline).enumerate() {
        prop_assert_eq!(pair.0, pair.1, "entry {}, live and offline, with\n{}", place, about);
    }
    let more = live.get(offline.len()).or_else(|| offline.get(live.len()));
    prop_assert!(
        more.is_none(),
        "{} live, {} offline: {more:?} with\n{about}",
        live.len(),
        offline.len()
    );
    Ok(())
}

/// Conditions of generated rules.
const CONDITIONS: [&str; 24] = [
    "serverbound",
    "clientbound",
    "play and clientbound",
    "play and serverbound",
    "state.login or state.handshaking",
    "state.configuration",
    "state.status",
    "chat or chat_message",
    "chat_command",
    "player_chat",
    "bundle_delimiter",
    "login_start",
    "success",
    "set_protocol",
    "encryption_begin",
    "ping_start or ping",
    "server_info",
    "pkt.size < 20",
    "pkt.error",
    "keep_alive",
    "kick_disconnect or disconnect",
    "transfer or start_configuration",
    "chat_session_update or server_data or login",
    "compress or finish_configuration or login_acknowledged",
];

/// Actions of generated rules.
const ACTIONS: [&str; 16] = [
    "drop = true",
    "delay = '30ms'",
    "delay = '20ms'\nreorder = true",
    "copy = 2",
    "close = 'enough'",
    "comment = 'seen'",
    "log = false",
    "tag = 'tagged'",
    "replace = { hex = '00' }",
    "replace = { hex = '0501020304' }",
    "send = [{ to = 'client', raw = '0102' }]",
    "send = [{ to = 'server', raw = 'ff', place = 'before' }]",
    "send = [{ to = 'client', packet = 'keep_alive', fields = { keepAliveId = 5 } }]",
    "send = [{ to = 'client', packet = 'bundle_delimiter' }]",
    "drop = true\nsend = [{ to = 'server', raw = '0a', place = 'before' }, { to = 'client', raw = '0b' }]",
    "delay = '10ms'\ncopy = 1\ncomment = 'late'",
];

/// Limits of generated rules.
const LIMITS: [&str; 6] =
    ["", "", "every = 2", "limit = 1", "chance = 0.5", "once_per = 'session'\nafter = '100ms'"];

/// A filter file of rules given by numbers. Rules that the checker rejects are left out; so are
/// delays in a file that closes sessions: a live session that is closed while packets wait for a
/// delay records the bytes after them undecoded, which a capture of whole packets cannot show.
fn filter_file(rules: &[(usize, usize, usize)]) -> String {
    let mut file = String::new();
    let closes = rules.iter().any(|(_, action, _)| ACTIONS[*action].starts_with("close"));
    for (place, (condition, action, limit)) in rules.iter().enumerate() {
        let condition = CONDITIONS[condition % CONDITIONS.len()];
        let action = ACTIONS[action % ACTIONS.len()];
        let limit = LIMITS[limit % LIMITS.len()];
        if closes && action.contains("delay") {
            continue;
        }
        let rule =
            format!("[[rule]]\nname = 'rule {place}'\nwhen = \"{condition}\"\n{action}\n{limit}\n");
        if RuleSet::parse(&rule, Catalog::embedded()).rules.is_some() {
            file += &rule;
        }
    }
    file
}

#[test]
fn every_condition_action_and_limit_of_generated_rules_is_accepted() {
    let parse = |rule: &str| {
        let checked = RuleSet::parse(rule, Catalog::embedded());
        assert!(checked.rules.is_some(), "{rule}\n{:?}", checked.faults);
    };
    for condition in CONDITIONS {
        parse(&format!("[[rule]]\nwhen = \"{condition}\"\ncomment = 'seen'\n"));
    }
    for action in ACTIONS {
        parse(&format!("[[rule]]\nwhen = 'serverbound'\n{action}\n"));
    }
    for limit in LIMITS {
        parse(&format!("[[rule]]\nwhen = 'serverbound'\ncomment = 'seen'\n{limit}\n"));
    }
}

/// Encodes a packet with those of the fields that exist in the version.
fn body(
    protocol: &Protocol,
    state: State,
    direction: Direction,
    name: &str,
    value: Value,
) -> Vec<u8> {
    let packet = protocol.named(state, direction, name).unwrap();
    let Value::Map(mut fields) = value else { panic!("{value:?}") };
    loop {
        match protocol.encode(packet, &Value::Map(fields.clone())) {
            Ok(body) => return body,
            Err(error) if error.cause == EncodeCause::UnknownField => {
                fields.retain(|(name, _)| **name != *error.path);
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// A packet of the game: its type, its direction, and the choices that generate it.
type Choice = (bool, u8, bool, Vec<u8>, u8);

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    prop::collection::vec((any::<bool>(), any::<u8>(), any::<bool>(), bytes, 0..60u8), 0..25)
}

fn rules() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    prop::collection::vec((0..CONDITIONS.len(), 0..ACTIONS.len(), 0..LIMITS.len()), 1..5)
}

/// The login of a session since 1.7.
#[derive(Debug, Clone, Copy)]
struct Login {
    version: i32,
    compress: bool,
    encrypt: bool,
    status: bool,
    refused: bool,
    keep_host: bool,
    signs: bool,
}

fn logins() -> impl Strategy<Value = Login> {
    let versions = prop::sample::select(vec![5, 47, 340, 758, 759, 760, 761, 763, 764, 766, 775]);
    (versions, any::<[bool; 4]>(), 0..8u8, 0..8u8).prop_map(|(version, flags, status, refused)| {
        let [compress, encrypt, keep_host, signs] = flags;
        let (status, refused) = (status == 0, refused == 0);
        Login { version, compress, encrypt, status, refused, keep_host, signs }
    })
}

/// Packets that are generated more often than others.
const ROLES: [Role; 11] = [
    Role::Chat,
    Role::PlayerChat,
    Role::Command,
    Role::ChatSession,
    Role::BundleDelimiter,
    Role::Transfer,
    Role::Join,
    Role::ServerData,
    Role::StartConfiguration,
    Role::FinishConfiguration,
    Role::ConfigurationAcknowledged,
];

/// Generates a session since 1.7: a login or a status request, then random packets.
fn java(login: Login, choices: &[Choice]) -> Script {
    let protocol = Catalog::embedded().find(login.version).unwrap().protocol;
    let mut script =
        Script { refused: login.refused, keep_host: login.keep_host, ..Script::default() };
    let next = if login.status { 1 } else { 2 };
    let handshake = Value::map([
        ("protocolVersion", login.version.into()),
        ("serverHost", "localhost".into()),
        ("serverPort", 25566.into()),
        ("nextState", next.into()),
    ]);
    let say = |state, side: Side, name: &str, fields: Value| {
        Act::Say(side, body(&protocol, state, side.sends(), name, fields))
    };
    let none = || Value::Map(Vec::new());
    script.act(1, say(State::Handshaking, Side::Client, "set_protocol", handshake));
    if login.status {
        script.act(3, say(State::Status, Side::Client, "ping_start", none()));
        let info = Value::map([("response", "{}".into())]);
        script.act(3, say(State::Status, Side::Server, "server_info", info));
        let time = || Value::map([("time", Value::Int(5))]);
        script.act(3, say(State::Status, Side::Client, "ping", time()));
        script.act(3, say(State::Status, Side::Server, "ping", time()));
    } else {
        log_in(&mut script, login, &protocol);
        if !login.refused {
            play(&mut script, &protocol, choices);
        }
    }
    script.act(5, Act::Put(Side::Server, vec![0x70, 1, 2]));
    script.act(5, Act::Close(Side::Client));
    script.act(5, Act::Close(Side::Server));
    script
}

fn log_in(script: &mut Script, login: Login, protocol: &Protocol) {
    let say = |state, side: Side, name: &str, fields: Value| {
        Act::Say(side, body(protocol, state, side.sends(), name, fields))
    };
    let signature = if login.signs {
        Value::map([
            ("timestamp", Value::Int(1)),
            ("publicKey", Value::Bytes(Bytes::from_static(&[1; 4]))),
            ("signature", Value::Bytes(Bytes::from_static(&[2; 4]))),
        ])
    } else {
        Value::Absent
    };
    let name = Value::map([
        ("username", "Steve".into()),
        ("signature", signature),
        ("playerUUID", Value::Uuid(1)),
    ]);
    script.act(3, say(State::Login, Side::Client, "login_start", name));
    if login.refused {
        return;
    }
    if login.encrypt && login.version >= 47 && login.version != 759 && login.version != 760 {
        let der = rsa::pkcs8::EncodePublicKey::to_public_key_der(&key(0).to_public_key()).unwrap();
        let request = Value::map([
            ("serverId", "server".into()),
            ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
            ("shouldAuthenticate", Value::Bool(true)),
        ]);
        script.act(SETTLED, say(State::Login, Side::Server, "encryption_begin", request));
        let answer = response(&key(1).to_public_key(), b"client's secret!", b"ours");
        let answer = body(protocol, State::Login, Serverbound, "encryption_begin", answer);
        script.act(SETTLED, Act::Encrypt(answer));
        script.act(SETTLED, Act::Put(Side::Client, Vec::new()));
    }
    if login.compress && login.version >= 47 {
        let threshold = Value::map([("threshold", 40.into())]);
        script.act(4, say(State::Login, Side::Server, "compress", threshold));
        script.act(SETTLED, Act::Compress(40));
    }
    let success = Value::map([
        ("uuid", if login.version >= 735 { Value::Uuid(1) } else { "u".into() }),
        ("username", "Steve".into()),
        ("properties", Value::List(Vec::new())),
        ("strictErrorHandling", Value::Bool(false)),
    ]);
    script.act(4, say(State::Login, Side::Server, "success", success));
    if login.version >= 764 {
        let none = || Value::Map(Vec::new());
        script.act(SETTLED, say(State::Login, Side::Client, "login_acknowledged", none()));
        for side in [Side::Server, Side::Client] {
            script.act(4, say(State::Configuration, side, "finish_configuration", none()));
        }
    }
    script.act(SETTLED, Act::Put(Side::Server, Vec::new()));
}

/// Generates packets of the game and of the configuration state.
fn play(script: &mut Script, protocol: &Protocol, choices: &[Choice]) {
    let mut states = PerDirection::from_fn(|_| State::Play);
    for (serverbound, which, special, bytes, after) in choices {
        let direction = if *serverbound { Serverbound } else { Clientbound };
        let state = states[direction];
        let sends = |packet: &&PacketType| {
            packet.state() == state && packet.direction() == direction && can_be_sent(packet)
        };
        let all: Vec<&PacketType> = protocol.packets().iter().filter(sends).collect();
        let chosen: Vec<&PacketType> = all
            .iter()
            .copied()
            .filter(|packet| packet.role().is_some_and(|role| ROLES.contains(&role)))
            .collect();
        let from = if *special && !chosen.is_empty() { &chosen } else { &all };
        let Some(packet) = from.get(usize::from(*which) % from.len().max(1)) else { continue };
        match packet.role() {
            Some(Role::StartConfiguration | Role::ConfigurationAcknowledged) => {
                states[direction] = State::Configuration;
            }
            Some(Role::FinishConfiguration) => states[direction] = State::Play,
            _ => {}
        }
        let body = random_body(protocol, packet, bytes);
        script.act(u64::from(*after), Act::Say(Side::from(direction), body));
    }
}

/// Returns `true` if the packet changes neither the legs nor whether the session is open.
fn can_be_sent(packet: &PacketType) -> bool {
    !matches!(
        packet.role(),
        Some(Role::SetCompression | Role::EncryptionRequest | Role::EncryptionResponse)
    )
}

/// Generates a session of Alpha: a login, then random packets.
fn alpha(version: i32, choices: &[Choice]) -> Script {
    let protocol = Catalog::embedded().alpha(version).protocol;
    let mut script = Script::default();
    let say = |side: Side, name: &str, fields: Value| {
        Act::Put(side, body(&protocol, State::Play, side.sends(), name, fields))
    };
    script.act(1, say(Side::Client, "handshake", Value::map([("username", "Steve".into())])));
    script.act(9, say(Side::Server, "handshake", Value::map([("connectionHash", "-".into())])));
    let login = Value::map([
        ("protocolVersion", version.into()),
        ("username", "Steve".into()),
        ("password", "Password".into()),
        ("mapSeed", Value::Int(0)),
        ("dimension", Value::Int(0)),
    ]);
    script.act(9, say(Side::Client, "login", login));
    for (serverbound, which, _, bytes, after) in choices {
        let direction = if *serverbound { Serverbound } else { Clientbound };
        let all: Vec<&PacketType> =
            protocol.packets().iter().filter(|it| it.direction() == direction).collect();
        let packet = all[usize::from(*which) % all.len()];
        if packet.role() == Some(Role::Login) {
            continue;
        }
        let body = random_body(&protocol, packet, bytes);
        script.act(u64::from(*after), Act::Put(Side::from(direction), body));
    }
    script.act(9, Act::Put(Side::Client, vec![0x03, 0, 9, b'c']));
    script.act(5, Act::Close(Side::Client));
    script.act(5, Act::Close(Side::Server));
    script
}

/// A ping before 1.7: its request, and its answer some time later.
///
/// A request that rules may change is held until the answer comes, or for half a second. A rule that
/// closes the session then also cuts off the answer, which a capture cannot show, so `after` is longer.
fn legacy_ping(form: usize, after: u64, refused: bool) -> Script {
    let long = [
        &[0xfe, 0x01, 0xfa, 0x00, 0x0b][..],
        &"MC|PingHost".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(),
        &[0x00, 0x19, 78, 0x00, 0x09],
        &"localhost".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>(),
        &[0, 0, 0x63, 0xdd],
    ]
    .concat();
    let requests: [&[u8]; 3] = [&[0xfe], &[0xfe, 0x01], &long];
    let text: Vec<u8> = "A§1§2".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let answer = [&[0xff, 0, 5][..], &text].concat();
    let mut script = Script { refused, ..Script::default() };
    script.act(1, Act::Put(Side::Client, requests[form % 3].to_vec()));
    if !refused {
        script.act(after, Act::Put(Side::Server, answer));
        script.act(5, Act::Close(Side::Server));
    }
    script.act(5, Act::Close(Side::Client));
    script
}

fn check(script: &Script, rules: &[(usize, usize, usize)]) -> Result<(), TestCaseError> {
    let file = filter_file(rules);
    let bare = script.live("");
    let offline = offline(recorded(&bare), &file);
    compare(&script.live(&file), &offline, &file)
}

fn runner(cases: u32) -> TestRunner {
    let config = Cases { cases, failure_persistence: None, ..Cases::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// The number of sessions per generation. Set `MITMCRAFT_CASES` to a larger number for a longer
/// search.
fn cases() -> u32 {
    std::env::var("MITMCRAFT_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(100)
}

#[test]
fn rules_do_offline_to_sessions_since_1_7_what_they_do_live() {
    let sessions = (logins(), choices(), rules());
    let tried = runner(cases())
        .run(&sessions, |(login, choices, rules)| check(&java(login, &choices), &rules));
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rules_do_offline_to_sessions_of_alpha_what_they_do_live() {
    let sessions = (1..7, choices(), rules());
    let tried = runner(cases())
        .run(&sessions, |(version, choices, rules)| check(&alpha(version, &choices), &rules));
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rules_do_offline_to_pings_from_before_1_7_what_they_do_live() {
    let sessions = (0..3usize, 1..900u64, any::<bool>(), rules());
    let tried = runner(cases()).run(&sessions, |(form, after, refused, rules)| {
        let closes = filter_file(&rules).contains("close");
        check(&legacy_ping(form, if closes { after + 500 } else { after }, refused), &rules)
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

/// A session of Query: datagrams of both peers, at these times.
fn query(datagrams: &[(bool, u8, u64)], rules: &str) -> Vec<Entry> {
    let server = "127.0.0.1:25565".parse().unwrap();
    let client = "127.0.0.1:50000".parse().unwrap();
    let (upstream, idle) = ("mc.example.org:25565".to_owned(), Duration::from_secs(60));
    let mut relay = Relay::new(RelayOptions { server, upstream, clients: 1, idle });
    let mut now = start();
    for (serverbound, kind, after) in datagrams {
        let until = now.plus(Duration::from_millis(*after));
        while let Some(due) = relay.poll_timeout().filter(|due| *due <= until) {
            relay.handle_timeout(due);
        }
        now = until;
        let request = match kind % 3 {
            0 => Request::Handshake { session: 1 }.encode().unwrap(),
            1 => Request::Stat { kind: Kind::Full, session: 1, token: 7 }.encode().unwrap(),
            _ => b"no query".to_vec(),
        };
        let answer: &[u8] = match kind % 3 {
            0 => b"\x09\0\0\0\x017\0",
            1 => b"\0\0\0\0\x01A\0SMP\0world\x001\x002\0\xdd\x63127.0.0.1\0",
            _ => b"no answer",
        };
        let open = || (7, pipeline(rules));
        // Without a request by the client there is no session.
        if *serverbound || relay.clients() == 0 {
            relay.handle_client(now, client, request.into(), open);
        } else {
            relay.handle_server(now, 7, Bytes::copy_from_slice(answer));
        }
    }
    relay.handle_stop(now.plus(Duration::from_secs(1)), &Cause::new("stopped"));
    relay.take_entries()
}

#[test]
fn rules_do_offline_to_queries_what_they_do_live() {
    let datagrams = prop::collection::vec((any::<bool>(), any::<u8>(), 0..60u64), 1..12);
    let tried = runner(cases()).run(&(datagrams, rules()), |(datagrams, rules)| {
        let file = filter_file(&rules);
        // After a rule has closed a live session, the next datagram begins another one.
        let live = query(&datagrams, &file);
        let close = live.iter().position(|entry| match entry {
            Entry::Event(event) => matches!(event.kind, crate::capture::EventKind::Close(_)),
            Entry::Packet(_) => false,
        });
        let first = close.map_or(live.len(), |close| close + 1);
        compare(&live[..first], &offline(recorded(&query(&datagrams, "")), &file), &file)
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}
