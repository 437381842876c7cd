use std::collections::HashMap;
use std::sync::Arc;

use super::event::write_state;
use crate::capture::{Entry, Event, EventKind, LegState};
use mitmcraft_protocol::meaning::{About, SessionMemory};
use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::{Direction, Role};

/// Annotates the lines of packets with whether a bundle is open, and those of events with what of them is
/// new. Sessions are forgotten when they close.
#[derive(Debug)]
pub struct LineAnnotator {
    sessions: HashMap<u64, SessionState>,
    memory: SessionMemory,
}

/// Text to add to a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineAnnotation {
    /// The bracket in the gutter: `⎡`, `⎢` or `⎣` for the packets of a bundle.
    pub bracket: Option<char>,
    /// The text at the end, which is never cut off.
    pub suffix: String,
    /// The part of an event's text that the session's earlier events do not contain; `None` if that is
    /// all of it. It is empty if nothing is new: each direction enters a state by a packet of its own, and each file of a
    /// series begins with the events of its open sessions.
    pub news: Option<String>,
    /// The knowledge from earlier packets that the meanings of a packet's values need.
    pub about: Option<About>,
}

#[derive(Debug, Default)]
struct SessionState {
    bundled: bool,
    /// The session, and its last state.
    last: Option<(Arc<Context>, Option<LegState>)>,
}

impl LineAnnotator {
    /// Adds the types of entities, which fields below the line need.
    #[must_use]
    pub fn with_entities(self) -> Self {
        Self { memory: SessionMemory::default(), ..self }
    }

    /// Takes the next entry and returns the annotation of its line.
    pub fn annotate(&mut self, entry: &Entry) -> LineAnnotation {
        let mut annotation = LineAnnotation::default();
        let record = match entry {
            Entry::Packet(record) => record,
            Entry::Event(event) => {
                annotation.news = self.news(event);
                return annotation;
            }
        };
        let packet = &record.packet;
        let Some(kind) = packet.kind().filter(|_| packet.direction() == Direction::Clientbound)
        else {
            return annotation;
        };
        annotation.about = self.memory.take(packet);
        let session = packet.context().session;
        if kind.role() != Some(Role::BundleDelimiter) {
            let bundled = self.sessions.get(&session).is_some_and(|state| state.bundled);
            annotation.bracket = bundled.then_some('⎢');
        } else if !self.is_full(session) {
            let state = self.sessions.entry(session).or_default();
            annotation.bracket = Some(if state.bundled { '⎣' } else { '⎡' });
            state.bundled ^= record.outcome.went();
        }
        annotation
    }

    /// Returns `true` for a session that is not known, if no more are kept.
    fn is_full(&self, session: u64) -> bool {
        self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&session)
    }

    /// Takes an event and returns [`LineAnnotation::news`].
    fn news(&mut self, event: &Event) -> Option<String> {
        let number = event.context.session;
        let legs = match &event.kind {
            EventKind::Open => None,
            EventKind::State(legs) => Some(legs),
            EventKind::Close(_) => {
                self.sessions.remove(&number);
                self.memory.forget(number);
                return None;
            }
        };
        if self.is_full(number) {
            return None;
        }
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

impl Default for LineAnnotator {
    fn default() -> Self {
        Self { sessions: HashMap::new(), memory: SessionMemory::of_windows() }
    }
}

/// Open sessions that are kept; lines of others are not annotated.
const MAX_SESSIONS: usize = 1 << 16;
