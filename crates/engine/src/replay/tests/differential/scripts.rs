//! Generated sessions.

use bytes::Bytes;
use proptest::prelude::*;

use crate::link::Side;
use crate::session::tests::{encryption::response, key};
use mitmcraft_protocol::schema::random_body;
use mitmcraft_protocol::schema::{
    Catalog, Direction, EncodeCause, PacketType, PerDirection, Protocol, Role, State, Value,
};

use Direction::{Clientbound, Serverbound};

/// One step of the peers.
#[derive(Debug, Clone)]
pub(super) enum Act {
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
pub(super) struct Step {
    /// Milliseconds after the previous step.
    pub(super) after: u64,
    pub(super) act: Act,
}

/// A session as the peers play it.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) refused: bool,
    pub(super) keep_host: bool,
}

/// Longer than any delay in [`ACTIONS`](super::rules::ACTIONS).
const SETTLED: u64 = 200;

impl Script {
    fn act(&mut self, after: u64, act: Act) {
        self.steps.push(Step { after, act });
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
pub(super) type Choice = (bool, u8, bool, Vec<u8>, u8);

pub(super) fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    prop::collection::vec((any::<bool>(), any::<u8>(), any::<bool>(), bytes, 0..60u8), 0..25)
}

/// The login of a session since 1.7.
#[derive(Debug, Clone, Copy)]
pub(super) struct Login {
    version: i32,
    compress: bool,
    encrypt: bool,
    status: bool,
    pub(super) refused: bool,
    pub(super) keep_host: bool,
    signs: bool,
}

pub(super) fn logins() -> impl Strategy<Value = Login> {
    let versions = prop::sample::select(vec![5, 47, 340, 758, 759, 760, 761, 763, 764, 766, 777]);
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
    Role::JoinGame,
    Role::ServerData,
    Role::StartConfiguration,
    Role::FinishConfiguration,
    Role::ConfigurationAcknowledged,
];

/// Generates a session since 1.7: a login or a status request, then random packets.
pub(super) fn java(login: Login, choices: &[Choice]) -> Script {
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
        ("sessionId", Value::Uuid(2)),
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
pub(super) fn alpha(version: i32, choices: &[Choice]) -> Script {
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
        // A client's handshake is sent on with the upstream's host, which a replay does not have.
        let is_moved = *serverbound && packet.role() == Some(Role::Greeting);
        if is_moved || packet.role() == Some(Role::UnframedLogin) {
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
pub(super) fn legacy_ping(form: usize, after: u64, refused: bool) -> Script {
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
