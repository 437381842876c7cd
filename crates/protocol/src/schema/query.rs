//! The protocol description of Query, written by hand from the document.

use std::sync::{Arc, LazyLock};

use super::unframed::only_version;
use super::{Catalog, Direction, Family, Protocol};

impl Catalog {
    /// Returns the protocol of Query. Its bodies are datagrams without the magic number at the
    /// start of a request.
    ///
    /// # Panics
    /// Never: a test compiles it.
    #[must_use]
    pub fn query(&self) -> Arc<Protocol> {
        static QUERY: LazyLock<Arc<Protocol>> =
            LazyLock::new(|| only_version(Family::Query, DESCRIPTION));
        Arc::clone(&QUERY)
    }
}

/// Returns the bytes in front of the body of a Query datagram: `FE FD` for a request, none for a
/// response.
#[must_use]
pub fn query_magic(direction: Direction) -> &'static [u8] {
    match direction {
        Direction::Serverbound => &[0xfe, 0xfd],
        Direction::Clientbound => &[],
    }
}

const DESCRIPTION: &str = include_str!("data/query.json");
