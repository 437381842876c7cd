mod limits;
mod packets;
mod sessions;

use std::sync::Arc;

use super::*;
use crate::filter::{Effects, Judgement, Moment, Pipeline, Program as _, SessionEvent, Verdict};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, PerDirection, Protocol, State, Value};

fn protocol(version: i32) -> Arc<Protocol> {
    Catalog::embedded().find(version).unwrap().protocol
}

fn script(text: &str) -> Script {
    let CheckedScript { script, faults } = Script::parse("x.lua", text, Catalog::embedded());
    let faults: Vec<String> = faults.iter().map(|fault| fault.render("x.lua")).collect();
    script.unwrap_or_else(|| panic!("{}", faults.join("\n")))
}

fn faults(text: &str) -> Vec<String> {
    let checked = Script::parse("x.lua", text, Catalog::embedded());
    checked.faults.iter().map(|fault| fault.render("x.lua")).collect()
}

fn context(session: u64, version: i32) -> Arc<Context> {
    Arc::new(Context {
        player: Some("Steve".into()),
        version: Some(version),
        ..Context::new(session, Timestamp(0), ([127, 0, 0, 1], 50000).into(), protocol(version))
    })
}

fn packet_of(version: i32, direction: Direction, name: &str, value: &Value) -> Packet {
    let protocol = protocol(version);
    let body = protocol.encode(protocol.named(State::Play, direction, name).unwrap(), value);
    let content = Content::Frame(Frame::from_body(body.unwrap().into()));
    Packet::new(context(1, version), 1, Timestamp(0), direction, State::Play, content)
}

fn chat(text: &str) -> Packet {
    packet_of(47, Direction::Serverbound, "chat", &Value::map([("message", text.into())]))
}

/// A chat of a session at some second.
fn packet_at(session: u64, text: &str, second: u64) -> Packet {
    let chat = chat(text);
    let at = Timestamp(second * 1_000_000_000);
    let content = Content::Frame(Frame::from_body(chat.body().unwrap()));
    Packet::new(context(session, 47), 1, at, Direction::Serverbound, State::Play, content)
}

fn pipeline(script: &Script) -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.push(script.filter());
    pipeline
}

/// Judges one packet by a script.
fn judge(text: &str, packet: &Packet) -> Judgement {
    let mut pipeline = pipeline(&script(text));
    let opened = pipeline.on_event(SessionEvent::Open, &moment(packet.context(), 0));
    assert_eq!(said(&opened), [""; 0]);
    pipeline.apply(packet)
}

/// The fields of the packet after the script.
fn after(packet: &Packet, judgement: &Judgement) -> Value {
    let mut packet = packet.clone();
    if let Verdict::Replace(body) = &judgement.verdict {
        packet.replace_body(body.clone());
    }
    packet.value().unwrap()
}

fn said(effects: &Effects) -> Vec<String> {
    effects.messages.iter().map(|it| it.text.clone()).collect()
}

/// What a script says about a packet.
fn says(text: &str, packet: &Packet) -> Vec<String> {
    said(&judge(text, packet).effects)
}

fn moment(context: &Arc<Context>, seconds: u64) -> Moment<'_> {
    let states = PerDirection::from_fn(|_| State::Play);
    Moment { at: Timestamp(seconds * 1_000_000_000), context, states }
}
