use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::order::Order;
use super::{SLICE, SortKey};
use crate::store::{Matches, Selection, Snapshot, Store};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Timestamp;

/// The packets of a store that an interface lists, in the order in which they were recorded or by one of their values:
/// those that a filter, sessions and times select, except those that were hidden one by one or cleared. A search finds packets among them.
///
/// Packets are found in slices, the newest first (see [`Matches`]). Whatever changes the list or begins a search
/// evaluates one slice at once; [`advance`](Self::advance) does the rest. All answers are about what was found so far.
#[derive(Debug)]
pub struct List {
    store: Arc<Store>,
    matches: Matches,
    /// The condition that is searched, and the packets of the list that meet it.
    search: Option<(Expr, Matches)>,
    /// The order, unless it is that in which the packets were recorded.
    order: Option<Order>,
    /// The number of times that the order has changed, or a search has changed what is left out.
    orders: u64,
    /// `true` if packets are left out that were sent in place of others.
    folds: bool,
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

/// The state of a list that is to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Sorting {
    /// It is being sorted; until then, it has the order in which its packets were recorded.
    Busy,
    /// It is sorted.
    Sorted,
    /// It has more packets than are sorted.
    TooMany,
}

impl List {
    /// Most packets of a list that is sorted.
    pub const MAX_SORTED: u64 = Order::MAX;

