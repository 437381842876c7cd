//! The key exchange from 1.3 to 1.6: the client encrypts from its response on, the server only after a
//! confirmation in the clear.

use hex_literal::hex;

use super::old::{LEGACY, goldens};
use super::*;
use crate::auth::{AuthError, Profile};
use mitmcraft_protocol::codec::{KeyRing, Unit};

/// A login to a version from 1.3 to 1.6.4 that has come as far as the server's request and the proxy's key.
/// Returns what the client was shown.
fn asked(size: usize, config: Config, version: i32, server_id: &str) -> (Pair, Value) {
    let mut pair = Pair::with(size, config, Pipeline::default());
    pair.client.decoder.set_opaque();
    pair.server.decoder.set_opaque();
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    let name = pair.session.config.auth.profile().map_or("Steve", |_| "Account").to_owned();
    pair.send(Side::Client, &handshake(version, "localhost", 25566, "Steve"));
    assert_eq!(pair.got(Side::Server), handshake(version, "mc.example.org", 25565, &name));
    let der = key(0).to_public_key().to_public_key_der().unwrap();
    let request = [
        ("serverId", server_id.into()),
        ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ];
    pair.send(Side::Server, &body(version, Direction::Clientbound, "encryption_begin", request));
    assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
    let material =
        KeyMaterial { key: key(1), secret: *b"upstream secret!", token: *b"ours", seed: [3; 32] };
    pair.input(Input::Key(Box::new(material)));
    let shown = decoded(version, Direction::Clientbound, &pair.got(Side::Client));
    (pair, shown)
}

fn handshake(version: i32, host: &str, port: i64, name: &str) -> Vec<u8> {
    let fields = [
        ("protocolVersion", Value::Int(version.into())),
        ("username", name.into()),
        ("serverHost", host.into()),
        ("serverPort", Value::Int(port)),
    ];
    body(version, Direction::Serverbound, "handshake", fields)
}

fn body<const N: usize>(
    version: i32,
    direction: Direction,
    name: &str,
    fields: [(&str, Value); N],
) -> Vec<u8> {
    let protocol = Catalog::embedded().legacy(version).protocol;
    let packet = protocol.named(State::Play, direction, name).unwrap();
    protocol.encode(packet, &Value::map(fields)).unwrap()
}

fn decoded(version: i32, direction: Direction, body: &[u8]) -> Value {
    let protocol = Catalog::embedded().legacy(version).protocol;
    let (packet, start) = protocol.identify(State::Play, direction, body).unwrap();
    protocol.decode(packet, body, start).unwrap()
}

const SECRET: &[u8; 16] = b"client's secret!";

/// The server's confirmation.
const CONFIRMED: [u8; 5] = hex!("fc 0000 0000");

/// The client's response to what it was shown.
fn answer(version: i32, shown: &Value) -> Vec<u8> {
    let der = shown.get("publicKey").unwrap().as_bytes().unwrap();
    let public = RsaPublicKey::from_public_key_der(der).unwrap();
    let token = shown.get("verifyToken").unwrap().as_bytes().unwrap();
    let protocol = Catalog::embedded().legacy(version).protocol;
    let packet = protocol.named(State::Play, Direction::Serverbound, "encryption_begin").unwrap();
    protocol.encode(packet, &response(&public, SECRET, token)).unwrap()
}

/// Goes on to where both legs are encrypted, the server's with this secret.
fn encrypted(pair: &mut Pair, version: i32, shown: &Value, secret: &[u8; 16]) {
    let had = pair.got(Side::Server).len();
    pair.send(Side::Client, &answer(version, shown));
    pair.client.encoder.set_cipher(SECRET);
    let answered = decoded(version, Direction::Serverbound, &pair.got(Side::Server)[had..]);
    let open = |name| {
        let sealed = answered.get(name).unwrap().as_bytes().unwrap();
        key(0).decrypt(Pkcs1v15Encrypt, sealed).unwrap()
    };
    assert_eq!((open("sharedSecret"), open("verifyToken")), (secret.to_vec(), b"tokn".to_vec()));
    pair.server.decoder.set_cipher(secret);
    pair.send(Side::Server, &CONFIRMED);
    assert!(pair.got(Side::Client).ends_with(&CONFIRMED), "in the clear");
    pair.server.encoder.set_cipher(secret);
    pair.client.decoder.set_cipher(SECRET);
}

