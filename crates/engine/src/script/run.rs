use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::filter::Var;
use mitmcraft_protocol::packet::Timestamp;

/// The state of a script that all sessions share: `run.vars`, and the places of errors that were
/// reported.
///
/// It has the only lock of the engine's filters. It is held while one variable is read or set, and never
/// while a script runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    shared: Arc<Mutex<Shared>>,
    /// Until when the script is taken to be slow, in nanoseconds.
    slow_until: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Shared {
    vars: BTreeMap<String, Var>,
    /// Bytes of `vars`.
    size: usize,
    reported: BTreeSet<String>,
}

impl Run {
    /// Sets a variable; removes it if there is no value. Returns `false` if there are too many.
    pub(super) fn set(&self, name: &str, value: Option<Var>) -> bool {
        let mut shared = self.lock();
        let before = shared.vars.get(name).map_or(0, |old| size(name, old));
        let Some(value) = value else {
            shared.vars.remove(name);
            shared.size -= before;
            return true;
        };
        let after = shared.size - before + size(name, &value);
        if after > MAX_VARS {
            return false;
        }
        shared.size = after;
        shared.vars.insert(name.to_owned(), value);
        true
    }

    /// Takes the script to be slow for some time from `at` on, in all sessions.
    pub(super) fn set_slow(&self, at: Timestamp) {
        self.slow_until.fetch_max(at.plus(SLOW_FOR).0, Relaxed);
    }

    pub(super) fn is_slow(&self, at: Timestamp) -> bool {
        at.0 < self.slow_until.load(Relaxed)
    }

    pub(super) fn get(&self, name: &str) -> Option<Var> {
        self.lock().vars.get(name).cloned()
    }

    /// Returns the first name after another one.
    pub(super) fn next(&self, after: Option<&str>) -> Option<String> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let shared = self.lock();
        shared.vars.range::<str, _>((after, Bound::Unbounded)).next().map(|(name, _)| name.clone())
    }

    /// Returns `true` the first time that an error at a place is reported, of which it remembers so many.
    pub(super) fn is_new(&self, place: &str) -> bool {
        let mut shared = self.lock();
        shared.reported.len() < MAX_REPORTED && shared.reported.insert(place.to_owned())
    }

    /// Forgets which errors were reported: the file is another one now.
    pub(super) fn forget_reports(&self) {
        self.lock().reported.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes that a variable counts for.
fn size(name: &str, value: &Var) -> usize {
    VAR + name.len() + if let Var::Text(text) = value { text.len() } else { 0 }
}

/// Bytes of the variables of a run, and of each besides its name and its text.
const MAX_VARS: usize = 4 << 20;
const VAR: usize = 100;

/// The time for which a script counts as slow after a slow call.
const SLOW_FOR: Duration = Duration::from_secs(10);

/// Most places whose errors are reported.
const MAX_REPORTED: usize = 1000;
