//! Server List Ping: as client, as server, and statuses as text and JSON.

use mitmcraft_engine::ping::{Answerer, Form, Ping, Reply, Status};
use mitmcraft_engine::text::Styled;
use mitmcraft_protocol::packet::Timestamp;

use super::Features;
use super::bytes::Bytes;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let options = input.u8();
    let form = Form::ALL[usize::from(options >> 1 & 3)];
    let size = usize::from(input.u8()) + 1;
    let bytes = input.rest();
    if options & 1 != 0 {
        ask(form, size, bytes, &mut features)
    } else {
        answer(size, bytes, &mut features)
    }
    features
}

/// A client that receives these bytes.
fn ask(form: Form, size: usize, bytes: &[u8], features: &mut Features) {
    let at = Timestamp(1_400_000_000_000_000_000);
    let mut ping = Ping::new(at, form, "mc.example.org", 25565).unwrap();
    assert!(!ping.take_output().is_empty());
    for piece in bytes.chunks(size) {
        match ping.handle_received(at, piece) {
            Ok(None) => {}
            Ok(Some(status)) => return check(&status, features),
            Err(error) => return features.say(error),
        }
    }
    match ping.handle_closed() {
        Ok(status) => check(&status, features),
        Err(error) => features.say(error),
    }
    assert!(ping.handle_timeout().is_err(), "a ping ends once");
}

/// A status reads back as it was written, and nothing in it can harm a terminal.
fn check(status: &Status, features: &mut Features) {
    let motd = status.motd();
    for text in [Styled(&motd, true).to_string(), Styled(&motd, false).to_string()] {
        let escapes = text.replace("\u{1b}[", "");
        assert!(escapes.chars().all(|it| !it.is_control() || it == '\n' || it == '\t'), "{text:?}");
    }
    let _ = (motd.plain(), motd.codes());
    let json = status.to_json();
    let back = Status::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(back.sample, status.sample);
    assert_eq!(
        (back.favicon.clone(), back.mods.clone()),
        (status.favicon.clone(), status.mods.clone())
    );
    assert_eq!(back.to_json(), json);
    for form in Form::ALL {
        let kick = status.to_kick(form);
        // A MOTD that is not of this form may hold its separators.
        match Status::from_kick(form, &kick) {
            Ok(read) => assert!(read.online.is_some() || form == Form::Beta, "{kick:?}"),
            Err(error) => panic!("{error}: {kick:?}"),
        }
    }
    features.see((status.form, status.version.is_some(), status.favicon.is_some()));
    features.see((status.sample.len().min(3), status.mods.is_some(), status.latency.is_some()));
}

/// A server that receives these bytes.
fn answer(size: usize, bytes: &[u8], features: &mut Features) {
    let status = Status::new(Form::V1_7, "a \u{a7}cserver");
    let mut answerer = Answerer::new(status);
    let mut received = 0;
    for piece in bytes.chunks(size) {
        received += piece.len();
        match answerer.handle_received(piece) {
            Reply::Wait => {}
            Reply::Send(sent) => {
                assert!(!sent.is_empty());
                features.see("send");
            }
            Reply::Close(sent) => return features.see(("close", sent.len())),
            Reply::Other(held) => {
                assert_eq!(held, bytes[..received], "all bytes so far, for another server");
                return features.see("other");
            }
        }
    }
    match answerer.handle_quiet() {
        Reply::Other(held) => assert_eq!(held, bytes),
        reply => features.see(format!("{reply:?}").split('(').next().map(str::len)),
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut status = Status::new(Form::V1_7, r#"{"text":"Zo\u00eb","color":"red","extra":["a"]}"#);
    status.version = Some("1.8.9".into());
    (status.protocol, status.online, status.max) = (Some(47), Some(3), Some(20));
    status.favicon = Some(b"png"[..].to_vec().into());
    let mut seeds = Vec::new();
    for (place, form) in Form::ALL.into_iter().enumerate() {
        let mut ping = Ping::new(Timestamp(1), form, "mc.example.org", 25565).unwrap();
        let request = ping.take_output();
        let mut answerer = Answerer::new(status.clone());
        let mut answer = match answerer.handle_received(&request) {
            Reply::Wait => answerer.handle_quiet(),
            reply => reply,
        };
        seeds.push([&[0, 200][..], &request].concat());
        if let Reply::Send(bytes) | Reply::Close(bytes) = &mut answer {
            seeds.push([&[1 | (place as u8) << 1, 200][..], bytes].concat());
            bytes.extend([9, 1, 0, 0, 1, 0x45, 0xf6, 0x6c, 0x80, 0]);
            seeds.push([&[1 | (place as u8) << 1, 3][..], bytes].concat());
        }
    }
    seeds.push(
        b"\x00\x01\x10\x00\x2f\x09localhost\x63\xdd\x01\x01\x00\x09\x01\0\0\0\0\0\0\0\x05".to_vec(),
    );
    let json = r#"{"version":{"name":"x","protocol":47.0},"players":{"max":1e9,"online":-1,"sample":[{"name":"a","id":"b"},5]},"favicon":"data:image/png;base64,AA\nAA","modinfo":{"type":"FML"},"description":["",{"translate":"a","with":[1]}]}"#;
    let length = json.len();
    let string = [(length & 0x7f | 0x80) as u8, (length >> 7) as u8];
    let whole = length + 3;
    let prefix = [(whole & 0x7f | 0x80) as u8, (whole >> 7) as u8];
    seeds.push([&[1, 250][..], &prefix, &[0], &string, json.as_bytes()].concat());
    seeds
}

pub const WORDS: &[&str] = &[
    "\"description\":",
    "\"version\":",
    "\"players\":",
    "\"sample\":",
    "\"favicon\":",
    "data:image/png;base64,",
    "\"extra\":[",
    "\"translate\":",
    "\"modinfo\":",
    "\"forgeData\":",
    "\u{a7}k",
    "\\u00a7",
    "\0\u{a7}",
    "\u{1b}[31m",
    "\\u202e",
    "1e308",
    "null",
    "[[",
    "{\"text\":",
];
