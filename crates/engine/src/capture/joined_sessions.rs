use std::collections::HashMap;
use std::sync::Arc;

use super::{Entry, EventKind, LegState, session_id};
use mitmcraft_protocol::packet::Context;

/// Makes the sessions of several captures those of one.
///
/// A session that goes on in the next capture, as in those that a run has rotated, stays one session, and
/// the events that introduce it again are left out. Other sessions keep their numbers if these are
/// greater than all before, and get the next number if not.
///
/// Memory is bounded by the sessions that are open: of those that are over nothing is kept, and of 65,536
/// that never close nothing either.
#[derive(Debug, Default)]
pub struct JoinedSessions {
    /// The sessions of the current capture that are open, by their number in it.
    sessions: HashMap<u64, Joined>,
    /// The sessions that were open at the end of the captures before, by their id.
    open: HashMap<String, Joined>,
    /// The greatest number so far.
    last: u64,
}

/// A session of which nothing says that it is over.
#[derive(Debug, Default)]
struct Joined {
    number: u64,
    /// The last context in a capture, and the one with the number.
    contexts: Option<(Arc<Context>, Arc<Context>)>,
    /// The last change of state.
    state: Option<LegState>,
    /// `true` while only events that are known may come.
    continued: bool,
}

impl JoinedSessions {
    /// Begins the next capture.
    pub fn begin(&mut self) {
        if self.open.len() > MAX_OPEN {
            self.open.clear();
        }
        for joined in std::mem::take(&mut self.sessions).into_values() {
            if let Some((context, _)) = &joined.contexts {
                let id = session_id(context);
                self.open.insert(id, Joined { contexts: None, continued: true, ..joined });
            }
        }
    }

    /// Returns an entry of the current capture as one of all of them; `None` if an earlier capture had it.
    pub fn take(&mut self, mut entry: Entry) -> Option<Entry> {
        let context = Arc::clone(entry.context());
        let number = context.session;
        let (open, last) = (&mut self.open, &mut self.last);
        let joined = self.sessions.entry(number).or_insert_with(|| {
            let new = || Joined { number: number.max(*last + 1), ..Joined::default() };
            let joined = open.remove(&session_id(&context)).unwrap_or_else(new);
            *last = joined.number.max(*last);
            joined
        });
        if joined.number != number {
            let known = joined.contexts.take().filter(|(before, _)| Arc::ptr_eq(before, &context));
            let new = || {
                let changed = Context { session: joined.number, ..(*context).clone() };
                (Arc::clone(&context), Arc::new(changed))
            };
            let (before, changed) = known.unwrap_or_else(new);
            entry.set_context(Arc::clone(&changed));
            joined.contexts = Some((before, changed));
        } else if joined.contexts.is_none() {
            joined.contexts = Some((Arc::clone(&context), context));
        }
        let Entry::Event(event) = &entry else {
            joined.continued = false;
            return Some(entry);
        };
        let known = match &event.kind {
            EventKind::Open => joined.continued,
            EventKind::State(legs) => {
                let known = joined.continued && joined.state.as_ref() == Some(legs);
                joined.state = Some(*legs);
                known
            }
            EventKind::Close(_) => {
                self.sessions.remove(&number);
                false
            }
        };
        (!known).then_some(entry)
    }
}

/// Sessions that earlier captures have left open.
const MAX_OPEN: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{CreateOptions, FileType, Rotation, Sink as _, open_capture};
    use super::*;
    use crate::capture::JsonlSink;
    use mitmcraft_protocol::schema::Catalog;

    fn entries(path: &Path) -> Vec<Entry> {
        open_capture(path, Catalog::embedded()).unwrap().map(Result::unwrap).collect()
    }

    fn captured(name: &str) -> Vec<Entry> {
        entries(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures")).join(name))
    }

    fn joined(captures: &[Vec<Entry>]) -> Vec<Entry> {
        let mut sessions = JoinedSessions::default();
        let mut all = Vec::new();
        for capture in captures {
            sessions.begin();
            all.extend(capture.iter().cloned().filter_map(|entry| sessions.take(entry)));
        }
        all
    }

    fn text(entries: &[Entry]) -> String {
        let mut text = Vec::new();
        let mut sink = JsonlSink::new(&mut text);
        entries.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        drop(sink);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn sessions_of_different_runs_get_different_numbers() {
        let captures = ["session-1.8.jsonl", "session-1.12.2.jsonl"].map(captured);
        let all = joined(&captures);
        assert_eq!(all.len(), captures[0].len() + captures[1].len());
        let (first, second) = all.split_at(captures[0].len());
        assert_eq!(text(first), text(&captures[0]));
        let last = first.iter().map(|entry| entry.context().session).max().unwrap();
        assert!(second.iter().all(|entry| entry.context().session > last));
        // They are the same but for that.
        let numbers = |entries: &[Entry]| {
            let lines = text(entries);
            lines.lines().filter(|line| !line.contains("\"capture\"")).count()
        };
        assert_eq!(numbers(second), numbers(&captures[1]));
    }

    #[test]
    fn what_a_run_has_rotated_is_joined_to_what_it_would_have_written() {
        let whole = captured("session-1.8.jsonl");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let rotate = Some(Rotation::Size(8 << 10));
        let options = CreateOptions { rotate, ..CreateOptions::default() };
        let mut sink = super::super::create_sink(&path, &options).unwrap();
        whole.iter().for_each(|entry| sink.write(entry).unwrap());
        sink.finish().unwrap();
        let mut parts: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
        parts.retain(|path| FileType::of(path).is_some());
        parts.sort();
        assert!(parts.len() > 3, "{parts:?}");
        let parts: Vec<Vec<Entry>> = parts.iter().map(|path| entries(path)).collect();
        assert_eq!(text(&joined(&parts)), text(&whole));
    }
}
