use std::sync::Arc;

use mitmcraft_protocol::packet::Context;

/// The captures that a store was fed with, each of which numbers its own sessions.
#[derive(Debug, Default)]
pub(super) struct Captures {
    /// The name of each capture, and the number that is added to those of its sessions.
    begun: Vec<(Arc<str>, u64)>,
    /// The name of the capture that is written at the same time.
    pub(super) written: Option<Arc<str>>,
    /// The greatest number of a session.
    last: u64,
    /// The context of the last entry, as it came and with its session's new number.
    renumbered: Option<(Arc<Context>, Arc<Context>)>,
}

impl Captures {
    /// Begins another capture, whose sessions are numbered after those of the captures before.
    pub(super) fn begin(&mut self, name: &str) {
        self.begun.push((name.into(), self.last));
        self.renumbered = None;
    }

    /// Returns the name of the only capture.
    pub(super) fn only(&self) -> Option<Arc<str>> {
        match &self.begun[..] {
            [(name, _)] => Some(Arc::clone(name)),
            [] => self.written.clone(),
            _ => None,
        }
    }

    /// Returns `true` if the store is fed by a run instead of captures.
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Returns what is added to the numbers of the sessions of the capture that was begun last.
    pub(super) fn offset(&self) -> u64 {
        self.begun.last().map_or(0, |(_, offset)| *offset)
    }

    /// Returns the context of an entry with the number that its session has in the store, if that is not
    /// its own.
    pub(super) fn renumber(&mut self, context: &Arc<Context>) -> Option<Arc<Context>> {
        let offset = self.offset();
        let session = context.session + offset;
        self.last = self.last.max(session);
        if offset == 0 {
            return None;
        }
        if let Some((_, new)) =
            self.renumbered.as_ref().filter(|(old, _)| Arc::ptr_eq(old, context))
        {
            return Some(Arc::clone(new));
        }
        let new = Arc::new(Context { session, ..Context::clone(context) });
        self.renumbered = Some((Arc::clone(context), Arc::clone(&new)));
        Some(new)
    }

    /// Returns the name of a session's capture, if there are several.
    pub(super) fn name(&self, session: u64) -> Option<Arc<str>> {
        let begun = self.begun.iter().rev().find(|(_, offset)| session > *offset);
        begun.filter(|_| self.begun.len() > 1).map(|(name, _)| Arc::clone(name))
    }
}
