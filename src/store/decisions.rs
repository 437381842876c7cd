use std::collections::HashMap;
use std::sync::Arc;

use super::row::NO_KIND;
use super::{Chunk, Row};
use crate::lang::Expr;
use crate::schema::Protocol;

/// What an expression says of packets by their type alone, so that their bytes are not read.
#[derive(Debug)]
pub(super) struct Decisions {
    expr: Expr,
    known: HashMap<(usize, u16), Option<bool>>,
    /// Keeps the protocols whose addresses `known` has.
    protocols: Vec<Arc<Protocol>>,
}

impl Decisions {
    pub(super) fn new(expr: Expr) -> Self {
        Self { expr, known: HashMap::new(), protocols: Vec::new() }
    }

    /// Returns what follows from the row's type; `None` if the packet has to be read.
    pub(super) fn of(&mut self, chunk: &Chunk, row: &Row) -> Option<bool> {
        if row.kind == NO_KIND {
            return None;
        }
        let protocol = &chunk.context(row).protocol;
        let key = (Arc::as_ptr(protocol).addr(), row.kind);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        if !self.protocols.iter().any(|it| Arc::ptr_eq(it, protocol)) {
            self.protocols.push(Arc::clone(protocol));
        }
        let kind = chunk.kind(row);
        let decided = self.expr.decide(protocol, row.state(), row.direction(), kind);
        self.known.insert(key, decided);
        decided
    }

    /// Returns whether the packet whose bytes are in `bytes` matches.
    pub(super) fn read(&self, chunk: &Chunk, place: usize, bytes: &bytes::Bytes) -> bool {
        let Some(packet) = chunk.evaluated(place, bytes) else { return false };
        self.expr
            .matches(crate::lang::Seen { packet: &packet, outcome: chunk.rows[place].outcome() })
    }
}
