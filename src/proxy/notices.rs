use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a run says what its user should know at once. Cheap to clone.
#[derive(Clone)]
pub struct Notices {
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// What was said and need not be said again: [`MAX_TOLD`] at most.
    told: Arc<Mutex<HashSet<String>>>,
}

impl Notices {
    /// Says it this way.
    #[must_use]
    pub fn new(tell: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { tell, told: Arc::default() }
    }

    /// Says it.
    pub(super) fn tell(&self, text: &str) {
        (self.tell)(text);
    }

    /// Says it, unless it was said already.
    pub(super) fn tell_once(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MAX_TOLD && told.insert(text.to_owned()) {
            drop(told);
            self.tell(text);
        }
    }
}

/// Nobody listens.
impl Default for Notices {
    fn default() -> Self {
        Self::new(Arc::new(|_| {}))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}

/// Clients can make up as many versions as they like.
const MAX_TOLD: usize = 100;
