//! One secret for both legs: who gets it, where it begins to count, and that no byte differs for it.

use proptest::prelude::*;

use super::accounts::{CLIENTS, OWN, account, der, lent, material, steve, verify};
use super::*;
use mitmcraft_protocol::schema::Protocol;

use Direction::{Clientbound, Serverbound};

/// A login, up to where both legs are encrypted.
#[derive(Debug, Clone)]
struct Login {
    version: i32,
    auth: AuthMode,
    separate_secrets: bool,
}

/// Versions with all forms of the key exchange.
const VERSIONS: [i32; 6] = [4, 47, 340, 760, 764, 770];

fn modes() -> [AuthMode; 6] {
    [
        AuthMode::Offline,
        lent(),
        account(ClientLeg::AsServer),
        account(ClientLeg::Plain),
        verify(Admitted::Owner),
        verify(Admitted::Anyone),
    ]
}

impl Login {
    fn new(version: i32, auth: AuthMode) -> Self {
        Self { version, auth, separate_secrets: false }
    }

    fn protocol(&self) -> Arc<Protocol> {
        Catalog::embedded().find(self.version).unwrap().protocol
    }

    /// A body with those of the fields that the version has.
    fn body(&self, direction: Direction, name: &str, mut fields: Vec<(&str, Value)>) -> Vec<u8> {
        let protocol = self.protocol();
        let states = [State::Login, State::Handshaking, State::Configuration, State::Play];
        let packet = states.iter().find_map(|state| protocol.named(*state, direction, name));
        loop {
            match protocol.encode(packet.unwrap(), &Value::map(fields.clone())) {
                Ok(body) => return body,
                Err(error) => {
                    let before = fields.len();
                    fields.retain(|(name, _)| *name != error.path);
                    assert!(fields.len() < before, "{name}: {error}");
                }
            }
        }
    }

    fn client_answers(&self, pair: &mut Pair) {
        let value = response(&key(1).to_public_key(), CLIENTS, b"ours");
        let field = |name| value.get(name).unwrap().clone();
        let crypto = Value::map([("verifyToken", field("verifyToken"))]);
        let mut fields = vec![("sharedSecret", field("sharedSecret"))];
        match self.version {
            759 | 760 => fields.extend([("hasVerifyToken", Value::Bool(true)), ("crypto", crypto)]),
            _ => fields.push(("verifyToken", field("verifyToken"))),
        }
        pair.client.encoder.send(&self.body(Serverbound, "encryption_begin", fields));
        pair.run();
        pair.client.set_cipher(CLIENTS);
    }

