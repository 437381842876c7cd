use std::sync::{Arc, Mutex, PoisonError};

use crate::proxy::Clock;
use mitmcraft_engine::auth::{JoinMemory, LentAccount};

/// The logins of games, shared by the endpoint that passes them on and the sessions that use them. Cheap
/// to clone.
#[derive(Debug, Clone, Default)]
pub struct LentJoins {
    memory: Arc<Mutex<JoinMemory>>,
    clock: Clock,
}

impl LentJoins {
    /// Remembers that `account` has joined under this hash.
    pub(super) fn remember(&self, server_hash: String, account: LentAccount) {
        let now = self.clock.now();
        self.memory().remember(now, server_hash, account);
    }

    /// Returns the account that has joined under this hash, once.
    pub(super) fn take(&self, server_hash: &str) -> Option<LentAccount> {
        let now = self.clock.now();
        self.memory().take(now, server_hash)
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, JoinMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
