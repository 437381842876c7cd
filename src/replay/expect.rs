use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use serde_json::Value as Json;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Recording;
use crate::capture::{Entry, EventKind, Outcome, Record, Sink};
use crate::filter::{Content, Expr, Origin, Packet};
use crate::schema::{Direction, Name, Role, State};

/// What is compared with the recording.
#[derive(Debug, Clone, Default)]
pub struct ExpectOptions {
    /// Only packets that match; None: all but keep-alives, pings and the time of day.
    pub condition: Option<Expr>,
    /// Fields that do not count, besides entity ids.
    pub ignored: Vec<String>,
    /// Whether entity ids count too.
    pub entities: bool,
}

/// Compares what a server answers with a recording, session by session: a sink that is given the
/// sessions of a client replay.
///
/// Packets are compared kind by kind, in their order: how the kinds mingle is chance.
#[derive(Debug)]
pub struct Expectation {
    options: ExpectOptions,
    /// The recorded player's name and UUID.
    player: Who,
    expected: BTreeMap<Name, Vec<String>>,
    sessions: HashMap<u64, Answers>,
    differences: Vec<Difference>,
}

/// What a server has answered in one session.
#[derive(Debug, Default)]
struct Answers {
    who: Who,
    packets: BTreeMap<Name, Vec<String>>,
}

/// A player, as texts have it.
#[derive(Debug, Default)]
struct Who {
    name: String,
    uuid: String,
}

/// How a session's packets of one kind differ from the recorded ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The session.
    pub session: u64,
    /// Its player.
    pub player: String,
    /// The packet's name.
    pub packet: Name,
    /// How many there were in the recording, and now.
    pub counts: (usize, usize),
    /// The packets that differ: `-` what was expected, `+` what came; long ones from shortly before
    /// they differ on.
    pub lines: Vec<String>,
}

impl Expectation {
    /// Expects what the recording's server sent in the game.
    #[must_use]
    pub fn new(
        recording: &Arc<Recording>,
        options: ExpectOptions,
        end: Option<super::Point>,
    ) -> Self {
        let name = recording.context.player.clone().unwrap_or_default();
        let uuid = recording.success.as_ref().and_then(|it| it.get("uuid")?.as_text());
        let player = Who { name, uuid: uuid.unwrap_or_default().to_owned() };
        let mut expectation = Self {
            options,
            player,
            expected: BTreeMap::new(),
            sessions: HashMap::new(),
            differences: Vec::new(),
        };
        let end = end.map_or(recording.steps.len(), |end| recording.place(end));
        let mut expected = BTreeMap::new();
        for step in recording.steps[..end].iter().filter(|step| step.came) {
            let (context, frame) = (Arc::clone(&recording.context), step.body.clone());
            let frame = super::framed::framed(recording.protocol(), frame);
            let content = Content::Frame(frame);
            let (number, direction) = (step.number, step.direction);
            let packet = Packet::new(context, number, step.at, direction, step.state, content);
            if let Some((name, text)) = expectation.compared(&Record::passed(packet)) {
                expected.entry(name).or_insert_with(Vec::new).push(text);
            }
        }
        expectation.expected = expected;
        expectation
    }

