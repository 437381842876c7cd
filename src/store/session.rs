use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use mitmcraft_engine::capture::{LegState, Summary};
use mitmcraft_protocol::packet::{Context, Timestamp};

/// A session in a [`Store`](super::Store).
#[derive(Debug, Clone)]
pub struct StoredSession {
    /// What is known of the session.
    pub context: Arc<Context>,
    /// The capture that it is in, if the store holds several.
    pub capture: Option<Arc<str>>,
    /// The state, compression and encryption of its legs, once known.
    pub legs: Option<LegState>,
    /// Number of packets that the peers sent.
    pub packets: u64,
    /// Their bytes, inflated.
    pub bytes: u64,
    /// Their bytes on the wire.
    pub wire: u64,
    /// The time of its last entry.
    pub last: Timestamp,
    /// What its client waits for, or waited for at the end, if it does not get into the world.
    pub waits: Option<String>,
    /// The time at which it closed, and its summary.
    pub closed: Option<(Timestamp, Summary)>,
}

/// The leg states of sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Legs {
    sessions: BTreeMap<u64, VecDeque<(u64, LegState)>>,
}

impl Legs {
    /// Notes the state of a session's legs from a row on.
    pub(super) fn note(&mut self, session: u64, row: u64, legs: LegState) {
        let states = self.sessions.entry(session).or_default();
        if states.back().is_some_and(|(_, last)| *last == legs) {
            return;
        }
        states.push_back((row, legs));
        if states.len() > MAX_STATES {
            states.pop_front();
        }
    }

    /// The number of sessions whose states are kept.
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Forgets the states of all sessions but these.
    pub(super) fn retain(&mut self, sessions: &HashSet<u64>) {
        self.sessions.retain(|session, _| sessions.contains(session));
    }

    /// Returns the state of a session's legs when a row was recorded.
    pub(super) fn at(&self, session: u64, row: u64) -> Option<LegState> {
        let states = self.sessions.get(&session)?;
        states.iter().rev().find(|(from, _)| *from <= row).map(|(_, legs)| *legs)
    }

    /// Returns the latest state of a session's legs.
    pub(super) fn last(&self, session: u64) -> Option<LegState> {
        self.sessions.get(&session)?.back().map(|(_, legs)| *legs)
    }
}

/// Most states kept of a session: one that returns to configuration again and again has many.
const MAX_STATES: usize = 64;
