use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{OnFull, RefusalError};
use crate::link::Notice;

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
    /// Keys could not be appended to the key log.
    KeyLog(&'a io::Error),
    /// A sink does not take entries; those that it does not take are counted.
    SinkFails {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Why.
        cause: &'a io::Error,
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
    /// A sink has taken nothing for some seconds: the reader of a pipe has stopped, or a disk hangs.
    SinkStalls {
        /// The sink, as the user named it.
        sink: &'a str,
        /// What happens to sessions and entries meanwhile.
        on_full: OnFull,
    },
    /// The sink that stalled takes entries again.
    SinkContinues,
    /// A sink has been completed, and did not take all entries.
    SinkIncomplete {
        /// The sink, as the user named it.
        sink: &'a str,
        /// Number of entries that it did not take.
        missing: u64,
    },
}

/// Passes [`RunNotice`]s to the program that runs the proxy. Cheap to clone.
#[derive(Clone)]
pub struct Notices {
    show: Arc<dyn Fn(&RunNotice<'_>) + Send + Sync>,
    /// Notices that are not repeated; at most [`MAX_REMEMBERED`].
    shown: Arc<Mutex<Vec<Notice>>>,
}

impl Notices {
    /// Calls `show` for each notice, from any thread.
    #[must_use]
    pub fn new(show: Arc<dyn Fn(&RunNotice<'_>) + Send + Sync>) -> Self {
        Self { show, shown: Arc::default() }
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