    /// What has differed in the sessions that are over.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// Name and text of a packet, when it is compared.
    fn compared(&self, record: &Record) -> Option<(Name, String)> {
        let packet = &record.packet;
        let game = matches!(packet.state, State::Play | State::Configuration);
        if packet.direction != Direction::Clientbound || !game {
            return None;
        }
        let known = packet.packet();
        let role = known.and_then(|packet| packet.role());
        let counts = match &self.options.condition {
            Some(condition) => condition.matches(record),
            None => {
                !matches!(role, Some(Role::KeepAlive | Role::Time | Role::Echo | Role::Greeting))
            }
        };
        if !counts || record.outcome != Outcome::Pass || packet.origin == Origin::Proxy {
            return None;
        }
        let name = known.map_or_else(|| Name::from("(unknown)"), |it| Name::clone(it.name()));
        let mut json = Vec::new();
        let text = match packet.write_json(&mut json) {
            Ok(()) => match serde_json::from_slice::<Json>(&json) {
                Ok(mut fields) => {
                    self.strip(&mut fields);
                    fields.to_string()
                }
                Err(_) => String::from_utf8_lossy(&json).into_owned(),
            },
            Err(_) => {
                let body = packet.body().unwrap_or_default();
                body.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        };
        Some((name, text))
    }

    /// Takes out the fields that do not count.
    fn strip(&self, fields: &mut Json) {
        match fields {
            Json::Object(map) => {
                map.retain(|name, _| !self.is_ignored(name));
                map.values_mut().for_each(|field| self.strip(field));
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.strip(item)),
            _ => {}
        }
    }

    fn is_ignored(&self, field: &str) -> bool {
        let lower = field.to_ascii_lowercase();
        let entity = lower.ends_with("entityid") || lower.ends_with("entityids");
        (entity && !self.options.entities) || self.options.ignored.iter().any(|it| it == field)
    }

    fn close(&mut self, session: u64) {
        let Some(mut answers) = self.sessions.remove(&session) else { return };
        // What was said to the player of another name.
        for text in answers.packets.values_mut().flatten() {
            for (ours, recorded) in
                [(&answers.who.name, &self.player.name), (&answers.who.uuid, &self.player.uuid)]
            {
                if ours != recorded && !ours.is_empty() && !recorded.is_empty() {
                    *text = text.replace(ours, recorded);
                }
            }
        }
        let none = Vec::new();
        let mut names: Vec<Name> =
            self.expected.keys().chain(answers.packets.keys()).map(Name::clone).collect();
        names.sort();
        names.dedup();
        for packet in names {
            let expected = self.expected.get(&packet).unwrap_or(&none);
            let came = answers.packets.get(&packet).unwrap_or(&none);
            let lines = lines(expected, came);
            if !lines.is_empty() {
                let player = answers.who.name.clone();
                let counts = (expected.len(), came.len());
                self.differences.push(Difference { session, player, packet, counts, lines });
            }
        }
    }
}

impl Sink for Expectation {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let session = entry.context().session;
        match entry {
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    self.close(session);
                }
            }
            Entry::Packet(record) => {
                let packet = &record.packet;
                let role = packet.packet().and_then(|packet| packet.role());
                if role == Some(Role::LoginSuccess) {
                    let value = packet.value().ok();
                    let uuid = value.as_ref().and_then(|it| it.get("uuid")?.as_text());
                    let answers = self.sessions.entry(session).or_default();
                    answers.who.uuid = uuid.unwrap_or_default().to_owned();
                }
                let compared = self.compared(record);
                let answers = self.sessions.entry(session).or_default();
                if let Some(player) = &packet.context.player {
                    answers.who.name.clone_from(player);
                }
                if let Some((name, text)) = compared {
                    answers.packets.entry(name).or_default().push(text);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, came) = self.counts;
        write!(
            f,
            "session {} ({}), {}: {expected} expected, {came} came",
            self.session, self.player, self.packet
        )?;
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// What differs.
fn lines(expected: &[String], came: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, expected, came) {
        if let DiffOp::Equal { .. } = op {
            continue;
        }
        let (old, new) = (&expected[op.old_range()], &came[op.new_range()]);
        for place in 0..old.len().max(new.len()) {
            let (old, new) = (old.get(place), new.get(place));
            let from = match (old, new) {
                (Some(old), Some(new)) => common(old, new),
                _ => 0,
            };
            lines.extend(old.map(|text| format!("- {}", part(text, from))));
            lines.extend(new.map(|text| format!("+ {}", part(text, from))));
        }
    }
    lines
}

/// Bytes that two texts have in common in front.
fn common(a: &str, b: &str) -> usize {
    a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b).map_or(0, |((at, _), _)| at)
}

/// What a line shows of a text: all of it, or what is around a place.
fn part(text: &str, at: usize) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let mut from = at.saturating_sub(BEFORE);
    let mut to = (from + SHOWN).min(text.len());
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let [front, back] = [from > 0, to < text.len()].map(|cut| if cut { "…" } else { "" });
    format!("{front}{}{back}", &text[from..to])
}

/// Bytes of a packet that a line shows at most.
const SHOWN: usize = 300;

/// Those of them before what differs.
const BEFORE: usize = 40;
