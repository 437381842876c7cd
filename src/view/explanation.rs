use crate::store::{Snapshot, Store, StoredSession};
use mitmcraft_engine::capture::{Entry, Event, EventKind, Sink as _};
use mitmcraft_engine::explain::Explainer;
use mitmcraft_engine::report::Report as _;
use mitmcraft_engine::text::LineOptions;

/// The explanation of how a session in a [`Store`] ended, or of what it waits for. It is computed in slices, from the
/// packets that were stored when it began.
#[derive(Debug)]
pub struct Explanation {
    snapshot: Snapshot,
    session: StoredSession,
    /// `None` once it is complete.
    explainer: Option<Explainer>,
    /// The next row.
    from: u64,
    /// Packets whose bytes are not stored.
    unread: u64,
    /// The lines of the explanation; none before it is complete.
    lines: Vec<String>,
}

impl Explanation {
    /// Begins to explain a session; `None` if it is not stored.
    #[must_use]
    pub fn new(store: &Store, session: u64) -> Option<Self> {
        let snapshot = store.snapshot();
        let stored = store.sessions().into_iter().find(|it| it.context.session == session)?;
        let mut explainer = Explainer::default();
        if let Some(capture) = &stored.capture {
            explainer.begin(capture);
        }
        let (from, lines) = (snapshot.first(), Vec::new());
        Some(Self { snapshot, session: stored, explainer: Some(explainer), from, unread: 0, lines })
    }

    /// Judges the packets among about `rows` more. Returns `true` once it is complete.
    pub fn advance(&mut self, rows: u64) -> bool {
        let Some(explainer) = &mut self.explainer else { return true };
        let (number, end) = (self.session.context.session, self.snapshot.end());
        let until = end.min(self.from.saturating_add(rows));
        let unread = &mut self.unread;
        self.snapshot.session_records(number, self.from..until, |record| match record {
            // Judging does not fail.
            Some(record) => drop(explainer.write(&Entry::Packet(record))),
            None => *unread += 1,
        });
        self.from = until;
        if until < end {
            return false;
        }
        if let Some((at, summary)) = self.session.closed.clone() {
            let context = self.session.context.clone();
            let kind = EventKind::Close(summary);
            let _ = explainer.write(&Entry::Event(Event { context, at, kind }));
        }
        let mut text = String::new();
        let report = self.explainer.take().unwrap_or_default().into_report();
        report.write_text(&mut text, &LineOptions::default());
        self.lines = text.lines().map(str::to_owned).collect();
        if self.lines.is_empty() {
            self.lines.push("no packet of the session is stored".to_owned());
        } else if self.snapshot.first() > 0 {
            self.lines.push("older packets are no longer stored".to_owned());
        }
        match self.unread {
            0 => {}
            1 => self.lines.push("1 packet could not be read".to_owned()),
            unread => self.lines.push(format!("{unread} packets could not be read")),
        }
        true
    }

    /// Rows that are looked at before anything else gets its turn. Judging a packet takes some microseconds.
    pub const SLICE: u64 = 1 << 13;

    /// The number of the session.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session.context.session
    }

    /// The lines that say so; empty until it is complete.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{self, ErrorKind};
    use std::path::Path;
    use std::sync::Arc;

    use mitmcraft_engine::capture::open_capture;
    use mitmcraft_protocol::schema::Catalog;

    use super::*;
    use crate::store::{Disk, StoreOptions};

    #[derive(Debug)]
    struct FullDisk;

    impl Disk for FullDisk {
        fn create(&self) -> io::Result<File> {
            Err(ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn packets_whose_bytes_were_lost_are_counted() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/session-1.8.jsonl");
        let read = || open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap);
        let disk: Arc<dyn Disk> = Arc::new(FullDisk);
        let store = Store::on_disk(StoreOptions::default(), &disk);
        for _ in 0..10 {
            read().filter(|it| !it.is_close()).for_each(|entry| store.push(&entry));
        }
        assert_eq!(store.losses().bodies, 4096);
        let mut explanation = Explanation::new(&store, 1).unwrap();
        while !explanation.advance(1000) {}
        let lines = explanation.lines();
        assert_eq!(lines.last().unwrap(), "4096 packets could not be read", "{lines:?}");
    }

    #[test]
    fn a_session_that_ended_and_one_that_goes_on_are_explained_in_slices() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/session-1.8.jsonl");
        let read = || open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap);
        let explained = |entries: Vec<Entry>, rows: u64| {
            let store = Store::new(StoreOptions::default());
            entries.iter().for_each(|entry| store.push(entry));
            assert!(Explanation::new(&store, 99).is_none());
            let mut explanation = Explanation::new(&store, 1).unwrap();
            let mut slices = 1;
            while !explanation.advance(rows) {
                assert!(explanation.lines().is_empty());
                slices += 1;
            }
            (explanation.lines().to_vec(), slices)
        };
        let (whole, slices) = explained(read().collect(), 1 << 20);
        assert_eq!(slices, 1);
        assert!(whole[0].contains("disconnected by the server: see you"), "{whole:?}");
        assert!(whole[1].starts_with("  possible: packet 464, disconnect-text"), "{whole:?}");
        let (again, slices) = explained(read().collect(), 10);
        assert_eq!(again, whole);
        assert!(slices > 40, "{slices}");
        let (open, _) = explained(read().filter(|it| !it.is_close()).take(100).collect(), 1 << 20);
        assert!(open[0].ends_with("the capture ends before the session"), "{open:?}");
    }
}
