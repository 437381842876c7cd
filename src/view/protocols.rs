use std::sync::Arc;

use crate::store::StoredSession;
use mitmcraft_protocol::schema::{Catalog, Protocol};

/// Returns the protocols of sessions, whose names complete what is typed; that of 1.8 while there is no session.
#[must_use]
pub fn protocols(sessions: &[StoredSession], catalog: &Catalog) -> Vec<Arc<Protocol>> {
    let mut protocols: Vec<Arc<Protocol>> = Vec::new();
    for session in sessions {
        let protocol = &session.context.protocol;
        if protocols.len() < MAX_PROTOCOLS && !protocols.iter().any(|it| Arc::ptr_eq(it, protocol))
        {
            protocols.push(Arc::clone(protocol));
        }
    }
    if protocols.is_empty() {
        protocols.extend(catalog.find(47).map(|found| found.protocol));
    }
    protocols
}

/// Most protocols whose names are completed.
const MAX_PROTOCOLS: usize = 8;
