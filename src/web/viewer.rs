use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::Builder;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::Export;
use super::packet_form::{body_fields, packet_form};
use crate::proxy::ColorStore;
use crate::store::{Annotation, Store, search_expression};
use crate::view::protocol::{
    Answer, ChatLine, Failure, Found, Progress, Push, Request, Row, StoreState, Warning, bytes,
    moment, units,
};
use crate::view::{
    Chart, Comparison, Conversation, Explanation, FindResult, GoTo, Highlight, Highlights, List,
    MapState, PickedField, SLICE, SessionQuery, SortKey, Statistics, Subscription, WorldMap,
    protocols, replies, sent_packets, words,
};
use mitmcraft_engine::analysis::Sort;
use mitmcraft_engine::lang::{Completion, Expr, Vocabulary};
use mitmcraft_engine::text::Column;
use mitmcraft_protocol::schema::Catalog;

/// What one page looks at: a list of packets, a search and a conversation in a [`Store`].
///
/// Answers the [`Request`]s that are about them. Does no I/O but to read the store's spool file and to keep
/// colours; its owner calls [`advance`](Self::advance) until everything is found.
#[derive(Debug)]
pub struct Viewer {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) list: List,
    /// What is being exported.
    pub(super) export: Option<Export>,
    /// The packet to go to, as it was asked for, until it is found.
    pub(super) going: Option<(String, GoTo)>,
    conversation: Option<Conversation>,
    /// The text that its lines have.
    said: String,
    statistics: Option<Statistics>,
    /// `true` while the page waits for them.
    counting: bool,
    explanation: Option<Explanation>,
    chart: Option<Chart>,
    map: Option<WorldMap>,
    /// The row and the session of the map that the page waits for.
    mapping: Option<Mapping>,
    /// The last map that was pushed.
    mapped: Option<(Mapping, MapState)>,
    sent: Option<List>,
    /// The columns of the rows that were asked for last.
    columns: Vec<Column>,
    /// The number of rows at the end of the list that the page gets with each state.
    newest: usize,
    pub(super) highlights: Arc<Highlights>,
    /// Where they are kept.
    colors: ColorStore,
    subscription: Option<Subscription>,
    /// What people had noted when the store was looked at last, and how often that was something else.
    noted: Arc<BTreeMap<u64, Annotation>>,
    looks: u64,
    /// The last `state` that was pushed, without its rows; `None` if the next is that of another list.
    pub(super) pushed: Option<StoreState>,
}

/// The row and the session of which a page wants the map.
type Mapping = (Option<u64>, Option<u64>);

