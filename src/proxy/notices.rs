use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::link::Notice;

/// Where a run says what its user should know at once. Cheap to clone.
#[derive(Clone)]
pub struct Notices {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// The words for a session's notice.
    words: fn(&Notice) -> String,
    /// What was said and need not be said again: [`MAX_TOLD`] at most.
    told: Arc<Mutex<HashSet<String>>>,
}

impl Notices {
    /// Says it this way.
    #[must_use]
    pub fn new(tell: Arc<dyn Fn(&str) + Send + Sync>, words: fn(&Notice) -> String) -> Self {
        Self { tell, words, told: Arc::default() }
    }

    /// Says it.
    pub(super) fn tell(&self, text: &str) {
        (self.tell)(text);
    }

    /// Says what a session wants to be known: once per run, unless it is about that session alone.
    pub(super) fn notify(&self, notice: &Notice) {
        let text = (self.words)(notice);
        if let Notice::TimedOut { .. } = notice {
            return self.tell(&text);
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MAX_TOLD && told.insert(text.clone()) {
            drop(told);
            self.tell(&text);
        }
    }
}

/// Nobody listens.
impl Default for Notices {
    fn default() -> Self {
        Self::new(Arc::new(|_| {}), |_| String::new())
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

/// Clients can make up as many versions as they like.
const MAX_TOLD: usize = 100;
