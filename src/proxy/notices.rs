use std::fmt;
use std::sync::Arc;

/// Where a run says what its user should know at once. Cheap to clone.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(&str) + Send + Sync>);

impl Notices {
    /// Says it this way.
    #[must_use]
    pub fn new(tell: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self(tell)
    }

    /// Says it.
    pub(super) fn tell(&self, text: &str) {
        (self.0)(text);
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