impl Viewer {
    /// Creates a viewer whose list has all packets.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>) -> Self {
        let colors = ColorStore::new(Highlights::usual(&catalog));
        Self {
            list: List::new(Arc::clone(&store)),
            highlights: colors.now(),
            colors,
            store,
            catalog,
            export: None,
            going: None,
            conversation: None,
            said: String::new(),
            statistics: None,
            counting: false,
            explanation: None,
            chart: None,
            map: None,
            mapping: None,
            mapped: None,
            sent: None,
            columns: Vec::new(),
            newest: 0,
            subscription: None,
            noted: Arc::default(),
            looks: 0,
            pushed: None,
        }
    }

    /// Begins with the colours of a store, and keeps there those that are saved.
    pub fn set_colors(&mut self, colors: ColorStore) {
        self.highlights = colors.now();
        self.colors = colors;
    }

    /// Answers a request.
    ///
    /// # Errors
    /// If the request is wrong, or its packets are no longer stored, or if it is not about what is stored.
    pub fn handle(&mut self, request: Request) -> Result<Answer, Failure> {
        Ok(match request {
            Request::View { filter, sessions, from, to, fold } => {
                self.view(&filter, sessions, from.zip(to), fold)?
            }
            Request::Combine { filter, condition, how } => {
                self.combine(&filter, &condition, how)?
            }
            Request::Check { filter } => Answer::Check { warnings: self.parse(&filter)?.1 },
            Request::Complete { filter, at } => {
                let protocols = protocols(&self.store.sessions(), &self.catalog);
                let completion = Completion::new(&filter, bytes(&filter, at), &protocols);
                let start = units(&filter, completion.span.start);
                Answer::Complete { start, names: completion.names }
            }
            Request::Rows { start, count, columns, newest } => {
                let answer = self.rows(start, count.min(MAX_COUNT), &columns)?;
                self.newest = newest.map_or(self.newest, |it| it.min(MAX_COUNT));
                answer
            }
            Request::RowNumbers { start, count } => {
                let rows = self.list.rows(start, count.min(MAX_ROWS)).collect();
                Answer::RowNumbers { rows }
            }
            Request::Sort { by, descending } => self.sort(by.as_deref(), descending)?,
            Request::Field { row, field } => self.field(row, field)?,
            Request::Details { row } => match self.list.snapshot().details(row) {
                Some(details) => {
                    let packet = self.details(row, &details);
                    Answer::Details { row, packet: Box::new(packet) }
                }
                None if self.list.snapshot().row(row).is_some() => {
                    return Err(Failure::new(words::MISSING));
                }
                None => return Err(gone()),
            },
            Request::Search { text } => self.search(&text)?,
            Request::Find { row, back } => self.find(row, back),
            Request::GoTo { to, row, zone } => self.go_to(to, row, zone.unwrap_or_default())?,
            Request::Index { row } => {
                let (index, found) = (self.list.index_of(row), self.list.matches().has(row));
                Answer::Index { index, found }
            }
            Request::Sessions { text, only, by, descending, after, start, count, anchor } => {
                let query = SessionQuery { text, only, by, descending, after };
                self.sessions(&query, start, count, anchor)
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
            Request::Conversation { start, count, text, anchor } => {
                self.conversation(start, count.min(MAX_COUNT), text.unwrap_or_default(), anchor)?
            }
            Request::Statistics {} => {
                self.statistics.get_or_insert_default();
                self.counting = true;
                Answer::DONE
            }
            Request::Explain { session } => {
                let explanation = Explanation::new(&self.store, session);
                let gone = || Failure::new(format!("there is no session {session}"));
                self.explanation = Some(explanation.ok_or_else(gone)?);
                Answer::DONE
            }
            Request::Chart { expressions } => self.begin_chart(expressions.as_deref())?,
            Request::Map { row, session } => {
                self.map();
                self.mapping = Some((row, session));
                Answer::DONE
            }
            Request::MapTile { dimension, x, z, row } => {
                let png = self.map().tile(dimension, x, z, row);
                Answer::MapTile { png: png.map(|it| BASE64_STANDARD.encode(it)) }
            }
            Request::MapBlock { dimension, x, z, row } => {
                let (y, name) = self.map().block(dimension, x, z, row).unzip();
                Answer::MapBlock { y, name }
            }
            Request::Highlight { colors, save } => self.highlight(colors, save)?,
            Request::Sent { start, count } => self.sent(start, count.min(MAX_COUNT)),
            Request::Replies { row } => {
                let snapshot = self.list.snapshot();
                let rows = replies(snapshot, row).into_iter();
                let highlights = &self.highlights;
                let rows = rows.filter_map(|row| Row::new(snapshot, row, None, &[], highlights));
                Answer::Replies { rows: rows.collect() }
            }
            Request::Hide { row } => {
                self.list.hide(row);
                self.forget_statistics();
                Answer::DONE
            }
            Request::HideAll { rows } => {
                rows.into_iter().for_each(|row| self.list.hide(row));
                self.forget_statistics();
                Answer::DONE
            }
            Request::Clear { before } => {
                // The page asks for its list then.
                self.list.clear(before);
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
            Request::MarkAll { rows, marked } => {
                let noted = self.store.annotations();
                for row in rows.into_iter().take(MAX_ROWS) {
                    let comment = noted.get(&row).map(|it| it.comment.clone()).unwrap_or_default();
                    self.store.annotate(row, Annotation { marked, comment });
                }
                self.list.refresh();
                Answer::DONE
            }
            Request::NextMark { row, back } => {
                let found = self.list.next_mark(row, back);
                let found = found.map(|row| Found { row, index: self.list.index_of(row) });
                Answer::NextMark { found }
            }
            Request::Export { format, rows } => self.begin_export(format, rows)?,
            Request::ExportMore {} => self.export_more()?,
            Request::Expression { row, rules, set } => {
                self.expression(row, rules.as_deref().unwrap_or_default(), set)?
            }
            Request::Packets { session, dir, state } => self.packet_names(session, dir, state)?,
            Request::Form { session, dir, state, packet, text, body, change } => {
                let (context, state) = self.context(session, state)?;
                let kind = context.protocol.named(state, dir, &packet).ok_or_else(|| {
                    let version = context.protocol.newest_name();
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
                let differing = compared.differing.map(|bytes| (bytes.start, bytes.end));
                Answer::Compare { fields: compared.fields, differing }
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
                report["timeline"]["names"] = stats.timeline.names_json();
                pushes.push(Push::Statistics { report });
                self.counting = false;
            } else {
                busy = true;
            }
        }
        if let Some(explanation) = &mut self.explanation {
            if explanation.advance(Explanation::SLICE) {
                let (session, lines) = (explanation.session(), explanation.lines().to_vec());
                pushes.push(Push::Explanation { session, lines });
                self.explanation = None;
            } else {
                busy = true;
            }
        }
        if let Some(chart) = &mut self.chart {
            if chart.advance(SLICE) {
                pushes.push(Push::Chart(chart.data()));
                self.chart = None;
            } else {
                busy = true;
            }
        }
        if let Some(map) = &mut self.map
            && let Some(mapping @ (row, session)) = self.mapping
        {
            let is_done = map.advance(WorldMap::SLICE);
            let state = map.state(row, session);
            let last = self.mapped.as_ref().filter(|(of, _)| *of == mapping);
            let map = match last {
                Some((_, last)) => state.clone().since(last),
                None => state.clone(),
            };
            pushes.push(Push::Map { row, map });
            self.mapped = Some((mapping, state));
            self.mapping = self.mapping.filter(|_| !is_done);
            busy |= !is_done;
        }
        if let Some(sent) = &mut self.sent {
            busy |= sent.advance(SLICE);
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
            let start = self.list.count().saturating_sub(self.newest as u64);
            let newest = self.shown(start, self.newest);
            pushes.push(Push::State(StoreState { newest, ..state }));
        }
        busy
    }

    fn state(&self) -> StoreState {
        let snapshot = self.list.snapshot();
        StoreState {
            first: snapshot.first(),
            end: snapshot.end(),
            replacements: snapshot.replacements(),
            complete: self.store.is_complete(),
            read: self.store.reading(),
            noted: self.looks,
            fault: words::losses(&self.store.losses()),
            hidden: self.list.hidden(),
            cleared: self.list.cleared(),
            sorting: self.list.sorting(),
            order: self.list.orders(),
            saved: self.store.saved().map(|it| words::saved(&it)),
            limit: self.store.limit().as_ref().map(words::limit),
            list: (&self.list).into(),
            newest: Vec::new(),
            search: self.list.search_matches().map(Progress::from),
            conversation: self.conversation.as_ref().map(|it| it.matches().into()),
            sent: self.sent.as_ref().map(Progress::from),
        }
    }

    fn view(
        &mut self,
        filter: &str,
        sessions: Vec<u64>,
        times: Option<(f64, f64)>,
        fold: bool,
    ) -> Result<Answer, Failure> {
        let (expr, warnings) = self.parse(filter)?;
        if sessions.len() > MAX_COUNT {
            return Err(Failure::new(format!("at most {MAX_COUNT} sessions can be selected")));
        }
        let times = times.map(|(from, to)| moment(from)..moment(to));
        self.forget_statistics();
        (self.chart, self.export) = (None, None);
        // The page gets the state of the new list, even if that is as long as the one before.
        self.pushed = None;
        self.list.fold(fold);
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

    fn rows(&mut self, start: u64, count: usize, names: &[String]) -> Result<Answer, Failure> {
        if names.len() > MAX_COLUMNS {
            return Err(Failure::new(format!("at most {MAX_COLUMNS} columns can be added")));
        }
        if !self.columns.iter().map(Column::name).eq(names) {
            let vocabulary = Vocabulary::new(&self.catalog);
            let columns = names.iter().map(|name| {
                let column = Column::parse(name, &vocabulary);
                column.map_err(|error| Failure::of_expression(&error, name))
            });
            self.columns = columns.collect::<Result<_, _>>()?;
        }
        let rows = self.shown(start, count);
        Ok(Answer::Rows { start, total: self.list.count(), rows })
    }

    /// Returns rows of the list with the columns that were asked for last.
    fn shown(&self, start: u64, count: usize) -> Vec<Row> {
        let mut previous = start.checked_sub(1).and_then(|index| self.list.nth(index));
        let mut rows = Vec::new();
        for row in self.list.rows(start, count) {
            let snapshot = self.list.snapshot();
            let shown = Row::new(snapshot, row, previous, &self.columns, &self.highlights);
            rows.extend(shown.map(|mut shown| {
                if self.list.selection().folds {
                    shown.fold(snapshot);
                }
                shown
            }));
            previous = Some(row);
        }
        rows
    }

    fn begin_chart(&mut self, expressions: Option<&[String]>) -> Result<Answer, Failure> {
        let exprs = match expressions {
            None => Chart::usual(&self.catalog),
            Some(all) if all.len() > Chart::MAX => {
                return Err(Failure::new(format!("a chart has at most {} series", Chart::MAX)));
            }
            Some(all) => {
                let exprs = all.iter().map(|text| match Expr::parse(text, &self.catalog) {
                    Ok((expr, _)) => Ok(expr),
                    Err(error) => Err(Failure::of_expression(&error, text)),
                });
                exprs.collect::<Result<_, _>>()?
            }
        };
        self.chart = Some(Chart::new(&self.list, exprs, &self.catalog));
        Ok(Answer::DONE)
    }

    fn highlight(&mut self, colors: Option<Vec<Highlight>>, save: bool) -> Result<Answer, Failure> {
        if let Some(colors) = colors {
            if colors.len() > MAX_COLORS {
                return Err(Failure::new(format!("there can be at most {MAX_COLORS} colours")));
            }
            let texts: Vec<String> = colors.iter().map(|it| it.condition.clone()).collect();
            let highlights = Highlights::new(colors, &self.catalog);
            let highlights = highlights.map_err(|(index, error)| {
                Failure::of_expression(&error, texts.get(index).map_or("", |it| it))
            });
            self.highlights = Arc::new(highlights?);
        }
        if save {
            let saved = self.colors.save(&self.highlights);
            saved.map_err(|error| Failure::new(error.to_string()))?;
        }
        let file = self.colors.path().map(|path| path.display().to_string());
        Ok(Answer::Highlight { colors: self.highlights.iter().cloned().collect(), file })
    }

    fn map(&mut self) -> &mut WorldMap {
        let (store, catalog) = (&self.store, &self.catalog);
        self.map.get_or_insert_with(|| WorldMap::new(Arc::clone(store), catalog))
    }

    fn sent(&mut self, start: u64, count: usize) -> Answer {
        let (store, catalog) = (&self.store, &self.catalog);
        let list = self.sent.get_or_insert_with(|| sent_packets(Arc::clone(store), catalog));
        let snapshot = list.snapshot();
        // Of a packet that was edited, what was sent in its place.
        let rows = list.rows(start, count).map(|row| snapshot.counterpart(row).unwrap_or(row));
        let shown = rows.filter_map(|row| Row::new(snapshot, row, None, &[], &self.highlights));
        Answer::Sent { start, total: list.count(), rows: shown.collect() }
    }

    fn sort(&mut self, by: Option<&str>, descending: bool) -> Result<Answer, Failure> {
        let key = by.map(|by| {
            let key = SortKey::parse(by, &Vocabulary::new(&self.catalog));
            key.map_err(|error| Failure::of_expression(&error, by))
        });
        self.list.sort(key.transpose()?.map(|key| (key, descending)));
        Ok(Answer::DONE)
    }

    fn field(&self, row: u64, field: usize) -> Result<Answer, Failure> {
        let details = self.list.snapshot().details(row).ok_or_else(gone)?;
        let picked = PickedField::new(&details, field, &self.catalog).map(Answer::Field);
        picked.ok_or_else(|| Failure::new("the filter language has no name for this field"))
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
                let index = self.list.index_of(row);
                Answer::Find { found: Some(Found { row, index }), searching: false }
            }
            FindResult::Searching => Answer::Find { found: None, searching: true },
            FindResult::NotFound => Answer::Find { found: None, searching: false },
        }
    }

    fn conversation(
        &mut self,
        start: u64,
        count: usize,
        text: String,
        anchor: Option<u64>,
    ) -> Result<Answer, Failure> {
        let conversation = self.conversation.get_or_insert_with(|| {
            Conversation::new(Arc::clone(&self.store), &self.list, &self.catalog)
        });
        if text != self.said {
            let condition = (!text.is_empty()).then(|| search_expression(&text, &self.catalog));
            let condition = condition.transpose().map_err(|error| Failure::new(error.message))?;
            conversation.search(condition);
            self.said = text;
            // The page gets the new matches even if their number is the same as before.
            self.pushed = None;
        }
        let lines = conversation.lines(start, count).map(|it| ChatLine::from(&it)).collect();
        let matches = conversation.matches();
        let anchor = anchor.map(|row| matches.index_of(row));
        Ok(Answer::Conversation { start, total: matches.count(), lines, anchor })
    }
}

/// The answer about a packet that is no longer stored.
fn gone() -> Failure {
    Failure::new("the packet is no longer held")
}

/// Most rows, lines and sessions of a message.
const MAX_COUNT: usize = 500;

/// Most rows that a request is about, and numbers of rows in a message.
const MAX_ROWS: usize = 10_000;

/// Most colours of packets.
const MAX_COLORS: usize = 50;

/// Most columns that are added.
const MAX_COLUMNS: usize = 20;