/// Checks that what each peer has received of the other since then is what that has sent, encrypted as it was.
fn is_in_step(pair: &Pair, since: PerSide<usize>) {
    for side in Side::ALL {
        let sent = &pair.sent[side][since[side]..];
        assert!(!sent.is_empty() && pair.arrived[side.other()].ends_with(sent), "of the {side:?}");
        assert_eq!(pair.session.ends[side].leg.encoder.encrypted_bytes(), 0);
    }
}

fn sent(pair: &Pair) -> PerSide<usize> {
    PerSide::from_fn(|side| pair.sent[side].len())
}

/// The versions whose handshake has their number.
fn releases() -> impl Iterator<Item = i32> {
    Catalog::embedded().legacy_versions().filter(|version| *version >= 39)
}

#[test]
fn relays_every_packet_of_1_3_to_1_6_between_two_encrypted_legs_and_records_it_decoded() {
    let both = releases().flat_map(|version| [(version, false), (version, true)]);
    for ((version, separate_secrets), size) in
        both.zip([1, 1, 7, 7, usize::MAX].into_iter().cycle())
    {
        let config = Config { separate_secrets, ..Config::default() };
        let (mut pair, shown) = asked(size, config, version, "-");
        assert_eq!(shown.get("serverId").unwrap().as_text(), Some("-"));
        let secret = if separate_secrets { b"upstream secret!" } else { SECRET };
        encrypted(&mut pair, version, &shown, secret);
        let since = sent(&pair);
        assert!(!pair.outputs.iter().any(|it| matches!(it, Output::Notice(_))), "no account");
        pair.send(Side::Client, &hex!("cd 00"));
        assert!(pair.got(Side::Server).ends_with(&hex!("cd 00")));
        let context = pair.session.context();
        assert_eq!((context.version, context.player.as_deref()), (Some(version), Some("Steve")));
        let before = pair.records().len();
        for (direction, packets) in goldens(LEGACY, version.into(), &[]) {
            let own = ["encryption_begin", "encryption_response", "handshake"];
            let packets: Vec<_> =
                packets.into_iter().filter(|(name, _)| !own.contains(&&**name)).collect();
            let sent: Vec<u8> = packets.iter().flat_map(|(_, body)| body.clone()).collect();
            let from = Side::from(direction);
            let had = pair.got(from.other()).len();
            pair.send(from, &sent);
            assert!(pair.got(from.other())[had..] == sent, "version {version}, {direction}");
            let records = pair.records();
            let came = records[before..].iter().filter(|it| it.packet.direction() == direction);
            let came: Vec<_> = came.collect();
            assert_eq!(came.len(), packets.len());
            for (record, (name, body)) in came.iter().zip(packets) {
                assert_eq!(**record.packet.kind().unwrap().name(), *name);
                assert_eq!(record.packet.error(), None, "{name}");
                assert_eq!(record.packet.frame().unwrap().wire()[..], body);
            }
        }
        if !separate_secrets {
            is_in_step(&pair, since);
        }
    }
}

#[test]
fn each_leg_has_a_key_log_line_and_the_capture_what_each_got() {
    let (mut pair, shown) = asked(7, Config::default(), 61, "1a2b3c");
    assert_eq!(shown.get("serverId").unwrap().as_text(), Some("1a2b3c"));
    encrypted(&mut pair, 61, &shown, SECRET);
    let wants = |it: &&Output| matches!(it, Output::Notice(Notice::WantsAccount { .. }));
    assert!(pair.outputs.iter().any(|it| wants(&it)), "the client's account does not fit");
    let logged: Vec<_> =
        pair.outputs.iter().filter(|output| matches!(output, Output::LogKey(_))).collect();
    let lines = [KeyLogLine::new(b"ours", *SECRET), KeyLogLine::new(b"tokn", *SECRET)];
    assert_eq!(logged, [&Output::LogKey(lines[0]), &Output::LogKey(lines[1])]);
    let seen = [
        "~handshake",
        "+handshake",
        "~encryption_begin",
        "+encryption_begin",
        "~encryption_begin",
        "+encryption_begin",
        "encryption_response",
    ];
    assert_eq!(pair.seen(), seen);
}

