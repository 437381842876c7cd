use std::collections::HashMap;
use std::sync::Arc;

use super::row::NO_KIND;
use super::{Annotations, Chunk, Loaded, Row};
use mitmcraft_engine::lang::{Expr, Subject};
use mitmcraft_protocol::schema::Protocol;

/// What an expression says of packets by their type and their row, so that their bytes are not read.
#[derive(Debug)]
pub(super) struct Decisions {
    expr: Expr,
    asks_comments: bool,
    known: HashMap<(usize, u16), Known>,
    /// Keeps the protocols whose addresses `known` has.
    protocols: Vec<Arc<Protocol>>,
}

/// What decides on the packets of a type.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// All match, or none does.
    Type(bool),
    /// The facts in a row may decide.
    Facts,
    /// Their fields decide.
    Body,
}

impl Decisions {
    pub(super) fn new(expr: Expr) -> Self {
        let asks_comments = expr.asks_comments();
        Self { expr, asks_comments, known: HashMap::new(), protocols: Vec::new() }
    }

    /// Returns what follows from the row's type; `None` if the packet has to be read.
    pub(super) fn of(&mut self, chunk: &Chunk, row: &Row) -> Option<bool> {
        if row.kind == NO_KIND {
            return None;
        }
        let protocol = &chunk.context(row).protocol;
        let key = (Arc::as_ptr(protocol).addr(), row.kind);
        if let Some(known) = self.known.get(&key) {
            return self.by_row(*known, chunk, row);
        }
        if !self.protocols.iter().any(|it| Arc::ptr_eq(it, protocol)) {
            self.protocols.push(Arc::clone(protocol));
        }
        let kind = chunk.kind(row);
        let (state, direction) = (row.state(), row.direction());
        let known = match self.expr.decide(protocol, state, direction, kind) {
            Some(decided) => Known::Type(decided),
            None if self.expr.asks_for_facts(protocol, state, direction, kind) => Known::Facts,
            None => Known::Body,
        };
        self.known.insert(key, known);
        self.by_row(known, chunk, row)
    }

    fn by_row(&self, known: Known, chunk: &Chunk, row: &Row) -> Option<bool> {
        match known {
            Known::Type(decided) => Some(decided),
            Known::Facts => {
                let (packet, outcome) = (chunk.outline(row), row.outcome());
                // What its comment decides is not a fact of its row.
                let subject = Subject { packet: &packet, outcome, comment: None };
                self.expr.decide_by_facts(subject, chunk.kind(row))
            }
            Known::Body => None,
        }
    }

    /// Returns whether a packet matches, by its bytes, and by what people noted about it.
    pub(super) fn read(
        &self,
        chunk: &Chunk,
        place: usize,
        loaded: Option<&Loaded>,
        notes: &Annotations,
    ) -> bool {
        if self.asks_comments {
            let Some(mut record) = chunk.record(place, loaded) else { return false };
            if let Some(note) = notes.get(&(chunk.first + place as u64)) {
                record.comment = note.joined(record.comment.take());
            }
            return self.expr.matches(&record);
        }
        let Some(packet) = chunk.evaluated(place, loaded) else { return false };
        let Some(outcome) = chunk.row(place).map(|row| row.outcome()) else { return false };
        self.expr.matches(Subject { packet: &packet, outcome, comment: None })
    }
}
