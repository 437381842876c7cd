use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ratatui_core::layout::Rect;

use super::commands::Asked;
use super::lines::placed;
use super::{Column, DetailsPane, Prompt, Purpose, TimeMode, View};
use crate::store::{Annotation, Selection, Store, StoredSession};
use crate::view::protocol::Request;
use crate::view::{Combination, Cursor, FindResult, GoTo, List, RoundTrip, SLICE, has_name};
use mitmcraft_engine::lang::{Condition, Expr, Vocabulary};
use mitmcraft_protocol::schema::Catalog;

/// What the panes share: the list of packets, what is selected in it, and the ways to everything outside a pane.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) list: List,
    pub(super) cursor: Cursor,
    /// The packets that are selected besides the one of the cursor.
    pub(super) chosen: BTreeSet<u64>,
    /// The row that was marked last.
    pub(super) marked: Option<u64>,
    /// The selected packet: of the list, or of those that people have sent.
    pub(super) details: Option<DetailsPane>,
    pub(super) sessions: Vec<StoredSession>,
    /// The sessions that are left out.
    cleared: BTreeSet<u64>,
    pub(super) columns: Vec<Column>,
    pub(super) time: TimeMode,
    /// `true` if sessions can be controlled.
    pub(super) live: bool,
    /// What the person should know.
    pub(super) status: String,
    /// The line that is being typed.
    pub(super) prompt: Option<Prompt>,
    /// The view to go to.
    pub(super) goes_to: Option<View>,
    /// The packet to go to, until it is found.
    pub(super) going: Option<GoTo>,
    /// The text for the terminal's clipboard.
    pub(super) copied: Option<String>,
    /// The text that is to be edited in the person's editor.
    pub(super) in_editor: Option<(Purpose, String)>,
    /// A warning about sending the text that is being edited in the person's editor.
    pub(super) warning: Option<&'static str>,
    pub(super) requests: VecDeque<(u64, Request)>,
    /// What to do with the answer to each request.
    pub(super) asked: HashMap<u64, Asked>,
    /// The number of the last request.
    pub(super) number: u64,
    /// The screen.
    pub(super) area: Rect,
    /// The rows of the pane that fit on the screen.
    pub(super) height: usize,
}

impl Shared {
    pub(super) fn new(store: Arc<Store>, catalog: Arc<Catalog>, live: bool) -> Self {
        Self {
            list: List::new(Arc::clone(&store)),
            // A capture is read from its beginning, a run is watched at its end.
            cursor: if live { Cursor::new(10) } else { Cursor::at_first(10) },
            store,
            catalog,
            chosen: BTreeSet::new(),
            marked: None,
            details: None,
            sessions: Vec::new(),
            cleared: BTreeSet::new(),
            columns: Column::USUAL.to_vec(),
            time: TimeMode::Relative,
            live,
            status: "? lists the keys".to_owned(),
            prompt: None,
            goes_to: None,
            going: None,
            copied: None,
            in_editor: None,
            warning: None,
            requests: VecDeque::new(),
            asked: HashMap::new(),
            number: 0,
            area: Rect::default(),
            height: 10,
        }
    }

    /// Goes on with the list and the sessions. Returns whether there is more to do at once.
    pub(super) fn advance(&mut self) -> bool {
        // Asked first: what comes between the two is not missed.
        let ended = self.store.is_complete();
        let busy = self.list.advance(SLICE) | self.look();
        self.cursor.settle(&self.list, ended);
        self.sessions = self.store.sessions();
        self.sessions.retain(|it| !self.cleared.contains(&it.context.session));
        busy
    }

    /// Reads the packet of a row, unless it is the selected one already.
    pub(super) fn select(&mut self, row: Option<u64>) {
        if self.details.as_ref().map(|it| it.row) != row {
            self.details = row.and_then(|row| DetailsPane::of(self.list.snapshot(), row));
        }
    }

    pub(super) fn set_height(&mut self, height: usize) {
        self.height = height;
        self.cursor.set_height(&self.list, height);
    }

