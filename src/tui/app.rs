use std::sync::Arc;
use std::thread::Builder;

use ratatui_core::layout::{Position, Rect};
use ratatui_crossterm::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use serde_json::json;

use super::conversation::ConversationPane;
use super::draw::tabs;
use super::held::HeldPane;
use super::packets::{NO_FIELD, PacketsPane};
use super::pane::{Input, Pane};
use super::sent::SentPane;
use super::sessions::SessionsPane;
use super::text::{ExplanationPane, StatisticsPane, TextPane};
use super::timeline::TimelinePane;
use super::{Column, History, Inbox, Purpose, Shared, View, summary};
use crate::proxy::ColorStore;
use crate::store::{SavedNotes, Store};
use crate::view::protocol::Request;
use crate::view::{Action, Binding, Combination, Interface, Thing, words};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

/// The terminal interface: its panes, of which one is shown, and what its keys do.
#[derive(Debug)]
pub struct App {
    pub(super) shared: Shared,
    inbox: Inbox,
    /// The pane that is shown.
    pub(super) view: View,
    pub(super) packets: PacketsPane,
    pub(super) sessions: SessionsPane,
    pub(super) held: HeldPane,
    pub(super) conversation: ConversationPane,
    pub(super) sent: SentPane,
    pub(super) timeline: TimelinePane,
    statistics: StatisticsPane,
    comparison: TextPane,
    explanation: ExplanationPane,
    pub(super) help: TextPane,
    pub(super) history: History,
    /// The outcome when marks and comments were saved last.
    saved: Option<Arc<SavedNotes>>,
    pub(super) quits: bool,
    /// `true` after the person wanted to leave although players are in, until another key is pressed.
    pub(super) leaves: bool,
    /// `true` if the program is to be stopped as a job of the shell.
    pub(super) suspends: bool,
}

impl App {
    /// Creates the interface of a store, whose packets are followed as they come. With `live`, sessions
    /// can be controlled.
    #[must_use]
    pub fn new(store: Arc<Store>, catalog: Arc<Catalog>, live: bool) -> Self {
        let mut app = Self {
            timeline: TimelinePane::new(&catalog),
            shared: Shared::new(store, catalog, live),
            inbox: Inbox::default(),
            view: View::Packets,
            packets: PacketsPane::default(),
            sessions: SessionsPane::default(),
            held: HeldPane::default(),
            conversation: ConversationPane::default(),
            sent: SentPane::default(),
            statistics: StatisticsPane::default(),
            comparison: TextPane::default(),
            explanation: ExplanationPane::default(),
            help: TextPane::new(summary::keys()),
            history: History::default(),
            saved: None,
            quits: false,
            leaves: false,
            suspends: false,
        };
        app.advance();
        app
    }

    /// Shows only packets that match, until the person asks for others.
    #[must_use]
    pub fn filtered(mut self, condition: Option<Expr>) -> Self {
        self.shared.list.set_filter(condition);
        self
    }

    /// Shows packets in the colours of a store, which keeps those that are chosen; it shows none otherwise.
    #[must_use]
    pub fn highlighted(mut self, colors: ColorStore) -> Self {
        self.packets.highlights = colors.now();
        self.packets.colors = Some(colors);
        self
    }

    /// The inbox that [`advance`](Self::advance) reads.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Returns the next request to the controller, with the number that its answer repeats.
    pub fn poll_request(&mut self) -> Option<(u64, Request)> {
        self.shared.requests.pop_front()
    }

    /// Returns whether the person wants to leave.
    #[must_use]
    pub fn quits(&self) -> bool {
        self.quits
    }

    /// Looks at what the store and the inbox have taken. Returns whether there is more to do at once.
    pub fn advance(&mut self) -> bool {
        self.take(self.inbox.read());
        let mut busy = self.shared.advance();
        self.go_on();
        let (pane, shared) = self.pane();
        busy |= pane.advance(shared);
        shared.select(pane.row(shared));
        let saved = self.shared.store.saved();
        if saved.as_ref().map(Arc::as_ptr) != self.saved.as_ref().map(Arc::as_ptr)
            && let Some(saved) = &saved
        {
            self.shared.status = words::saved(saved);
        }
        self.saved = saved;
        busy
    }

