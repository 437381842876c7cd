use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::thread::Builder;

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value as Json, json};

use super::commands::Asked;
use super::expressions::placed;
use super::{Column, DetailsPane, History, Inbox, Prompt, Purpose, Sent, TimeMode, Timeline, View};
use crate::proxy::ColorStore;
use crate::store::{Annotation, SavedNotes, Store, StoredSession, search_expression};
use crate::view::protocol::Request;
use crate::view::{
    Action, Chart, Combination, Conversation, Cursor, Explanation, FindResult, HeldList,
    Highlights, Interface, List, SLICE, SortKey, Statistics, has_name, protocols, words,
};
use mitmcraft_engine::lang::{Condition, Expr, Vocabulary};
use mitmcraft_protocol::schema::Catalog;

/// Everything that the terminal interface shows, and what its keys do.
#[derive(Debug)]
pub struct App {
    pub(super) store: Arc<Store>,
    pub(super) catalog: Arc<Catalog>,
    inbox: Inbox,
    pub(super) list: List,
    pub(super) cursor: Cursor,
    pub(super) view: View,
    /// The conversation and its selected line; `None` until it is opened.
    pub(super) conversation: Option<(Conversation, Cursor)>,
    /// What the view is about that counts packets.
    pub(super) statistics: Option<Statistics>,
    /// What is found out about a session; `None` until it is asked for.
    pub(super) explanation: Option<Explanation>,
    /// The packet that is looked at, when its fields have the keys.
    pub(super) details: Option<DetailsPane>,
    pub(super) details_focused: bool,
    pub(super) prompt: Option<Prompt>,
    /// The packets that are held, and the place of the selected one.
    pub(super) held: HeldList,
    pub(super) held_packet: usize,
    pub(super) sessions: Vec<StoredSession>,
    pub(super) session: usize,
    /// Lines of the view that is only text, and the first row of them, wrapped, that is shown.
    pub(super) lines: Vec<String>,
    pub(super) first_row: usize,
    /// The list of packets that people have sent; `None` until it is opened.
    pub(super) sent: Option<Sent>,
    /// The expressions whose packets the timeline counts.
    pub(super) series: Vec<Expr>,
    /// The counts of the timeline; `None` until it is opened.
    pub(super) timeline: Option<Timeline>,
    pub(super) time: TimeMode,
    pub(super) columns: Vec<Column>,
    history: History,
    pub(super) highlights: Arc<Highlights>,
    /// Where they are kept.
    pub(super) colors: Option<ColorStore>,
    /// `true` if the terminal may show colours.
    pub(super) colored: bool,
    /// The sort key of the list, as the person typed it.
    pub(super) sort: String,
    /// The packets that are selected besides the one of the cursor.
    pub(super) chosen: BTreeSet<u64>,
    /// The sessions that are left out.
    pub(super) cleared: BTreeSet<u64>,
    /// The text for the terminal's clipboard.
    pub(super) copied: Option<String>,
    /// The row that was marked last.
    pub(super) marked: Option<u64>,
    /// The outcome when marks and comments were saved last.
    saved: Option<Arc<SavedNotes>>,
    /// What the person should know.
    pub(super) status: String,
    /// `true` if sessions can be controlled.
    pub(super) live: bool,
    pub(super) requests: VecDeque<(u64, Request)>,
    /// What to do with the answer to each request.
    pub(super) asked: HashMap<u64, Asked>,
    /// The number of the last request.
    pub(super) number: u64,
    /// The text that is to be edited in the person's editor.
    pub(super) in_editor: Option<(Purpose, String)>,
    /// A warning about sending the text that is being edited in the person's editor.
    pub(super) warning: Option<&'static str>,
    pub(super) quits: bool,
    /// `true` after the person wanted to leave although players are in, until another key is pressed.
    pub(super) leaves: bool,
    /// `true` if the program is to be stopped as a job of the shell.
    pub(super) suspends: bool,
    /// The columns of the screen.
    pub(super) width: usize,
    /// The lines that fit on the screen.
    pub(super) height: usize,
}

