//! Features of later versions: transfers, bundles, signed chat.

use super::*;
use crate::filter::RuleSet;
use mitmcraft_protocol::schema::Protocol;

use Direction::{Clientbound, Serverbound};

/// A session of a later version, in the game.
pub(super) struct Game {
    pub(super) pair: Pair,
    pub(super) protocol: Arc<Protocol>,
}

impl Game {
    pub(super) fn new(version: i32, rules: &str) -> Self {
        Self::with(version, rules, Config::default(), fields([]))
    }

    /// `start` is what else is in Login Start.
    pub(super) fn with(version: i32, rules: &str, config: Config, start: Value) -> Self {
        let checked = RuleSet::parse(rules, Catalog::embedded());
        let set = checked.rules.unwrap_or_else(|| panic!("{:?}", checked.faults));
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(set.filter()));
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let mut game = Self { pair: Pair::with(7, config, pipeline), protocol };
        game.pair.input(Input::Connected("127.0.0.1:25565".parse().unwrap()));
        let handshake = fields([
            ("protocolVersion", version.into()),
            ("serverHost", "play.example.org\0FML3\0".into()),
            ("serverPort", 25577.into()),
            ("nextState", 2.into()),
        ]);
        game.pair.client_says(State::Handshaking, "set_protocol", handshake);
        let mut name = vec![("username".into(), "Steve".into())];
        if let Value::Map(more) = start {
            name.extend(more);
        }
        name.push(("playerUUID".into(), Value::Uuid(1)));
        game.says(Serverbound, State::Login, "login_start", Value::Map(name));
        let uuid = match version {
            ..735 => "b50ad385-829d-3141-a216-7e7d7539ba7f".into(),
            _ => Value::Uuid(1),
        };
        let success = fields([
            ("uuid", uuid),
            ("username", "Steve".into()),
            ("properties", Value::List(Vec::new())),
            ("strictErrorHandling", Value::Bool(false)),
            ("sessionId", Value::Uuid(2)),
        ]);
        game.says(Clientbound, State::Login, "success", success);
        if version >= 764 {
            game.says(Serverbound, State::Login, "login_acknowledged", fields([]));
            for direction in Direction::ALL {
                game.says(direction, State::Configuration, "finish_configuration", fields([]));
            }
        }
        game.pair.entries.clear();
        game.pair.outputs.clear();
        game
    }

    /// Sends a packet with those of the fields that this version has.
    pub(super) fn says(&mut self, direction: Direction, state: State, name: &str, value: Value) {
        let body = self.encode(direction, state, name, value);
        self.sends(direction, &body);
    }

    pub(super) fn encode(
        &self,
        direction: Direction,
        state: State,
        name: &str,
        value: Value,
    ) -> Vec<u8> {
        let packet = self.protocol.named(state, direction, name).unwrap();
        let Value::Map(mut fields) = value else { panic!("{value:?}") };
        loop {
            match self.protocol.encode(packet, &Value::Map(fields.clone())) {
                Ok(body) => return body,
                Err(error)
                    if error.cause == mitmcraft_protocol::schema::EncodeCause::UnknownField =>
                {
                    fields.retain(|(name, _)| **name != *error.path);
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }

    pub(super) fn sends(&mut self, direction: Direction, body: &[u8]) {
        let leg = match direction {
            Serverbound => &mut self.pair.client,
            Clientbound => &mut self.pair.server,
        };
        leg.encoder.send(body);
        self.pair.run();
    }

    pub(super) fn plays(&mut self, direction: Direction, name: &str, value: Value) {
        self.says(direction, State::Play, name, value);
    }

    pub(super) fn comments(&self) -> String {
        let records = self.pair.records();
        records.iter().filter_map(|it| it.comment.clone()).collect::<Vec<_>>().join("; ")
    }

    fn signature(&self, signature: Option<&[u8]>) -> Value {
        match (signature, self.protocol.version()) {
            (Some(signature), _) => Value::Bytes(Bytes::copy_from_slice(signature)),
            (None, ..=760) => Value::Bytes(Bytes::new()),
            (None, _) => Value::Absent,
        }
    }

    /// The message of another player, as a server of that version sends it.
    pub(super) fn player_chat(&self, signature: Option<&[u8]>) -> Vec<u8> {
        let text = || match self.protocol.version() {
            ..765 => "{}".into(),
            _ => Value::from_json(&serde_json::json!({ "type": "string", "value": "Alex" })),
        };
        let kind = match self.protocol.version() {
            ..766 => 0.into(),
            _ => fields([("chatType", 1.into())]),
        };
        let message = fields([
            ("globalIndex", 3.into()),
            ("previousSignature", Value::Absent),
            ("senderUuid", Value::Uuid(7)),
            ("index", 0.into()),
            ("signature", self.signature(signature)),
            ("signedChatContent", "{}".into()),
            ("plainMessage", "hi".into()),
            ("formattedMessage", Value::Absent),
            ("senderName", "{}".into()),
            ("senderTeam", Value::Absent),
            ("timestamp", Value::Int(1)),
            ("salt", Value::Int(2)),
            ("previousMessages", Value::List(Vec::new())),
            ("unsignedChatContent", Value::Absent),
            ("filterType", 0.into()),
            ("type", kind),
            ("networkName", text()),
            ("networkTargetName", Value::Absent),
        ]);
        self.encode(Clientbound, State::Play, "player_chat", message)
    }

    /// A message as the client of that version sends it.
    pub(super) fn chat(&mut self, text: &str, signature: Option<&[u8]>, offset: i32) {
        let body = self.chat_body(text, signature, offset);
        self.sends(Serverbound, &body);
    }

    fn chat_body(&self, text: &str, signature: Option<&[u8]>, offset: i32) -> Vec<u8> {
        let none = || Value::List(Vec::new());
        let signature = self.signature(signature);
        let message = fields([
            ("message", text.into()),
            ("timestamp", Value::Int(1)),
            ("salt", Value::Int(2)),
            ("signature", signature),
            ("signedPreview", Value::Bool(false)),
            ("previousMessages", none()),
            ("lastRejectedMessage", Value::Absent),
            ("offset", offset.into()),
            ("acknowledged", Value::Bytes(vec![0; 3].into())),
            ("checksum", 0.into()),
        ]);
        self.encode(Serverbound, State::Play, "chat_message", message)
    }

    pub(super) fn chat_session(&mut self) {
        let bytes = || Value::Bytes(vec![1; 8].into());
        let session = fields([
            ("sessionUUID", Value::Uuid(5)),
            ("expireTime", Value::Int(1)),
            ("publicKey", bytes()),
            ("signature", bytes()),
        ]);
        self.plays(Serverbound, "chat_session_update", session);
    }

    fn server_data(&mut self, motd: &str, enforces: bool) {
        let data = fields([
            ("motd", Value::from_json(&serde_json::json!({ "type": "string", "value": motd }))),
            ("iconBytes", Value::Absent),
            ("enforcesSecureChat", Value::Bool(enforces)),
        ]);
        self.plays(Clientbound, "server_data", data);
    }
}

const SHOUT: &str = "[[rule]]\nwhen = 'chat_message and message == \"change\"'\n\
                     set = { message = 'changed' }\n\
                     [[rule]]\nwhen = 'chat_message and message == \"drop\"'\ndrop = true\n";

#[test]
fn a_transferred_client_is_told_to_come_back_and_where_it_goes_is_put_out() {
    for (state, name) in [(State::Play, "transfer"), (State::Configuration, "transfer")] {
        let mut game = Game::new(766, "");
        if state == State::Configuration {
            game.plays(Clientbound, "start_configuration", fields([]));
            game.plays(Serverbound, "configuration_acknowledged", fields([]));
        }
        let target = fields([("host", "10.0.0.9".into()), ("port", 25599.into())]);
        game.says(Clientbound, state, name, target);
        let told = game.pair.client_got.last().unwrap().clone();
        let back = fields([("host", "play.example.org".into()), ("port", 25577.into())]);
        let packet = game.protocol.named(state, Clientbound, name).unwrap();
        assert_eq!(told, game.protocol.encode(packet, &back).unwrap());
        let transfer = Transfer {
            client: [127, 0, 0, 1].into(),
            player: "Steve".into(),
            target: Upstream { host: "10.0.0.9".into(), port: 25599 },
        };
        assert_eq!(game.pair.outputs, [Output::Transfer(Box::new(transfer))]);
        assert!(game.comments().contains("connects it to 10.0.0.9:25599"), "{}", game.comments());
    }
}

#[test]
fn a_transfer_is_left_alone_when_it_is_not_to_be_followed_or_dropped() {
    let target = || fields([("host", "10.0.0.9".into()), ("port", 25599.into())]);
    let config = Config { follow_transfers: false, ..Config::default() };
    let mut game = Game::with(777, "", config, fields([]));
    game.plays(Clientbound, "transfer", target());
    assert_eq!((game.pair.seen(), game.pair.outputs.len()), (vec!["transfer".to_owned()], 0));
    let mut game = Game::new(777, "[[rule]]\nwhen = 'transfer'\ndrop = true\n");
    game.plays(Clientbound, "transfer", target());
    assert_eq!((game.pair.seen(), game.pair.outputs.len()), (vec!["-transfer".to_owned()], 0));
    let rule = "[[rule]]\nwhen = 'transfer'\nset = { host = 'other.example.org' }\n";
    let mut game = Game::new(777, rule);
    game.plays(Clientbound, "transfer", target());
    let [Output::Transfer(transfer)] = &game.pair.outputs[..] else { panic!() };
    assert_eq!(transfer.target.to_string(), "other.example.org:25599");
}

#[test]
fn a_client_that_comes_back_is_told_by_its_intent_and_name() {
    let catalog = Catalog::embedded();
    let protocol = catalog.find(766).unwrap().protocol;
    let awaited = |player: &str| Transfer {
        client: [127, 0, 0, 1].into(),
        player: player.into(),
        target: Upstream { host: "a".into(), port: 1 },
    };
    let awaited = [awaited("Alex"), awaited("Steve")];
    let bytes = |next: i32, player: &str| {
        let mut leg = Leg::new(Limits::default());
        let handshake = fields([
            ("protocolVersion", 766.into()),
            ("serverHost", "localhost".into()),
            ("serverPort", 25566.into()),
            ("nextState", next.into()),
        ]);
        leg.encoder.send(&body(State::Handshaking, Serverbound, "set_protocol", &handshake));
        let start = fields([("username", player.into()), ("playerUUID", Value::Uuid(1))]);
        let packet = protocol.named(State::Login, Serverbound, "login_start").unwrap();
        leg.encoder.send(&protocol.encode(packet, &start).unwrap());
        leg.encoder.pending().to_vec()
    };
    let whole = bytes(3, "Steve");
    for end in 0..whole.len() {
        assert_eq!(Arrival::of(&whole[..end], catalog, &awaited), Arrival::Unsure, "{end}");
    }
    assert_eq!(Arrival::of(&whole, catalog, &awaited), Arrival::Of(1));
    for bytes in
        [&bytes(2, "Steve")[..], &bytes(3, "Notch"), &hex_literal::hex!("fe 01 fa"), b"GET / "]
    {
        assert_eq!(Arrival::of(bytes, catalog, &awaited), Arrival::Stranger);
    }
}

#[test]
fn a_bundle_keeps_both_delimiters_whatever_rules_say() {
    let rules = "[[rule]]\nwhen = 'bundle_delimiter or update_time'\ndrop = true\n";
    let mut game = Game::new(766, rules);
    let time = || fields([("age", Value::Int(1)), ("time", Value::Int(2))]);
    for name in ["bundle_delimiter", "update_time", "bundle_delimiter"] {
        let value = if name == "update_time" { time() } else { fields([]) };
        game.plays(Clientbound, name, value);
    }
    assert_eq!(game.pair.seen(), ["bundle_delimiter", "-update_time", "bundle_delimiter"]);
    assert!(game.comments().contains("`bundle_delimiter` was not changed"));
}

#[test]
fn a_delay_within_a_bundle_holds_back_its_end() {
    let rules = "[[rule]]\nwhen = 'update_time'\ndelay = '100ms'\n\
                 [[rule]]\nwhen = 'bundle_delimiter or map_chunk'\ndelay = '1ms'\ncopy = 1\nreorder = true\n";
    let mut game = Game::new(766, rules);
    let before = game.pair.client_got.len();
    let time = || fields([("age", Value::Int(1)), ("time", Value::Int(2))]);
    for name in ["bundle_delimiter", "update_time", "bundle_delimiter"] {
        let value = if name == "update_time" { time() } else { fields([]) };
        game.plays(Clientbound, name, value);
    }
    let delimiter = Bytes::from_static(&[0]);
    assert_eq!(game.pair.client_got[before..], [&delimiter]);
    game.pair.clock += 100_000_000;
    game.pair.input(Input::Timeout);
    let got = &game.pair.client_got[before..];
    assert_eq!((got.len(), &got[0], &got[2]), (3, &delimiter, &delimiter));
}

#[test]
fn a_close_within_a_bundle_ends_the_bundle_so_that_the_player_reads_why() {
    let rules = "[[rule]]\nwhen = 'update_time'\nclose = 'enough'\n";
    let mut game = Game::new(766, rules);
    game.plays(Clientbound, "bundle_delimiter", fields([]));
    let time = fields([("age", Value::Int(1)), ("time", Value::Int(2))]);
    game.plays(Clientbound, "update_time", time);
    let seen = game.pair.seen();
    let end = ["bundle_delimiter", "-update_time", "+bundle_delimiter", "+kick_disconnect"];
    assert_eq!(seen, end);
}

#[test]
fn a_delimiter_that_a_rule_sends_alone_is_not_sent() {
    let rule = |count: usize| {
        let sends = "{ to = 'client', packet = 'bundle_delimiter', fields = {} },".repeat(count);
        format!("[[rule]]\nwhen = 'update_time'\nsend = [{sends}]\n")
    };
    let time = || fields([("age", Value::Int(1)), ("time", Value::Int(2))]);
    let mut game = Game::new(766, &rule(1));
    game.plays(Clientbound, "update_time", time());
    assert_eq!(game.pair.seen(), ["update_time"]);
    assert!(game.comments().contains("a single bundle delimiter"), "{}", game.comments());
    let mut game = Game::new(766, &rule(2));
    game.plays(Clientbound, "update_time", time());
    assert_eq!(game.pair.seen(), ["update_time", "+bundle_delimiter", "+bundle_delimiter"]);
}

#[test]
fn a_signed_message_goes_on_as_it_was_signed() {
    for version in [761, 765, 777] {
        let mut game = Game::new(version, SHOUT);
        game.chat_session();
        for text in ["change", "drop"] {
            game.chat(text, Some(&[7; 256]), 0);
        }
        let expected = ["chat_session_update", "chat_message", "chat_message"];
        assert_eq!(game.pair.seen(), expected, "{version}");
        assert!(game.comments().contains("signed message"), "{}", game.comments());
    }
    let key = fields([
        ("timestamp", Value::Int(1)),
        ("publicKey", Value::Bytes(vec![1].into())),
        ("signature", Value::Bytes(vec![1].into())),
    ]);
    for (version, dropped) in [(759, "-chat_message"), (760, "chat_message")] {
        let start = fields([("signature", key.clone())]);
        let mut game = Game::with(version, SHOUT, Config::default(), start);
        for text in ["change", "drop"] {
            game.chat(text, Some(&[7; 256]), 0);
        }
        assert_eq!(game.pair.seen(), ["chat_message", dropped], "{version}");
    }
}

#[test]
fn an_unsigned_message_is_changed_and_dropped_like_any_packet() {
    for version in [759, 760, 761, 765, 770, 777] {
        let mut game = Game::new(version, SHOUT);
        game.chat("change", None, 0);
        game.chat("drop", None, 0);
        let seen = game.pair.seen();
        assert_eq!(seen, ["~chat_message", "+chat_message", "-chat_message"], "{version}");
    }
}

#[test]
fn a_dropped_message_leaves_what_it_acknowledged() {
    let mut game = Game::new(765, SHOUT);
    game.chat("drop", None, 4);
    assert_eq!(game.pair.seen(), ["-chat_message", "+message_acknowledgement"]);
}

#[test]
fn a_chat_session_is_kept_from_a_server_that_does_not_insist_when_rules_change_chat() {
    let seen = |rules: &str, enforces: Option<bool>| {
        let mut game = Game::new(765, rules);
        if let Some(enforces) = enforces {
            game.server_data("hi", enforces);
            game.pair.entries.clear();
        }
        game.chat_session();
        game.chat("change", Some(&[7; 256]), 0);
        game.pair.seen()
    };
    let changed = ["-chat_session_update", "~chat_message", "+chat_message"];
    assert_eq!(seen(SHOUT, Some(false)), changed);
    let kept = ["chat_session_update", "chat_message"];
    assert_eq!(seen(SHOUT, Some(true)), kept);
    assert_eq!(seen(SHOUT, None), kept);
    assert_eq!(seen("[[rule]]\nwhen = 'chat_message'\nlog = false\n", Some(false)), kept);
}

#[test]
fn a_chat_session_is_kept_from_the_server_when_rules_send_chat_in_the_players_name() {
    let seen = |name: &str, fields: &str| {
        let rule = format!(
            "[[rule]]\nwhen = 'update_time'\nsend = {{ to = 'server', packet = '{name}', \
             fields = {{ timestamp = 1, salt = 2, acknowledged = 'AAAA', {fields} }} }}\n"
        );
        let mut game = Game::new(765, &rule);
        game.server_data("hi", false);
        game.pair.entries.clear();
        game.chat_session();
        game.pair.seen()
    };
    assert_eq!(seen("chat_message", "message = 'hi', offset = 0"), ["-chat_session_update"]);
    let command = "command = 'me', argumentSignatures = [], messageCount = 0";
    assert_eq!(seen("chat_command", command), ["chat_session_update"]);
}

#[test]
fn a_large_packet_with_the_servers_policy_is_read_until_the_policy_is_known() {
    let mut game = Game::new(765, SHOUT);
    for side in Side::ALL {
        game.pair.session.ends[side].set_compression(Some(0));
    }
    game.pair.client.set_compression(Some(0));
    game.pair.server.set_compression(Some(0));
    let join = game
        .protocol
        .role(State::Play, Clientbound, mitmcraft_protocol::schema::Role::JoinGame)
        .unwrap();
    let join = u8::try_from(join.id()).unwrap();
    game.sends(Clientbound, &[&[join][..], &[0xff; 400]].concat());
    game.server_data(&"hi".repeat(200), false);
    let told = game.pair.records().last().unwrap().packet.clone();
    assert!(told.frame().unwrap().is_deflated());
    assert_eq!(game.pair.session.role_limits.role(&told), None, "the next is not inflated");
    game.pair.entries.clear();
    game.chat_session();
    assert_eq!(game.pair.seen(), ["-chat_session_update"]);
}

#[test]
fn rules_may_do_to_a_signed_message_what_leaves_it_as_it_is() {
    let count = |rule: &str| {
        let mut game = Game::new(765, &format!("[[rule]]\nwhen = 'chat_message'\n{rule}\n"));
        game.chat_session();
        game.chat("hi", Some(&[7; 256]), 0);
        (game.pair.seen()[1..].len(), game.comments())
    };
    assert_eq!(count("delay = '1ms'"), (1, String::new()));
    let (sent, comment) = count("copy = 1");
    assert!(sent == 1 && comment.contains("signed message"), "{sent} {comment}");
}

#[test]
fn a_renewed_key_is_still_a_key_and_an_unsigned_message_needs_none() {
    let mut game = Game::new(765, SHOUT);
    game.chat_session();
    game.chat_session();
    game.chat("change", Some(&[7; 256]), 0);
    game.chat("change", None, 0);
    assert_eq!(game.pair.seen()[2..], ["chat_message", "~chat_message", "+chat_message"]);
}

#[test]
fn a_command_is_signed_if_an_argument_is() {
    let rule = "[[rule]]\nwhen = 'chat_command'\nset = { command = 'other' }\n";
    for signed in [true, false] {
        let mut game = Game::new(765, rule);
        game.chat_session();
        let argument = fields([
            ("argumentName", "message".into()),
            ("signature", Value::Bytes(vec![7; 256].into())),
        ]);
        let command = fields([
            ("command", "say hi".into()),
            ("timestamp", Value::Int(1)),
            ("salt", Value::Int(2)),
            ("argumentSignatures", Value::List(vec![argument; usize::from(signed)])),
            ("messageCount", 0.into()),
            ("acknowledged", Value::Bytes(vec![0; 3].into())),
        ]);
        game.plays(Serverbound, "chat_command", command);
        let expected = if signed { 1 } else { 2 };
        assert_eq!(game.pair.seen()[1..].len(), expected, "{:?}", game.pair.seen());
    }
}

#[test]
fn messages_of_others_are_changed_as_far_as_the_client_accepts_it() {
    const SIGNED: Option<&[u8]> = Some(&[7; 256]);
    let (set, drop, copy) = ("set = { salt = 3 }", "drop = true", "copy = 1");
    let both = "set = { salt = 3 }\ncopy = 1";
    for (version, signature, action, seen, comment) in [
        (759, SIGNED, drop, "-", ""),
        (759, SIGNED, copy, " +", ""),
        (759, SIGNED, set, " ", "signed message"),
        (760, SIGNED, drop, " ", "counted"),
        (760, SIGNED, copy, " ", "counted"),
        (760, SIGNED, set, " ", "signed message"),
        (760, None, drop, "-", ""),
        (765, SIGNED, drop, " ", "counted"),
        (765, SIGNED, set, "~+", "not secure"),
        (765, SIGNED, both, " ", "counted"),
        (765, SIGNED, "delay = '1ms'", " ", ""),
        (765, None, drop, "-", ""),
        (765, None, set, "~+", ""),
        (777, None, drop, " ", "counted"),
        (777, None, copy, " ", "counted"),
        (777, None, set, "~+", ""),
        (777, SIGNED, set, "~+", "not secure"),
    ] {
        let rule = format!("[[rule]]\nwhen = 'player_chat'\n{action}\n");
        let mut game = Game::new(version, &rule);
        let message = game.player_chat(signature);
        game.sends(Clientbound, &message);
        let marks: Vec<_> =
            seen.chars().map(|it| format!("{it}player_chat").trim().to_owned()).collect();
        assert_eq!(game.pair.seen(), marks, "{version} {action}");
        let said = game.comments();
        assert_eq!(said.contains("rule `rule 1`"), seen != " ", "{version} {action}: {said}");
        let said = said.replace("rule `rule 1`", "");
        let said = said.trim_matches([';', ' ']);
        assert!(said.contains(comment), "{version} {action}: {said}");
        assert!(!comment.is_empty() || said.is_empty(), "{version} {action}: {said}");
        let refuses = comment.contains("signed") || comment.contains("counted");
        assert_eq!(said.contains("was to be "), refuses, "{version} {action}: {said}");
    }
}

#[test]
fn messages_that_are_signed_or_counted_are_not_overtaken() {
    let rule = "[[rule]]\nwhen = 'player_chat'\ndelay = '100ms'\nreorder = true\n";
    for (version, signature, overtaken) in
        [(765, Some(&[7; 256][..]), false), (765, None, true), (777, None, false)]
    {
        let mut game = Game::new(version, rule);
        let message = game.player_chat(signature);
        game.sends(Clientbound, &message);
        let had = game.pair.client_got.len();
        game.sends(Clientbound, &[0x7f]);
        assert_eq!(game.pair.client_got.len() > had, overtaken, "{version}");
    }
}

#[test]
fn a_message_that_a_rule_makes_is_not_sent_if_it_would_end_the_session() {
    let hex = |body: &[u8]| body.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sent = |version, to: &str, body: &[u8], with_key: bool| {
        let rule = format!(
            "[[rule]]\nwhen = 'keep_alive'\nsend = {{ to = '{to}', hex = '{}' }}\n",
            hex(body)
        );
        let mut game = Game::new(version, &rule);
        if with_key {
            game.chat_session();
            game.pair.entries.clear();
        }
        game.plays(Clientbound, "keep_alive", fields([("keepAliveId", Value::Int(1))]));
        (game.pair.seen().len() == 2, game.comments())
    };
    for (version, refused) in [(765, false), (777, true)] {
        let body = Game::new(version, "").player_chat(None);
        let (went, said) = sent(version, "client", &body, false);
        assert_eq!((went, said.contains("the game counts")), (!refused, refused), "{said}");
    }
    let body = Game::new(765, "").chat_body("hi", None, 0);
    for with_key in [false, true] {
        let (went, said) = sent(765, "server", &body, with_key);
        assert_eq!((went, said.contains("accepts only signed")), (!with_key, with_key), "{said}");
    }
}