    /// Handles a key.
    pub fn on_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let types = self.shared.prompt.is_some();
        self.leaves &= match key.code {
            KeyCode::Char('c') => control,
            KeyCode::Char('q') => !types,
            _ => false,
        };
        match key.code {
            // Enter, typed before the terminal was taken over.
            KeyCode::Char('j') if control => self.on_code(KeyCode::Enter),
            KeyCode::Char('c') if control => self.leave(),
            KeyCode::Char('z') if control => {
                self.suspends = !self.shared.live;
                if self.shared.live {
                    "Ctrl-Z would stop the game's traffic, too: q ends the run"
                        .clone_into(&mut self.shared.status);
                }
            }
            KeyCode::Char(letter) if control && !types => {
                let action = Action::of(&format!("Control+{letter}"), Interface::Terminal);
                action.into_iter().for_each(|action| self.act(action));
            }
            KeyCode::Char(letter) if control || key.modifiers.contains(KeyModifiers::ALT) => {
                self.type_as_shell(letter, !control);
            }
            _ if control => {}
            code => self.on_code(code),
        }
    }

    fn on_code(&mut self, code: KeyCode) {
        if self.shared.prompt.is_some() {
            self.type_key(code);
        } else if let Some(action) = action_of(code) {
            self.act(action);
        }
        self.advance();
    }

    /// Handles a click or the wheel, on a screen with this area: as it was drawn last, unless its size has changed.
    pub(super) fn on_mouse(&mut self, mouse: MouseEvent, area: Rect) {
        self.fit(area);
        let at = Position::new(mouse.column, mouse.row);
        // What is below a line that is typed is not seen, or not what the person is about.
        let types = self.shared.prompt.is_some();
        let input = match mouse.kind {
            MouseEventKind::Down(_) if types => return,
            MouseEventKind::Down(MouseButton::Left) if at.y == 0 => {
                let mut tabs = tabs(self, area.width).into_iter().rev();
                if let Some((_, view, _)) =
                    tabs.find(|(x, _, name)| at.x >= *x && usize::from(at.x - x) < name.len())
                {
                    self.show(view);
                }
                self.advance();
                return;
            }
            MouseEventKind::ScrollUp => Input::Move(-3),
            MouseEventKind::ScrollDown => Input::Move(3),
            MouseEventKind::Down(MouseButton::Left) => Input::Click(at),
            _ => return,
        };
        let (pane, shared) = self.pane();
        pane.act(shared, input);
        self.go_on();
        self.advance();
    }

    /// Takes the size of the screen.
    pub(super) fn fit(&mut self, area: Rect) {
        self.shared.area = area;
        let (pane, shared) = self.pane();
        pane.fit(shared, area);
    }

    pub(super) fn act(&mut self, action: Action) {
        if !self.shared.live && Binding::of(action).is_some_and(Binding::needs_proxy) {
            return;
        }
        let (pane, shared) = self.pane();
        let page = i64::try_from(pane.page(shared)).unwrap_or(1).max(1);
        let input = match action {
            Action::Next => Input::Move(1),
            Action::Previous => Input::Move(-1),
            Action::PageDown => Input::Move(page),
            Action::PageUp => Input::Move(-page),
            Action::First => Input::Move(i64::MIN / 2),
            Action::Last => Input::Move(i64::MAX / 2),
            action => Input::Do(action),
        };
        let (pane, shared) = self.pane();
        if !pane.act(shared, input) {
            self.act_anywhere(action);
        }
        self.go_on();
    }

    /// Does what a key means in every pane that has no meaning of its own for it.
    fn act_anywhere(&mut self, action: Action) {
        let row = self.row();
        let shared = &mut self.shared;
        match action {
            Action::Quit => self.leave(),
            Action::Keys => self.show(View::Help),
            Action::Palette => shared.ask(Purpose::Palette, String::new()),
            Action::Packets | Action::Back => self.show(View::Packets),
            Action::Sessions => self.show(View::Sessions),
            Action::Conversation => self.show(View::Conversation),
            Action::Statistics => self.show(View::Statistics),
            Action::Timeline => self.show(View::Timeline),
            Action::Held => self.show(View::Held),
            Action::Sent => self.show(View::Sent),
            Action::Explain => self.explain(),
            Action::Mark
            | Action::Comment
            | Action::Compare
            | Action::Answer
            | Action::HideType
            | Action::OnlyType
            | Action::Hide
            | Action::Resend
            | Action::Edit
            | Action::EditInEditor => self.act_on_packets(action),
            Action::Follow => shared.cursor.set_follows(!shared.cursor.follows()),
            Action::Filter => shared.ask(Purpose::Filter, shared.filter().to_owned()),
            Action::Search => shared.ask(Purpose::Search, String::new()),
            Action::GoTo => shared.ask(Purpose::GoTo, String::new()),
            Action::NextMatch => shared.find(row, false),
            Action::PreviousMatch => shared.find(row, true),
            Action::ShowHidden => shared.show_hidden(),
            Action::Sort => shared.ask(Purpose::Sort, self.packets.sort.clone()),
            Action::Colors => self.packets.ask_colors(shared),
            Action::Series => self.timeline.ask(shared),
            Action::Clear => shared.clear(),
            Action::NextMark => shared.go_to_mark(row, false),
            Action::PreviousMark => shared.go_to_mark(row, true),
            Action::Times => shared.time = shared.time.next(),
            Action::Columns => shared.ask(Purpose::Columns, Column::text(&shared.columns)),
            Action::Save => self.save(),
            Action::Hold => {
                let condition = self.held.list.condition.as_ref();
                let condition = condition.map(|it| it.condition.clone());
                shared.ask(Purpose::Break, condition.unwrap_or_default());
            }
            Action::Overtake => self.held.overtake(shared),
            Action::Stop => shared.request(Request::Stop { number: None }, None),
            Action::ForwardAll => shared.request(Request::ForwardAll { session: None }, None),
            Action::Send => self.ask_about_session(|session| {
                let text = json!({ "to": "server", "packet": "", "fields": {} });
                (Purpose::Send(session), text.to_string())
            }),
            Action::Kick => {
                self.ask_about_session(|session| (Purpose::Kick(session), String::new()));
            }
            action => {
                let on = Binding::of(action).and_then(|it| it.on.first());
                let missing = match on {
                    Some(Thing::Field) => NO_FIELD,
                    Some(Thing::Held) => "select a packet that is held: 6 shows them",
                    Some(Thing::Packet) => NO_PACKET,
                    Some(Thing::Session) | None => return,
                };
                missing.clone_into(&mut shared.status);
            }
        }
    }

    /// Does something with what is selected in the pane that is shown, and says so if that is no packet.
    fn act_on_packets(&mut self, action: Action) {
        let (pane, shared) = self.pane();
        let rows = pane.rows(shared);
        let Some(row) = pane.row(shared) else {
            return NO_PACKET.clone_into(&mut shared.status);
        };
        match action {
            Action::Mark => shared.mark(rows),
            Action::Comment => shared.comment(row),
            Action::Answer => shared.go_to_other(),
            Action::HideType => shared.filter_type(row, Combination::Not),
            Action::OnlyType => shared.filter_type(row, Combination::Only),
            Action::Hide => shared.hide(rows),
            Action::Resend => shared.resend(rows),
            Action::Edit => shared.edit(false),
            Action::EditInEditor => shared.edit(true),
            _ => {
                self.comparison.lines = summary::comparison(shared, row);
                self.show(View::Comparison);
            }
        }
    }

    /// Goes to the view that a pane or a line leads to.
    pub(super) fn go_on(&mut self) {
        if let Some(view) = self.shared.goes_to.take() {
            self.show(view);
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.fit(self.shared.area);
        let (pane, shared) = self.pane();
        pane.open(shared);
    }

    /// Returns the row of the packet that is selected in the pane that is shown.
    pub(super) fn row(&mut self) -> Option<u64> {
        let (pane, shared) = self.pane();
        pane.row(shared)
    }

    /// The pane that is shown.
    pub(super) fn pane(&mut self) -> (&mut dyn Pane, &mut Shared) {
        let pane: &mut dyn Pane = match self.view {
            View::Packets => &mut self.packets,
            View::Sessions => &mut self.sessions,
            View::Held => &mut self.held,
            View::Conversation => &mut self.conversation,
            View::Statistics => &mut self.statistics,
            View::Timeline => &mut self.timeline,
            View::Sent => &mut self.sent,
            View::Comparison => &mut self.comparison,
            View::Explanation => &mut self.explanation,
            View::Help => &mut self.help,
        };
        (pane, &mut self.shared)
    }

    /// Explains the selected session, or that of the selected packet.
    fn explain(&mut self) {
        let (pane, shared) = self.pane();
        let selected = pane.session(shared);
        let Some(session) = shared.session(selected, |_| true) else { return };
        match self.explanation.explain(&self.shared, session) {
            true => self.show(View::Explanation),
            false => self.shared.status = format!("session {session} is not stored any more"),
        }
    }

    /// Saves marks and comments on a thread of its own.
    fn save(&mut self) {
        self.saved = None;
        let store = Arc::clone(&self.shared.store);
        let save = move || store.save_notes();
        if let Err(error) = Builder::new().name("notes".into()).spawn(save) {
            self.shared.status = format!("cannot save: {error}");
        }
    }
}

/// The status after an action on a packet while none is selected.
const NO_PACKET: &str = "select a packet first: 1 shows the list";

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
