//! Chat, titles, reasons and other texts, on the line and below it.

use mitmcraft_engine::text::{LineOptions, Verbosity, write_line};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::Content;
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use serde_json::{Value as Json, json};

use State::Configuration;

use crate::support::samples::*;

/// Prints a packet of a protocol version from the state on: `play   0x02 chat  message="Hi"`.
fn printed(
    version: i32,
    (direction, state, name): (Direction, State, &str),
    fields: Json,
    options: &LineOptions,
) -> String {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.context.protocol = Catalog::embedded().find(version).unwrap().protocol;
    stage.packet(direction, state, name, fields);
    let mut out = String::new();
    write_line(&mut out, &stage.entries[0], options);
    out
}

fn line(version: i32, packet: (Direction, State, &str), fields: Json) -> String {
    printed(version, packet, fields, &LineOptions::default())
}

/// A component with two colours, as JSON in text, or as NBT.
fn component(nbt: bool) -> Json {
    if nbt {
        return json!({"type": "compound", "value": {
            "text": {"type": "string", "value": "Hello "},
            "color": {"type": "string", "value": "gold"},
            "extra": {"type": "list", "value": {"type": "string", "value": ["you"]}}
        }});
    }
    Json::from(r#"{"text":"Hello ","color":"gold","extra":["you"]}"#)
}

#[test]
fn components_are_printed_as_their_text_in_every_version() {
    let said = |nbt| component(nbt);
    for (version, state, name, fields) in [
        (47, Play, "chat", json!({"message": said(false), "position": 0})),
        (47, Play, "title", json!({"action": 0, "text": said(false)})),
        (47, Play, "kick_disconnect", json!({"reason": said(false)})),
        (47, Login, "disconnect", json!({"reason": said(false)})),
        (47, Play, "playerlist_header", json!({"header": said(false), "footer": "\"\""})),
        (340, Play, "chat", json!({"message": said(false), "position": 2})),
        (757, Play, "action_bar", json!({"text": said(false)})),
        (757, Play, "set_title_subtitle", json!({"text": said(false)})),
        (759, Play, "system_chat", json!({"content": said(false), "type": 1})),
        (759, Play, "server_data", json!({"motd": said(false), "previewsChat": false})),
        (
            764,
            Play,
            "profileless_chat",
            json!({"message": said(false), "type": 1, "name": "\"a\""}),
        ),
        (764, Configuration, "disconnect", json!({"reason": said(false)})),
        (
            765,
            Play,
            "profileless_chat",
            json!({"message": said(true), "type": 1, "name": said(true)}),
        ),
        (765, Play, "system_chat", json!({"content": said(true), "isActionBar": false})),
        (765, Play, "action_bar", json!({"text": said(true)})),
        (765, Play, "kick_disconnect", json!({"reason": said(true)})),
        (765, Login, "disconnect", json!({"reason": said(false)})),
    ] {
        let packet = (Clientbound, state, name);
        let shown = line(version, packet, fields.clone());
        assert!(shown.contains("=\"Hello you\""), "{version} {shown}");
        let colors = LineOptions { color: true, ..LineOptions::default() };
        let shown = printed(version, packet, fields, &colors);
        assert!(
            shown.contains("\"\x1b[33mHello \x1b[0m\x1b[33myou\x1b[0m\""),
            "{version} {shown:?}"
        );
    }
}

#[test]
fn chat_is_shown_to_its_end() {
    let long = format!("{{\"text\":\"{}\"}}", "word ".repeat(51));
    let shown = line(47, (Clientbound, Play, "chat"), json!({"message": long, "position": 0}));
    assert!(shown.contains("word \" position=0"), "{shown}");
}

#[test]
fn what_players_type_is_shown_as_it_is() {
    for typed in [r#"{"text":"x"}"#, r#""quoted""#, "§c[1]"] {
        let quoted = format!("message=\"{}\"", typed.replace('"', "\\\""));
        let shown = line(47, (Serverbound, Play, "chat"), json!({ "message": typed }));
        assert!(shown.contains(&quoted), "{shown}");
    }
}

#[test]
fn json_that_is_no_component_is_shown_as_it_is() {
    for (raw, shown) in [
        ("{}", "{}"),
        ("[]", "[]"),
        ("[1]", "[1]"),
        (r#"{"a":1}"#, r#"{\"a\":1}"#),
        (r#"{"text":"#, r#"{\"text\":"#),
        ("§cplain", "§cplain"),
    ] {
        let line = line(47, (Clientbound, Play, "chat"), json!({"message": raw, "position": 0}));
        assert!(line.contains(&format!("message=\"{shown}\"")), "{line}");
    }
}

#[test]
fn below_the_line_the_raw_form_stands_behind_the_text() {
    let options = LineOptions { verbosity: Verbosity::All, ..LineOptions::default() };
    let fields = json!({"message": component(false), "position": 0});
    let shown = printed(47, (Clientbound, Play, "chat"), fields, &options);
    let raw = r#"{"text":"Hello ","color":"gold","extra":["you"]}"#;
    assert!(shown.contains(&format!("    message: \"Hello you\"  {raw}\n")), "{shown}");
    let fields = json!({"content": component(true), "isActionBar": false});
    let shown = printed(765, (Clientbound, Play, "system_chat"), fields, &options);
    assert!(shown.contains("    content: \"Hello you\"  {\"type\":\"compound\","), "{shown}");
}

#[test]
fn a_status_is_printed_as_its_text_version_and_players() {
    let status = json!({
        "version": {"name": "1.8.9", "protocol": 47},
        "players": {"max": 20, "online": 3},
        "description": {"text": "A ", "extra": [{"text": "Server", "color": "red"}]},
        "favicon": format!("data:image/png;base64,{}", "A".repeat(9000)),
    });
    let fields = json!({"response": status.to_string()});
    let shown = line(47, (Clientbound, Status, "server_info"), fields);
    assert!(shown.contains("response=\"A Server\" (1.8.9, 3 of 20 players)\n"), "{shown}");
    let hostile = json!({"version": [], "players": 1, "description": null}).to_string();
    let shown = line(47, (Clientbound, Status, "server_info"), json!({"response": hostile}));
    assert!(shown.contains("response=\"\" (unknown version, 0 of 0 players)\n"), "{shown}");
}

#[test]
fn codes_of_alpha_are_colours() {
    let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
    stage.context.protocol = Catalog::embedded().alpha(5).protocol;
    let text = "§eNotch§f: hi".as_bytes();
    let body = [&[0x03, 0, text.len() as u8], text].concat();
    stage.content(Clientbound, Play, Content::Frame(Frame::bare(body.into())));
    let mut out = String::new();
    write_line(&mut out, &stage.entries[0], &LineOptions::default());
    assert!(out.contains("message=\"Notch: hi\"\n"), "{out}");
}

/// Captures of earlier versions hold the component as the server sent it.
#[test]
fn the_reason_of_a_closed_session_is_text() {
    for (reason, shown) in [
        (r#"disconnected by the server: {"text":"see ","extra":["you"]}"#, "server: see you; "),
        ("disconnected by the server: [1.20", "server: [1.20; "),
        ("stopped by the user", "stopped by the user; "),
    ] {
        let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
        stage.close(reason);
        let mut out = String::new();
        write_line(&mut out, &stage.entries[0], &LineOptions::default());
        assert!(out.contains(shown), "{out}");
    }
}

#[test]
fn payloads_of_plugin_channels_are_printed_as_text_where_they_are_text() {
    let base64 = |bytes: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    let payload =
        |version, name: &str, fields: Json| line(version, (Serverbound, Play, name), fields);
    let hello = json!({"channel": "MyMod", "data": base64(b"\x05hello")});
    assert!(payload(47, "custom_payload", hello.clone()).contains("data=\"hello\""));
    let words = json!({"channel": "my:mod", "data": base64(b"a:b\0c:d")});
    assert!(payload(775, "custom_payload", words).contains("data=\"a:b c:d\""));
    let bytes = json!({"channel": "x:y", "data": base64(b"\x00\x01\x02")});
    assert!(payload(775, "custom_payload", bytes).contains("data=[3 B]"));
    let options = LineOptions { verbosity: Verbosity::All, ..LineOptions::default() };
    let full = printed(47, (Serverbound, Play, "custom_payload"), hello, &options);
    assert!(full.contains("\"hello\"") && full.contains("05 68 65 6c"), "{full}");
}

#[test]
fn payloads_with_a_known_layout_are_printed_behind_their_bytes() {
    let base64 = |bytes: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    let packet = (Clientbound, Play, "custom_payload");
    let brand = json!({"channel": "MC|Brand", "data": base64(b"\x07vanilla")});
    let shown = line(47, packet, brand.clone());
    let expected = "channel=\"MC|Brand\" data=[8 B] payload={brand=\"vanilla\"}";
    assert!(shown.trim_end().ends_with(expected), "{shown}");
    let options = LineOptions { verbosity: Verbosity::All, ..LineOptions::default() };
    let full = printed(47, packet, brand, &options);
    let expected =
        "\n    data: [8 B] 07 76 61 6e 69 6c 6c 61\n    payload:\n        brand: \"vanilla\"\n";
    assert!(full.ends_with(expected), "{full}");
    let other = json!({"channel": "MC|Brand", "data": base64(b"\x00\x01")});
    let shown = line(47, packet, other);
    assert!(shown.trim_end().ends_with("data=[2 B]"), "{shown}");
}
