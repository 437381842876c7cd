use std::sync::Arc;

use super::{ConversationLine, List};
use crate::store::{Matches, Store};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

/// Chat and commands among the packets of a list, in all versions.
///
/// Before 1.19 commands are chat; since then they are packets of their own, which are part of it as well.
#[derive(Debug)]
pub struct Conversation {
    list: List,
    /// The filter that selects them.
    filter: Option<Expr>,
}

impl Conversation {
    /// Creates the conversation of a list of `store`.
    #[must_use]
    pub fn new(store: Arc<Store>, of: &List, catalog: &Catalog) -> Self {
        let mut list = List::new(store);
        let filter = Expr::parse(Self::FILTER, catalog).ok().map(|(filter, _)| filter);
        list.select_within(of, filter.clone());
        Self { list, filter }
    }

    /// Takes what has changed in the list and the store, and evaluates about `rows` packets. Returns `true` if there
    /// is more to do at once.
    pub fn advance(&mut self, of: &List, rows: usize) -> bool {
        if !self.list.has_scope_of(of) {
            self.list.select_within(of, self.filter.clone());
        }
        self.list.advance(rows)
    }

    /// Leaves out the lines that do not meet a condition; `None` shows all.
    pub fn search(&mut self, condition: Option<Expr>) {
        self.list.search(condition);
    }

    /// The packets of the lines.
    #[must_use]
    pub fn matches(&self) -> &Matches {
        self.list.search_matches().unwrap_or_else(|| self.list.matches())
    }

    /// The packets of the conversation, whatever is searched.
    #[must_use]
    pub fn list(&self) -> &List {
        &self.list
    }

    /// Returns up to `count` lines from an index on. Packets whose bytes are lost have none.
    pub fn lines(&self, start: u64, count: usize) -> impl Iterator<Item = ConversationLine> {
        let matches = self.matches();
        let rows = (start..).map_while(|index| matches.nth(index)).take(count);
        rows.filter_map(|row| Some(ConversationLine::new(row, self.list.snapshot().record(row)?)))
    }

    /// The filter that selects the same packets among those of the list.
    pub const FILTER: &str = "role.chat or role.command";
}