    /// Creates a list of all packets of a store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        let matches = begin(Selection::default(), store.snapshot());
        Self { store, matches, search: None, order: None, orders: 0, folds: false }
    }

    /// Selects the packets that match `filter`, in these sessions (empty for all) and times.
    pub fn select(
        &mut self,
        filter: Option<Expr>,
        sessions: Vec<u64>,
        times: Option<Range<Timestamp>>,
    ) {
        self.restart(Selection { filter, sessions, times, ..self.selection().clone() });
    }

    /// Selects the packets of another list that match `condition`.
    pub(super) fn select_within(&mut self, other: &Self, condition: Option<Expr>) {
        let within = condition.into_iter().collect();
        self.restart(Selection { within, folds: false, ..other.selection().clone() });
    }

    /// Selects the packets that match `filter`, in the sessions and times that are listed.
    pub fn set_filter(&mut self, filter: Option<Expr>) {
        self.restart(Selection { filter, ..self.selection().clone() });
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
            if let Some(order) = &mut self.order {
                order.hide(row);
            }
        }
    }

    /// Leaves out all packets before a row, or all that are stored now, until [`show_hidden`](Self::show_hidden).
    pub fn clear(&mut self, before: Option<u64>) {
        let since = before.unwrap_or_else(|| self.store.range().1);
        self.restart(Selection { since, ..self.selection().clone() });
    }

    /// Lists the packets again that were hidden or cleared.
    pub fn show_hidden(&mut self) {
        let shown = Selection { hidden: Arc::default(), since: 0, ..self.selection().clone() };
        self.restart(shown);
    }

    /// Sorts the list by a value of its packets; `None` for the order in which they were recorded.
    pub fn sort(&mut self, by: Option<(SortKey, bool)>) {
        self.order = by.map(|(key, descending)| Order::new(key, descending));
        self.orders += 1;
    }

    /// Leaves out packets that were sent in place of others, or not. They are listed in any case while there is a filter
    /// or a search, which may be about them.
    pub fn fold(&mut self, folds: bool) {
        if self.folds != folds {
            self.folds = folds;
            self.restart(self.selection().clone());
        }
    }

    /// Searches packets that match `condition` in the list, now and whenever the list changes; `None` ends that.
    pub fn search(&mut self, condition: Option<Expr>) {
        let folds = self.folds && self.filter().is_none() && condition.is_none();
        self.search = condition.map(|condition| self.begin_search(condition));
        if self.selection().folds != folds {
            self.restart(self.selection().clone());
            // Its rows are elsewhere, though nobody has asked for another list.
            self.orders += 1;
        }
    }

    /// Takes what the store has taken since, and evaluates about `rows` packets. Returns `true` if there is more to
    /// do at once.
    pub fn advance(&mut self, rows: usize) -> bool {
        self.refresh();
        let complete = self.matches.advance(rows);
        let search = self.search.as_mut().is_none_or(|(_, search)| search.advance(rows));
        let was_sorted = self.order().is_some();
        let sorted = self.order.as_mut().is_none_or(|order| order.advance(&self.matches, rows));
        self.orders += u64::from(self.order().is_some() != was_sorted);
        !(complete && search && sorted)
    }

    /// Takes what the store has taken since, and evaluates none of it.
    pub fn refresh(&mut self) {
        let (range, noted) = (self.store.range(), self.store.annotations());
        let known = self.matches.snapshot();
        if range == (known.first(), known.end()) && known.has_annotations(&noted) {
            return;
        }
        let snapshot = self.store.snapshot();
        if let Some(order) = &mut self.order
            && !known.has_annotations(&noted)
            && self.matches.selection().asks_comments()
        {
            // Other packets match now.
            order.restart();
        }
        if let Some((_, search)) = &mut self.search {
            search.update(snapshot.clone());
        }
        self.matches.update(snapshot);
    }

    /// Returns the row of the list nearest to `row` that people have marked: after it, or before it.
    #[must_use]
    pub fn next_mark(&self, row: u64, back: bool) -> Option<u64> {
        let noted = self.store.annotations();
        let marked = noted.iter().filter(|(_, it)| it.marked).map(|(row, _)| *row);
        let here = self.index_of(row);
        let listed = marked.filter(|it| *it != row && self.matches.has(*it));
        let places = listed.map(|row| (self.index_of(row), row));
        let found = if back {
            places.filter(|(index, _)| *index < here).max()
        } else {
            places.filter(|(index, _)| *index >= here).min()
        };
        found.map(|(_, row)| row)
    }

    /// Returns the match nearest to `row` among the packets after it, or before it. Neither has `row` to be in the
    /// list, nor is it found itself.
    #[must_use]
    pub fn find(&self, row: u64, back: bool) -> FindResult {
        let Some((_, search)) = &self.search else { return FindResult::NotFound };
        let found = match self.order() {
            // In the order of the list, not in that of the recording.
            Some(_) => {
                let next = |row: &u64| if back { self.before(*row) } else { self.after(*row) };
                std::iter::successors(next(&row), next).find(|row| search.has(*row))
            }
            None if back => search.before(row),
            None => search.after(row),
        };
        match found {
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
        self.selection().filter.as_ref()
    }

    /// Returns `true` if this list selects [among](Self::select_within) the packets of another one.
    pub(super) fn has_scope_of(&self, other: &Self) -> bool {
        let (own, other) = (self.selection(), other.selection());
        let hidden = Arc::ptr_eq(&own.hidden, &other.hidden) || own.hidden == other.hidden;
        let filter = |it: &Selection| it.filter.as_ref().map(|filter| filter.text().to_owned());
        let scope = (&own.sessions, &own.times, own.since);
        hidden
            && scope == (&other.sessions, &other.times, other.since)
            && filter(own) == filter(other)
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

    /// The number of packets that were cleared, of those that are stored.
    #[must_use]
    pub fn cleared(&self) -> u64 {
        self.selection().since.saturating_sub(self.snapshot().first())
    }

    /// Returns the number of times that the order of the list has changed, or a search has changed what is left out.
    #[must_use]
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// Returns whether the list is sorted; `None` if it is not to be.
    #[must_use]
    pub fn sorting(&self) -> Option<Sorting> {
        self.order.as_ref().map(|order| match order.ready {
            true => Sorting::Sorted,
            false if self.matches.count() > Order::MAX => Sorting::TooMany,
            false => Sorting::Busy,
        })
    }

    /// The number of packets found so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.order().map_or_else(|| self.matches.count(), Order::len)
    }

    /// Returns `true` once all packets were evaluated.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.matches.is_complete()
    }

    /// Returns the row at an index, from 0.
    #[must_use]
    pub fn nth(&self, index: u64) -> Option<u64> {
        match self.order() {
            Some(order) => order.nth(index),
            None => self.matches.nth(index),
        }
    }

    /// Returns the index of a row, or that of the next if the list does not have it.
    #[must_use]
    pub fn index_of(&self, row: u64) -> u64 {
        match self.order() {
            Some(order) => order.index_of(self.snapshot(), row),
            None => self.matches.index_of(row),
        }
    }

    /// Returns the next row of the list after `row`.
    #[must_use]
    pub fn after(&self, row: u64) -> Option<u64> {
        self.nth(self.index_of(row) + u64::from(self.matches.has(row)))
    }

    /// Returns the last row of the list before `row`.
    #[must_use]
    pub fn before(&self, row: u64) -> Option<u64> {
        self.nth(self.index_of(row).checked_sub(1)?)
    }

    /// Returns the newest row of the list.
    #[must_use]
    pub fn newest(&self) -> Option<u64> {
        self.matches.before(self.snapshot().end())
    }

    /// Returns up to `count` rows from an index on.
    pub fn rows(&self, start: u64, count: usize) -> impl Iterator<Item = u64> {
        (0..count as u64).map_while(move |index| self.nth(start.checked_add(index)?))
    }

    /// The order, once all packets have a place in it.
    fn order(&self) -> Option<&Order> {
        self.order.as_ref().filter(|order| order.ready)
    }

    fn restart(&mut self, selection: Selection) {
        self.refresh();
        let condition = self.search.take().map(|(condition, _)| condition);
        let all = selection.conditions().next().is_none() && condition.is_none();
        let folds = self.folds && all;
        self.matches = begin(Selection { folds, ..selection }, self.snapshot().clone());
        self.search = condition.map(|condition| self.begin_search(condition));
        if let Some(order) = &mut self.order {
            order.restart();
        }
    }

    fn begin_search(&self, condition: Expr) -> (Expr, Matches) {
        let mut selection = self.selection().clone();
        selection.within.push(condition.clone());
        (condition, begin(selection, self.snapshot().clone()))
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
