mod actions;
mod components;
mod conditions;
mod expectations;
mod faults;
mod fields;
mod page;
mod payloads;
mod rule_keys;
mod schema;
mod timers;

use std::sync::Arc;

use super::*;
use crate::filter::{Effects, Filter, Judgement, Pipeline, Verdict};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, State, Value};

fn protocol() -> Arc<Protocol> {
    Catalog::embedded().find(47).unwrap().protocol
}

/// Returns a session's filter for a valid file.
fn rules(text: &str) -> (Pipeline, RuleSet) {
    let checked = RuleSet::parse(text, Catalog::embedded());
    let faults: Vec<String> = checked.faults.iter().map(|fault| fault.render("f")).collect();
    let set = checked.rules.unwrap_or_else(|| panic!("{}", faults.join("\n")));
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(set.filter()));
    (pipeline, set)
}

fn context() -> Context {
    Context {
        upstream: "mc.example.org:25565".into(),
        player: Some("Steve".into()),
        version: Some(47),
        ..Context::new(1, Timestamp(0), ([127, 0, 0, 1], 50000).into(), protocol())
    }
}

/// A packet at this many milliseconds after the session began.
fn packet_at(millis: u64, state: State, direction: Direction, name: &str, value: &Value) -> Packet {
    let protocol = protocol();
    let body = protocol.encode(protocol.named(state, direction, name).unwrap(), value).unwrap();
    let content = Content::Frame(Frame::from_body(body.into()));
    let mut packet = Packet::new(
        Arc::new(context()),
        1,
        Timestamp(millis * 1_000_000),
        direction,
        state,
        content,
    );
    packet.set_origin(Origin::of(direction));
    packet
}

fn chat_at(millis: u64, text: &str) -> Packet {
    let value = Value::map([("message", text.into())]);
    packet_at(millis, State::Play, Direction::Serverbound, "chat", &value)
}

fn chat(text: &str) -> Packet {
    chat_at(0, text)
}

/// Returns the text of a packet after the filters.
fn after(packet: &Packet, judgement: &Judgement) -> Value {
    let mut packet = packet.clone();
    if let Verdict::Replace(body) = &judgement.verdict {
        packet.replace_body(body.clone());
    }
    packet.value().unwrap()
}

fn json(value: &Value, packet: &str, direction: Direction, state: State) -> serde_json::Value {
    let packet = packet_at(0, state, direction, packet, value);
    let mut out = Vec::new();
    packet.write_json(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_field_that_many_rules_ask_for_is_looked_up_once() {
    let lookups = |count: usize| {
        let rule = |number: usize| {
            format!(
                "[[rule]]\nwhen = 'chat and message == \"{number}\"'\nset.message = '=message'\n"
            )
        };
        crate::lang::LOOKUPS.set(0);
        let (mut pipeline, _) = rules(&(0..count).map(rule).collect::<String>());
        pipeline.apply(&chat_at(0, "7"));
        crate::lang::LOOKUPS.take()
    };
    let one = lookups(1);
    assert!(one > 0);
    assert_eq!(lookups(50), one);
}
