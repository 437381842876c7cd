use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::Builder;

use super::Export;
use super::packet_form::{body_fields, packet_form};
use crate::store::{Annotation, Store, search_expression};
use crate::view::protocol::{
    Answer, ChatLine, ComparedValues, Failure, Found, PacketDetails, Progress, Push, Request, Row,
    SessionInfo, StoreState, Warning, bytes, moment, units,
};
use crate::view::{
    Comparison, Conversation, FindResult, List, SLICE, Statistics, Subscription, protocols, words,
};
use mitmcraft_engine::analysis::Sort;
use mitmcraft_engine::lang::{Completion, Expr};
use mitmcraft_protocol::schema::Catalog;

/// What one page looks at: a list of packets, a search and a conversation in a [`Store`].
///
/// Answers the [`Request`]s that are about them. Does no I/O but to read the store's spool file; its owner calls
/// [`advance`](Self::advance) until everything is found.
#[derive(Debug)]
pub struct Viewer {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) list: List,
    /// What is being exported.
    pub(super) export: Option<Export>,
    conversation: Option<Conversation>,
    /// The text that its lines have.
    said: String,
    statistics: Option<Statistics>,
    /// `true` while the page waits for them.
    counting: bool,
    subscription: Option<Subscription>,
    /// What people had noted when the store was looked at last, and how often that was something else.
    noted: Arc<BTreeMap<u64, Annotation>>,
    looks: u64,
    /// The last `state` that was pushed.
    pushed: Option<StoreState>,
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
            said: String::new(),
            statistics: None,
            counting: false,
            subscription: None,
            noted: Arc::default(),
            looks: 0,
            pushed: None,
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// If the request is wrong, or its packets are no longer stored, or if it is not about what is stored.
    pub fn handle(&mut self, request: Request) -> Result<Answer, Failure> {
        Ok(match request {
            Request::View { filter, sessions, from, to } => {
                self.view(&filter, sessions, from.zip(to))?
            }
            Request::Check { filter } => Answer::Check { warnings: self.parse(&filter)?.1 },
            Request::Complete { filter, at } => {
                let protocols = protocols(&self.store.sessions(), &self.catalog);
                let completion = Completion::new(&filter, bytes(&filter, at), &protocols);
                let start = units(&filter, completion.span.start);
                Answer::Complete { start, names: completion.names }
            }
            Request::Rows { start, count } => self.rows(start, count.min(MAX_COUNT)),
            Request::Details { row } => match self.list.snapshot().details(row) {
                Some(details) => {
                    Answer::Details { row, packet: Box::new(PacketDetails::from(&details)) }
                }
                None if self.list.snapshot().row(row).is_some() => {
                    return Err(Failure::new(words::MISSING));
                }
                None => return Err(gone()),
            },
            Request::Search { text } => self.search(&text)?,
            Request::Find { row, back } => self.find(row, back),
            Request::Index { row } => {
                let list = self.list.matches();
                Answer::Index { index: list.index_of(row), found: list.has(row) }
            }
            Request::Sessions {} => {
                let sessions = self.store.sessions();
                let left_out = sessions.len().saturating_sub(MAX_SESSIONS);
                let sessions = sessions[left_out..].iter().map(SessionInfo::from).collect();
                Answer::Sessions { sessions, left_out }
            }
            Request::Subscribe { filter, from } => {
                let (expr, warnings) = self.parse(&filter)?;
                let subscription = Subscription::new(Arc::clone(&self.store), expr, from);
                let from = subscription.next();
                self.subscription = Some(subscription);
                Answer::Subscribe { warnings, from }
            }
            Request::Unsubscribe {} => {
                self.subscription = None;
                Answer::DONE
            }
            Request::Conversation { start, count, text } => {
                self.conversation(start, count.min(MAX_COUNT), text.unwrap_or_default())?
            }
            Request::Statistics {} => {
                self.statistics.get_or_insert_default();
                self.counting = true;
                Answer::DONE
            }
            Request::Hide { row } => {
                self.list.hide(row);
                self.forget_statistics();
                Answer::DONE
            }
            Request::ShowHidden {} => {
                // The page asks for its list then.
                self.list.show_hidden();
                self.forget_statistics();
                Answer::DONE
            }
            Request::Save {} => {
                // The page does not wait for it: the outcome is pushed.
                let store = Arc::clone(&self.store);
                let saving = Builder::new().name("notes".into()).spawn(move || store.save_notes());
                saving.map_err(|error| Failure::new(format!("cannot save: {error}")))?;
                Answer::DONE
            }
            Request::Annotate { row, marked, comment } => {
                self.store.annotate(row, Annotation { marked, comment });
                self.list.refresh();
                Answer::DONE
            }
            Request::Export { format, rows } => self.begin_export(format, rows)?,
            Request::ExportMore {} => self.export_more()?,
            Request::Expression { row } => self.expression(row),
            Request::Packets { session, dir, state } => self.packet_names(session, dir, state)?,
            Request::Form { session, dir, state, packet, text, body, change } => {
                let (context, state) = self.context(session, state)?;
                let kind = context.protocol.named(state, dir, &packet).ok_or_else(|| {
                    let version = context.protocol.name();
                    let why = format!("{version} has no packet `{packet}` in the state {state}");
                    Failure::new(why)
                })?;
                let fields = match (text, body) {
                    (_, Some(body)) => Some(body_fields(&context, kind, &body)?),
                    (Some(text), None) => {
                        let not_json = |error| Failure::new(format!("this is not JSON: {error}"));
                        Some(serde_json::from_str(&text).map_err(not_json)?)
                    }
                    (None, None) => None,
                };
                Answer::Form { form: packet_form(&context, kind, fields, change) }
            }
            Request::FormOf { row } => self.form_of(row)?,
            Request::Compare { a, b } => {
                let details = |row| self.list.snapshot().details(row).ok_or_else(gone);
                let compared = Comparison::new(&details(a)?, &details(b)?);
                let fields = compared.fields.iter().map(ComparedValues::from).collect();
                Answer::Compare { fields }
            }
            Request::Alive {} => Answer::DONE,
            _ => return Err(Failure::new("this is not a request about packets")),
        })
    }

    /// Looks at some more packets, and at what the store has taken. Adds the messages that the page gets
    /// unasked to `pushes`. Returns `true` if there is more to do at once.
    pub fn advance(&mut self, pushes: &mut Vec<Push>) -> bool {
        let mut busy = self.list.advance(SLICE);
        if let Some(conversation) = &mut self.conversation {
            busy |= conversation.advance(&self.list, SLICE);
        }
        if let Some(statistics) = self.statistics.as_mut().filter(|_| self.counting) {
            if statistics.advance(&self.list, Statistics::SLICE) {
                let stats = statistics.stats();
                let mut report = stats.report(Sort::Bytes).json();
                report["timeline"]["names"] = stats.timeline().names_json();
                pushes.push(Push::Statistics { report });
                self.counting = false;
            } else {
                busy = true;
            }
        }
        if let Some(subscription) = &mut self.subscription {
            busy |= subscription.advance(pushes);
        }
        if !self.list.snapshot().has_annotations(&self.noted) {
            self.looks += 1;
            self.noted = self.store.annotations();
        }
        let state = self.state();
        if self.pushed.as_ref() != Some(&state) {
            self.pushed = Some(state.clone());
            pushes.push(Push::State(state));
        }
        busy
    }

    /// Returns whether the page is going to be told the state of another list than the last time.
    pub(super) fn owes_state(&self) -> bool {
        self.pushed.is_none()
    }

    fn state(&self) -> StoreState {
        let snapshot = self.list.snapshot();
        StoreState {
            first: snapshot.first(),
            end: snapshot.end(),
            complete: self.store.is_complete(),
            read: self.store.reading(),
            noted: self.looks,
            fault: words::losses(&self.store.losses()),
            hidden: self.list.hidden(),
            saved: self.store.saved().map(|it| words::saved(&it)),
            limit: self.store.limit().as_ref().map(words::limit),
            list: self.list.matches().into(),
            search: self.list.search_matches().map(Progress::from),
            conversation: self.conversation.as_ref().map(|it| it.matches().into()),
        }
    }

    fn view(
        &mut self,
        filter: &str,
        sessions: Vec<u64>,
        times: Option<(f64, f64)>,
    ) -> Result<Answer, Failure> {
        let (expr, warnings) = self.parse(filter)?;
        if sessions.len() > MAX_COUNT {
            return Err(Failure::new(format!("at most {MAX_COUNT} sessions can be selected")));
        }
        let times = times.map(|(from, to)| moment(from)..moment(to));
        self.forget_statistics();
        self.export = None;
        // The page is told about the new list, also if that is as long as the one before.
        self.pushed = None;
        self.list.select(expr, sessions, times);
        Ok(Answer::View { warnings, total: self.list.count() })
    }

    /// The list is another one: its packets are counted anew when that is asked.
    fn forget_statistics(&mut self) {
        (self.statistics, self.counting) = (None, false);
    }

    /// Parses a filter, and returns its warnings; an empty one has no expression.
    fn parse(&self, filter: &str) -> Result<(Option<Expr>, Vec<Warning>), Failure> {
        if filter.trim().is_empty() {
            return Ok((None, Vec::new()));
        }
        match Expr::parse(filter, &self.catalog) {
            Ok((expr, warnings)) => {
                let warnings = warnings.iter().map(|it| Warning::new(it, filter)).collect();
                Ok((Some(expr), warnings))
            }
            Err(error) => Err(Failure::of_expression(&error, filter)),
        }
    }

    fn rows(&self, start: u64, count: usize) -> Answer {
        let mut previous = start.checked_sub(1).and_then(|index| self.list.nth(index));
        let mut rows = Vec::new();
        for row in self.list.rows(start, count) {
            rows.extend(Row::new(self.list.snapshot(), row, previous));
            previous = Some(row);
        }
        Answer::Rows { start, total: self.list.count(), rows }
    }

    /// Begins to search a text in the list; an empty one ends the search.
    fn search(&mut self, text: &str) -> Result<Answer, Failure> {
        self.pushed = None;
        self.list.search(None);
        if !text.is_empty() {
            let condition = search_expression(text, &self.catalog)
                .map_err(|error| Failure::new(error.message))?;
            self.list.search(Some(condition));
        }
        Ok(Answer::DONE)
    }

    fn find(&self, row: u64, back: bool) -> Answer {
        match self.list.find(row, back) {
            FindResult::Found(row) => {
                let index = self.list.matches().index_of(row);
                Answer::Find { found: Some(Found { row, index }), searching: false }
            }
            FindResult::Searching => Answer::Find { found: None, searching: true },
            FindResult::NotFound => Answer::Find { found: None, searching: false },
        }
    }

    fn conversation(&mut self, start: u64, count: usize, text: String) -> Result<Answer, Failure> {
        let conversation = self.conversation.get_or_insert_with(|| {
            Conversation::new(Arc::clone(&self.store), &self.list, &self.catalog)
        });
        if text != self.said {
            let condition = (!text.is_empty()).then(|| search_expression(&text, &self.catalog));
            let condition = condition.transpose().map_err(|error| Failure::new(error.message))?;
            conversation.search(condition);
            self.said = text;
        }
        let lines = conversation.lines(start, count).map(|it| ChatLine::from(&it)).collect();
        Ok(Answer::Conversation { start, total: conversation.matches().count(), lines })
    }
}

/// The answer about a packet that is no longer stored.
fn gone() -> Failure {
    Failure::new("the packet is no longer held")
}

/// Most rows, lines and sessions of a message.
const MAX_COUNT: usize = 500;

/// Most sessions of a message: the last ones.
const MAX_SESSIONS: usize = 1000;
