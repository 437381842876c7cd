use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{OnFull, RefusalError};
use mitmcraft_engine::analysis::{StuckJoin, VersionMismatch};
use mitmcraft_engine::auth::AuthError;
use mitmcraft_engine::link::Notice;
use mitmcraft_engine::lint::LiveFinding;
use mitmcraft_engine::pipe::Fault;

/// Something that the person who runs the proxy should know at once. The program that shows it
/// chooses the words.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunNotice<'a> {
    /// A session reports something.
    Session(&'a Notice),
    /// A client was refused.
    Refused {
        /// The session's number.
        session: u64,
        /// Why.
        reason: &'a RefusalError,
    },
    /// Clients were refused since the last such notice, or since the start.
    TurnedAway {
        /// How many.
        clients: u64,
        /// Why: there are too many clients, or too few file descriptors.
        reason: &'a RefusalError,
    },
    /// The session service does not let the account of a game join, or does not answer.
    GameJoinFails(&'a AuthError),
    /// Keys could not be appended to the key log.
    KeyLog(&'a io::Error),
    /// The proxy cannot be announced in the game's list.
    LanFails(&'a io::Error),
    /// A sink does not take entries; those that it does not take are counted.
    SinkFails {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Why.
        cause: &'a io::Error,
    },
    /// A sink still does not take all entries. Shown once a minute.
    SinkLacks {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Number of entries that it did not take so far.
        missing: u64,
    },
    /// A sink that failed takes entries again.
    SinkRecovered {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Number of entries that it did not take.
        missing: u64,
    },
    /// The capture file of a session cannot be created. The session goes on without one.
    SessionUnrecorded {
        /// The session's number.
        session: u64,
        /// How many other sessions it happened to in the last half second.
        more: usize,
        /// Why.
        cause: &'a io::Error,
    },
    /// A capture file was deleted while it was written: what it holds is lost.
    CaptureDeleted {
        /// The file.
        path: &'a Path,
    },
    /// The packets of a session inflate to more than [`LogOptions::inflation`](super::LogOptions::inflation):
    /// those beyond it are recorded compressed. Shown once per session.
    InflatesTooMuch {
        /// The session's number.
        session: u64,
    },
    /// Most packets of a session's server do not decode, as those of another version. Shown once for each
    /// version of clients.
    OtherVersion(&'a VersionMismatch),
    /// The client of a session does not get into the world. Shown once for each session.
    Stuck(&'a StuckJoin),
    /// A packet breaks a rule of the game. Shown for the first of each kind.
    Finding(&'a LiveFinding),
    /// There are too many kinds of findings to show more.
    ManyFindings,
    /// The program that decides on packets has written a line to stderr.
    PipeSays(&'a str),
    /// The program that decides on packets has failed. It is started again.
    PipeFails {
        /// The failure.
        fault: &'a Fault,
        /// The last line of its stderr, if there is one.
        last: Option<&'a str>,
        /// Number of packets on which it should have decided.
        undecided: usize,
        /// The pause until it is started again.
        pause: Duration,
    },
    /// A sink has taken nothing for some seconds: the reader of a pipe has stopped, or a disk hangs.
    SinkStalls {
        /// The sink, as the user named it.
        sink: &'a str,
        /// The treatment of sessions and entries until the sink takes entries again.
        on_full: OnFull,
    },
    /// The sink that stalled takes entries again.
    SinkContinues,
    /// A sink has been completed, and lacks entries.
    SinkIncomplete {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Number of entries that it did not take, or could not write at the end.
        missing: u64,
    },
}

/// Passes [`RunNotice`]s to the program that runs the proxy. Cheap to clone.
#[derive(Clone)]
pub struct Notices {
    show: Arc<dyn Fn(&RunNotice<'_>) + Send + Sync>,
    /// Notices that are not repeated; at most [`MAX_REMEMBERED`].
    shown: Arc<Mutex<Vec<Notice>>>,
    shortages: Arc<Mutex<Shortages>>,
}

/// Clients that were refused because there were too many of them.
#[derive(Default)]
struct Shortages {
    full: Shortage,
    no_descriptors: Shortage,
}

#[derive(Default)]
struct Shortage {
    /// When a notice was shown last.
    shown: Option<Instant>,
    /// Clients since then.
    clients: u64,
}

impl Notices {
    /// Calls `show` for each notice, from any thread.
    #[must_use]
    pub fn new(show: Arc<dyn Fn(&RunNotice<'_>) + Send + Sync>) -> Self {
        Self { show, shown: Arc::default(), shortages: Arc::default() }
    }

    /// Shows a notice.
    pub(super) fn show(&self, notice: &RunNotice<'_>) {
        (self.show)(notice);
    }

    /// Shows a session's notice: once per run, unless it is about that session alone.
    pub(super) fn show_of_session(&self, notice: &Notice) {
        if !matches!(notice, Notice::TimedOut { .. }) {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if shown.len() >= MAX_REMEMBERED || shown.contains(notice) {
                return;
            }
            shown.push(notice.clone());
        }
        self.show(&RunNotice::Session(notice));
    }

    /// Counts a client that is turned away, and shows a notice at most once in [`PAUSE`].
    pub(super) fn show_turned_away(&self, reason: &RefusalError) {
        let mut shortages = self.shortages.lock().unwrap_or_else(PoisonError::into_inner);
        let shortage = match reason {
            RefusalError::NoDescriptors => &mut shortages.no_descriptors,
            _ => &mut shortages.full,
        };
        shortage.clients += 1;
        if shortage.shown.is_none_or(|shown| shown.elapsed() >= PAUSE) {
            shortage.shown = Some(Instant::now());
            let clients = std::mem::take(&mut shortage.clients);
            drop(shortages);
            self.show(&RunNotice::TurnedAway { clients, reason });
        }
    }
}

impl Default for Notices {
    /// Discards all notices.
    fn default() -> Self {
        Self::new(Arc::new(|_| {}))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

/// Clients can make up any number of versions: after this many notices, no new ones are shown.
const MAX_REMEMBERED: usize = 100;

/// Time between two notices of the same shortage.
const PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn many_clients_that_are_turned_away_are_one_notice_for_each_reason() {
        let shown = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&shown);
        let notices = Notices::new(Arc::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        for _ in 0..100 {
            notices.show_turned_away(&RefusalError::Full { limit: 1 });
            notices.clone().show_turned_away(&RefusalError::NoDescriptors);
        }
        assert_eq!(shown.load(Ordering::Relaxed), 2);
    }
}