impl App {
    /// Creates the interface of a store, whose packets are followed as they come. With `live`, sessions
    /// can be controlled.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>, live: bool) -> Self {
        let mut app = Self {
            list: List::new(Arc::clone(&store)),
            cursor: Cursor::new(10),
            store,
            inbox: Inbox::default(),
            view: View::Packets,
            conversation: None,
            statistics: None,
            explanation: None,
            details: None,
            details_focused: false,
            prompt: None,
            held: HeldList::default(),
            held_packet: 0,
            sessions: Vec::new(),
            session: 0,
            lines: Vec::new(),
            first_row: 0,
            sent: None,
            series: Chart::usual(&catalog),
            catalog,
            timeline: None,
            time: TimeMode::Relative,
            columns: Column::USUAL.to_vec(),
            history: History::default(),
            highlights: Arc::default(),
            colors: None,
            colored: false,
            sort: String::new(),
            chosen: BTreeSet::new(),
            cleared: BTreeSet::new(),
            copied: None,
            marked: None,
            saved: None,
            status: "? lists the keys".to_owned(),
            live,
            requests: VecDeque::new(),
            asked: HashMap::new(),
            number: 0,
            in_editor: None,
            warning: None,
            quits: false,
            leaves: false,
            suspends: false,
            width: 0,
            height: 0,
        };
        app.advance();
        app
    }

    /// Shows only packets that match, until the person asks for others.
    #[must_use]
    pub fn filtered(mut self, condition: Option<Expr>) -> Self {
        self.list.set_filter(condition);
        self
    }

    /// Shows packets in the colours of a store, which keeps those that are chosen; it shows none otherwise.
    #[must_use]
    pub fn highlighted(self, colors: ColorStore) -> Self {
        Self { highlights: colors.now(), colors: Some(colors), colored: true, ..self }
    }

    /// The inbox that [`advance`](Self::advance) reads.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Returns the next request to the controller, with the number that its answer repeats.
    pub fn poll_request(&mut self) -> Option<(u64, Request)> {
        self.requests.pop_front()
    }

    /// Returns whether the person wants to leave.
    #[must_use]
    pub fn quits(&self) -> bool {
        self.quits
    }

    /// Looks at what the store and the inbox have taken. Returns whether there is more to do at once.
    pub fn advance(&mut self) -> bool {
        self.take(self.inbox.read());
        // Asked first: what comes between the two is not missed.
        let ended = self.store.is_complete();
        let mut busy = self.list.advance(SLICE);
        self.cursor.settle(&self.list, ended);
        if let Some((conversation, cursor)) = &mut self.conversation {
            busy |= conversation.advance(&self.list, SLICE);
            cursor.settle(conversation.list(), ended);
        }
        if let Some(statistics) = &mut self.statistics {
            let before = (statistics.counted(), statistics.is_complete());
            busy |= !statistics.advance(&self.list, Statistics::SLICE);
            if before != (statistics.counted(), statistics.is_complete()) {
                self.write_lines();
            }
        }
        if let Some(explanation) = self.explanation.as_mut().filter(|it| it.lines().is_empty()) {
            let is_complete = explanation.advance(Explanation::SLICE);
            busy |= !is_complete;
            if is_complete {
                self.write_lines();
            }
        }
        if let Some(sent) = &mut self.sent {
            busy |= sent.advance(ended);
        }
        if let Some(timeline) = self.timeline.as_mut().filter(|_| self.view == View::Timeline) {
            busy |= timeline.advance(&self.list, &self.series, &self.catalog);
        }
        self.sessions = self.store.sessions();
        self.sessions.retain(|it| !self.cleared.contains(&it.context.session));
        self.session = self.session.min(self.sessions.len().saturating_sub(1));
        let saved = self.store.saved();
        if saved.as_ref().map(Arc::as_ptr) != self.saved.as_ref().map(Arc::as_ptr)
            && let Some(saved) = &saved
        {
            self.status = words::saved(saved);
        }
        self.saved = saved;
        let row = self.shown_row();
        if self.details.as_ref().map(|it| it.row) != row {
            self.details = row.and_then(|row| DetailsPane::of(self.list.snapshot(), row));
        }
        busy
    }

    /// Handles a key.
    pub fn on_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.leaves &= match key.code {
            KeyCode::Char('c') => control,
            KeyCode::Char('q') => self.prompt.is_none(),
            _ => false,
        };
        let code = match key.code {
            // Enter, typed before the terminal was taken over.
            KeyCode::Char('j') if control => KeyCode::Enter,
            KeyCode::Char('k') if control && self.prompt.is_none() => {
                self.act(Action::Palette);
                return;
            }
            KeyCode::Char('c') if control => return self.leave(),
            KeyCode::Char('z') if control => {
                self.suspends = !self.live;
                if self.live {
                    "Ctrl-Z would stop the game's traffic, too: q ends the run"
                        .clone_into(&mut self.status);
                }
                return;
            }
            KeyCode::Char(letter) if control || key.modifiers.contains(KeyModifiers::ALT) => {
                let earlier = letter == 'p';
                match &mut self.prompt {
                    Some(prompt) if control && (earlier || letter == 'n') => {
                        prompt.recall(&self.history, earlier);
                    }
                    Some(prompt) => prompt.edit_as_shell(letter, !control),
                    None => return,
                }
                self.check();
                return;
            }
            _ if control => return,
            code => code,
        };
        if let Some(prompt) = &mut self.prompt {
            match code {
                KeyCode::Esc => self.prompt = None,
                KeyCode::Enter if prompt.purpose == Purpose::Palette => self.run_chosen(),
                KeyCode::Up | KeyCode::Down | KeyCode::Tab
                    if prompt.purpose == Purpose::Palette =>
                {
                    self.choose_action(code);
                }
                KeyCode::Enter => self.enter(),
                KeyCode::Up | KeyCode::Down => {
                    prompt.recall(&self.history, code == KeyCode::Up);
                    self.check();
                }
                KeyCode::Tab if prompt.purpose.is_expression() => {
                    prompt.complete(&protocols(&self.sessions, &self.catalog));
                    self.check();
                }
                code => {
                    prompt.edit(code);
                    self.check();
                }
            }
        } else if let Some(action) = action_of(code) {
            self.act(action);
        }
        self.advance();
    }

    /// Changes the number of columns of the screen, and of rows of the view on it.
    pub(super) fn set_size(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.cursor.set_height(&self.list, height);
        if let Some((conversation, cursor)) = &mut self.conversation {
            cursor.set_height(conversation.list(), height);
        }
        if let Some(sent) = &mut self.sent {
            sent.cursor.set_height(&sent.list, height);
        }
    }

    /// Takes what was typed in the editor.
    pub(super) fn edited(&mut self, purpose: Purpose, text: &str) {
        let warning = self.warning.take();
        let text = text.trim();
        if warning.is_none() {
            self.ask(purpose, text.to_owned());
            return self.enter();
        }
        // On one line, and not sent before the person has read why that may be wrong.
        let json = serde_json::from_str::<Json>(text);
        self.ask(purpose, json.map_or_else(|_| text.to_owned(), |json| json.to_string()));
        if let Some(prompt) = &mut self.prompt {
            prompt.warning = warning;
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        let page = i64::try_from(self.cursor.height()).unwrap_or(1).max(1);
        match action {
            Action::Quit => self.leave(),
            Action::Keys => self.show(View::Help),
            Action::Palette => self.ask(Purpose::Palette, String::new()),
            Action::Packets => self.show(View::Packets),
            Action::Sessions => self.show(View::Sessions),
            Action::Conversation => self.show(View::Conversation),
            Action::Statistics => self.show(View::Statistics),
            Action::Timeline => self.show(View::Timeline),
            Action::Sent => self.show(View::Sent),
            Action::Compare => self.show(View::Comparison),
            Action::Explain => self.explain(),
            Action::Back if self.details_focused => self.details_focused = false,
            Action::Back => self.show(View::Packets),
            Action::Next => self.move_by(1),
            Action::Previous => self.move_by(-1),
            Action::PageDown => self.move_by(page),
            Action::PageUp => self.move_by(-page),
            Action::First => self.move_by(i64::MIN / 2),
            Action::Last => self.move_by(i64::MAX / 2),
            Action::Follow => self.follow(),
            Action::Open | Action::NextPane if self.view == View::Packets => {
                self.details_focused = !self.details_focused && self.details.is_some();
            }
            Action::Open if self.view == View::Sessions => self.open_selected_session(),
            Action::Open if matches!(self.view, View::Conversation | View::Sent) => {
                self.open_line();
            }
            Action::Open | Action::NextPane => {}
            Action::Filter => self.ask(Purpose::Filter, self.filter().to_owned()),
            Action::Search => self.ask(Purpose::Search, String::new()),
            Action::NextMatch => self.find(false),
            Action::PreviousMatch => self.find(true),
            Action::HideType => self.filter_type(false),
            Action::OnlyType => self.filter_type(true),
            Action::Hide => self.hide(),
            Action::ShowHidden => self.show_hidden(),
            Action::Sort => self.ask(Purpose::Sort, self.sort.clone()),
            Action::Colors => self.ask_colors(),
            Action::Series => self.ask_series(),
            Action::Clear => self.clear(),
            Action::Select => self.choose(),
            Action::NextMark => self.go_to_mark(false),
            Action::PreviousMark => self.go_to_mark(true),
            Action::FieldFilter
            | Action::FieldAnd
            | Action::FieldOr
            | Action::FieldNot
            | Action::FieldColumn
            | Action::CopyValue
            | Action::CopyPath
            | Action::CopyBytes
            | Action::CopyJson => self.act_on_field(action),
            Action::Times => self.time = self.time.next(),
            Action::Columns => self.ask(Purpose::Columns, Column::text(&self.columns)),
            Action::Mark => self.mark(),
            Action::Comment => self.comment(),
            Action::Save => self.save(),
            // The page has these.
            Action::Menu | Action::Map | Action::Rules | Action::Rule | Action::Export => {}
            _ if !self.live => {}
            Action::Held => self.show(View::Held),
            Action::Hold => {
                let condition = self.held.condition.as_ref().map(|it| it.condition.clone());
                self.ask(Purpose::Break, condition.unwrap_or_default());
            }
            Action::Overtake => self.overtake(),
            Action::Forward => {
                self.decide(|session, held| Request::Forward { session, held });
            }
            Action::Drop => self.decide(|session, held| Request::Drop { session, held }),
            Action::Stop => self.request(Request::Stop { number: None }, None),
            Action::ForwardAll => self.request(Request::ForwardAll { session: None }, None),
            Action::Edit => self.edit(false),
            Action::EditInEditor => self.edit(true),
            Action::Resend => self.resend(),
            Action::Send => {
                if let Some(session) = self.open_session() {
                    let text = json!({ "to": "server", "packet": "", "fields": {} });
                    self.ask(Purpose::Send(session), text.to_string());
                }
            }
            Action::Kick => {
                if let Some(session) = self.open_session() {
                    self.ask(Purpose::Kick(session), String::new());
                }
            }
        }
    }

    /// Hides packets of the selected packet's type, or lists only those.
    fn filter_type(&mut self, only: bool) {
        let row = self.cursor.selected().filter(|_| self.view == View::Packets);
        let kind = row.and_then(|row| self.list.snapshot().kind(row));
        let Some(kind) = kind else { return };
        let how = if only { Combination::Only } else { Combination::Not };
        self.combine(how, has_name(kind.name()));
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

    /// Saves marks and comments on a thread of its own.
    fn save(&mut self) {
        self.saved = None;
        let store = Arc::clone(&self.store);
        let save = move || store.save_notes();
        if let Err(error) = Builder::new().name("notes".into()).spawn(save) {
            self.status = format!("cannot save: {error}");
        }
    }

    /// Asks for a comment on the selected packet.
    fn comment(&mut self) {
        let Some(row) = self.cursor.selected() else { return };
        let note = self.list.snapshot().annotation(row);
        let text = note.map(|it| it.comment.clone()).unwrap_or_default();
        self.ask(Purpose::Comment(row), text);
    }

    pub(super) fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt::new(purpose, text));
    }

    /// Parses a line.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    fn parse(&self, purpose: &Purpose, text: &str) -> Result<Line, (usize, String)> {
        let text = text.to_owned();
        Ok(match *purpose {
            Purpose::Filter => Line::Filter(self.condition_of(&text)?),
            Purpose::Search => Line::Search(text),
            Purpose::Columns => Line::Columns(Column::parse(&text, &self.catalog)?),
            Purpose::Sort => Line::Sort(self.sort_of(&text)?, text),
            Purpose::Series => Line::Series(self.series_of(&text)?),
            Purpose::Colors => Line::Colors(self.colors_of(&text)?),
            Purpose::Comment(row) => Line::Comment(row, text.trim().to_owned()),
            Purpose::Break => {
                self.condition_of(&text)?;
                Line::Command(Purpose::Break, text)
            }
            ref purpose @ (Purpose::Kick(_) | Purpose::Edit(_) | Purpose::Send(_)) => {
                Line::Command(purpose.clone(), text)
            }
            // Enter runs the chosen action.
            Purpose::Palette => Line::Nothing,
        })
    }

    /// Marks what is wrong with the line that is being typed. Returns what it says.
    pub(super) fn check(&mut self) -> Option<Line> {
        let prompt = self.prompt.as_ref()?;
        let parsed = self.parse(&prompt.purpose, &prompt.text);
        let (line, error) = parsed.map_or_else(|error| (None, Some(error)), |it| (Some(it), None));
        if let Some(prompt) = &mut self.prompt {
            prompt.error = error;
        }
        line
    }

    /// Does what the line says, if it is right.
    fn enter(&mut self) {
        let Some(line) = self.check() else { return };
        if let Some(Prompt { purpose, text, .. }) = self.prompt.take() {
            self.history.add(&purpose, &text);
        }
        match line {
            Line::Filter(filter) => {
                self.list.set_filter(filter);
                self.show(View::Packets);
            }
            Line::Search(text) => match search_expression(&text, &self.catalog) {
                Ok(condition) => {
                    self.list.search(Some(condition));
                    self.find(false);
                }
                Err(error) => self.status = error.message,
            },
            Line::Columns(columns) => self.columns = columns,
            Line::Sort(by, text) => {
                self.list.sort(by);
                self.sort = text;
            }
            Line::Series(series) => {
                self.series = series;
                self.show(View::Timeline);
            }
            Line::Colors(highlights) => {
                self.highlights = Arc::new(highlights);
                self.save_colors();
            }
            Line::Comment(row, comment) => {
                let note = self.list.snapshot().annotation(row).cloned().unwrap_or_default();
                self.store.annotate(row, Annotation { comment, ..note });
                self.details = None;
                self.advance();
            }
            Line::Command(purpose, text) => self.command(purpose, text),
            Line::Nothing => {}
        }
    }

    fn find(&mut self, back: bool) {
        let Some(row) = self.cursor.selected() else { return };
        match self.list.find(row, back) {
            FindResult::Found(row) => {
                self.cursor.select(&self.list, row);
                self.show(View::Packets);
            }
            FindResult::Searching => self.status = "nothing found yet: searching".to_owned(),
            FindResult::NotFound => self.status = "nothing found".to_owned(),
        }
    }
}

/// What a line says.
pub(super) enum Line {
    Filter(Option<Expr>),
    /// The text that is searched.
    Search(String),
    Columns(Vec<Column>),
    /// The order, and its text.
    Sort(Option<(SortKey, bool)>, String),
    Series(Vec<Expr>),
    Colors(Highlights),
    /// The comment on the packet of a row.
    Comment(u64, String),
    /// Something about sessions.
    Command(Purpose, String),
    Nothing,
}

/// Returns what a key does.
fn action_of(key: KeyCode) -> Option<Action> {
    let mut char = [0; 4];
    let name = match key {
        KeyCode::Char(key) => key.encode_utf8(&mut char),
        KeyCode::Up => "ArrowUp",
        KeyCode::Down => "ArrowDown",
        KeyCode::PageUp => "PageUp",
        KeyCode::PageDown => "PageDown",
        KeyCode::Home => "Home",
        KeyCode::End => "End",
        KeyCode::Enter => "Enter",
        KeyCode::Tab => "Tab",
        KeyCode::Esc => "Escape",
        _ => return None,
    };
    Action::of(name, Interface::Terminal)
}