#[test]
fn an_account_joins_in_place_of_a_client_that_is_told_to_ask_nobody() {
    let profile = Profile { name: "Account".into(), id: 1 };
    for client in [ClientLeg::Plain, ClientLeg::AsServer] {
        let auth = AuthMode::Account { profile: profile.clone(), client };
        let config = Config { auth, ..Config::default() };
        let (mut pair, shown) = asked(1, config, 78, "1a2b3c");
        assert_eq!(shown.get("serverId").unwrap().as_text(), Some("-"));
        let had = pair.got(Side::Server).len();
        pair.send(Side::Client, &answer(78, &shown));
        pair.client.encoder.set_cipher(SECRET);
        let Some(Output::Join { server_hash, lent: None }) = pair.outputs.last() else {
            panic!("{:?}", pair.outputs.last())
        };
        let der = key(0).to_public_key().to_public_key_der().unwrap();
        let hash = crate::auth::server_hash("1a2b3c", b"upstream secret!", der.as_bytes());
        assert_eq!(*server_hash, hash);
        assert_eq!(pair.got(Side::Server).len(), had, "the server waits for the account");
        pair.input(Input::AccountJoined(Ok(())));
        assert!(pair.got(Side::Server).len() > had);
        pair.server.decoder.set_cipher(b"upstream secret!");
        pair.send(Side::Server, &CONFIRMED);
        pair.client.decoder.set_cipher(SECRET);
        pair.send(Side::Client, &hex!("cd 00"));
        assert!(pair.got(Side::Server).ends_with(&hex!("cd 00")));
    }
}

/// A session with `--auth verify` of a client of this version, as far as the proxy's request; it is answered, and
/// the session service says who the player is.
fn verified(size: usize, version: i32, admitted: Admitted) -> (Pair, Profile) {
    let profile = Profile { name: "Account".into(), id: 1 };
    let auth = AuthMode::Verify { profile: profile.clone(), admitted };
    let mut pair = Pair::with(size, Config { auth, ..Config::default() }, Pipeline::default());
    pair.client.decoder.set_opaque();
    pair.server.decoder.set_opaque();
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.send(Side::Client, &handshake(version, "localhost", 25566, "Steve"));
    let material =
        KeyMaterial { key: key(1), secret: *b"first of the two", token: *b"ours", seed: [3; 32] };
    pair.input(Input::Key(Box::new(material)));
    let shown = decoded(version, Direction::Clientbound, &pair.got(Side::Client));
    assert_eq!(shown.get("serverId").unwrap().as_text(), Some(""), "the client has to join");
    pair.send(Side::Client, &answer(version, &shown));
    pair.client.encoder.set_cipher(SECRET);
    let der = key(1).to_public_key().to_public_key_der().unwrap();
    let hash = crate::auth::server_hash("", SECRET, der.as_bytes());
    let asked = Output::HasJoined { name: "Steve".into(), server_hash: hash };
    assert_eq!(pair.outputs.last(), Some(&asked));
    assert!(pair.got(Side::Server).is_empty(), "the server knows of nobody");
    (pair, profile)
}

