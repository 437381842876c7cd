//! The key exchange, and what is wrong with some.

use super::*;

/// A login with encryption, up to where the client has to answer.
pub(super) fn encrypting(size: usize) -> (Pair, RsaPublicKey, Bytes) {
    encrypting_with(size, Config::default(), Pipeline::default())
}

fn encrypting_with(size: usize, config: Config, pipeline: Pipeline) -> (Pair, RsaPublicKey, Bytes) {
    let mut pair = Pair::with(size, config, pipeline);
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    let der = key(0).to_public_key().to_public_key_der().unwrap();
    let request = fields([
        ("serverId", "server".into()),
        ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ]);
    pair.server_says(State::Login, "encryption_begin", request);
    assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
    assert!(!pair.session.wants_read(Side::Server));
    let material =
        KeyMaterial { key: key(1), secret: *b"upstream secret!", token: *b"ours", seed: [3; 32] };
    pair.input(Input::Key(Box::new(material)));
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let shown = pair.client_got.last().unwrap();
    let (packet, start) = protocol.identify(State::Login, Direction::Clientbound, shown).unwrap();
    let shown = protocol.decode(packet, shown, start).unwrap();
    assert_eq!(shown.get("serverId").unwrap().as_text(), Some("server"));
    let public =
        RsaPublicKey::from_public_key_der(shown.get("publicKey").unwrap().as_bytes().unwrap());
    let token = shown.get("verifyToken").unwrap().as_bytes().unwrap().clone();
    (pair, public.unwrap(), token)
}

pub(crate) fn response(key: &RsaPublicKey, secret: &[u8], token: &[u8]) -> Value {
    let mut random = ChaCha20Rng::from_seed([9; 32]);
    let mut seal = |plain: &[u8]| {
        Value::Bytes(key.encrypt(&mut random, Pkcs1v15Encrypt, plain).unwrap().into())
    };
    let secret = seal(secret);
    fields([("sharedSecret", secret), ("verifyToken", seal(token))])
}

#[test]
fn relays_an_encrypted_and_compressed_login_with_one_secret_or_with_one_of_each_leg() {
    for (size, separate_secrets) in SIZES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let config = Config { separate_secrets, ..Config::default() };
        let (mut pair, public, token) = encrypting_with(size, config, Pipeline::default());
        let upstream = if separate_secrets { b"upstream secret!" } else { b"client's secret!" };
        assert_eq!(public, key(1).to_public_key());
        let secret = *b"client's secret!";
        pair.client_says(State::Login, "encryption_begin", response(&public, &secret, &token));
        pair.client.set_cipher(&secret);
        let answered = pair.server_got.last().unwrap().clone();
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let (packet, start) =
            protocol.identify(State::Login, Direction::Serverbound, &answered).unwrap();
        let answered = protocol.decode(packet, &answered, start).unwrap();
        let open = |name| {
            let sealed = answered.get(name).unwrap().as_bytes().unwrap();
            key(0).decrypt(Pkcs1v15Encrypt, sealed).unwrap()
        };
        assert_eq!(open("sharedSecret"), upstream);
        assert_eq!(open("verifyToken"), b"tokn");
        pair.server.set_cipher(upstream);
        let key_log =
            [KeyLogLine::new(b"ours", *b"client's secret!"), KeyLogLine::new(b"tokn", *upstream)];
        let logged: Vec<_> =
            pair.outputs.iter().filter(|output| matches!(output, Output::LogKey(_))).collect();
        assert_eq!(logged, [&Output::LogKey(key_log[0]), &Output::LogKey(key_log[1])]);

        pair.server_says(State::Login, "compress", fields([("threshold", 64.into())]));
        pair.client.set_compression(Some(64));
        pair.server.set_compression(Some(64));
        pair.server_says(State::Login, "success", success());
        pair.client_says(State::Play, "chat", chat(&"secret ".repeat(40)));
        pair.server_says(State::Play, "keep_alive", fields([("keepAliveId", 7.into())]));
        let expected = [
            "~set_protocol",
            "+set_protocol",
            "login_start",
            "~encryption_begin",
            "+encryption_begin",
            "~encryption_begin",
            "+encryption_begin",
            "compress",
            "success",
            "chat",
            "keep_alive",
        ];
        assert_eq!(pair.seen(), expected);
        assert!(pair.records().iter().all(|record| record.packet.error().is_none()));
        assert_eq!(pair.client_got.len(), 4);
    }
}

