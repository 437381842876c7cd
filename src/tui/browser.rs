use std::collections::BTreeSet;
use std::sync::Arc;

use mitmcraft_engine::lang::Expr;
use crate::store::{Matches, Selection, Snapshot, Store};

/// The list of packets: which are shown, and which one is selected.
#[derive(Debug)]
pub(super) struct Browser {
    store: Arc<Store>,
    pub(super) matches: Matches,
    pub(super) filter: String,
    /// The session that is shown; `None` shows all.
    pub(super) session: Option<u64>,
    expr: Option<Expr>,
    /// The packets that the person hid, one by one.
    pub(super) hidden: Arc<BTreeSet<u64>>,
    search: Option<Matches>,
    /// The number of the selected row.
    pub(super) selected: Option<u64>,
    /// `true` while the selection moves to each new packet. It ends when a person selects another one, or the
    /// store is complete.
    pub(super) follows: bool,
    /// Rows of the list on the screen.
    pub(super) height: usize,
    /// The index of the first row on the screen.
    pub(super) top: u64,
}

impl Browser {
    pub(super) fn new(store: Arc<Store>) -> Self {
        let matches = Matches::new(Selection::default(), store.snapshot());
        Self {
            store,
            matches,
            filter: String::new(),
            session: None,
            expr: None,
            hidden: Arc::default(),
            search: None,
            selected: None,
            follows: true,
            height: 10,
            top: 0,
        }
    }

    /// Shows the packets that match, or all.
    pub(super) fn set_filter(&mut self, filter: String, expr: Option<Expr>) {
        (self.filter, self.expr) = (filter, expr);
        self.restart();
    }

    /// Shows the packets of one session, or of all.
    pub(super) fn set_session(&mut self, session: Option<u64>) {
        self.session = session;
        self.restart();
    }

    /// Hides the selected packet, and selects the one next to it.
    pub(super) fn hide(&mut self) {
        let Some(row) = self.selected else { return };
        Arc::make_mut(&mut self.hidden).insert(row);
        self.matches.hide(row);
        if let Some(search) = &mut self.search {
            search.hide(row);
        }
        self.follows = false;
        self.advance();
    }

    /// Shows all packets again that were hidden one by one.
    pub(super) fn show_hidden(&mut self) {
        self.hidden = Arc::default();
        self.restart();
    }

    /// Looks for packets that match among those that are shown.
    pub(super) fn set_search(&mut self, expr: Expr) {
        let selection = Selection { expr: Some(expr), ..self.selection() };
        self.search = Some(Matches::new(selection, self.snapshot().clone()));
        self.advance();
    }

    fn restart(&mut self) {
        self.matches = Matches::new(self.selection(), self.store.snapshot());
        self.advance();
    }

    fn selection(&self) -> Selection {
        let sessions = self.session.into_iter().collect();
        let hidden = Arc::clone(&self.hidden);
        Selection { expr: self.expr.clone(), sessions, times: None, hidden }
    }

    /// Looks at some more packets. Returns whether there is more to do at once.
    pub(super) fn advance(&mut self) -> bool {
        // Asked first: what comes between the two is not missed.
        let complete = self.store.is_complete();
        let range = self.store.range();
        let noted = self.store.annotations();
        if range != (self.snapshot().first(), self.snapshot().end())
            || !self.snapshot().has_annotations(&noted)
        {
            let snapshot = self.store.snapshot();
            if let Some(search) = &mut self.search {
                search.update(snapshot.clone());
            }
            self.matches.update(snapshot);
        }
        let mut done = self.matches.advance(SLICE);
        if done
            && let Some(row) = self.selected
            && !self.matches.has(row)
        {
            // The filter is another one: the packet next to it.
            self.selected = self.matches.after(row).or_else(|| self.matches.before(row));
        }
        if let Some(search) = &mut self.search {
            done &= search.advance(SLICE);
        }
        if self.follows || self.selected.is_none() {
            self.selected = self.matches.before(self.snapshot().end());
            self.follows &= !(complete && done);
        }
        self.scroll();
        !done
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        self.matches.snapshot()
    }

    /// Moves the selection by a number of rows, and stops following.
    pub(super) fn move_by(&mut self, rows: i64) {
        let index = self.index().saturating_add_signed(rows);
        self.select_index(index);
    }

    pub(super) fn select_index(&mut self, index: u64) {
        self.follows = false;
        let last = self.matches.count().saturating_sub(1);
        if let Some(row) = self.matches.nth(index.min(last)) {
            self.selected = Some(row);
        }
        self.scroll();
    }

    pub(super) fn set_follows(&mut self, follows: bool) {
        self.follows = follows;
        self.advance();
    }

    /// Selects the next or the previous packet that was looked for. Returns whether there is one.
    pub(super) fn find(&mut self, back: bool) -> bool {
        let (Some(search), Some(selected)) = (&self.search, self.selected) else { return false };
        let found = if back { search.before(selected) } else { search.after(selected) };
        // Until one is found, all that is known is that it was not found yet.
        let Some(found) = found.filter(|row| self.matches.has(*row)) else { return false };
        self.follows = false;
        self.selected = Some(found);
        self.scroll();
        true
    }

    /// Returns the index of the selected row.
    pub(super) fn index(&self) -> u64 {
        self.selected.map_or(0, |row| self.matches.index_of(row))
    }

    /// Returns the numbers of the rows on the screen, in order.
    pub(super) fn visible(&self) -> Vec<u64> {
        let mut rows = Vec::with_capacity(self.height);
        let mut next = self.matches.nth(self.top);
        while let Some(row) = next.filter(|_| rows.len() < self.height) {
            rows.push(row);
            next = self.matches.after(row);
        }
        rows
    }

    /// Keeps the selected row on the screen, and the screen full of rows if there are so many.
    fn scroll(&mut self) {
        let (count, height) = (self.matches.count(), self.height.max(1) as u64);
        let index = self.index().min(count.saturating_sub(1));
        let lowest = (index + 1).saturating_sub(height);
        let highest = index.min(count.saturating_sub(height));
        self.top = self.top.clamp(lowest, highest.max(lowest));
    }
}

/// Packets looked at between two keys.
const SLICE: usize = 1 << 16;