    /// Opens a line with a text.
    pub(super) fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt::new(purpose, text));
    }

    /// Shows a row in the list, without a filter or session that leaves it out.
    pub(super) fn go_to(&mut self, row: u64) {
        let Selection { filter, sessions, times, hidden, since, .. } = self.list.selection();
        if hidden.contains(&row) || row < *since {
            return self.status = "that packet is hidden: U shows hidden packets".to_owned();
        }
        let is_all = filter.is_none() && sessions.is_empty() && times.is_none();
        if !is_all && !self.list.matches().has(row) {
            self.list.select(None, Vec::new(), None);
            self.status = "all packets are listed: the filter left that one out".to_owned();
        }
        self.cursor.select(&self.list, row);
        self.goes_to = Some(View::Packets);
    }

    /// Goes on looking for the packet to go to. Returns whether there is more to do at once.
    fn look(&mut self) -> bool {
        let Some(going) = &mut self.going else { return false };
        let Some(found) = going.advance(&self.list, GoTo::SLICE) else { return true };
        self.going = None;
        match found {
            Ok(row) => self.go_to(row),
            Err(error) => self.status = error.to_string(),
        }
        false
    }

    /// Goes to the answer to the selected packet, or to the request that it answers.
    pub(super) fn go_to_other(&mut self) {
        // The answer may have come since the packet was selected.
        let row = self.details.as_ref().map(|it| it.row);
        match row.and_then(|row| RoundTrip::of(self.list.snapshot(), row)) {
            Some(other) => self.go_to(other.row),
            None => {
                "no packet answers this one, and it answers none".clone_into(&mut self.status);
            }
        }
    }

    /// The text of the list's filter; empty if it lists all packets.
    pub(super) fn filter(&self) -> &str {
        self.list.filter().map_or("", Expr::text)
    }

    /// Adds a condition to the list's filter.
    pub(super) fn combine(&mut self, how: Combination, condition: Condition) {
        let combined = how.combine(self.filter(), condition);
        let compile = |it| Expr::new(&it, &Vocabulary::new(&self.catalog));
        match combined.and_then(compile) {
            Ok((filter, _)) => self.list.set_filter(Some(filter)),
            Err(error) => self.status = placed(0, error).1,
        }
    }

    /// Hides packets of the type of a packet, or lists only those.
    pub(super) fn filter_type(&mut self, row: u64, how: Combination) {
        if let Some(kind) = self.list.snapshot().kind(row) {
            self.combine(how, has_name(kind.name()));
        }
    }

    /// Hides packets.
    pub(super) fn hide(&mut self, rows: Vec<u64>) {
        rows.into_iter().for_each(|row| self.list.hide(row));
        self.chosen.clear();
        self.cursor.set_follows(false);
    }

    /// Goes to the next packet that the search finds after that of a row, or of the list's cursor; or to the previous
    /// one.
    pub(super) fn find(&mut self, row: Option<u64>, back: bool) {
        let Some(row) = row.or_else(|| self.cursor.selected()) else { return };
        match self.list.find(row, back) {
            FindResult::Found(row) => self.go_to(row),
            FindResult::Searching => self.status = "nothing found yet: searching".to_owned(),
            FindResult::NotFound => self.status = "nothing found".to_owned(),
        }
    }

    /// Marks packets, or unmarks them if all are marked.
    pub(super) fn mark(&mut self, rows: Vec<u64>) {
        let noted = self.store.annotations();
        let marked = !rows.iter().all(|row| noted.get(row).is_some_and(|it| it.marked));
        self.marked = rows.last().copied();
        for row in rows {
            let note = noted.get(&row).cloned().unwrap_or_default();
            self.store.annotate(row, Annotation { marked, ..note });
        }
        self.details = None;
    }

    /// Goes to the next marked packet after that of a row, or of the list's cursor; or to the previous one.
    pub(super) fn go_to_mark(&mut self, row: Option<u64>, back: bool) {
        let Some(row) = row.or_else(|| self.cursor.selected()) else { return };
        match self.list.next_mark(row, back) {
            Some(row) => self.go_to(row),
            None => self.status = "there is no other marked packet in the list".to_owned(),
        }
    }

    /// Asks for a comment on a packet.
    pub(super) fn comment(&mut self, row: u64) {
        let note = self.list.snapshot().annotation(row);
        let text = note.map(|it| it.comment.clone()).unwrap_or_default();
        self.ask(Purpose::Comment(row), text);
    }

    /// Leaves out all packets so far, and the sessions that have ended.
    pub(super) fn clear(&mut self) {
        self.list.clear(None);
        let ended = self.sessions.iter().filter(|it| it.closed.is_some());
        self.cleared.extend(ended.map(|it| it.context.session));
        self.chosen.clear();
    }

    /// Shows what was hidden or cleared.
    pub(super) fn show_hidden(&mut self) {
        self.list.show_hidden();
        self.cleared.clear();
    }
}
