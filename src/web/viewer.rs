use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::Builder;

use serde_json::{Value as Json, json};

use super::{Export, Request, answers};
use crate::analysis::Sort;
use crate::lang::{Completion, Expr};
use crate::schema::Catalog;
use crate::store::{Annotation, Matches, Store, search_expression};
use crate::view::{
    Comparison, Conversation, FindResult, List, SLICE, Statistics, protocols, words,
};

/// What one page looks at: a list of packets, a search and a conversation in a [`Store`].
///
/// Takes requests and returns answers, both as JSON (see the [module](super)). Does no I/O but to read
/// the store's spool file; its owner calls [`advance`](Self::advance) until everything is found.
#[derive(Debug)]
pub struct Viewer {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) list: List,
    /// The list that is being exported.
    pub(super) export: Option<Export>,
    conversation: Option<Conversation>,
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
        Self {
            list: List::new(Arc::clone(&store)),
            store,
            catalog,
            export: None,
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
        let mut busy = self.list.advance(SLICE);
        if let Some(conversation) = &mut self.conversation {
            busy |= conversation.advance(&self.list, SLICE);
        }
        if let Some(statistics) = &mut self.statistics {
            if statistics.advance(&self.list, Statistics::SLICE) {
                let stats = statistics.stats();
                let mut report = stats.report(Sort::Bytes).json();
                report["timeline"]["names"] = stats.timeline().names_json();
                pushes.push(json!({ "push": "statistics", "report": report }));
                self.statistics = None;
            } else {
                busy = true;
            }
        }
        if !self.list.snapshot().has_annotations(&self.noted) {
            self.looks += 1;
            self.noted = self.store.annotations();
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
        let progress = |matches: &Matches| {
            let (done, all) = matches.progress();
            json!({ "total": matches.count(), "done": done, "all": all })
        };
        let snapshot = self.list.snapshot();
        json!({
            "push": "state",
            "first": snapshot.first(),
            "end": snapshot.end(),
            "complete": self.store.is_complete(),
            "read": self.store.reading(),
            "noted": self.looks,
            "fault": words::losses(&self.store.losses()),
            "hidden": self.list.hidden(),
            "saved": self.store.saved().map(|it| words::saved(&it)),
            "limit": self.store.limit().as_ref().map(words::limit),
            "list": progress(self.list.matches()),
            "search": self.list.search_matches().map(progress),
            "conversation": self.conversation.as_ref().map(|it| progress(it.list().matches())),
        })
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
                let protocols = protocols(&self.store.sessions(), &self.catalog);
                let completion = Completion::new(&filter, at, &protocols);
                let start = answers::units(&filter, completion.span.start);
                json!({ "start": start, "names": completion.names })
            }
            Request::Rows { start, count } => self.rows(start, count),
            Request::Details { row } => match self.list.snapshot().details(row) {
                Some(details) => json!({ "row": row, "packet": answers::details(&details) }),
                None if self.list.snapshot().row(row).is_some() => failed(words::MISSING),
                None => gone(),
            },
            Request::Search { text } => self.search(&text),
            Request::Find { row, back } => self.find(row, back),
            Request::Index { row } => {
                let list = self.list.matches();
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
                self.list.hide(row);
                json!({})
            }
            Request::ShowHidden => {
                // The page asks for its list then.
                self.list.show_hidden();
                json!({})
            }
            Request::Save => {
                // The page does not wait for it: the outcome is pushed.
                let store = Arc::clone(&self.store);
                match Builder::new().name("notes".into()).spawn(move || store.save_notes()) {
                    Ok(_) => json!({}),
                    Err(error) => failed(&format!("cannot save: {error}")),
                }
            }
            Request::Annotate { row, marked, comment } => self.annotate(row, marked, comment),
            Request::Export { format, rows } => self.begin_export(&format, rows),
            Request::ExportMore => self.export_more(),
            Request::Expression { row } => self.expression(row),
            Request::Packets(place) => self.packet_names(&place),
            Request::Form(form) => self.form(form),
            Request::FormOf { row } => self.form_of(row),
            Request::Compare { a, b } => {
                let details = |row| self.list.snapshot().details(row);
                match details(a).zip(details(b)) {
                    Some((a, b)) => {
                        json!({ "fields": answers::comparison(&Comparison::new(&a, &b)) })
                    }
                    None => gone(),
                }
            }
        }
    }

    fn view(&mut self, filter: &str, sessions: Vec<u64>, times: Option<(f64, f64)>) -> Json {
        let (expr, warnings) = match self.parse(filter) {
            Ok(parsed) => parsed,
            Err(error) => return json!({ "error": error }),
        };
        let times = times.map(|(from, to)| answers::moment(from)..answers::moment(to));
        (self.statistics, self.export) = (None, None);
        // The page is told about the new list, also if that is as long as the one before.
        self.pushed = Json::Null;
        self.list.select(expr, sessions, times);
        json!({ "warnings": warnings, "total": self.list.count() })
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
        let mut previous = start.checked_sub(1).and_then(|index| self.list.nth(index));
        let mut rows = Vec::new();
        for row in self.list.rows(start, count) {
            rows.extend(answers::row(self.list.snapshot(), row, previous));
            previous = Some(row);
        }
        json!({ "start": start, "total": self.list.count(), "rows": rows })
    }

    /// Begins to search a text in the list; an empty one ends the search.
    fn search(&mut self, text: &str) -> Json {
        self.pushed = Json::Null;
        self.list.search(None);
        if !text.is_empty() {
            match search_expression(text, &self.catalog) {
                Ok(condition) => self.list.search(Some(condition)),
                Err(error) => return json!({ "error": { "message": error.message } }),
            }
        }
        json!({})
    }

    fn find(&self, row: u64, back: bool) -> Json {
        match self.list.find(row, back) {
            FindResult::Found(row) => {
                json!({ "row": row, "index": self.list.matches().index_of(row) })
            }
            FindResult::Searching => json!({ "row": null, "searching": true }),
            FindResult::NotFound => json!({ "row": null, "searching": false }),
        }
    }

    fn conversation(&mut self, start: u64, count: usize) -> Json {
        let conversation = self.conversation.get_or_insert_with(|| {
            Conversation::new(Arc::clone(&self.store), &self.list, &self.catalog)
        });
        let lines: Vec<_> =
            conversation.lines(start, count).map(|it| answers::conversation_line(&it)).collect();
        json!({ "start": start, "total": conversation.list().count(), "lines": lines })
    }
}

/// The answer about a packet that is no longer held.
fn gone() -> Json {
    failed("the packet is no longer held")
}

fn failed(message: &str) -> Json {
    json!({ "error": { "message": message } })
}

/// Most sessions of a message: the last ones.
const MAX_SESSIONS: usize = 1000;