#[test]
fn a_verified_player_plays_as_the_account_once_the_server_has_confirmed() {
    let both = releases().flat_map(|it| [(it, Admitted::Owner), (it, Admitted::Anyone)]);
    for ((version, admitted), size) in both.zip([1, 1, 7, 7, usize::MAX].into_iter().cycle()) {
        let (mut pair, profile) = verified(size, version, admitted);
        // Only the account's owner may know the secret of its server.
        let (player, secret) = match admitted {
            Admitted::Owner => (profile.clone(), SECRET),
            Admitted::Anyone => (Profile { name: "Steve".into(), id: 7 }, b"upstream secret!"),
        };
        pair.input(Input::Verified(Ok(player)));
        assert_eq!(
            pair.got(Side::Server),
            handshake(version, "mc.example.org", 25565, &profile.name)
        );
        let had = (pair.got(Side::Client).len(), pair.got(Side::Server).len());
        let der = key(0).to_public_key().to_public_key_der().unwrap();
        let request = [
            ("serverId", "1a2b3c".into()),
            ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
        ];
        pair.send(
            Side::Server,
            &body(version, Direction::Clientbound, "encryption_begin", request),
        );
        let material = KeyMaterial {
            key: key(1),
            secret: *b"upstream secret!",
            token: *b"ours",
            seed: [3; 32],
        };
        pair.input(Input::Key(Box::new(material)));
        let hash = crate::auth::server_hash("1a2b3c", secret, der.as_bytes());
        assert_eq!(pair.outputs.last(), Some(&Output::Join { server_hash: hash, lent: None }));
        pair.input(Input::AccountJoined(Ok(())));
        let answered = decoded(version, Direction::Serverbound, &pair.got(Side::Server)[had.1..]);
        let sealed = answered.get("sharedSecret").unwrap().as_bytes().unwrap();
        assert_eq!(key(0).decrypt(Pkcs1v15Encrypt, sealed).unwrap(), secret);
        assert_eq!(pair.got(Side::Client).len(), had.0, "the client is asked once");
        pair.server.decoder.set_cipher(secret);
        pair.send(Side::Server, &CONFIRMED);
        assert!(pair.got(Side::Client).ends_with(&CONFIRMED), "in the clear");
        pair.server.encoder.set_cipher(secret);
        pair.client.decoder.set_cipher(SECRET);
        let since = sent(&pair);
        pair.send(Side::Client, &hex!("cd 00"));
        assert!(pair.got(Side::Server).ends_with(&hex!("cd 00")));
        let login = &goldens(LEGACY, version.into(), &["login"])[&Direction::Clientbound][0].1;
        pair.send(Side::Server, login);
        assert!(pair.got(Side::Client).ends_with(login));
        if admitted == Admitted::Owner {
            is_in_step(&pair, since);
        }
    }
}

#[test]
fn a_verified_player_is_let_in_by_a_server_that_does_not_encrypt() {
    for version in releases() {
        let (mut pair, profile) = verified(7, version, Admitted::Anyone);
        pair.input(Input::Verified(Ok(profile)));
        let had = pair.got(Side::Client).len();
        let login = &goldens(LEGACY, version.into(), &["login"])[&Direction::Clientbound][0].1;
        pair.client.decoder.set_opaque();
        pair.send(Side::Server, login);
        let got = pair.got(Side::Client);
        assert_eq!(got[had..][..CONFIRMED.len()], CONFIRMED);
        // What follows is encrypted.
        let mut leg = Leg::default();
        leg.decoder.set_opaque();
        leg.decoder.set_cipher(SECRET);
        leg.decoder.receive(&got[had + CONFIRMED.len()..]);
        let mut plain = Vec::new();
        while let Some(Unit::Opaque { bytes, .. }) = leg.decoder.poll() {
            plain.extend_from_slice(&bytes);
        }
        assert_eq!(plain, *login);
    }
}

#[test]
fn a_player_whom_nobody_has_verified_is_turned_away_in_every_version() {
    let stranger = || Err(AuthError::NotJoined { name: "Steve".into() });
    for version in releases() {
        let (mut pair, _) = verified(7, version, Admitted::Anyone);
        let had = pair.got(Side::Client).len();
        pair.input(Input::Verified(stranger()));
        let kick = decoded(version, Direction::Clientbound, &pair.got(Side::Client)[had..]);
        assert!(kick.get("reason").is_some());
        assert!(pair.got(Side::Server).is_empty());
    }
}

