//! Who is verified by whom, with the session service's answers as inputs.

use super::*;
use crate::auth::{AuthError, Profile, RequestError, server_hash};

const STEVE: Profile = Profile { name: String::new(), id: 0x1111 };

pub(super) fn steve() -> Profile {
    Profile { name: "Steve".into(), ..STEVE }
}

pub(super) fn account(client: ClientLeg) -> AuthMode {
    AuthMode::Account { profile: steve(), client }
}

pub(super) fn verify(admitted: Admitted) -> AuthMode {
    AuthMode::Verify { profile: steve(), admitted }
}

/// A client called `name` that has said so, with the server behind.
pub(super) fn login(size: usize, auth: AuthMode, name: &str) -> Pair {
    let config = Config { auth, ..Config::default() };
    let mut pair = Pair::with(size, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    pair.client_says(State::Handshaking, "set_protocol", handshake("localhost", 2));
    pair.client_says(State::Login, "login_start", fields([("username", name.into())]));
    pair
}

pub(super) fn material() -> Box<KeyMaterial> {
    Box::new(KeyMaterial { key: key(1), secret: *OWN, token: *b"ours", seed: [3; 32] })
}

pub(super) fn der(key: &RsaPrivateKey) -> Bytes {
    Bytes::copy_from_slice(key.to_public_key().to_public_key_der().unwrap().as_bytes())
}

/// The server asks for encryption, and there is a key.
pub(super) fn server_asks(pair: &mut Pair) {
    let request = fields([
        ("serverId", "server".into()),
        ("publicKey", Value::Bytes(der(&key(0)))),
        ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
    ]);
    pair.server_says(State::Login, "encryption_begin", request);
    pair.input(Input::Key(material()));
}

/// The secret that the proxy chooses.
pub(super) const OWN: &[u8; 16] = b"upstream secret!";

/// The secret that the client chooses.
pub(super) const CLIENTS: &[u8; 16] = b"client's secret!";

pub(super) fn client_answers(pair: &mut Pair) {
    let public = key(1).to_public_key();
    pair.client_says(State::Login, "encryption_begin", response(&public, CLIENTS, b"ours"));
    pair.client.set_cipher(CLIENTS);
}

fn join() -> Output {
    join_with(OWN)
}

fn join_with(secret: &[u8; 16]) -> Output {
    let server_hash = server_hash("server", secret, &der(&key(0)));
    Output::Join { server_hash, lent: None }
}

fn told(pair: &Pair) -> String {
    String::from_utf8_lossy(pair.client_got.last().unwrap()).into_owned()
}

/// What the server has read of the Encryption Response, which is then in force.
fn server_opens(pair: &mut Pair, secret: &[u8; 16]) {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let body = pair.server_got.last().unwrap();
    let (packet, start) = protocol.identify(State::Login, Direction::Serverbound, body).unwrap();
    let value = protocol.decode(packet, body, start).unwrap();
    let open = |name| {
        key(0).decrypt(Pkcs1v15Encrypt, value.get(name).unwrap().as_bytes().unwrap()).unwrap()
    };
    assert_eq!(open("sharedSecret"), secret);
    assert_eq!(open("verifyToken"), b"tokn");
    pair.server.set_cipher(secret);
}

/// Both play on, each with what it has.
fn plays(pair: &mut Pair) {
    pair.server_says(State::Login, "success", success());
    assert_eq!(told(pair)[2..], "$b50ad385-829d-3141-a216-7e7d7539ba7f\x05Steve"[1..]);
    pair.client_says(State::Play, "chat", chat("hello"));
    assert_eq!(pair.server_got.last().unwrap()[..], *b"\x01\x05hello");
    assert!(pair.records().iter().all(|record| record.packet.error().is_none()));
}

#[test]
fn an_account_joins_before_the_server_hears_the_secret_and_its_name_takes_the_clients_place() {
    for size in SIZES {
        let mut pair = login(size, account(ClientLeg::AsServer), "Alex");
        assert_eq!(pair.server_got[1][..], *b"\x00\x05Steve");
        assert_eq!(pair.seen()[2..], ["~login_start", "+login_start"]);
        server_asks(&mut pair);
        client_answers(&mut pair);
        assert_eq!(pair.outputs.last(), Some(&join()));
        assert_eq!(pair.server_got.len(), 2, "the server waits for the session service");
        pair.input(Input::AccountJoined(Ok(())));
        server_opens(&mut pair, OWN);
        plays(&mut pair);
        let logged = pair.outputs.iter().filter(|it| matches!(it, Output::LogKey(_))).count();
        assert_eq!(logged, 2);
    }
}

#[test]
fn a_name_that_is_the_accounts_already_goes_as_it_came() {
    let pair = login(7, account(ClientLeg::AsServer), "Steve");
    assert_eq!(pair.seen()[2..], ["login_start"]);
}

#[test]
fn a_client_without_an_account_may_keep_its_leg_plain() {
    for size in SIZES {
        let mut pair = login(size, account(ClientLeg::Plain), "Alex");
        server_asks(&mut pair);
        assert_eq!(pair.outputs.last(), Some(&join()));
        assert!(pair.client_got.is_empty(), "the client hears nothing of it");
        pair.input(Input::AccountJoined(Ok(())));
        server_opens(&mut pair, OWN);
        plays(&mut pair);
        assert_eq!(pair.seen()[4..6], ["-encryption_begin", "+encryption_begin"]);
    }
}

#[test]
fn a_player_is_told_through_the_encrypted_leg_why_the_account_cannot_join() {
    let down = AuthError::Down { service: "s.org".into(), status: 503 };
    for (error, words) in [
        (AuthError::Token, "log in again"),
        (down, "s.org is down"),
        (AuthError::TooMany { service: "s.org".into() }, "too often"),
        (
            AuthError::Unreachable { service: "s.org".into(), cause: RequestError::Timeout },
            "cannot reach s.org",
        ),
        (AuthError::Multiplayer, "forbid multiplayer"),
    ] {
        let mut pair = login(7, account(ClientLeg::AsServer), "Steve");
        server_asks(&mut pair);
        client_answers(&mut pair);
        pair.input(Input::AccountJoined(Err(error)));
        assert!(told(&pair).contains(words), "{}", told(&pair));
        assert!(pair.session.is_over());
        assert!(pair.reason().unwrap().contains(words));
        assert_eq!(pair.seen()[5..], ["-encryption_begin", "+disconnect"]);
    }
}

#[test]
fn a_wrong_answer_of_the_client_joins_nobody() {
    let mut pair = login(7, account(ClientLeg::AsServer), "Steve");
    server_asks(&mut pair);
    let public = key(1).to_public_key();
    pair.client_says(State::Login, "encryption_begin", response(&public, CLIENTS, b"tokn"));
    assert!(!pair.outputs.contains(&join()));
    assert!(told(&pair).contains("does not fit"));
    assert!(pair.session.is_over());
}

/// A client in mode `verify` that has proved to share a secret.
pub(super) fn proved(size: usize, admitted: Admitted, name: &str) -> Pair {
    let mut pair = login(size, verify(admitted), name);
    assert_eq!(pair.outputs.last(), Some(&Output::GenerateKey));
    pair.input(Input::Key(material()));
    assert_eq!(pair.server_got.len(), 1, "the server has heard of nobody");
    client_answers(&mut pair);
    let server_hash = server_hash("", CLIENTS, &der(&key(1)));
    let asked = Output::HasJoined { name: name.into(), server_hash };
    assert_eq!(pair.outputs.last(), Some(&asked));
    pair
}

#[test]
fn a_verified_client_reaches_the_server_and_each_leg_has_its_own_key_exchange() {
    for size in SIZES {
        let mut pair = proved(size, Admitted::Owner, "Steve");
        pair.input(Input::Verified(Ok(steve())));
        assert_eq!(pair.server_got[1][..], *b"\x00\x05Steve");
        server_asks(&mut pair);
        pair.input(Input::AccountJoined(Ok(())));
        server_opens(&mut pair, CLIENTS);
        plays(&mut pair);
        let expected = [
            "~login_start",
            "+encryption_begin",
            "-encryption_begin",
            "+login_start",
            "-encryption_begin",
            "+encryption_begin",
            "success",
            "chat",
        ];
        assert_eq!(pair.seen()[2..], expected);
    }
}

#[test]
fn a_client_is_verified_before_a_server_that_does_not_encrypt_too() {
    let mut pair = proved(7, Admitted::Owner, "Steve");
    pair.input(Input::Verified(Ok(steve())));
    plays(&mut pair);
    let told = |it: &Output| matches!(it, Output::Notice(Notice::NotVerified { .. }));
    assert!(pair.outputs.iter().any(told));
}

#[test]
fn a_player_who_is_not_the_account_needs_leave() {
    let alex = || Profile { name: "Alex".into(), id: 0x2222 };
    let mut pair = proved(7, Admitted::Owner, "Alex");
    pair.input(Input::Verified(Ok(alex())));
    assert!(told(&pair).contains("`Alex` is verified, but the account is `Steve`"));
    assert!(pair.session.is_over());
    assert_eq!(pair.server_got.len(), 1);
    assert_eq!(pair.seen()[4..], ["-encryption_begin", "+disconnect"]);

    let mut pair = proved(7, Admitted::Anyone, "Alex");
    pair.input(Input::Verified(Ok(alex())));
    assert_eq!(pair.server_got[1][..], *b"\x00\x05Steve");
    plays(&mut pair);
}

#[test]
fn a_player_nobody_vouches_for_is_told_so() {
    let down = AuthError::Down { service: "s.org".into(), status: 500 };
    for error in [AuthError::NotJoined { name: "Steve".into() }, down] {
        let mut pair = proved(7, Admitted::Owner, "Steve");
        pair.input(Input::Verified(Err(error.clone())));
        assert!(told(&pair).contains(&error.to_string().replace('"', "\\\"")), "{}", told(&pair));
        assert!(pair.session.is_over());
        assert_eq!(pair.server_got.len(), 1, "the server has heard of nobody");
    }
}

fn runs_out(pair: &mut Pair) {
    let until = pair.session.poll_timeout().unwrap();
    pair.session.handle(Timestamp(until.0 - 1), Input::Timeout);
    assert!(!pair.session.is_over());
    pair.session.handle(until, Input::Timeout);
    pair.run();
    assert!(pair.session.is_over());
}

#[test]
fn a_client_that_never_answers_is_given_up() {
    let mut pair = login(7, verify(Admitted::Owner), "Steve");
    pair.input(Input::Key(material()));
    runs_out(&mut pair);
    assert!(told(&pair).contains("has not answered the Encryption Request within 30 s"));
}

#[test]
fn a_session_service_that_never_answers_is_given_up() {
    let mut pair = proved(7, Admitted::Owner, "Steve");
    runs_out(&mut pair);
    assert!(told(&pair).contains("the session server has not answered within 30 s"));
    let mut pair = login(7, account(ClientLeg::Plain), "Steve");
    server_asks(&mut pair);
    runs_out(&mut pair);
    assert!(told(&pair).contains("the session server has not answered within 30 s"));
}

#[test]
fn a_server_that_loses_patience_with_a_silent_client_says_so_itself() {
    let (mut pair, _, _) = encrypting(7);
    let until = pair.session.poll_timeout().unwrap();
    assert!(until.0 > pair.clock + 60_000_000_000, "it is the server's login");
    pair.server_says(State::Login, "disconnect", fields([("reason", "too slow".into())]));
    pair.input(Input::Closed(Side::Server));
    assert!(told(&pair).contains("too slow"));
    pair.input(Input::Closed(Side::Client));
    assert!(pair.reason().unwrap().contains("too slow"), "{:?}", pair.reason());
}

#[test]
fn without_an_account_the_user_is_told_before_the_login_fails_and_the_player_when_it_does() {
    let (mut pair, public, token) = encrypting(7);
    let warned = |it: &Output| matches!(it, Output::Notice(Notice::WantsAccount { .. }));
    assert!(pair.outputs.iter().any(warned));
    pair.client_says(State::Login, "encryption_begin", response(&public, CLIENTS, &token));
    pair.client.set_cipher(CLIENTS);
    pair.server.set_cipher(CLIENTS);
    pair.input(Input::Closed(Side::Server));
    assert!(told(&pair).contains("not logged in to one"), "{}", told(&pair));
    pair.input(Input::Closed(Side::Client));
    assert!(pair.reason().unwrap().contains("not logged in to one"));
}

#[test]
fn a_client_that_leaves_a_login_without_an_account_is_the_one_that_closed() {
    let (mut pair, _, _) = encrypting(7);
    pair.input(Input::Closed(Side::Client));
    pair.input(Input::Closed(Side::Server));
    assert_eq!(pair.reason(), Some("closed by the client"));
}

#[test]
fn while_the_session_service_is_asked_the_server_is_heard_and_64_kib_of_the_client_wait() {
    let mut pair = login(usize::MAX, account(ClientLeg::AsServer), "Steve");
    server_asks(&mut pair);
    client_answers(&mut pair);
    let mut feed = |bytes: &[u8]| {
        pair.input(Input::Received(Side::Client, bytes));
        Side::ALL.map(|side| pair.session.wants_read(side))
    };
    assert_eq!(feed(b"\x01"), [true, true]);
    assert_eq!(feed(&[0; (64 << 10) - 2]), [true, true]);
    assert_eq!(feed(&[0]), [false, true]);
    assert_eq!(pair.server_got.len(), 2);
    pair.server_says(State::Login, "disconnect", fields([("reason", "\"full\"".into())]));
    assert!(told(&pair).contains("full"));
}

#[test]
fn a_login_start_with_the_id_of_another_player_gets_the_accounts() {
    let config = Config { auth: account(ClientLeg::AsServer), ..Config::default() };
    let mut pair = Pair::with(7, config, Pipeline::default());
    pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
    let Value::Map(mut hello) = handshake("localhost", 2) else { panic!() };
    hello[0].1 = 767.into();
    pair.client_says(State::Handshaking, "set_protocol", Value::Map(hello));
    let start = [&b"\x00\x05Steve"[..], &0x3333_u128.to_be_bytes()].concat();
    pair.client.encoder.send(&start);
    pair.run();
    assert_eq!(pair.server_got[1][..7], *b"\x00\x05Steve");
    assert_eq!(pair.server_got[1][7..], 0x1111_u128.to_be_bytes());
}

#[test]
fn a_login_that_succeeds_without_an_account_is_not_talked_about() {
    let (mut pair, public, token) = encrypting(7);
    pair.client_says(State::Login, "encryption_begin", response(&public, CLIENTS, &token));
    pair.client.set_cipher(CLIENTS);
    pair.server.set_cipher(CLIENTS);
    plays(&mut pair);
    pair.input(Input::Closed(Side::Server));
    pair.input(Input::Closed(Side::Client));
    assert_eq!(pair.reason(), Some("closed by the server"));
}

#[test]
fn what_is_printed_for_debugging_shows_no_secret() {
    let mut pair = login(7, account(ClientLeg::AsServer), "Steve");
    server_asks(&mut pair);
    let printed = |pair: &Pair| {
        let Session { phase, ends, .. } = &pair.session;
        format!("{phase:?} {ends:?} {:?}", pair.outputs)
    };
    let mut all = printed(&pair);
    client_answers(&mut pair);
    all.push_str(&printed(&pair));
    for secret in [OWN, CLIENTS] {
        let list = format!("{secret:?}");
        assert!(!all.contains(&list[1..list.len() - 1]));
    }
    assert!(!format!("{:?}", account(ClientLeg::Plain)).contains(&STEVE.id.to_string()));
    for name in ["KeyMaterial", "Exchange", "Joining"] {
        assert!(all.contains(name), "{all}");
    }
}

/// A login of 1.21, whose server says that it verifies nobody.
#[test]
fn encryption_without_authentication_needs_no_account() {
    let protocol = Catalog::embedded().find(767).unwrap().protocol;
    let body = |direction, name: &str, value: Value| {
        protocol.encode(protocol.named(State::Login, direction, name).unwrap(), &value).unwrap()
    };
    for (asks, auth) in [
        (false, AuthMode::Offline),
        (false, account(ClientLeg::AsServer)),
        (true, account(ClientLeg::AsServer)),
        (true, AuthMode::Offline),
        (false, lent()),
        (true, lent()),
    ] {
        let config = Config { auth: auth.clone(), ..Config::default() };
        let mut pair = Pair::with(7, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        let hello = fields([
            ("protocolVersion", 767.into()),
            ("serverHost", "localhost".into()),
            ("serverPort", 25566.into()),
            ("nextState", 2.into()),
        ]);
        pair.client_says(State::Handshaking, "set_protocol", hello);
        let start = fields([("username", "Alex".into()), ("playerUUID", Value::Uuid(0x3333))]);
        pair.client.encoder.send(&body(Direction::Serverbound, "login_start", start));
        pair.run();
        if auth.profile().is_some() {
            assert_eq!(pair.server_got[1][..7], *b"\x00\x05Steve");
            assert_eq!(pair.server_got[1][7..], 0x1111_u128.to_be_bytes());
        }
        let request = fields([
            ("serverId", "".into()),
            ("publicKey", Value::Bytes(der(&key(0)))),
            ("verifyToken", Value::Bytes(Bytes::from_static(b"tokn"))),
            ("shouldAuthenticate", Value::Bool(asks)),
        ]);
        pair.server.encoder.send(&body(Direction::Clientbound, "encryption_begin", request));
        pair.run();
        pair.input(Input::Key(material()));
        let itself = asks && auth.profile().is_none();
        assert_eq!(pair.client_got[0].last(), Some(&u8::from(itself)), "who authenticates");
        let value = response(&key(1).to_public_key(), CLIENTS, b"ours");
        pair.client.encoder.send(&body(Direction::Serverbound, "encryption_begin", value));
        pair.run();
        let joins = pair.outputs.iter().any(|it| matches!(it, Output::Join { .. }));
        assert_eq!(joins, asks && auth != AuthMode::Offline);
        let warns = pair.outputs.iter().any(|it| matches!(it, Output::Notice(_)));
        assert_eq!(warns, asks && auth == AuthMode::Offline);
        assert_eq!(pair.server_got.len(), if joins { 2 } else { 3 });
    }
}

/// A login of 1.19.2, whose client signs.
#[test]
fn a_key_goes_with_its_own_player_alone() {
    let protocol = Catalog::embedded().find(760).unwrap().protocol;
    let body = |direction, name: &str, value: Value| {
        protocol.encode(protocol.named(State::Login, direction, name).unwrap(), &value).unwrap()
    };
    let bytes = |bytes: &'static [u8]| Value::Bytes(Bytes::from_static(bytes));
    for (auth, name, signs) in [
        (AuthMode::Offline, "Alex", true),
        (account(ClientLeg::AsServer), "Steve", true),
        (account(ClientLeg::AsServer), "Alex", false),
        (account(ClientLeg::Plain), "Steve", false),
        (lent(), "Alex", true),
    ] {
        let plain = auth == account(ClientLeg::Plain);
        let config = Config { auth, ..Config::default() };
        let mut pair = Pair::with(7, config, Pipeline::default());
        pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        let hello = fields([
            ("protocolVersion", 760.into()),
            ("serverHost", "localhost".into()),
            ("serverPort", 25566.into()),
            ("nextState", 2.into()),
        ]);
        pair.client_says(State::Handshaking, "set_protocol", hello);
        let key_of_client = fields([
            ("timestamp", Value::Int(5)),
            ("publicKey", bytes(b"key")),
            ("signature", bytes(b"sign")),
        ]);
        let start = fields([
            ("username", name.into()),
            ("signature", key_of_client),
            ("playerUUID", Value::Uuid(0x1111)),
        ]);
        pair.client.encoder.send(&body(Direction::Serverbound, "login_start", start));
        pair.run();
        let decode = |body: &Bytes| {
            let (packet, start) =
                protocol.identify(State::Login, Direction::Serverbound, body).unwrap();
            protocol.decode(packet, body, start).unwrap()
        };
        let start = decode(&pair.server_got[1]);
        assert_eq!(*start.get("signature").unwrap().plain() != Value::Absent, signs);
        let request = fields([
            ("serverId", "".into()),
            ("publicKey", Value::Bytes(der(&key(0)))),
            ("verifyToken", bytes(b"tokn")),
        ]);
        pair.server.encoder.send(&body(Direction::Clientbound, "encryption_begin", request));
        pair.run();
        pair.input(Input::Key(material()));
        if !plain {
            let shown = pair.client_got.last().unwrap();
            assert!(shown.ends_with(if signs { b"tokn" } else { b"ours" }));
            let Value::Map(sealed) = response(&key(1).to_public_key(), CLIENTS, b"") else {
                panic!();
            };
            let proof = fields([("salt", Value::Int(7)), ("messageSignature", bytes(b"signed"))]);
            let said = fields([
                ("sharedSecret", sealed[0].1.clone()),
                ("hasVerifyToken", Value::Bool(false)),
                ("crypto", proof),
            ]);
            pair.client.encoder.send(&body(Direction::Serverbound, "encryption_begin", said));
            pair.run();
        }
        if matches!(pair.outputs.last(), Some(Output::Join { .. })) {
            pair.input(Input::AccountJoined(Ok(())));
        }
        let proof = decode(pair.server_got.last().unwrap()).get("crypto").unwrap().clone();
        assert_eq!(proof.get("messageSignature").is_some(), signs);
        assert_eq!(proof.get("verifyToken").is_some(), !signs);
    }
}

pub(super) fn lent() -> AuthMode {
    AuthMode::Client { advice: "restart it".into() }
}

#[test]
fn a_lent_account_joins_if_the_hash_of_the_clients_leg_is_known() {
    for size in SIZES {
        let mut pair = login(size, lent(), "Alex");
        assert_eq!(pair.server_got[1][..], *b"\x00\x04Alex", "the name is the client's own");
        server_asks(&mut pair);
        client_answers(&mut pair);
        let Output::Join { server_hash: towards, .. } = join_with(CLIENTS) else { panic!() };
        let lent = Some(server_hash("server", CLIENTS, &der(&key(1))));
        assert_eq!(pair.outputs.last(), Some(&Output::Join { server_hash: towards, lent }));
        assert_eq!(pair.server_got.len(), 2, "the server waits for the session service");
        pair.input(Input::AccountJoined(Ok(())));
        server_opens(&mut pair, CLIENTS);
        plays(&mut pair);
    }
}

#[test]
fn a_player_whose_game_has_not_lent_its_account_is_told_what_to_do() {
    let mut pair = login(7, lent(), "Alex");
    server_asks(&mut pair);
    client_answers(&mut pair);
    pair.input(Input::AccountJoined(Err(AuthError::NotLent)));
    assert!(told(&pair).contains("the game has not lent its account: restart it"));
    assert!(pair.outputs.contains(&Output::Notice(Notice::NotLent)));
    assert!(pair.session.is_over());
    assert_eq!(pair.server_got.len(), 2, "the server has no secret");
}

#[test]
fn another_reason_why_a_lent_account_cannot_join_is_told_as_it_is() {
    let mut pair = login(7, lent(), "Alex");
    server_asks(&mut pair);
    client_answers(&mut pair);
    pair.input(Input::AccountJoined(Err(AuthError::Banned)));
    assert!(told(&pair).contains("banned"), "{}", told(&pair));
    assert!(!pair.outputs.contains(&Output::Notice(Notice::NotLent)));
}

#[test]
fn a_lent_account_whose_token_has_expired_and_a_silent_service_are_told_to_the_player() {
    let asked = || {
        let mut pair = login(7, lent(), "Alex");
        server_asks(&mut pair);
        client_answers(&mut pair);
        pair
    };
    let mut pair = asked();
    pair.input(Input::AccountJoined(Err(AuthError::LentToken)));
    assert!(told(&pair).contains("restart the game from its launcher"), "{}", told(&pair));
    assert!(pair.session.is_over());
    let mut pair = asked();
    runs_out(&mut pair);
    assert!(told(&pair).contains("the session server has not answered within 30 s"));
    assert_eq!(pair.server_got.len(), 2, "the server has no secret");
}

#[test]
fn a_server_in_offline_mode_borrows_no_account() {
    let mut pair = login(7, lent(), "Steve");
    plays(&mut pair);
    assert!(!pair.outputs.iter().any(|it| matches!(it, Output::Join { .. } | Output::Notice(_))));
}
