use std::ops::Range;
use std::sync::Arc;

use super::SLICE;
use crate::store::{Matches, Selection, Snapshot, Store};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Timestamp;

/// The packets of a store that an interface lists, in the order in which they were recorded: those that a filter,
/// sessions and times select, except those that were hidden one by one. A search finds packets among them.
///
/// Packets are found in slices, the newest first (see [`Matches`]). Whatever changes the list or begins a search
/// evaluates one slice at once; [`advance`](Self::advance) does the rest. All answers are about what was found so far.
#[derive(Debug)]
pub struct List {
    store: Arc<Store>,
    matches: Matches,
    /// The condition that is searched, and the packets of the list that meet it.
    search: Option<(Expr, Matches)>,
}

/// The answer to [`List::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindResult {
    /// The row of a match.
    Found(u64),
    /// No match was found yet, but not all packets were evaluated.
    Searching,
    /// There is no match.
    NotFound,
}

impl List {
    /// Creates a list of all packets of a store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let matches = begin(Selection::default(), store.snapshot());
        Self { store, matches, search: None }
    }

    /// Selects the packets that match `filter`, in these sessions (empty for all) and times.
    pub fn select(
        &mut self,
        filter: Option<Expr>,
        sessions: Vec<u64>,
        times: Option<Range<Timestamp>>,
    ) {
        let exprs = filter.into_iter().collect();
        let hidden = Arc::clone(&self.selection().hidden);
        self.restart(Selection { exprs, sessions, times, hidden });
    }

    /// Selects the packets that match `filter`, in the sessions and times of another list, without those that are
    /// hidden there.
    pub(super) fn select_as(&mut self, other: &Self, filter: Option<Expr>) {
        let exprs = filter.into_iter().collect();
        self.restart(Selection { exprs, ..other.selection().clone() });
    }

    /// Selects the packets that match `filter`, in the sessions and times that are listed.
    pub fn set_filter(&mut self, filter: Option<Expr>) {
        let exprs = filter.into_iter().collect();
        self.restart(Selection { exprs, ..self.selection().clone() });
    }

    /// Selects the packets of these sessions (empty for all), by the filter and the times of the list.
    pub fn set_sessions(&mut self, sessions: Vec<u64>) {
        self.restart(Selection { sessions, ..self.selection().clone() });
    }

    /// Hides a packet, until [`show_hidden`](Self::show_hidden). Does nothing if very many are hidden.
    pub fn hide(&mut self, row: u64) {
        if self.hidden() < MAX_HIDDEN {
            self.matches.hide(row);
            if let Some((_, search)) = &mut self.search {
                search.hide(row);
            }
        }
    }

    /// Lists the packets again that were hidden.
    pub fn show_hidden(&mut self) {
        self.restart(Selection { hidden: Arc::default(), ..self.selection().clone() });
    }

    /// Searches packets that match `condition` in the list, now and whenever the list changes; `None` ends that.
    pub fn search(&mut self, condition: Option<Expr>) {
        self.search = condition.map(|condition| {
            let mut selection = self.selection().clone();
            selection.exprs.push(condition.clone());
            (condition, begin(selection, self.snapshot().clone()))
        });
    }

    /// Takes what the store has taken since, and evaluates about `rows` packets. Returns `true` if there is more to
    /// do at once.
    pub fn advance(&mut self, rows: usize) -> bool {
        self.refresh();
        let complete = self.matches.advance(rows);
        let search = self.search.as_mut().is_none_or(|(_, search)| search.advance(rows));
        !(complete && search)
    }

    /// Takes what the store has taken since, and evaluates none of it.
    pub fn refresh(&mut self) {
        let (range, noted) = (self.store.range(), self.store.annotations());
        let known = self.snapshot();
        if range == (known.first(), known.end()) && known.has_annotations(&noted) {
            return;
        }
        let snapshot = self.store.snapshot();
        if let Some((_, search)) = &mut self.search {
            search.update(snapshot.clone());
        }
        self.matches.update(snapshot);
    }

    /// Returns the match nearest to `row` among the packets after it, or before it. Neither has `row` to be in the
    /// list, nor is it found itself.
    #[must_use]
    pub fn find(&self, row: u64, back: bool) -> FindResult {
        let Some((_, search)) = &self.search else { return FindResult::NotFound };
        match if back { search.before(row) } else { search.after(row) } {
            Some(row) => FindResult::Found(row),
            None if search.is_complete() => FindResult::NotFound,
            None => FindResult::Searching,
        }
    }

    /// The packets of the list.
    #[must_use]
    pub fn matches(&self) -> &Matches {
        &self.matches
    }

    /// The packets of the list that the search has found; `None` if nothing is searched.
    #[must_use]
    pub fn search_matches(&self) -> Option<&Matches> {
        self.search.as_ref().map(|(_, search)| search)
    }

    /// The filter, sessions, times and hidden packets.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        self.matches.selection()
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> Option<&Expr> {
        self.selection().exprs.first()
    }

    /// Returns `true` if this list has the sessions, times and hidden packets of another one.
    pub(super) fn has_scope_of(&self, other: &Self) -> bool {
        let (own, other) = (self.selection(), other.selection());
        let hidden = Arc::ptr_eq(&own.hidden, &other.hidden) || own.hidden == other.hidden;
        hidden && own.sessions == other.sessions && own.times == other.times
    }

    /// The packets of the store, listed or not.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        self.matches.snapshot()
    }

    /// The number of packets that were hidden one by one.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.selection().hidden.len()
    }

    /// The number of packets found so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.matches.count()
    }

    /// Returns `true` once all packets were evaluated.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.matches.is_complete()
    }

    /// Returns the row at an index, from 0 for the oldest.
    #[must_use]
    pub fn nth(&self, index: u64) -> Option<u64> {
        self.matches.nth(index)
    }

    /// Returns the next row of the list after `row`.
    #[must_use]
    pub fn after(&self, row: u64) -> Option<u64> {
        self.matches.after(row)
    }

    /// Returns the last row of the list before `row`.
    #[must_use]
    pub fn before(&self, row: u64) -> Option<u64> {
        self.matches.before(row)
    }

    /// Returns up to `count` rows from an index on.
    pub fn rows(&self, start: u64, count: usize) -> impl Iterator<Item = u64> {
        std::iter::successors(self.nth(start), |row| self.after(*row)).take(count)
    }

    fn restart(&mut self, selection: Selection) {
        self.refresh();
        self.matches = begin(selection, self.snapshot().clone());
        let condition = self.search.take().map(|(condition, _)| condition);
        self.search(condition);
    }
}

/// Begins to find packets: the newest are found at once.
fn begin(selection: Selection, snapshot: Snapshot) -> Matches {
    let mut matches = Matches::new(selection, snapshot);
    matches.advance(SLICE);
    matches
}

/// Most packets that are hidden one by one.
const MAX_HIDDEN: usize = 10_000;