    /// Logs in; `between` happens before the server's request, and `joining` while the session service is asked.
    /// Returns the secret of the server's leg too.
    fn play(
        &self,
        size: usize,
        between: impl FnOnce(&mut Pair),
        joining: impl FnOnce(&mut Pair),
    ) -> (Pair, [u8; 16]) {
        let Self { auth, separate_secrets, .. } = self.clone();
        let config = Config { auth, separate_secrets, ..Config::default() };
        let mut pair = Pair::with(size, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        let hello = vec![
            ("protocolVersion", self.version.into()),
            ("serverHost", "localhost".into()),
            ("serverPort", 25566.into()),
            ("nextState", 2.into()),
        ];
        let start = vec![
            ("username", "Steve".into()),
            ("signature", Value::Absent),
            ("playerUUID", Value::Uuid(0x1111)),
        ];
        for (name, fields) in [("set_protocol", hello), ("login_start", start)] {
            pair.client.encoder.send(&self.body(Serverbound, name, fields));
            pair.run();
        }
        let verifies = matches!(self.auth, AuthMode::Verify { .. });
        if verifies {
            pair.input(Input::Key(material()));
            self.client_answers(&mut pair);
            pair.input(Input::Verified(Ok(steve())));
        }
        between(&mut pair);
        let request = vec![
            ("serverId", "server".into()),
            ("publicKey", Value::Bytes(der(&key(0)))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
            ("shouldAuthenticate", Value::Bool(true)),
        ];
        pair.server.encoder.send(&self.body(Clientbound, "encryption_begin", request));
        pair.run();
        pair.input(Input::Key(material()));
        if !verifies && self.auth != account(ClientLeg::Plain) {
            self.client_answers(&mut pair);
        }
        if self.auth != AuthMode::Offline {
            assert!(matches!(pair.outputs.last(), Some(Output::Join { .. })));
            joining(&mut pair);
            pair.input(Input::AccountJoined(Ok(())));
        }
        let secret = self.server_opens(&pair);
        pair.server.set_cipher(&secret);
        let logged = pair.outputs.iter().rev().find_map(|output| match output {
            Output::LogKey(line) => Some(*line),
            _ => None,
        });
        assert_eq!(logged, Some(KeyLogLine::new(b"tokn", secret)));
        (pair, secret)
    }

    fn play_plainly(&self, size: usize) -> (Pair, [u8; 16]) {
        self.play(size, |_| {}, |_| {})
    }

    fn server_opens(&self, pair: &Pair) -> [u8; 16] {
        let (protocol, body) = (self.protocol(), pair.server_got.last().unwrap());
        let (packet, start) = protocol.identify(State::Login, Serverbound, body).unwrap();
        let value = protocol.decode(packet, body, start).unwrap();
        let sealed = value.get("sharedSecret").unwrap().as_bytes().unwrap();
        key(0).decrypt(Pkcs1v15Encrypt, sealed).unwrap().try_into().unwrap()
    }

    /// Compression starts if the version has it, and both sides send what the version does not know.
    fn goes_on(&self, pair: &mut Pair) {
        if self.version >= 47 {
            pair.server.encoder.send(&[3, 40]);
            pair.run();
            pair.client.set_compression(Some(40));
            pair.server.set_compression(Some(40));
        }
        for size in [0, 1, 39, 40, 300, 5, 70] {
            for side in Side::ALL {
                frames(pair, side, &[size]);
            }
        }
    }
}

/// Makes a side send frames of an unassigned id, with bodies of the given sizes in bytes.
fn frames(pair: &mut Pair, side: Side, sizes: &[usize]) {
    let leg = if side == Side::Client { &mut pair.client } else { &mut pair.server };
    sizes.iter().for_each(|size| drop(leg.encoder.send(&[&[0x7e][..], &vec![5; *size]].concat())));
    pair.run();
}

/// The number of bytes that are encrypted for each side, not sent as they came.
fn encrypted(pair: &Pair) -> PerSide<usize> {
    PerSide::from_fn(|side| pair.session.ends[side].leg.encoder.encrypted_bytes())
}

#[test]
fn the_server_gets_the_clients_secret_unless_the_client_must_not_know_that_of_the_server() {
    for (version, auth) in VERSIONS.iter().flat_map(|it| modes().map(|auth| (*it, auth))) {
        let shares = [AuthMode::Offline, lent(), verify(Admitted::Owner)].contains(&auth);
        for (size, separate_secrets) in SIZES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let login = Login { version, auth: auth.clone(), separate_secrets };
            let (mut pair, secret) = login.play_plainly(size);
            let expected = if shares && !separate_secrets { CLIENTS } else { OWN };
            assert_eq!(secret, *expected, "{login:?}");
            let (sent, got) = (pair.sent.clone(), [pair.client_got.len(), pair.server_got.len()]);
            login.goes_on(&mut pair);
            let mut client_got = pair.client_got.split_off(got[0]);
            if version >= 47 {
                assert_eq!(client_got.remove(0)[..], [3, 40]);
            }
            assert_eq!(client_got, pair.server_got[got[1]..], "{login:?}");
            assert_eq!(client_got.len(), 7);
            if *expected == *CLIENTS {
                for side in Side::ALL {
                    let new = &pair.sent[side][sent[side].len()..];
                    assert!(pair.arrived[side.other()].ends_with(new), "{login:?}: {side:?}");
                }
                assert_eq!(encrypted(&pair), PerSide::default(), "{login:?}");
            }
        }
    }
}

#[test]
fn no_byte_that_is_sent_as_it_came_depends_on_where_the_stream_is_cut() {
    for version in VERSIONS {
        let login = Login::new(version, AuthMode::Offline);
        for size in 1..100 {
            let (mut pair, _) = login.play_plainly(size);
            let sent = pair.sent.server.len();
            if size % 2 == 0 {
                pair.session.start_tally();
            }
            login.goes_on(&mut pair);
            assert!(pair.arrived.client.ends_with(&pair.sent.server[sent..]), "{version}: {size}");
            assert_eq!(encrypted(&pair), PerSide::default(), "{version}: {size}");
        }
    }
}

#[test]
fn bytes_that_came_before_the_key_was_set_are_sent_as_they_came() {
    let (mut pair, public, token) = encrypting(usize::MAX);
    let answer = response(&public, CLIENTS, &token);
    let answer = body(State::Login, Serverbound, "encryption_begin", &answer);
    pair.client.encoder.send(&answer);
    let clear = pair.client.encoder.pending().len();
    let before = pair.sent.client.len();
    pair.client.set_cipher(CLIENTS);
    frames(&mut pair, Side::Client, &[0, 30, 200]);
    assert!(pair.arrived.server.ends_with(&pair.sent.client[before + clear..]));
    assert_eq!(encrypted(&pair), PerSide::default());
}

#[test]
fn a_packet_between_the_beginnings_of_encryption_makes_the_proxy_choose_a_secret() {
    for asks in [false, true] {
        let login = Login::new(770, verify(Admitted::Owner));
        let between = |pair: &mut Pair| {
            let request = vec![("cookie", "a:b".into())];
            pair.server.encoder.send(&login.body(Clientbound, "cookie_request", request));
            pair.run();
            if asks {
                let cookie = vec![("key", "a:b".into()), ("value", Value::Absent)];
                pair.client.encoder.send(&login.body(Serverbound, "cookie_response", cookie));
                pair.run();
            }
        };
        let (mut pair, secret) = login.play(7, between, |_| {});
        assert_eq!(secret, *OWN);
        let got = pair.client_got.len();
        login.goes_on(&mut pair);
        assert_eq!(pair.client_got.len(), got + 8);
        // Nothing is kept of a direction that is never in step.
        assert_eq!(pair.session.ends.server.leg.decoder.unused_secret(), None);
    }
}

#[test]
fn a_server_that_speaks_while_the_account_joins_takes_its_direction_out_of_step() {
    let login = Login::new(47, lent());
    let joining = |pair: &mut Pair| frames(pair, Side::Server, &[10]);
    let (mut pair, secret) = login.play(7, |_| {}, joining);
    assert_eq!(secret, *CLIENTS);
    let (got, sent) = (pair.client_got.len(), pair.sent.server.len());
    login.goes_on(&mut pair);
    assert_eq!(pair.client_got.len(), got + 8);
    // The packet of 12 bytes, and all that follows. The other direction is in step.
    let client = 12 + pair.sent.server.len() - sent;
    assert_eq!(encrypted(&pair), PerSide { client, server: 0 });
}

#[test]
fn a_leg_alone_is_encrypted_as_ever() {
    // The server does not encrypt.
    let login = Login::new(47, verify(Admitted::Owner));
    let mut pair = accounts::proved(7, Admitted::Owner, "Steve");
    pair.input(Input::Verified(Ok(steve())));
    let got = pair.client_got.len();
    login.goes_on(&mut pair);
    assert_eq!(pair.client_got.len(), got + 8);
    assert_eq!(pair.server_got[2..].concat(), pair.client_got[got + 1..].concat());
    assert_eq!(pair.session.ends.client.leg.decoder.unused_secret(), None);
    // The client does not.
    let login = Login::new(47, account(ClientLeg::Plain));
    let (mut pair, _) = login.play_plainly(7);
    let sent = pair.sent.client.len();
    login.goes_on(&mut pair);
    let server = pair.sent.client.len() - sent;
    assert_eq!(encrypted(&pair), PerSide { client: 0, server });
}

#[test]
fn a_followed_transfer_takes_the_servers_direction_out_of_step() {
    let login = Login::new(770, AuthMode::Offline);
    let (mut pair, _) = login.play_plainly(7);
    let success = vec![
        ("uuid", Value::Uuid(0x1111)),
        ("username", "Steve".into()),
        ("properties", Value::List(Vec::new())),
    ];
    pair.server.encoder.send(&login.body(Clientbound, "success", success));
    pair.client.encoder.send(&login.body(Serverbound, "login_acknowledged", Vec::new()));
    pair.run();
    assert_eq!(encrypted(&pair), PerSide::default());
    let protocol = login.protocol();
    let packet = protocol.named(State::Configuration, Clientbound, "transfer").unwrap();
    let target = fields([("host", "other.example.org".into()), ("port", 25565.into())]);
    pair.server.encoder.send(&protocol.encode(packet, &target).unwrap());
    pair.run();
    assert!(pair.outputs.iter().any(|it| matches!(it, Output::Transfer(_))));
    for side in Side::ALL {
        frames(&mut pair, side, &[100]);
    }
    assert_eq!(pair.server_got.last(), pair.client_got.last());
    assert!(encrypted(&pair).client > 103 && encrypted(&pair).server == 0);
}

fn side() -> impl Strategy<Value = Side> {
    prop::sample::select(Side::ALL.to_vec())
}

/// Rules that change a packet somewhere.
const RULES: [&str; 6] = [
    "",
    "drop = true",
    "copy = 1",
    "replace = { hex = '7d00' }",
    "delay = '1ms'",
    "send = [{ to = 'client', raw = '017d' }, { to = 'server', raw = '017d', place = 'before' }]",
];

proptest! {
    #[test]
    fn each_peer_gets_what_it_would_get_of_a_proxy_that_always_encrypts(
        version in prop::sample::select(VERSIONS.to_vec()),
        auth in prop::sample::select(modes().to_vec()),
        size in prop_oneof![1..40_usize, Just(usize::MAX)],
        counts: bool,
        rule in prop::sample::select(RULES.to_vec()),
        of in prop::sample::select(Direction::ALL.to_vec()),
        change in 1..30_usize,
        sent in prop::collection::vec((side(), prop::collection::vec(0..60_usize, 1..9)), 1..9),
    ) {
        let [one, two] = [false, true].map(|separate_secrets| {
            let login = Login { version, auth: auth.clone(), separate_secrets };
            let (mut pair, _) = login.play_plainly(size);
            if counts {
                pair.session.start_tally();
            }
            if !rule.is_empty() {
                let rule = format!("[[rule]]\nwhen = '{of} and pkt.size == {change}'\n{rule}");
                let checked = RuleSet::parse(&rule, Catalog::embedded());
                let mut pipeline = Pipeline::default();
                pipeline.push(Box::new(checked.rules.expect("the rule is right").filter()));
                pair.session.set_pipeline(pipeline);
            }
            let answered = pair.server_got.len();
            login.goes_on(&mut pair);
            for (side, sizes) in &sent {
                frames(&mut pair, *side, sizes);
            }
            pair.clock += 1_000_000_000;
            pair.input(Input::Timeout);
            // The answers to the server's request have other secrets.
            pair.server_got.drain(..answered);
            pair
        });
        prop_assert_eq!(&one.client_got, &two.client_got);
        prop_assert_eq!(&one.server_got, &two.server_got);
        if rule.is_empty() && auth == AuthMode::Offline {
            prop_assert_eq!(encrypted(&one), PerSide::default());
        }
    }
}
