use std::io;
use std::sync::Arc;

use super::Store;
use crate::capture::{Entry, Sink};

/// A sink that feeds a [`Store`].
#[derive(Debug)]
pub struct StoreSink(Arc<Store>);

impl StoreSink {
    /// Creates a sink for `store`.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self(store)
    }
}

impl Sink for StoreSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.push(entry);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.set_complete();
        Ok(())
    }
}