#[test]
fn a_player_of_a_version_without_encryption_is_not_verified_and_told_so() {
    let profile = Profile { name: "Account".into(), id: 1 };
    let auth = AuthMode::Verify { profile, admitted: Admitted::Anyone };
    let mut pair = Pair::with(7, Config { auth, ..Config::default() }, Pipeline::default());
    pair.client.decoder.set_opaque();
    pair.server.decoder.set_opaque();
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.send(Side::Client, &hex!("02 0005 0053 0074 0065 0076 0065"));
    let kick = decoded(14, Direction::Clientbound, &pair.got(Side::Client));
    let reason = kick.get("reason").unwrap().as_text().unwrap();
    assert!(reason.contains("can be verified from 1.3 on"), "{reason}");
    assert!(pair.got(Side::Server).is_empty());
    assert!(pair.session.is_over());
}

#[test]
fn a_wrong_response_is_turned_away_with_a_kick_in_the_clear() {
    let (mut pair, shown) = asked(7, Config::default(), 78, "-");
    let wrong = [
        ("sharedSecret", Value::Bytes(Bytes::from_static(&[1; 128]))),
        ("verifyToken", Value::Bytes(Bytes::new())),
    ];
    let had = pair.got(Side::Client).len();
    assert!(shown.get("publicKey").is_some());
    pair.send(Side::Client, &body(78, Direction::Serverbound, "encryption_begin", wrong));
    assert!(pair.session.is_over());
    let kick = decoded(78, Direction::Clientbound, &pair.got(Side::Client)[had..]);
    assert!(kick.get("reason").is_some());
}

#[test]
fn an_observed_session_is_decrypted_with_the_secret_that_fits_the_bytes_after_the_confirmation() {
    for size in SIZES {
        for (secrets, version) in
            [(vec![SECRET], 39), (vec![b"another secret!!", SECRET], 78), (vec![], 61)]
        {
            let mut ring = KeyRing::default();
            secrets.iter().for_each(|secret| ring.add(KeyLogLine::new(b"tokn", **secret)));
            let start = Start {
                session: 1,
                at: Timestamp(1),
                client: "127.0.0.1:50000".parse().unwrap(),
                upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
            };
            let server = "127.0.0.1:25565".parse().unwrap();
            let config = Arc::new(Config::default());
            let mut session = Session::observe(config, start, server, Arc::new(ring)).unwrap();
            let request = [
                ("serverId", "-".into()),
                ("publicKey", Value::Bytes(Bytes::from_static(b"key"))),
                ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
            ];
            let login = goldens(LEGACY, version.into(), &["login"]);
            let (mut client, mut server) = (Leg::default(), Leg::default());
            let mut hear = |side: Side, leg: &mut Leg, bytes: &[u8]| {
                leg.encoder.put(bytes);
                while !leg.encoder.pending().is_empty() {
                    let count = leg.encoder.pending().len().min(size);
                    let input = Input::Received(side, &leg.encoder.pending()[..count]);
                    session.handle(Timestamp(2), input);
                    leg.encoder.advance(count);
                }
            };
            let said = handshake(version, "localhost", 25565, "Steve");
            hear(Side::Client, &mut client, &said);
            let said = body(version, Direction::Clientbound, "encryption_begin", request);
            hear(Side::Server, &mut server, &said);
            hear(Side::Client, &mut client, &hex!("fc 0000 0000"));
            client.set_cipher(SECRET);
            hear(Side::Client, &mut client, &hex!("cd 00"));
            hear(Side::Server, &mut server, &CONFIRMED);
            server.set_cipher(SECRET);
            hear(Side::Server, &mut server, &login[&Direction::Clientbound][0].1);
            let mut entries = Vec::new();
            session.take_entries(&mut entries);
            let records: Vec<&Record> = entries.iter().filter_map(Entry::record).collect();
            let name = |it: &&Record| {
                it.packet.kind().map_or_else(|| "?".into(), |it| it.name().to_string())
            };
            let mut names: Vec<String> = records.iter().map(name).collect();
            let first = ["handshake", "encryption_begin", "encryption_begin"];
            assert_eq!(names.drain(..3).collect::<Vec<_>>(), first);
            if secrets.is_empty() {
                assert!(session.relayed().is_some());
                continue;
            }
            names.sort();
            assert_eq!(names, ["client_command", "encryption_response", "login"]);
        }
    }
}
