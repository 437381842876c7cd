use std::collections::HashMap;
use std::sync::Arc;

use super::rehearsal::Rehearsal;
use crate::capture::Entry;
use crate::filter::{Message, RuleCount, RuleSet};

/// Runs the rules of filter files over a capture, offline.
///
/// Each session goes through the code that delivers packets in a live session, so the result is the
/// capture that a live run with these rules would have made. What came from a peer is judged as it
/// came, whatever rules there were when it was recorded. What the proxy itself put in the place of a
/// packet (the upstream's host, the account's name, its own keys) stays, unless a rule replaces it.
#[derive(Debug)]
pub struct FilterReplay {
    sets: Arc<[RuleSet]>,
    sessions: HashMap<u64, Rehearsal>,
}

/// The result of the entries judged by one call of [`FilterReplay::handle`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Judged {
    /// The entries and those made beside them, renumbered. Nothing after the end of a session that
    /// a rule closes.
    pub entries: Vec<Entry>,
    /// The acts of rules on packets among the entries, in the order in which the packets were judged.
    pub acts: Vec<Act>,
    /// What scripts had to say.
    pub messages: Vec<Message>,
}

/// The acts of rules on one packet.
#[derive(Debug)]
#[non_exhaustive]
pub struct Act {
    /// The packet's number in its session, as its entry has it.
    pub seq: u64,
    /// The rules that acted, or failed to, in order.
    pub rules: Vec<String>,
    /// Effects that the entries do not show.
    pub effects: Vec<HiddenEffect>,
}

/// An effect of a rule that no entry shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HiddenEffect {
    /// The packet was delayed.
    Delayed(std::time::Duration),
    /// The packet is not shown, or not recorded.
    Hidden,
    /// The rest of the session was left out, because a rule closed it.
    Closed,
}

impl FilterReplay {
    /// Creates a replay through these rules, file by file.
    #[must_use]
    pub fn new(sets: Vec<RuleSet>) -> Self {
        Self { sets: sets.into(), sessions: HashMap::new() }
    }

    /// Handles the next entry of the capture.
    ///
    /// The result may be that of earlier entries: an entry waits for those that it depends on.
    pub fn handle(&mut self, entry: Entry) -> Judged {
        let number = entry.context().session;
        let new = || Rehearsal::new(Arc::clone(&self.sets), entry.context().as_ref().clone());
        let session = self.sessions.entry(number).or_insert_with(new);
        let closes = entry.is_close();
        let judged = session.handle(entry);
        if closes {
            self.sessions.remove(&number);
        }
        judged
    }

    /// Handles the end of the capture: returns the entries that still waited.
    pub fn finish(&mut self) -> Judged {
        let mut judged = Judged::default();
        let mut numbers: Vec<u64> = self.sessions.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(session) = self.sessions.remove(&number) {
                let Judged { entries, acts, messages } = session.finish();
                judged.entries.extend(entries);
                judged.acts.extend(acts);
                judged.messages.extend(messages);
            }
        }
        judged
    }

    /// Returns what each rule has done so far.
    #[must_use]
    pub fn counts(&self) -> Vec<RuleCount> {
        self.sets.iter().flat_map(RuleSet::counts).collect()
    }
}
