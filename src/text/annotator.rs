use std::collections::HashMap;
use std::sync::Arc;

use super::event::write_state;
use crate::capture::{Entry, Event, EventKind, LegState, Outcome};
use crate::packet::{Context, Packet};
use crate::schema::{Direction, Role, Value};

/// Annotates the lines of packets with what earlier packets of their session said: whether a bundle
/// is open, and the names that registries give to numbers. Lines of events say only what is new.
/// Sessions are forgotten when they close.
#[derive(Debug, Default)]
pub struct LineAnnotator {
    sessions: HashMap<u64, SessionState>,
}

/// Text to add to a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineAnnotation {
    /// The text in front: `⎡ `, `⎢ ` or `⎣ ` for the packets of a bundle.
    pub prefix: &'static str,
    /// The text in parentheses at the end: the name of a number.
    pub suffix: Option<String>,
    /// What of an event's text the session's earlier events have not said; `None` is all of it. It is
    /// empty if all is known: each direction enters a state by a packet of its own, and each file of a
    /// series begins with the events of its open sessions.
    pub news: Option<String>,
}

#[derive(Debug, Default)]
struct SessionState {
    bundled: bool,
    /// The session, and its last state.
    last: Option<(Arc<Context>, Option<LegState>)>,
    /// Names by registry: the registries of [`NUMBERS`], with at most [`MAX_ENTRIES`] names each.
    registries: HashMap<&'static str, Vec<String>>,
}

impl LineAnnotator {
    /// Takes the next entry and returns the annotation of its line.
    pub fn annotate(&mut self, entry: &Entry) -> LineAnnotation {
        let record = match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => {
                let news = self.news(event);
                return LineAnnotation { news, ..LineAnnotation::default() };
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
            let bundled = known.is_some_and(|state| state.bundled);
            let prefix = if bundled { "⎢ " } else { "" };
            return LineAnnotation { prefix, ..LineAnnotation::default() };
        }
        let state = self.sessions.entry(packet.context.session).or_default();
        let mut annotation = LineAnnotation::default();
        if kind.role() == Some(Role::BundleDelimiter) {
            let went = matches!(record.outcome, Outcome::Pass | Outcome::Send);
            annotation.prefix = if state.bundled { "⎣ " } else { "⎡ " };
            state.bundled ^= went;
            return annotation;
        }
        if state.bundled {
            annotation.prefix = "⎢ ";
        }
        match numbers {
            Some((_, path, registry)) => {
                annotation.suffix = state.name(packet, path, registry);
            }
            None => state.learn(packet),
        }
        annotation
    }

    /// Takes an event and returns [`LineAnnotation::news`].
    fn news(&mut self, event: &Event) -> Option<String> {
        let number = event.context.session;
        let legs = match &event.kind {
            EventKind::Open => None,
            EventKind::State(legs) => Some(legs),
            EventKind::Close(_) => {
                self.sessions.remove(&number);
                return None;
            }
        };
        let state = self.sessions.entry(number).or_default();
        let opened = |(context, _): &(Arc<Context>, _)| context.opened;
        if state.last.as_ref().map(opened) != Some(event.context.opened) {
            *state = SessionState::default();
        }
        let before = state.last.replace((event.context.clone(), legs.copied()));
        let (context, before) = before?;
        let Some(legs) = legs else {
            // The session is open already.
            state.last = Some((context, before));
            return Some(String::new());
        };
        let before = before.as_ref()?;
        let mut news = String::new();
        write_state(&mut news, event, legs, Some((&context, before)));
        Some(news)
    }
}

impl LineAnnotation {
    /// Adds prefix and suffix to the line that begins at `start`.
    pub(super) fn apply(&self, out: &mut String, start: usize) {
        if let Some(suffix) = &self.suffix {
            let end = out[start..].find('\n').map_or(out.len(), |at| start + at);
            out.insert_str(end, &format!("  ({})", super::Escaped(suffix)));
        }
        out.insert_str(start, self.prefix);
    }
}

impl SessionState {
    /// Keeps the names of a registry. Since 1.20.5 each registry has a packet of its own.
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

/// Numbers that are shown with their names: the packet, the path of the field, the registry.
const NUMBERS: [(&str, &[&str], &str); 4] = [
    ("login", &["worldState", "dimension"], "minecraft:dimension_type"),
    ("respawn", &["worldState", "dimension"], "minecraft:dimension_type"),
    ("damage_event", &["sourceTypeId"], "minecraft:damage_type"),
    ("player_chat", &["type", "chatType"], "minecraft:chat_type"),
];

/// Greatest number of names kept of a registry; those of the game have at most a hundred.
const MAX_ENTRIES: usize = 1000;
