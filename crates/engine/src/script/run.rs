use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::filter::Var;

/// The state of a script that all sessions share: `run.vars`, and the places of errors that were
/// reported.
///
/// It has the only lock of the engine's filters. It is held while one variable is read or set, and never
/// while a script runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Run(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    vars: BTreeMap<String, Var>,
    reported: BTreeSet<String>,
}

impl Run {
    /// Sets a variable; removes it if there is no value. Returns `false` if there are too many.
    pub(super) fn set(&self, name: &str, value: Option<Var>) -> bool {
        let mut shared = self.lock();
        let Some(value) = value else {
            shared.vars.remove(name);
            return true;
        };
        if shared.vars.len() >= MAX_VARS && !shared.vars.contains_key(name) {
            return false;
        }
        shared.vars.insert(name.to_owned(), value);
        true
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most variables of a run.
const MAX_VARS: usize = 10_000;

/// Most places whose errors are reported.
const MAX_REPORTED: usize = 1000;
