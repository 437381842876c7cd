use std::collections::HashMap;

use crate::capture::{Entry, EventKind, Outcome};
use crate::packet::Packet;
use crate::schema::{Direction, Role, Value};

/// What the lines of sessions need of what came before: whether a bundle is open, and what the
/// numbers of registries stand for. Each session has its own, until it closes.
#[derive(Debug, Default)]
pub struct LineAnnotator {
    sessions: HashMap<u64, Memory>,
}

/// What stands beside a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineAnnotation {
    /// In front: `⎡ `, `⎢ ` and `⎣ ` for the packets of a bundle.
    pub before: &'static str,
    /// Behind: the name of a number.
    pub behind: Option<String>,
}

#[derive(Debug, Default)]
struct Memory {
    bundled: bool,
    /// By name of the registry: those of [`NUMBERS`], with [`MAX_ENTRIES`] names at most.
    registries: HashMap<&'static str, Vec<String>>,
}

impl LineAnnotator {
    /// Takes note of the next entry, and says what stands beside its line.
    pub fn note(&mut self, entry: &Entry) -> LineAnnotation {
        let record = match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => {
                if matches!(event.kind, EventKind::Close(_)) {
                    self.sessions.remove(&event.context.session);
                }
                return LineAnnotation::default();
            }
        };
        let packet = &record.packet;
        let Some(kind) = packet.kind().filter(|_| packet.direction == Direction::Clientbound)
        else {
            return LineAnnotation::default();
        };
        let known = self.sessions.get(&packet.context.session);
        let numbers = NUMBERS.iter().find(|(name, ..)| **kind.name() == **name);
        let matters = kind.role() == Some(Role::BundleDelimiter)
            || &**kind.name() == "registry_data"
            || (known.is_some() && numbers.is_some());
        if !matters {
            let bundled = known.is_some_and(|memory| memory.bundled);
            return LineAnnotation { before: if bundled { "⎢ " } else { "" }, behind: None };
        }
        let memory = self.sessions.entry(packet.context.session).or_default();
        let mut margin = LineAnnotation::default();
        if kind.role() == Some(Role::BundleDelimiter) {
            let went = matches!(record.outcome, Outcome::Pass | Outcome::Send);
            margin.before = if memory.bundled { "⎣ " } else { "⎡ " };
            memory.bundled ^= went;
            return margin;
        }
        if memory.bundled {
            margin.before = "⎢ ";
        }
        match numbers {
            Some((_, path, registry)) => {
                margin.behind = memory.name(packet, path, registry);
            }
            None => memory.learn(packet),
        }
        margin
    }
}

impl LineAnnotation {
    /// Puts it beside the first of the lines from `start` on.
    pub fn put(&self, out: &mut String, start: usize) {
        if let Some(behind) = &self.behind {
            let end = out[start..].find('\n').map_or(out.len(), |at| start + at);
            out.insert_str(end, &format!("  ({})", super::Escaped(behind)));
        }
        out.insert_str(start, self.before);
    }
}

impl Memory {
    /// Keeps a registry (1.20.5 on: a packet each).
    fn learn(&mut self, packet: &Packet) {
        let Ok(value) = packet.value() else { return };
        let id = value.get("id").and_then(Value::as_text).unwrap_or_default();
        let known = NUMBERS.iter().find(|(.., registry)| *registry == id);
        let (Some((.., registry)), Some(Value::List(entries))) =
            (known, value.get("entries").map(Value::plain))
        else {
            return;
        };
        let name = |entry: &Value| entry.get("key").and_then(Value::as_text).map(str::to_owned);
        let names = entries.iter().take(MAX_ENTRIES).map(|entry| name(entry).unwrap_or_default());
        self.registries.insert(registry, names.collect());
    }

    fn name(&self, packet: &Packet, path: &[&str], registry: &str) -> Option<String> {
        let names = self.registries.get(registry)?;
        let value = packet.value().ok()?;
        let number = path.iter().try_fold(&value, |value, name| value.get(name))?.as_int()?;
        names.get(usize::try_from(number).ok()?).cloned()
    }
}

/// Numbers that a reader wants to know by name: the packet, its field, the registry.
const NUMBERS: [(&str, &[&str], &str); 4] = [
    ("login", &["worldState", "dimension"], "minecraft:dimension_type"),
    ("respawn", &["worldState", "dimension"], "minecraft:dimension_type"),
    ("damage_event", &["sourceTypeId"], "minecraft:damage_type"),
    ("player_chat", &["type", "chatType"], "minecraft:chat_type"),
];

/// The game's have a hundred at most.
const MAX_ENTRIES: usize = 1000;