#[test]
fn turns_every_wrong_encryption_response_away_alike() {
    let garbage = fields([
        ("sharedSecret", Value::Bytes(Bytes::from_static(&[1; 128]))),
        ("verifyToken", Value::Bytes(Bytes::new())),
    ]);
    let mut told = Vec::new();
    for kind in 0..3 {
        let (mut pair, public, token) = encrypting(usize::MAX);
        let wrong = match kind {
            0 => response(&public, b"client's secret!", b"else"),
            1 => response(&public, b"short", &token),
            _ => garbage.clone(),
        };
        pair.client_says(State::Login, "encryption_begin", wrong);
        assert!(pair.session.is_over());
        assert_eq!(pair.seen().last().unwrap(), "+disconnect");
        told.push((pair.client_got.last().unwrap().clone(), pair.reason().unwrap().to_owned()));
    }
    assert!(told.iter().all(|it| *it == told[0]), "{told:?}");
}

#[test]
fn a_request_without_a_usable_key_is_left_to_both_sides_or_ends_the_login_of_an_account() {
    let request = || {
        fields([
            ("serverId", "server".into()),
            ("publicKey", Value::Bytes(Bytes::from_static(b"none"))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
        ])
    };
    let profile = crate::auth::Profile { name: "Steve".into(), id: 1 };
    let account = AuthMode::Account { profile, client: ClientLeg::AsServer };
    for auth in [AuthMode::Offline, account] {
        let offline = auth == AuthMode::Offline;
        let config = Config { auth, ..Config::default() };
        let mut pair = Pair::with(7, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
        pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
        pair.server_says(State::Login, "encryption_begin", request());
        if offline {
            assert_eq!(pair.seen().last().unwrap(), "encryption_begin");
            pair.server.decoder.set_opaque();
            pair.send(Side::Client, b"\xffsealed");
            assert!(pair.server_got.concat().ends_with(b"\xffsealed"));
            assert!(matches!(pair.session.relayed(), Some(RawReason::Opaque(_))));
        } else {
            assert_eq!(pair.seen()[3..], ["-encryption_begin", "+disconnect"]);
            assert!(pair.reason().unwrap().contains("no key that can be used"));
        }
    }
}

#[test]
fn a_request_that_waits_for_the_key_when_the_session_ends_is_recorded() {
    let mut pair = Pair::connected(usize::MAX);
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", "Steve".into())]));
    let der = key(0).to_public_key().to_public_key_der().unwrap();
    let request = fields([
        ("serverId", "".into()),
        ("publicKey", Value::Bytes(Bytes::copy_from_slice(der.as_bytes()))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ]);
    pair.server_says(State::Login, "encryption_begin", request);
    pair.input(Input::Lost(Side::Server, std::io::ErrorKind::ConnectionReset.into()));
    assert!(pair.session.is_over());
    assert_eq!(pair.seen().last().unwrap(), "-encryption_begin");
}

#[test]
fn rules_say_how_the_key_exchange_is_logged_and_change_nothing() {
    let file = "[[rule]]\nwhen = 'encryption_begin'\ncomment = '=\"token of \" + session.player'\n\
                tag = 'keys'\n[[rule]]\nwhen = 'state.login'\nrecord = false\n\
                [[rule]]\nwhen = 'clientbound'\ndrop = true\nclose = 'no'\n";
    let rules = RuleSet::parse(file, Catalog::embedded()).rules.unwrap();
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(rules.filter()));
    let config = Config { separate_secrets: true, ..Config::default() };
    let (mut pair, public, token) = encrypting_with(7, config, pipeline);
    pair.client_says(State::Login, "encryption_begin", response(&public, &[7; 16], &token));
    assert!(!pair.session.is_over());
    assert_eq!(rules.counts()[0].matched, 2);
    let exchange: Vec<_> = pair.records().into_iter().skip(3).collect();
    assert_eq!(exchange.len(), 4);
    let noted = |it: &&&Record| it.notes.as_ref().is_some_and(|notes| notes.unrecorded);
    assert_eq!(exchange.iter().filter(noted).count(), 4);
    let comment = |place: usize| exchange[place].comment.clone().unwrap();
    let kept = "`encryption_begin` was not changed, because the connection depends on it";
    assert!(comment(0).starts_with("key and token are the proxy's; "), "{}", comment(0));
    assert!(comment(0).ends_with(&format!("; token of Steve; {kept}; #keys")), "{}", comment(0));
    assert_eq!(comment(2), "secret and token are the proxy's; token of Steve; #keys");
}
