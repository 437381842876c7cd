use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{Export, Request, Selected, Statistics, answers, conversation_line};
use crate::lang::{Completion, Expr, ExprError};
use crate::schema::{Catalog, Protocol};
use crate::store::{Annotation, Details, Selection, Snapshot, Store, search_expression};

/// What one page looks at: a list of packets, a search and a conversation in a [`Store`].
///
/// Takes requests and returns answers, both as JSON (see the [module](super)). Does no I/O but to read
/// the store's spool file; its owner calls [`advance`](Self::advance) until everything is found.
#[derive(Debug)]
pub struct Viewer {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) snapshot: Snapshot,
    pub(super) list: Selected,
    /// The list that is being exported.
    pub(super) export: Option<Export>,
    /// The packets that people hid, one by one.
    hidden: Arc<BTreeSet<u64>>,
    search: Option<Selected>,
    /// The text that `search` looks for.
    searched: String,
    conversation: Option<Selected>,
    statistics: Option<Statistics>,
    /// What people had noted when the store was looked at last, and how often that was something else.
    noted: Arc<BTreeMap<u64, Annotation>>,
    looks: u64,
    /// The last `state` that was pushed.
    pushed: Json,
}

impl Viewer {
    /// Creates a viewer whose list has all packets.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>) -> Self {
        let snapshot = store.snapshot();
        let list = Selected::new(Selection::default(), snapshot.clone());
        Self {
            store,
            catalog,
            snapshot,
            list,
            export: None,
            hidden: Arc::default(),
            search: None,
            searched: String::new(),
            conversation: None,
            statistics: None,
            noted: Arc::default(),
            looks: 0,
            pushed: Json::Null,
        }
    }

    /// Answers a request.
    pub fn handle(&mut self, message: &Json) -> Json {
        let mut answer = match Request::read(message) {
            Some(request) => self.answer(request),
            None => json!({ "error": { "message": "unknown request" } }),
        };
        answer["id"] = message.get("id").cloned().unwrap_or_default();
        answer
    }

    /// Looks at some more packets, and at what the store has taken. Adds the messages that the page gets
    /// unasked to `pushes`. Returns `true` if there is more to do at once.
    pub fn advance(&mut self, pushes: &mut Vec<Json>) -> bool {
        let range = self.store.range();
        let noted = self.store.annotations();
        if range != (self.snapshot.first(), self.snapshot.end())
            || !self.snapshot.has_annotations(&noted)
        {
            self.look();
        }
        let mut all = [Some(&mut self.list), self.search.as_mut(), self.conversation.as_mut()];
        all.iter_mut().flatten().for_each(|selected| selected.advance());
        let mut busy = all.iter().flatten().any(|selected| !selected.done);
        if self.list.done
            && let Some(statistics) = &mut self.statistics
        {
            match statistics.advance(&self.list.matches) {
                Some(report) => {
                    pushes.push(json!({ "push": "statistics", "report": report }));
                    self.statistics = None;
                }
                None => busy = true,
            }
        }
        let state = self.state();
        if state != self.pushed {
            self.pushed = state.clone();
            pushes.push(state);
        }
        busy
    }

    /// Returns whether the page is going to be told the state of another list than the last time.
    pub(super) fn owes_state(&self) -> bool {
        self.pushed.is_null()
    }

    fn state(&self) -> Json {
        let progress = |selected: &Selected| {
            let (done, all) = selected.matches.progress();
            json!({ "total": selected.matches.count(), "done": done, "all": all })
        };
        json!({
            "push": "state",
            "first": self.snapshot.first(),
            "end": self.snapshot.end(),
            "complete": self.store.is_complete(),
            "read": self.store.reading(),
            "noted": self.looks,
            "fault": self.store.fault(),
            "hidden": self.hidden.len(),
            "saved": self.store.saved().as_deref(),
            "limit": self.store.limit().as_deref(),
            "list": progress(&self.list),
            "search": self.search.as_ref().map(progress),
            "conversation": self.conversation.as_ref().map(progress),
        })
    }

    /// Looks at what the store has now.
    pub(super) fn look(&mut self) {
        self.snapshot = self.store.snapshot();
        let all = [Some(&mut self.list), self.search.as_mut(), self.conversation.as_mut()];
        all.into_iter().flatten().for_each(|selected| selected.update(&self.snapshot));
        self.looks += u64::from(!self.snapshot.has_annotations(&self.noted));
        self.noted = self.store.annotations();
    }

    fn answer(&mut self, request: Request) -> Json {
        match request {
            Request::View { filter, sessions, times } => self.view(&filter, sessions, times),
            Request::Check { filter } => match self.parse(&filter) {
                Ok((_, warnings)) => json!({ "warnings": warnings }),
                Err(error) => json!({ "error": error }),
            },
            Request::Complete { filter, at } => {
                let at = answers::bytes(&filter, at);
                let completion = Completion::new(&filter, at, &self.protocols());
                let start = answers::units(&filter, completion.span.start);
                json!({ "start": start, "names": completion.names })
            }
            Request::Rows { start, count } => self.rows(start, count),
            Request::Details { row } => match self.snapshot.details(row) {
                Some(details) => json!({ "row": row, "packet": answers::details(&details) }),
                None if self.snapshot.row(row).is_some() => {
                    json!({ "error": { "message": Details::LOST } })
                }
                None => gone(),
            },
            Request::Search { text } => {
                self.searched = text;
                self.pushed = Json::Null;
                match self.begin_search() {
                    Ok(()) => json!({}),
                    Err(error) => json!({ "error": { "message": error.message } }),
                }
            }
            Request::Find { row, back } => self.find(row, back),
            Request::Index { row } => {
                let list = &self.list.matches;
                json!({ "index": list.index_of(row), "found": list.has(row) })
            }
            Request::Sessions => {
                let sessions = self.store.sessions();
                let last = sessions.len().saturating_sub(MAX_SESSIONS);
                let shown = sessions[last..].iter().map(answers::session).collect::<Vec<_>>();
                json!({ "sessions": shown, "left_out": last })
            }
            Request::Conversation { start, count } => self.conversation(start, count),
            Request::Statistics => {
                self.statistics = Some(Statistics::default());
                json!({})
            }
            Request::Hide { row } => {
                if self.hidden.len() < MAX_HIDDEN {
                    Arc::make_mut(&mut self.hidden).insert(row);
                    let all = [Some(&mut self.list), self.search.as_mut()];
                    all.into_iter().flatten().for_each(|selected| selected.matches.hide(row));
                }
                json!({})
            }
            Request::ShowHidden => {
                // The page asks for its list then.
                self.hidden = Arc::default();
                json!({})
            }
            Request::Save => {
                self.store.start_saving();
                json!({})
            }
            Request::Annotate { row, marked, comment } => self.annotate(row, marked, comment),
            Request::Export { format, rows } => self.begin_export(&format, rows),
            Request::ExportMore => self.export_more(),
            Request::Expression { row } => self.expression(row),
            Request::Packets(place) => self.packet_names(&place),
            Request::Form(form) => self.form(form),
            Request::FormOf { row } => self.form_of(row),
            Request::Compare { a, b } => match self.pair(a, b) {
                Some((a, b)) => json!({ "fields": answers::comparison(&a, &b) }),
                None => gone(),
            },
        }
    }

    fn view(&mut self, filter: &str, sessions: Vec<u64>, times: Option<(f64, f64)>) -> Json {
        let (expr, warnings) = match self.parse(filter) {
            Ok(parsed) => parsed,
            Err(error) => return json!({ "error": error }),
        };
        let times = times.map(|(from, to)| answers::moment(from)..answers::moment(to));
        let hidden = Arc::clone(&self.hidden);
        let selection = Selection { expr, sessions, times, hidden };
        (self.statistics, self.export) = (None, None);
        // The page is told about the new list, also if that is as long as the one before.
        self.pushed = Json::Null;
        if self.conversation.is_some() {
            self.begin_conversation(&selection);
        }
        self.list = Selected::new(selection, self.snapshot.clone());
        // It was accepted before, with another filter.
        let _ = self.begin_search();
        json!({ "warnings": warnings, "total": self.list.matches.count() })
    }

    /// Parses a filter, and returns its warnings; an empty one has no expression.
    fn parse(&self, filter: &str) -> Result<(Option<Expr>, Vec<Json>), Json> {
        if filter.trim().is_empty() {
            return Ok((None, Vec::new()));
        }
        match Expr::parse(filter, &self.catalog) {
            Ok((expr, warnings)) => {
                let warnings = warnings.iter().map(|it| answers::warning(it, filter)).collect();
                Ok((Some(expr), warnings))
            }
            Err(error) => Err(answers::expression_error(&error, filter)),
        }
    }

    fn rows(&self, start: u64, count: usize) -> Json {
        let list = &self.list.matches;
        let mut previous = start.checked_sub(1).and_then(|index| list.nth(index));
        let mut next = list.nth(start);
        let mut rows = Vec::new();
        while let Some(number) = next.filter(|_| rows.len() < count) {
            rows.extend(answers::row(&self.snapshot, number, previous));
            previous = Some(number);
            next = list.after(number);
        }
        json!({ "start": start, "total": list.count(), "rows": rows })
    }

    fn find(&self, row: u64, back: bool) -> Json {
        let Some(search) = &self.search else { return json!({ "row": null }) };
        let found = if back { search.matches.before(row) } else { search.matches.after(row) };
        match found {
            Some(row) => json!({ "row": row, "index": self.list.matches.index_of(row) }),
            None => json!({ "row": null, "searching": !search.done }),
        }
    }

    /// Looks for a text in the packets of the list.
    fn begin_search(&mut self) -> Result<(), ExprError> {
        self.search = None;
        if self.searched.is_empty() {
            return Ok(());
        }
        let mut expr = search_expression(&self.searched, &self.catalog)?;
        let list = self.list.matches.selection();
        if let Some(filter) = &list.expr {
            let both = format!("({}) and ({})", filter.text(), expr.text());
            expr = Expr::parse(&both, &self.catalog)?.0;
        }
        let selection = Selection { expr: Some(expr), ..list.clone() };
        self.search = Some(Selected::new(selection, self.snapshot.clone()));
        Ok(())
    }

    fn conversation(&mut self, start: u64, count: usize) -> Json {
        if self.conversation.is_none() {
            let selection = self.list.matches.selection().clone();
            self.begin_conversation(&selection);
        }
        let Some(conversation) = &self.conversation else { return gone() };
        let found = &conversation.matches;
        let mut lines = Vec::new();
        let mut next = found.nth(start);
        while let Some(row) = next.filter(|_| lines.len() < count) {
            let record = self.snapshot.record(row);
            lines.extend(record.map(|record| conversation_line(row, &record)));
            next = found.after(row);
        }
        json!({ "start": start, "total": found.count(), "lines": lines })
    }

    /// Looks for chat in the sessions and times of a list, whatever its expression.
    fn begin_conversation(&mut self, list: &Selection) {
        let chat = Expr::parse(CHAT, &self.catalog).ok().map(|(chat, _)| chat);
        let selection = Selection { expr: chat, ..list.clone() };
        self.conversation = Some(Selected::new(selection, self.snapshot.clone()));
    }

    fn pair(&self, a: u64, b: u64) -> Option<(Details, Details)> {
        Some((self.snapshot.details(a)?, self.snapshot.details(b)?))
    }

    /// Returns the protocols of the sessions, or that of 1.8 while there is none.
    fn protocols(&self) -> Vec<Arc<Protocol>> {
        let mut protocols: Vec<Arc<Protocol>> = Vec::new();
        for session in self.store.sessions() {
            let protocol = &session.context.protocol;
            if protocols.len() < MAX_PROTOCOLS
                && !protocols.iter().any(|it| Arc::ptr_eq(it, protocol))
            {
                protocols.push(Arc::clone(protocol));
            }
        }
        if protocols.is_empty() {
            protocols.extend(self.catalog.find(47).map(|found| found.protocol));
        }
        protocols
    }
}

/// The answer about a packet that is no longer held.
fn gone() -> Json {
    json!({ "error": { "message": "the packet is no longer held" } })
}

/// Chat, as players and servers send it.
const CHAT: &str = "role.chat";

/// Most sessions of a message: the last ones.
const MAX_SESSIONS: usize = 1000;

/// Most packets that are hidden one by one.
const MAX_HIDDEN: usize = 10_000;

/// Most protocols whose names are completed.
const MAX_PROTOCOLS: usize = 8;
