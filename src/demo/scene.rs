use std::sync::LazyLock;

use serde_json::Value as Json;

use super::message::Message;
use super::template::Template;
use mitmcraft_engine::link::Side;

/// The packets that server and client of one generation send: a data file of packets by name, and of the packets
/// that they wait for.
///
/// `server` and `client` have these members, all of them optional:
///
/// | member | value |
/// | --- | --- |
/// | `enter` | packets to send when the player enters the world |
/// | `events` | packets to send one after the other, spread evenly over the ticks of the demo |
/// | `ticks`, `percent` | the ticks that `events` take: a number, or a share of the demo's |
/// | `repeated` | packets to `send` whenever `ticks` have passed |
/// | `mobs`, `walk` | the mobs, and the packets of each step of the walk that each of them goes round and round, with names of the mob |
/// | `keep_alive` | the packet to `send` at intervals, and the field of the `answer` to wait for |
/// | `late` | packets to send when that answer does not come |
/// | `replies` | packets to `send` in reply `to` a packet, `if` it has these fields; the first that fits is sent, and the connection closed with `end` |
///
/// A packet is `[name, fields]`; [`Template`] tells what fields can be made of. A word in its place
/// stands for packets with chunks, see [`Step`].
#[derive(Debug)]
pub(super) struct Scene {
    data: Json,
}

/// One step of a scene.
#[derive(Debug)]
pub(super) enum Step {
    /// Send a packet.
    Send(Message),
    /// Send the chunks around the player (`landscape`).
    Landscape,
    /// Send a chunk that is further away (`far column`).
    FarColumn,
}

/// The side of a [`Scene`] that an engine plays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    scene: &'static Scene,
    side: Side,
    seed: u64,
}

/// A reply of a [`Part`].
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) messages: Vec<Message>,
    /// `true` if the connection ends with it.
    pub(super) ends: bool,
}

/// The scene of protocol 47 (1.8).
pub(super) static JAVA: LazyLock<Scene> =
    LazyLock::new(|| Scene::read(include_str!("data/scene-47.json")));

/// The scene of Alpha (protocol 5).
pub(super) static ALPHA: LazyLock<Scene> =
    LazyLock::new(|| Scene::read(include_str!("data/scene-alpha.json")));

impl Scene {
    fn read(text: &str) -> Self {
        Self { data: serde_json::from_str(text).expect("the embedded scene is JSON") }
    }

    /// Returns the part of `side`, with random values made from `seed`.
    pub(super) fn part(&'static self, side: Side, seed: u64) -> Part {
        Part { scene: self, side, seed }
    }
}

impl Part {
    /// The steps of `enter` or `events`; `given` has what names in braces stand for.
    pub(super) fn steps(self, member: &str, given: &Json) -> Vec<Step> {
        let step = |step: &Json| match step.as_str() {
            Some("landscape") => Step::Landscape,
            Some("far column") => Step::FarColumn,
            _ => Step::Send(self.message(step, given)),
        };
        list(self.member(member)).iter().map(step).collect()
    }

    /// The packets of `late`.
    pub(super) fn late(self) -> Vec<Message> {
        self.messages(self.member("late"), &Json::Null)
    }

    /// The packets to repeat, if any are due after that number of ticks.
    pub(super) fn repeated(self, age: u64) -> Vec<Message> {
        let repeated = self.member("repeated");
        match repeated["ticks"].as_u64() {
            Some(ticks) if age.is_multiple_of(ticks) => {
                self.messages(&repeated["send"], &serde_json::json!({ "age": age }))
            }
            _ => Vec::new(),
        }
    }

    /// The packets that move the mobs in that tick. Each sets off some ticks after the one before it.
    pub(super) fn walk(self, age: u64) -> Vec<Message> {
        let (mobs, walk) = (list(self.member("mobs")), list(self.member("walk")));
        let step = |(mob, start): (&Json, u64)| {
            let step = age.checked_sub(start)? % walk.len().max(1) as u64;
            Some(self.messages(walk.get(step as usize)?, mob))
        };
        mobs.iter().zip((1..).step_by(3)).filter_map(step).flatten().collect()
    }

    /// A keep-alive with that number.
    pub(super) fn keep_alive(self, number: u32) -> Message {
        self.message(&self.member("keep_alive")["send"], &serde_json::json!({ "number": number }))
    }

    /// The field of a keep-alive's answer that has its number; `None` if no answer is due.
    pub(super) fn keep_alive_answer(self) -> Option<&'static str> {
        self.member("keep_alive")["answer"].as_str()
    }

    /// The reply to the packet `name` with the fields `given`, which may have others beside them.
    pub(super) fn reply(self, name: &str, given: &Json) -> Option<Reply> {
        let fits = |reply: &&'static Json| {
            let mut wanted = reply["if"].as_object().into_iter().flatten();
            reply["to"] == name && wanted.all(|(field, wanted)| matches(&given[field], wanted))
        };
        let reply = list(self.member("replies")).iter().find(fits)?;
        let ends = reply["end"].as_bool().unwrap_or_default();
        Some(Reply { messages: self.messages(&reply["send"], given), ends })
    }

    /// The ticks that the events take in a demo of that number of ticks.
    pub(super) fn ticks(self, demo: u32) -> u32 {
        let number = |member| self.member(member).as_u64().and_then(|it| u32::try_from(it).ok());
        let share = number("percent").unwrap_or(100);
        number("ticks").unwrap_or_else(|| (u64::from(demo) * u64::from(share) / 100) as u32)
    }

    fn messages(self, packets: &Json, given: &Json) -> Vec<Message> {
        list(packets).iter().map(|packet| self.message(packet, given)).collect()
    }

    fn message(self, packet: &Json, given: &Json) -> Message {
        let template = Template { define: &self.scene.data["define"], seed: self.seed };
        let name = packet[0].as_str().unwrap_or_default();
        Message::new(name, template.expand(&packet[1], given))
    }

    fn member(self, name: &str) -> &'static Json {
        &self.scene.data[self.side.name()][name]
    }
}

/// Returns whether a field has that value, or begins with it if it ends in `*`.
fn matches(field: &Json, wanted: &Json) -> bool {
    let prefix = wanted.as_str().and_then(|wanted| wanted.strip_suffix('*'));
    match (prefix, field.as_str()) {
        (Some(prefix), Some(text)) => text.starts_with(prefix),
        _ => field == wanted,
    }
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}
