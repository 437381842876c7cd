//! The interface drawn into a buffer of 80 by 24, and driven by keys.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ratatui_core::backend::TestBackend;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use serde_json::{Value as Json, json};

use super::draw::{Layout, shade};
use super::{App, Painter};
use crate::control::tests::Room;
use crate::control::{self, BreakCondition, Decided, HeldContent, HeldPacket, Push};
use crate::proxy::ColorStore;
use crate::store::{Limit, Store, StoreOptions};
use crate::view::protocol::{Answer, Failure, Message, Request};
use crate::view::tests::{Driver, HeldDriver, color_name};
use crate::view::{Combination, Highlights, words};
use mitmcraft_engine::capture::{Entry, Event, EventKind, Outcome, Record, Summary};
use mitmcraft_engine::link::{Release, Side};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// An interface on a terminal, with what it shows.
struct Table {
    store: Arc<Store>,
    app: App,
    terminal: Terminal<TestBackend>,
    packets: u64,
}

impl Table {
    fn new(width: u16, height: u16) -> Self {
        let store = Arc::new(Store::new(StoreOptions::default()));
        let catalog = Arc::new(Catalog::embedded().clone());
        let app = App::new(Arc::clone(&store), catalog, true);
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let table = Self { store, app, terminal, packets: 0 };
        table.store.push(&Entry::Event(Event {
            context: table.context(),
            at: Timestamp(1_000_000_000),
            kind: EventKind::Open,
        }));
        table
    }

    fn context(&self) -> Arc<Context> {
        Arc::new(Context {
            upstream: "mc.example.org:25565".into(),
            player: Some("Steve".into()),
            version: Some(47),
            ..Context::new(
                1,
                Timestamp(1_000_000_000),
                ([127, 0, 0, 1], 50000).into(),
                Catalog::embedded().find(47).unwrap().protocol,
            )
        })
    }

    /// Records an event of another session.
    fn event(&self, session: u64, player: &str, kind: EventKind) {
        let client = ([127, 0, 0, 1], 50000).into();
        let protocol = Catalog::embedded().find(47).unwrap().protocol;
        let context = Context {
            player: Some(player.into()),
            ..Context::new(session, Timestamp(1_000_000_000), client, protocol)
        };
        let at = Timestamp(1_000_000_000);
        self.store.push(&Entry::Event(Event { context: Arc::new(context), at, kind }));
    }

    fn chats(&mut self, text: &str) {
        self.puts(Direction::Serverbound, &json!({ "message": text }), |record| record);
    }

    /// Records a packet `chat`.
    fn puts(&mut self, way: Direction, fields: &Json, change: impl FnOnce(Record) -> Record) {
        self.puts_any(way, "chat", fields, change);
    }

    fn puts_any(
        &mut self,
        way: Direction,
        name: &str,
        fields: &Json,
        change: impl FnOnce(Record) -> Record,
    ) {
        let context = self.context();
        let kind = context.protocol.named(State::Play, way, name).unwrap();
        let body = context.protocol.encode(kind, &Value::from_json(fields)).unwrap();
        self.packets += 1;
        let at = Timestamp(1_000_000_000 + self.packets * 500_000_000);
        let content = Content::Frame(Frame::from_body(body.into()));
        let mut packet = Packet::new(context, self.packets, at, way, State::Play, content);
        let passed = change(Record::passed(packet.clone()));
        if passed.outcome == Outcome::Send {
            packet.set_origin(Origin::Proxy);
        }
        self.store.push(&Entry::Packet(Record { packet, ..passed }));
        self.app.advance();
    }

    fn key(&mut self, key: KeyCode) {
        self.app.on_key(KeyEvent::new(key, KeyModifiers::NONE));
    }

    fn types(&mut self, keys: &str) {
        for key in keys.chars() {
            self.key(KeyCode::Char(key));
        }
    }

    /// The lines on the screen.
    fn lines(&mut self) -> Vec<String> {
        let app = &mut self.app;
        let drawn = self.terminal.draw(|frame| {
            Painter::new(frame.buffer_mut()).draw(app);
        });
        drawn.unwrap();
        let buffer = self.terminal.backend().buffer();
        let (width, height) = (buffer.area.width, buffer.area.height);
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect()
    }

    /// The text of the cells that are reversed on a line.
    fn reversed(&mut self, y: u16) -> String {
        self.lines();
        let buffer = self.terminal.backend().buffer();
        let cells = (0..buffer.area.width).map(|x| &buffer[(x, y)]);
        let cells = cells.filter(|cell| cell.modifier.contains(Modifier::REVERSED));
        cells.map(|cell| cell.symbol()).collect::<String>().trim().to_owned()
    }

    fn requests(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.app.poll_request()).map(|(_, request)| request).collect()
    }

    /// Takes a message of the controller.
    fn hears(&mut self, message: impl Into<Message>) {
        self.app.inbox().put(message.into());
        self.app.advance();
    }

    fn is_pushed(&mut self, push: Push) {
        self.hears(control::Message::Push(push));
    }

    fn clicks(&mut self, column: u16, row: u16) {
        let buffer = self.terminal.backend().buffer();
        let area = buffer.area;
        let kind = MouseEventKind::Down(MouseButton::Left);
        let mouse = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.app.on_mouse(mouse, area);
    }
}

#[test]
fn leaving_a_run_with_players_in_is_asked_once_and_a_capture_is_left_at_once() {
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let asks = "1 player is in, and would be disconnected: q or Ctrl-C again ends the run";
    for first in [KeyEvent::from(KeyCode::Char('q')), ctrl_c] {
        for second in [KeyEvent::from(KeyCode::Char('q')), ctrl_c] {
            let mut table = Table::new(80, 24);
            table.chats("hello");
            table.app.on_key(first);
            assert!(!table.app.quits());
            assert!(table.lines().iter().any(|it| it.contains(asks)), "{:#?}", table.lines());
            // Another key is another thought.
            table.key(KeyCode::Down);
            table.app.on_key(first);
            assert!(!table.app.quits());
            table.app.on_key(second);
            assert!(table.app.quits());
        }
    }
    // Not in a capture, and not without a player.
    let mut table = Table::new(80, 24);
    table.app.shared.live = false;
    table.key(KeyCode::Char('q'));
    assert!(table.app.quits());
    let store = Arc::new(Store::new(StoreOptions::default()));
    let mut app = App::new(store, Arc::new(Catalog::embedded().clone()), true);
    app.on_key(ctrl_c);
    assert!(app.quits());
}

#[test]
fn a_comparison_shows_both_of_two_long_values_however_narrow_the_screen() {
    for width in [80, 17, 1] {
        let mut table = Table::new(width, 200);
        let (one, other) = ("first ".repeat(12), "日本 ".repeat(12));
        table.chats(&one);
        table.chats(&other);
        table.types("mkx");
        let shown: String = table.lines().concat().split_whitespace().collect();
        for text in [one, other] {
            let text: String = text.split_whitespace().collect();
            assert!(width == 1 || shown.contains(&text), "{width}: {shown}");
        }
    }
}

#[test]
fn the_end_of_a_page_is_reached_if_all_of_its_lines_are_wrapped() {
    let mut table = Table::new(17, 24);
    table.chats(&format!("{}end", "first ".repeat(200)));
    table.chats(&"other ".repeat(200));
    table.types("mkx");
    assert!(!table.lines().concat().contains("end"));
    for _ in 0..200 {
        table.key(KeyCode::Down);
    }
    let shown: String = table.lines().concat().split_whitespace().collect();
    assert!(shown.contains("firstend"), "{:#?}", table.lines());
    // The last screen is full, so that one key moves it.
    table.key(KeyCode::Up);
    let above: String = table.lines().concat().split_whitespace().collect();
    assert!(!above.contains("firstend"));
}

#[test]
fn pasted_text_goes_into_the_line_that_is_typed_and_is_no_key_otherwise() {
    let mut table = Table::new(80, 24);
    table.chats("the quick fox");
    table.app.on_paste("q\nKDAFrLE");
    assert!(!table.app.quits() && table.requests().is_empty());
    assert!(table.lines().iter().any(|it| it.contains("pasted text goes only into a line")));
    table.types("/");
    table.app.on_paste("chat\r\nand serverbound\nq\u{1b}[2J\n");
    let prompt = table.app.shared.prompt.as_ref().unwrap();
    assert_eq!(prompt.text, "chat and serverbound q [2J");
    assert_eq!(prompt.cursor, prompt.text.len());
    assert!(prompt.error.is_some(), "it is checked");
    assert!(!table.app.quits());
    // The template of a packet gives way to the packet, but not to a part of it.
    table.key(KeyCode::Esc);
    table.types("S");
    table.app.on_paste("{\n  \"to\": \"client\"\n}\n");
    assert_eq!(table.app.shared.prompt.as_ref().unwrap().text, "{   \"to\": \"client\" }");
    table.key(KeyCode::Left);
    table.app.on_paste(", \"packet\": \"chat\"");
    assert!(
        table
            .app
            .shared
            .prompt
            .as_ref()
            .unwrap()
            .text
            .ends_with("\"client\" , \"packet\": \"chat\"}")
    );
    // A component is a part of a packet.
    table.app.on_paste("{\"text\":\"hi\"}");
    assert!(table.app.shared.prompt.as_ref().unwrap().text.ends_with("\"chat\"{\"text\":\"hi\"}}"));
}

#[test]
fn the_palette_finds_an_action_by_its_words_and_runs_it() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.app.on_key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
    table.types("unmark");
    let lines = table.lines();
    assert!(lines.iter().any(|line| line.starts_with(" m        mark the packet")), "{lines:#?}");
    assert!(lines[22].starts_with("action: unmark"), "{lines:#?}");
    table.key(KeyCode::Enter);
    assert!(table.lines()[2].contains("*chat"), "it is marked");
    // Another one of those that are found.
    table.app.on_key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL));
    table.types("packets");
    let first = table.lines().iter().position(|line| line.starts_with(" 1        packets"));
    let first = u16::try_from(first.unwrap()).unwrap();
    assert!(table.reversed(first).starts_with("1 "));
    table.key(KeyCode::Down);
    assert!(table.reversed(first).is_empty());
    table.key(KeyCode::Up);
    table.key(KeyCode::Up);
    assert!(table.reversed(first).is_empty(), "the last one");
    table.key(KeyCode::Esc);
    assert!(!table.lines()[22].starts_with("action"));
    assert_eq!(table.requests(), []);
}

#[test]
fn enter_that_was_typed_before_the_terminal_was_taken_over_is_enter() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.types("/message == \"other\"");
    table.app.on_key(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL));
    table.app.advance();
    assert!(!table.lines().iter().any(|line| line.contains("hello")), "{:#?}", table.lines());
}

#[test]
fn packets_with_the_fields_and_bytes_of_the_selected_one_are_shown() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.chats("world");
    insta::assert_snapshot!(table.lines().join("\n"));
    assert!(table.reversed(3).contains("world"), "the newest is selected");
    table.key(KeyCode::Up);
    assert!(table.reversed(2).contains("hello"));
    assert!(table.lines()[23 - 1].ends_with("; paused"));
    table.chats("again");
    assert!(table.reversed(2).contains("hello"), "it is not followed any more");
    table.types("f");
    assert!(table.reversed(4).contains("again"));
}

#[test]
fn every_size_can_be_drawn_and_the_selected_packet_stays_in_view() {
    for (width, height) in [(80, 24), (200, 60), (40, 10), (20, 5), (5, 2), (1, 1)] {
        let mut table = Table::new(width, height);
        for number in 0..100 {
            table.chats(&format!("message {number}"));
        }
        for key in ['1', '2', '3', '4', '5', '6', '7', 'x', '?', '1', '/'] {
            table.types(&key.to_string());
            table.lines();
        }
        table.key(KeyCode::Esc);
        if width >= 80 {
            let lines = table.lines().join("\n");
            assert!(lines.contains("message 99"), "{lines}");
            table.key(KeyCode::Home);
            assert!(table.lines().join("\n").contains("\"message 0\""));
            table.terminal.backend_mut().resize(width, 12);
            assert!(table.lines().join("\n").contains("\"message 0\""));
        }
    }
}

#[test]
fn the_field_and_its_bytes_mark_each_other() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    let layout = Layout::new(Rect::new(0, 0, 80, 24));
    table.key(KeyCode::Tab);
    assert_eq!(table.reversed(layout.fields.y), "message: \"hello\"0568656c6c6f.hello");
    // A click on the list gives the keys back to it, one on a byte selects its field.
    table.clicks(1, layout.list.y);
    assert!(table.reversed(layout.list.y).contains("hello"));
    table.clicks(layout.bytes.x + 6 + 3 * 3, layout.bytes.y);
    assert!(table.reversed(layout.fields.y).starts_with("message"));
}

#[test]
fn the_list_is_filtered_and_an_error_stands_under_its_character() {
    let mut table = Table::new(80, 24);
    for text in ["one", "two", "three"] {
        table.chats(text);
    }
    table.types("/chat and mesage == 1");
    let lines = table.lines();
    assert_eq!(lines[22], "filter: chat and mesage == 1");
    let caret = lines[23].find('^').unwrap();
    assert_eq!(caret, lines[22].find("mesage").unwrap(), "{lines:?}");
    assert!(lines[23].contains("did you mean `message`?"));
    table.key(KeyCode::Enter);
    assert!(table.lines()[22].starts_with("filter:"), "it is not accepted");
    table.key(KeyCode::Home);
    table.key(KeyCode::End);
    for _ in 0.."mesage == 1".len() {
        table.key(KeyCode::Backspace);
    }
    table.types("message contains \"t\"");
    table.key(KeyCode::Enter);
    let lines = table.lines().join("\n");
    assert!(lines.contains("2 of 3 packets: chat and message contains"), "{lines}");
    assert!(!lines.contains("\"one\"") && lines.contains("\"two\""));
}

#[test]
fn a_filter_that_leaves_few_packets_shows_all_of_them() {
    let mut table = Table::new(80, 24);
    for number in 0..100 {
        table.chats(&format!("number {number}"));
    }
    table.lines();
    table.key(KeyCode::Up);
    let shown = |table: &mut Table| -> Vec<String> {
        let lines = table.lines().into_iter().take(11);
        lines.filter(|line| line.contains("number ")).collect()
    };
    let many = shown(&mut table);
    assert!(many.len() > 5 && many.iter().any(|line| line.contains("\"number 98\"")), "{many:?}");
    table.types("/chat and message matches \"^number [123]$\"");
    table.key(KeyCode::Enter);
    let few = shown(&mut table);
    assert_eq!(few.len(), 3, "{few:?}");
    assert!(few[0].contains("\"number 1\"") && few[2].contains("\"number 3\""), "{few:?}");
    // The one that was selected is not there: it is the one before it.
    table.app.advance();
    assert!(table.lines().iter().any(|line| line.starts_with("message: \"number 3\"")));
    table.types("/");
    for _ in 0..60 {
        table.key(KeyCode::Backspace);
    }
    table.key(KeyCode::Enter);
    assert_eq!(shown(&mut table).len(), many.len());
}

#[test]
fn text_is_searched_forwards_and_backwards() {
    let mut table = Table::new(80, 24);
    for text in ["apple", "pear", "apple pie"] {
        table.chats(text);
    }
    table.key(KeyCode::Home);
    table.types("sapple");
    table.key(KeyCode::Enter);
    assert!(table.reversed(4).contains("apple pie"));
    table.types("N");
    assert!(table.reversed(2).contains("apple"));
    table.types("N");
    assert_eq!(table.lines()[23], "nothing found");
}

#[test]
fn times_and_columns_change() {
    let mut table = Table::new(80, 24);
    table.chats("one");
    table.chats("two");
    assert!(table.lines()[3].contains("1.000000"));
    table.types("t");
    assert!(table.lines()[3].contains("0.500000"));
    table.types("t");
    assert!(table.lines()[3].contains("00:00:02.000"));
    assert!(table.lines()[3].contains(" play "));
    table.types("c");
    assert_eq!(table.lines()[22], "columns: number time session direction state size");
    (0.."state size".len()).for_each(|_| table.key(KeyCode::Backspace));
    table.types("wire sise");
    let lines = table.lines();
    let at = lines[22].find("sise").unwrap();
    assert!(lines[23][at..].starts_with("^ no such column"), "{lines:?}");
    (0.."sise".len()).for_each(|_| table.key(KeyCode::Backspace));
    table.types("verdict id");
    table.key(KeyCode::Enter);
    let lines = table.lines();
    assert!(!lines[3].contains(" play "), "{lines:?}");
    assert!(lines[1].contains("wire verdict   id"), "{lines:?}");
    assert!(lines[3].contains("     6 pass    0x01  chat"), "{lines:?}");
}

#[test]
fn names_are_completed_and_earlier_lines_come_back() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.types("/chat and mess");
    table.key(KeyCode::Tab);
    let lines = table.lines();
    assert_eq!((&*lines[22], &*lines[23]), ("filter: chat and message", ">message"));
    table.types(" contains \"h\"");
    table.key(KeyCode::Enter);
    assert!(table.lines()[22].starts_with("1 of 1 packets"));
    // Asked again, the next name is taken.
    table.types("/");
    (0..80).for_each(|_| table.key(KeyCode::Backspace));
    table.types("spawn_entity_");
    table.key(KeyCode::Tab);
    let first = table.lines()[22].clone();
    table.key(KeyCode::Tab);
    assert_ne!(table.lines()[22], first);
    assert!(table.lines()[22].starts_with("filter: spawn_entity_"));
    table.key(KeyCode::Up);
    assert_eq!(table.lines()[22], "filter: chat and message contains \"h\"");
    table.key(KeyCode::Up);
    assert_eq!(
        table.lines()[22],
        "filter: chat and message contains \"h\"",
        "there is no earlier one"
    );
    table.key(KeyCode::Down);
    assert_eq!(table.lines()[22], "filter:");
    table.key(KeyCode::Esc);
    // A breakpoint has lines of its own.
    table.types("i");
    table.key(KeyCode::Up);
    assert_eq!(table.lines()[22], "hold:");
}

#[test]
fn packets_are_marked_commented_on_and_compared() {
    let mut table = Table::new(80, 24);
    table.chats("one");
    table.chats("two");
    table.key(KeyCode::Home);
    table.types("m");
    assert!(table.lines()[2].contains("*chat"), "{:?}", table.lines());
    assert!(!table.lines()[3].contains('*'));
    table.types(";first words");
    table.key(KeyCode::Enter);
    let lines = table.lines().join("\n");
    assert!(lines.contains("; first words; #marked ---"), "{lines}");
    table.types("jx");
    let lines = table.lines();
    assert_eq!(lines[1], "  chat (no 1) | chat (no 2)");
    assert_eq!(lines[2], "* message: \"one\" | \"two\"");
    table.types("1k");
    table.types("m");
    assert!(!table.lines()[2].contains('*'), "it is not marked any more");
}

#[test]
fn what_became_of_marks_is_told_when_they_are_saved() {
    let mut table = Table::new(120, 24);
    table.chats("hello");
    table.types("m");
    assert!(!table.lines()[23].contains("kept in the capture"));
    table.types("w");
    while table.store.saved().is_none() {
        std::thread::yield_now();
    }
    // The interface may have looked at the store before the thread was done.
    table.app.advance();
    assert!(table.lines()[23].contains("kept in the capture of the run when that ends"));
}

#[test]
fn single_packets_are_hidden_and_shown_again() {
    let mut table = Table::new(120, 24);
    for text in ["one", "two", "three"] {
        table.chats(text);
    }
    table.key(KeyCode::Home);
    table.types("jH");
    let lines = table.lines().join("\n");
    assert!(!lines.contains("\"two\"") && lines.contains("\"one\""), "{lines}");
    assert!(lines.contains("2 packets; paused; 1 hidden"), "{lines}");
    assert!(table.reversed(3).contains("three"), "the next packet is selected");
    // A later filter leaves it hidden.
    table.types("/chat");
    table.key(KeyCode::Enter);
    assert!(!table.lines().join("\n").contains("\"two\""));
    table.types("U");
    let lines = table.lines().join("\n");
    assert!(lines.contains("\"two\"") && !lines.contains("hidden"), "{lines}");
}

#[test]
fn packets_of_a_type_are_hidden_or_listed_alone() {
    let mut table = Table::new(120, 24);
    for text in ["one", "two"] {
        table.chats(text);
    }
    table.types("o");
    assert!(table.lines()[22].starts_with("2 of 2 packets: pkt.name == \"chat\";"));
    table.types("h");
    let line = table.lines()[22].clone();
    let filter = "pkt.name == \"chat\" and not pkt.name == \"chat\"";
    assert!(line.starts_with(&format!("0 of 2 packets: {filter};")), "{line}");
}

#[test]
fn older_packets_that_are_not_held_are_counted_with_the_reason() {
    let mut table = Table::new(120, 24);
    let lines = table.lines();
    assert!(!lines.iter().any(|line| line.contains("older")), "{lines:?}");
    table.store = Arc::new(Store::new(StoreOptions { rows: 100, ..StoreOptions::default() }));
    table.store.set_limit(Limit::NoCapture);
    table.app = App::new(Arc::clone(&table.store), Arc::new(Catalog::embedded().clone()), true);
    (0..5000).for_each(|_| table.chats("hi"));
    let lines = table.lines();
    assert!(
        lines[22].contains("; 4096 older not held (a run that writes a capture keeps them)"),
        "{lines:?}"
    );
    table.store.set_capture(tempfile::tempfile().unwrap());
    (0..5000).for_each(|_| table.chats("hi"));
    table.key(KeyCode::Home);
    let lines = table.lines();
    assert!(lines[2].contains(words::MISSING), "{lines:?}");
}

#[test]
fn a_capture_is_read_from_its_first_packet_on_unless_the_newest_is_followed() {
    for follow in [false, true] {
        let mut table = Table::new(80, 24);
        let catalog = Arc::new(Catalog::embedded().clone());
        table.app = App::new(Arc::clone(&table.store), catalog, false);
        let shows =
            |table: &mut Table, text: &str| table.lines().iter().any(|it| it.contains(text));
        table.chats("first");
        assert!(table.reversed(2).contains("first"));
        if follow {
            table.types("f");
        }
        (0..50).for_each(|_| table.chats("more"));
        table.chats("last");
        table.store.set_complete();
        assert_eq!(shows(&mut table, "message=\"last\""), follow, "{:?}", table.lines());
        assert_eq!(shows(&mut table, "message=\"first\""), !follow);
        table.key(KeyCode::Home);
        assert!(shows(&mut table, "message=\"first\"") && !shows(&mut table, "\"last\""));
    }
}

#[test]
fn tabs_and_heads_are_clicked() {
    let mut table = Table::new(80, 24);
    for text in ["one", "threeee", "fours"] {
        table.chats(text);
    }
    table.lines();
    table.clicks(14, 0);
    assert!(table.lines()[1].contains("player"), "{:#?}", table.lines());
    let title = table.lines()[0].clone();
    let keys = u16::try_from(title.find("? keys").unwrap()).unwrap();
    table.clicks(keys, 0);
    assert!(table.lines()[1].starts_with("PgDn shows more"));
    // Beside them there is nothing.
    table.clicks(79, 0);
    assert!(table.lines()[1].starts_with("PgDn shows more"));
    table.clicks(0, 0);
    let head = table.lines()[1].find("bytes").unwrap();
    let order = |table: &mut Table| {
        while table.app.advance() {}
        let lines = table.lines();
        lines[2..5].iter().map(|line| row(line).unwrap()).collect::<Vec<_>>()
    };
    let mut said = Vec::new();
    for expected in [[0, 2, 1], [1, 2, 0], [0, 1, 2]] {
        table.clicks(u16::try_from(head).unwrap(), 1);
        assert_eq!(order(&mut table), expected);
        said.push(table.lines()[23].clone());
    }
    let words =
        ["sorted by size, the least first", "sorted by size, the greatest first", "not sorted"];
    assert_eq!(said, words);
    // The key begins with what is sorted.
    table.clicks(u16::try_from(head).unwrap(), 1);
    table.types("z");
    assert!(table.lines()[22].ends_with(": size"), "{:#?}", table.lines());
}

#[test]
fn a_long_value_is_read_to_its_end_before_the_next_field() {
    let long = format!("{}end", "word ".repeat(200));
    let mut table = Table::new(80, 24);
    table.puts(
        Direction::Clientbound,
        &json!({ "message": format!("{{\"text\":\"{long}\"}}"), "position": 1 }),
        |record| record,
    );
    let fields = |table: &mut Table| {
        let area = Layout::new(Rect::new(0, 0, 80, 24)).fields;
        let lines = table.lines();
        let lines = &lines[usize::from(area.y)..usize::from(area.bottom())];
        let width = usize::from(area.width) - 1;
        lines.iter().map(|it| it.chars().take(width).collect::<String>()).collect::<Vec<_>>()
    };
    // As players see it, on one row, until a person looks at it.
    let before = fields(&mut table);
    assert!(before[0].starts_with("message: word word") && before[1].starts_with("position: 1"));
    table.key(KeyCode::Tab);
    let mut seen = fields(&mut table);
    assert!(seen.iter().all(|line| line.contains("word")), "{seen:#?}");
    for _ in 0..200 {
        table.types("j");
        let shown = fields(&mut table);
        if shown.iter().any(|line| line.starts_with("position")) {
            break;
        }
        seen.push(shown.last().unwrap().clone());
    }
    // Then its source.
    let all = seen.concat();
    assert_eq!(all.matches("end").count(), 2, "{seen:#?}");
    assert!(all.contains("text\\\":"), "{seen:#?}");
    table.types("kg");
    assert_eq!(fields(&mut table)[0], seen[0], "from its beginning again");
    // `G` jumps over the rest of the value.
    table.types("G");
    assert!(fields(&mut table)[1].starts_with("position"));
}

#[test]
fn both_of_two_long_values_that_belong_together_are_read_to_their_ends() {
    let mut table = Table::new(80, 24);
    let texts = ["one ".repeat(20) + "came", "two ".repeat(20) + "went"];
    let rewritten = |record| Record { outcome: Outcome::Rewrite, ..record };
    table.puts(Direction::Serverbound, &json!({ "message": texts[0] }), rewritten);
    let sent = |record| Record { outcome: Outcome::Send, of: Some(1), ..record };
    table.puts(Direction::Serverbound, &json!({ "message": texts[1] }), sent);
    table.key(KeyCode::Tab);
    let lines = table.lines();
    let column = |from: usize| {
        let rows = lines[14..21].iter().map(|it| it.chars().skip(from).take(14).collect());
        rows.collect::<Vec<String>>().concat()
    };
    assert!(column(12).contains("came\""), "{lines:#?}");
    assert!(column(27).contains("went\""), "{lines:#?}");
}

/// A page was as long as the list, not as the fields below it.
#[test]
fn a_page_of_a_long_value_begins_where_the_one_before_it_ends() {
    let mut table = Table::new(80, 24);
    let words: Vec<String> = (100..400).map(|number| number.to_string()).collect();
    for outcome in [Outcome::Rewrite, Outcome::Send] {
        let of = (outcome == Outcome::Send).then_some(1);
        let change = |record| Record { outcome, of, ..record };
        let message = json!({ "message": words.join(" ") });
        table.puts(Direction::Serverbound, &message, change);
    }
    table.key(KeyCode::Tab);
    let mut seen = String::new();
    for _ in 0..30 {
        seen.extend(
            table.lines()[14..22].iter().map(|it| it.chars().skip(12).take(14).collect::<String>()),
        );
        table.key(KeyCode::PageDown);
    }
    let missing: Vec<&String> = words.iter().filter(|it| !seen.contains(*it)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_narrow_screen_has_the_list_or_the_packet() {
    let mut table = Table::new(40, 10);
    for number in 0..9 {
        table.chats(&format!("number {number}"));
    }
    let lines = table.lines();
    let listed = |lines: &[String]| lines.iter().filter(|it| it.contains("chat mess")).count();
    assert_eq!(listed(&lines), 6, "{lines:#?}");
    assert!(!lines.concat().contains("--"));
    table.key(KeyCode::Enter);
    let lines = table.lines();
    assert_eq!(listed(&lines), 0, "{lines:#?}");
    assert!(lines[1].starts_with("-- 0x01 chat: 10 bytes"), "{lines:#?}");
    assert!(lines[2].starts_with("message: \"number 8\""), "{lines:#?}");
    table.key(KeyCode::Esc);
    assert_eq!(listed(&table.lines()), 6);
    // Where there is room, the bytes are below the fields.
    let mut table = Table::new(40, 24);
    table.chats("hello");
    table.key(KeyCode::Tab);
    let lines = table.lines();
    assert!(lines[2].starts_with("message") && lines[16].starts_with("00000 01 05"), "{lines:#?}");
    table.clicks(6 + 3 * 3, 16);
    assert!(table.reversed(2).starts_with("message"));
}

#[test]
fn statistics_have_shares_and_are_sorted() {
    let mut table = Table::new(80, 24);
    (0..3).for_each(|_| table.chats("a"));
    let reply = json!({ "message": "{\"text\":\"a long answer\"}", "position": 0 });
    table.puts(Direction::Clientbound, &reply, |record| record);
    table.types("4");
    while table.app.advance() {}
    let first = |table: &mut Table| {
        let line = table.lines()[2].clone();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // 27 of 36 bytes.
    assert_eq!(first(&mut table)[..6], ["1", "27", "75.0%", "28", "70.0%", "clientbound"]);
    for (name, packets) in
        [("bytes on the wire", "1"), ("name", "1"), ("packets", "3"), ("bytes", "1")]
    {
        table.types("z");
        assert_eq!(table.lines()[23], format!("sorted by {name}"));
        assert_eq!(first(&mut table)[0], packets, "{name}");
    }
    table.clicks(4, 1);
    assert_eq!((table.lines()[23].as_str(), &*first(&mut table)[0]), ("sorted by packets", "3"));
}

#[test]
fn sessions_are_searched_and_clicked() {
    let mut table = Table::new(120, 24);
    for (number, player) in [(2, "Alex"), (3, "Notch"), (4, "alexa")] {
        table.event(number, player, EventKind::Open);
    }
    table.types("2s");
    assert!(table.lines()[22].starts_with("sessions with:"));
    table.types("ALEX open");
    table.key(KeyCode::Enter);
    let lines = table.lines();
    assert!(lines[2].contains("Alex") && lines[3].contains("alexa") && lines[4].is_empty());
    assert_eq!(lines[23], "2 of 4 sessions; an empty search lists all");
    table.clicks(10, 3);
    assert!(table.reversed(3).contains("alexa"), "{:#?}", table.lines());
    // What is done then is done to that one.
    table.types("K");
    assert!(table.lines()[22].starts_with("kick #4"), "{:#?}", table.lines());
    table.key(KeyCode::Esc);
    table.types("s");
    (0..20).for_each(|_| table.key(KeyCode::Backspace));
    table.key(KeyCode::Enter);
    assert!(table.lines()[5].contains("alexa"), "{:#?}", table.lines());
}

#[test]
fn the_timeline_has_a_bar_for_each_step() {
    let mut table = Table::new(80, 24);
    (0..10).for_each(|_| table.chats("hello"));
    let bars = |table: &mut Table, title: &str| {
        while table.app.advance() {}
        let lines = table.lines();
        let title = lines.iter().position(|line| line.starts_with(title));
        let title = title.unwrap_or_else(|| panic!("{lines:#?}"));
        let next = lines[title + 1..]
            .iter()
            .position(|it| it.starts_with(|it: char| it.is_ascii_alphanumeric()));
        let bars = &lines[title + 1..title + 1 + next.unwrap_or(1)];
        let is_bar = |char| ('▁'..='█').contains(&char);
        let steps =
            (0..80).filter(|x| bars.iter().any(|bar| bar.chars().nth(*x).is_some_and(is_bar)));
        steps.collect::<Vec<usize>>()
    };
    table.types("5");
    assert!(bars(&mut table, "clientbound: 0 packets").is_empty());
    let all = bars(&mut table, "serverbound: 10 packets");
    assert!(all.len() >= 10 && all[0] == 0 && all.len() < 80, "{all:?}");
    // One name only.
    table.types("a; chat");
    table.key(KeyCode::Enter);
    assert_eq!(bars(&mut table, "chat: 10 packets"), all);
    table.types("a");
    (0.."; chat".len()).for_each(|_| table.key(KeyCode::Backspace));
    table.key(KeyCode::Enter);
    assert_eq!(bars(&mut table, "serverbound: 10 packets"), all);
    assert!(!table.lines().iter().any(|line| line.starts_with("chat")));
}

#[test]
fn sessions_conversation_statistics_and_keys_are_shown() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.types("2");
    let lines = table.lines();
    assert!(lines[2].contains("Steve") && lines[2].contains("127.0.0.1:50000"), "{lines:?}");
    table.key(KeyCode::Enter);
    assert!(table.lines()[22].contains("1 packets"));
    table.types("3");
    assert!(table.lines()[1].contains("hello"));
    table.types("4");
    let lines = table.lines().join("\n");
    assert!(lines.contains("chat"), "{lines}");
    table.types("?");
    table.key(KeyCode::PageDown);
    assert!(table.lines().join("\n").contains("f          follow the newest packet"));
    (0..2).for_each(|_| table.key(KeyCode::PageDown));
    assert!(table.lines().join("\n").contains("A          forward all held packets"));
    table.types("qq");
    assert!(table.app.quits());
}

#[test]
fn the_session_of_the_selected_packet_or_the_selected_one_is_explained() {
    let mut table = Table::new(120, 24);
    table.chats("hello");
    for view in ["1", "2"] {
        table.types(view);
        table.types("W");
        let lines = table.lines();
        assert!(lines[1].starts_with("session 1 (Steve), 1.8.9, "), "{lines:?}");
        assert!(lines.join("\n").contains("the capture ends before the session"), "{lines:?}");
    }
    table.key(KeyCode::Esc);
    assert!(table.lines().join("\n").contains("hello"));
}

fn held(session: u64, held: u64) -> Push {
    Push::Held(HeldPacket {
        session,
        held,
        number: session * 100_000 + held,
        since: 0,
        dir: Direction::Serverbound,
        state: State::Play,
        packet: Some("chat".to_owned()),
        size: 4,
        summary: "message=\"hi\"".to_owned(),
        in_order: None,
        decided: None,
    })
}

fn content_of(fields: Option<Json>, body: &str) -> Result<Answer, Failure> {
    let body = body.to_owned();
    Ok(Answer::Held(HeldContent { fields, text: None, problem: None, body }))
}

#[test]
fn held_packets_are_listed_decided_and_edited() {
    let mut table = Table::new(80, 24);
    table.types("ichat");
    table.key(KeyCode::Enter);
    let condition = Request::Break { condition: "chat".to_owned(), overtaken: false };
    assert_eq!(table.requests(), [condition]);
    let condition = BreakCondition { condition: "chat".to_owned(), overtaken: false };
    table.is_pushed(Push::Control {
        condition: Some(condition),
        earlier: None,
        by: None,
        interfaces: 1,
    });
    for push in [held(1, 1), held(1, 2), held(2, 1)] {
        table.is_pushed(push);
    }
    table.types("6");
    let lines = table.lines();
    assert!(lines[0].contains("6 held (3)"), "{lines:?}");
    assert!(lines[1].starts_with("holding `chat`; 1 attached"));
    assert!(lines[2].contains("chat message=\"hi\""), "{lines:?}");
    table.types("O");
    let overtaken = Request::Break { condition: "chat".to_owned(), overtaken: true };
    assert_eq!(table.requests(), [overtaken]);
    table.key(KeyCode::Down);
    table.types("FD");
    let (session, held) = (1, 2);
    let decided = [Request::Forward { session, held }, Request::Drop { session, held }];
    assert_eq!(table.requests(), decided);
    table.is_pushed(Push::Decided { session, held, decision: Decided::Drop });
    assert!(table.lines()[3].contains("[drop]"));
    table.is_pushed(Push::Released { session, held, how: Release::Dropped });
    assert_eq!(table.lines()[23], "#1 packet 2: then dropped");
    // It is edited in a line; what is refused comes back with the reason.
    table.types("E");
    let (id, request) = table.app.poll_request().unwrap();
    assert_eq!(request, Request::Held { session: 2, held: 1 });
    table.hears(Message::answer(Some(id), content_of(Some(json!({ "message": "hi" })), "")));
    assert_eq!(table.lines()[22], "edit 1: {\"message\":\"hi\"}");
    for _ in 0..2 {
        table.key(KeyCode::Backspace);
    }
    table.types("!");
    table.key(KeyCode::Enter);
    assert!(table.lines()[23].contains("this is not a JSON object"));
    table.types("\"}");
    table.key(KeyCode::Enter);
    let (id, request) = table.app.poll_request().unwrap();
    let fields = Some(json!({ "message": "hi!" }));
    assert_eq!(request, Request::Edit { session: 2, held: 1, fields, body: None });
    table.hears(Message::answer(Some(id), Err(Failure::new("message: too long"))));
    let lines = table.lines();
    assert!(lines[22].contains("hi!") && lines[23].contains("message: too long"), "{lines:?}");
    table.key(KeyCode::Esc);
    table.types("A");
    assert_eq!(table.requests(), [Request::ForwardAll { session: None }]);
    // In the editor.
    table.types("v");
    let (id, _) = table.app.poll_request().unwrap();
    table.hears(Message::answer(Some(id), content_of(None, "AQFh")));
    let (purpose, text) = table.app.shared.in_editor.take().unwrap();
    assert_eq!(text, "{\n  \"body\": \"AQFh\"\n}\n");
    table.app.edited(purpose, "{ \"body\": \"AQFi\" }\n");
    let body = Some("AQFi".to_owned());
    assert_eq!(table.requests(), [Request::Edit { session: 2, held: 1, fields: None, body }]);
}

/// Commands acted on the packet that was selected in the list, which another view does not show.
#[test]
fn commands_act_on_what_is_selected_in_the_view_that_is_shown() {
    let mut table = Table::new(80, 24);
    for text in ["one", "two", "three"] {
        table.chats(text);
    }
    table.key(KeyCode::Home);
    table.types("3m");
    let marked = |table: &Table| table.store.annotations().keys().copied().collect::<Vec<_>>();
    assert_eq!(marked(&table), [2], "the newest line of the conversation");
    table.types("kx");
    assert_eq!(table.lines()[1], "  chat (no 3) | chat (no 2)");
    table.types("3r");
    let resent = |request| match request {
        Request::Send { resent, .. } => resent,
        other => panic!("{other:?}"),
    };
    assert_eq!(table.requests().into_iter().map(resent).collect::<Vec<_>>(), [Some(3)]);
    table.types(";");
    table.types("last");
    table.key(KeyCode::Enter);
    assert_eq!(table.store.annotations()[&2].comment, "last");
    // Where no packet is shown, none is meant.
    table.is_pushed(held(1, 1));
    for view in ["2", "4", "6", "?"] {
        table.types(view);
        for command in ["m", ";", "x", "r", "h"] {
            table.types(command);
            let last = table.lines()[23].clone();
            assert_eq!(last, "select a packet first: 1 shows the list", "{view}{command}");
            table.app.shared.status.clear();
        }
    }
    assert_eq!(marked(&table), [2]);
    table.types("1D");
    assert_eq!(table.lines()[23], "select a packet that is held: 6 shows them");
    assert_eq!(table.requests(), []);
    // One of several sessions is meant only if it is selected.
    table.event(2, "Alex", EventKind::Open);
    table.types("4K");
    assert_eq!(table.lines()[23], "select a session first: 2 shows them");
    table.is_pushed(held(2, 1));
    table.types("6jK");
    assert!(table.lines()[22].starts_with("kick #2"), "{:#?}", table.lines());
}

#[test]
fn the_details_of_a_packet_say_which_one_answers_it() {
    let mut table = Table::new(100, 24);
    for way in [Direction::Clientbound, Direction::Serverbound] {
        table.puts_any(way, "keep_alive", &json!({ "keepAliveId": 7 }), |record| record);
    }
    assert!(table.lines()[12].contains("; answers packet 1 after 500.0 ms (l)"));
    table.types("l");
    assert!(table.lines()[12].contains("; answered by packet 2 after 500.0 ms (l)"));
    assert!(table.reversed(2).contains("keep_alive"));
}

/// The selection was a place in the list: what left above it moved it to another packet.
#[test]
fn what_is_selected_stays_selected_while_others_leave() {
    let mut table = Table::new(120, 24);
    let gone = |session, held| Push::Released { session, held, how: Release::Forwarded };
    for push in [held(1, 1), held(1, 2), held(1, 3), held(2, 1)] {
        table.is_pushed(push);
    }
    table.types("6j");
    table.is_pushed(gone(1, 1));
    assert!(table.reversed(2).contains("#1    2"), "{:#?}", table.lines());
    table.types("D");
    assert_eq!(table.requests(), [Request::Drop { session: 1, held: 2 }]);
    // The next one, once it has left itself; or the last.
    table.is_pushed(gone(1, 2));
    assert!(table.reversed(2).contains("#1    3"));
    table.types("j");
    table.is_pushed(gone(2, 1));
    assert!(table.reversed(2).contains("#1    3"));

    for (number, player) in [(2, "Alex"), (3, "Notch")] {
        table.event(number, player, EventKind::Open);
    }
    table.types("2jj");
    table.event(2, "Alex", EventKind::Close(Summary::default()));
    table.app.advance();
    table.types("L");
    assert!(table.reversed(3).contains("Notch"), "{:#?}", table.lines());
    table.types("K");
    assert!(table.lines()[22].starts_with("kick #3"));
}

#[test]
fn a_click_beside_what_is_listed_selects_nothing() {
    let mut table = Table::new(80, 24);
    table.chats("one");
    table.chats("two");
    table.lines();
    let layout = Layout::new(Rect::new(0, 0, 80, 24));
    let line = layout.fields.y - 1;
    table.key(KeyCode::Home);
    for (x, y) in [(1, 7), (1, line), (1, layout.fields.y + 4), (1, 22), (1, 23)] {
        table.clicks(x, y);
        assert!(!table.app.packets.focused, "{y}");
        assert_eq!(table.app.shared.cursor.selected(), Some(0), "{y}");
    }
    table.types("3");
    table.lines();
    for y in [9, 22, 23] {
        table.clicks(1, y);
        table.key(KeyCode::Up);
        assert!(table.reversed(1).contains("one"), "{y}");
    }
    table.types("6");
    for push in [held(1, 1), held(1, 2)] {
        table.is_pushed(push);
    }
    table.lines();
    for y in [1, 9, 22] {
        table.clicks(1, y);
        assert!(table.reversed(2).contains("#1    1"), "{y}");
    }
    table.clicks(1, 3);
    assert!(table.reversed(3).contains("#1    2"));
    // Nor does one while a line is typed.
    table.types("i");
    table.clicks(1, 2);
    assert!(table.reversed(3).contains("#1    2"));
}

/// Messages were dropped when very many came while an editor ran: a lost `released` left a packet on the list for ever.
#[test]
fn no_message_is_lost_however_long_nobody_reads_them() {
    let mut table = Table::new(80, 24);
    let inbox = table.app.inbox();
    let put = |push| inbox.put(control::Message::Push(push).into());
    for number in 1..=10_000 {
        put(held(1, number));
        if number != 7000 {
            put(Push::Released { session: 1, held: number, how: Release::Forwarded });
        }
    }
    table.app.advance();
    assert_eq!(table.app.held.list.packets().map(|it| it.held).collect::<Vec<_>>(), [7000]);
    inbox.forget_held();
    table.app.advance();
    assert_eq!(table.app.held.list.packets().len(), 0);
}

#[test]
fn packets_are_sent_again_and_players_kicked() {
    let mut table = Table::new(80, 24);
    table.chats("hello");
    table.types("r");
    let same = Request::Send {
        session: 1,
        to: Side::Server,
        packet: None,
        fields: None,
        body: Some("AQVoZWxsbw==".to_owned()),
        times: None,
        interval: None,
        resent: Some(1),
    };
    assert_eq!(table.requests(), [same]);
    table.types("E");
    table.key(KeyCode::Enter);
    let again = Request::Send {
        session: 1,
        to: Side::Server,
        packet: Some("chat".to_owned()),
        fields: Some(json!({ "message": "hello" })),
        body: None,
        times: None,
        interval: None,
        resent: Some(1),
    };
    assert_eq!(table.requests(), [again]);
    table.types("Kbye");
    table.key(KeyCode::Enter);
    let kick = Request::Kick { session: 1, text: Some("bye".to_owned()) };
    assert_eq!(table.requests(), [kick]);
    table.types("S");
    assert!(table.lines()[22].starts_with("send in #1: {\"to\":\"server\""));
    // What is wrong with a line is said at once.
    table.key(KeyCode::Backspace);
    table.types(",\"tiems\":2}");
    table.key(KeyCode::Enter);
    assert!(table.lines()[23].contains("unknown field `tiems`"), "{:?}", table.lines());
}

/// The interface on a terminal that has room for all packets.
struct Driven(Table);

impl Driven {
    fn enter(&mut self, key: char, text: &str) {
        self.0.types(&key.to_string());
        (0..200).for_each(|_| self.0.key(KeyCode::Backspace));
        self.0.types(text);
        self.0.key(KeyCode::Enter);
        while self.0.app.advance() {}
    }

    /// The row of the selected packet.
    fn selected(&mut self) -> Option<u64> {
        let lines = self.0.lines();
        let list = Layout::new(self.0.terminal.backend().buffer().area).list;
        let chosen = (list.top()..list.bottom()).find(|y| !self.0.reversed(*y).is_empty())?;
        row(&lines[usize::from(chosen)])
    }

    /// Returns where a search has gone, which says so if it finds nothing.
    fn found(&mut self) -> Option<u64> {
        let selected = self.selected();
        let status = self.0.lines().pop().unwrap();
        self.0.app.shared.status.clear();
        selected.filter(|_| status != "nothing found" && !status.starts_with("there is no other"))
    }
}

/// Returns the row of a line: one less than the packet's number.
fn row(line: &str) -> Option<u64> {
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? - 1)
}

impl Driver for Driven {
    fn filter(&mut self, text: &str) {
        self.enter('/', text);
    }

    fn session(&mut self, session: Option<u64>) {
        self.0.types("2");
        let shown = self.0.lines().iter().position(|line| line.ends_with("(shown)"));
        let wanted = session.and_then(|it| usize::try_from(it + 1).ok());
        let Some(line) = wanted.or(shown) else { return self.0.types("1") };
        self.0.key(KeyCode::Home);
        (2..line).for_each(|_| self.0.types("j"));
        self.0.key(KeyCode::Enter);
        while self.0.app.advance() {}
    }

    fn select(&mut self, row: u64) {
        self.0.types("1g");
        while self.selected() != Some(row) {
            let before = self.selected();
            self.0.types("j");
            assert_ne!(self.selected(), before, "{row} is not in the list");
        }
    }

    fn hide(&mut self) {
        self.0.types("H");
    }

    fn show_hidden(&mut self) {
        self.0.types("U");
        while self.0.app.advance() {}
    }

    fn search(&mut self, text: &str) -> Option<u64> {
        self.enter('s', text);
        self.found()
    }

    fn find(&mut self, back: bool) -> Option<u64> {
        self.0.types(if back { "N" } else { "n" });
        self.found()
    }

    fn sort(&mut self, by: &str) {
        self.enter('z', by);
    }

    fn go_to(&mut self, text: &str) -> Option<u64> {
        self.enter(':', text);
        let selected = self.selected();
        let status = self.0.lines().pop().unwrap();
        self.0.app.shared.status.clear();
        selected.filter(|_| !status.starts_with("there is no packet"))
    }

    fn answer(&mut self) -> Option<u64> {
        self.0.types("l");
        let selected = self.selected();
        let status = self.0.lines().pop().unwrap();
        self.0.app.shared.status.clear();
        selected.filter(|_| !status.starts_with("no packet answers"))
    }

    fn clear(&mut self) {
        self.0.types("L");
        while self.0.app.advance() {}
    }

    fn mark(&mut self) {
        self.0.types("m");
        while self.0.app.advance() {}
    }

    fn next_mark(&mut self, back: bool) -> Option<u64> {
        self.0.types(if back { "[" } else { "]" });
        self.found()
    }

    fn filter_type(&mut self, only: bool) {
        self.0.types(if only { "o" } else { "h" });
        while self.0.app.advance() {}
    }

    fn filter_by(&mut self, path: &str, how: Combination) -> String {
        let fields = &self.0.app.shared.details.as_ref().unwrap().details.fields;
        let place = fields.iter().position(|field| field.path == path).unwrap();
        self.0.key(KeyCode::Enter);
        // The selected field of a packet stays selected while the packet does.
        self.0.types("g");
        (0..place).for_each(|_| self.0.types("j"));
        self.0.types(match how {
            Combination::Only => "=",
            Combination::And => "&",
            Combination::Or => "|",
            Combination::Not => "!",
        });
        while self.0.app.advance() {}
        self.0.key(KeyCode::Esc);
        self.0.app.shared.filter().to_owned()
    }

    fn rows(&mut self) -> Vec<u64> {
        let list = Layout::new(self.0.terminal.backend().buffer().area).list;
        let lines = self.0.lines();
        let lines = &lines[usize::from(list.top())..usize::from(list.bottom())];
        lines.iter().filter_map(|line| row(line)).collect()
    }

    fn conversation(&mut self) -> Vec<String> {
        self.0.types("3");
        while self.0.app.advance() {}
        let lines = self.0.lines();
        self.0.types("1");
        lines.into_iter().skip(1).filter(|line| line.starts_with('#')).collect()
    }

    fn sent(&mut self) -> Vec<u64> {
        self.0.types("8");
        while self.0.app.advance() {}
        let lines = self.0.lines();
        self.0.types("1");
        let listed = lines.iter().skip(1).take_while(|line| !line.starts_with("--"));
        listed.filter_map(|line| row(line)).collect()
    }

    fn replies(&mut self, wanted: u64) -> Vec<u64> {
        let place = self.sent().iter().position(|row| *row == wanted).unwrap();
        self.0.types("8g");
        (0..place).for_each(|_| self.0.types("j"));
        while self.0.app.advance() {}
        let lines = self.0.lines();
        self.0.types("1");
        let fields = Layout::new(self.0.terminal.backend().buffer().area).fields;
        let listed = &lines[usize::from(fields.y)..usize::from(fields.bottom())];
        listed.iter().filter_map(|line| row(line)).collect()
    }

    fn series(&mut self, text: &str) {
        self.enter('a', text);
        self.0.types("1");
    }

    fn chart(&mut self) -> Vec<(String, u64)> {
        self.0.types("5");
        while self.0.app.advance() {}
        let lines = self.0.lines();
        self.0.types("1");
        let titles = lines.iter().filter_map(|line| line.split_once(" packets, at most "));
        let title = |(title, _): (&str, &str)| {
            let (name, count) = title.rsplit_once(": ")?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        titles.filter_map(title).collect()
    }

    fn colors(&mut self, text: &str) {
        self.enter('p', text);
    }

    fn color_of(&mut self, wanted: u64) -> Option<&'static str> {
        let lines = self.0.lines();
        let buffer = self.0.terminal.backend().buffer();
        let list = Layout::new(buffer.area).list;
        let mut listed = list.top()..list.bottom();
        let y = listed.find(|y| row(&lines[usize::from(*y)]) == Some(wanted)).unwrap();
        let shown = buffer[(0, y)].fg;
        color_name(|color| shade(color) == shown)
    }
}

/// An interface on a store.
fn driven(store: Arc<Store>, catalog: Arc<Catalog>) -> Driven {
    let mut table = Table::new(120, 60);
    let colors = ColorStore::new(Highlights::usual(&catalog));
    table.app = App::new(Arc::clone(&store), catalog, false).highlighted(colors);
    table.store = store;
    table.app.shared.status.clear();
    while table.app.advance() {}
    Driven(table)
}

#[test]
fn the_terminal_shows_and_finds_what_every_interface_does() {
    crate::view::tests::run(driven);
}

#[test]
fn the_terminal_lists_what_the_parts_of_a_combined_filter_match() {
    crate::view::tests::run_combinations(driven);
}

/// The interface on the sessions of a room.
struct DrivenHeld {
    table: Table,
    room: Room,
    me: u64,
}

impl DrivenHeld {
    /// Carries requests and messages.
    fn carry(&mut self) {
        while let Some((id, request)) = self.table.app.poll_request() {
            self.room.request(self.me, id, &request);
        }
        for message in self.room.take_told(self.me) {
            self.table.hears(message);
        }
    }

    fn types(&mut self, keys: &str) {
        self.carry();
        self.table.types(keys);
        self.carry();
    }
}

impl HeldDriver for DrivenHeld {
    fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    fn hold(&mut self, condition: &str) {
        self.types("i");
        (0..80).for_each(|_| self.table.key(KeyCode::Backspace));
        self.types(condition);
        self.table.key(KeyCode::Enter);
        self.carry();
    }

    fn held(&mut self) -> Vec<(u64, String, String)> {
        self.types("6");
        let lines = self.table.lines().into_iter();
        let listed = lines.filter_map(|line| {
            let (session, _) = line.split_once(" s #")?.1.split_once(' ')?;
            let decided = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            let decided = decided.map_or(String::new(), |(decided, _)| decided.to_owned());
            Some((session.parse().ok()?, line.clone(), decided))
        });
        listed.collect()
    }

    fn decide(&mut self, place: usize, forward: bool) {
        self.types("6g");
        (0..place).for_each(|_| self.types("j"));
        self.types(if forward { "F" } else { "D" });
    }

    fn forward_all(&mut self) {
        self.types("A");
    }
}

#[test]
fn the_terminal_holds_and_decides_as_every_interface_does() {
    crate::view::tests::run_held(|mut room| {
        let me = room.attach();
        DrivenHeld { table: Table::new(120, 24), room, me }
    });
}

#[test]
fn a_line_of_the_conversation_leads_to_its_packet() {
    let mut table = Table::new(80, 24);
    for text in ["one", "two", "three"] {
        table.chats(text);
    }
    table.types("/message matches \"^t\"");
    table.key(KeyCode::Enter);
    table.types("3");
    assert!(table.reversed(2).ends_with("Steve: three"), "{:#?}", table.lines());
    table.types("k");
    table.key(KeyCode::Enter);
    assert!(table.reversed(2).contains("chat message=\"two\""), "{:#?}", table.lines());
    assert!(table.lines()[22].starts_with("2 of 3 packets"), "that of the filter");
}

#[test]
fn a_line_is_edited_with_the_keys_of_a_shell() {
    let mut table = Table::new(80, 24);
    let press = |table: &mut Table, letter: char, modifiers| {
        table.app.on_key(KeyEvent::new(KeyCode::Char(letter), modifiers));
        let prompt = table.app.shared.prompt.as_ref().unwrap();
        let (before, after) = prompt.text.split_at(prompt.cursor);
        format!("{before}|{after}")
    };
    let (control, alt) = (KeyModifiers::CONTROL, KeyModifiers::ALT);
    table.types("/chat and message");
    assert_eq!(press(&mut table, 'w', control), "chat and |");
    assert_eq!(press(&mut table, 'b', alt), "chat |and ");
    assert_eq!(press(&mut table, 'f', alt), "chat and| ");
    assert_eq!(press(&mut table, 'a', control), "|chat and ");
    assert_eq!(press(&mut table, 'f', control), "c|hat and ");
    assert_eq!(press(&mut table, 'd', control), "c|at and ");
    assert_eq!(press(&mut table, 'd', alt), "c| and ");
    assert_eq!(press(&mut table, 'e', control), "c and |");
    assert_eq!(press(&mut table, 'b', control), "c and| ");
    assert_eq!(press(&mut table, 'k', control), "c and|");
    assert_eq!(press(&mut table, 'h', control), "c an|");
    assert_eq!(press(&mut table, 'u', control), "|");
    table.types("chat");
    table.key(KeyCode::Enter);
    table.types("/");
    press(&mut table, 'u', control);
    assert_eq!(press(&mut table, 'p', control), "chat|");
    assert_eq!(press(&mut table, 'n', control), "|");
}

#[test]
fn the_list_of_keys_fits_80_columns_and_its_last_screen_is_full() {
    let mut table = Table::new(80, 24);
    table.types("?");
    table.lines();
    let whole = table.app.help.lines.clone();
    assert!(whole.iter().all(|line| line.chars().count() <= 80), "{whole:#?}");
    for _ in 0..9 {
        table.key(KeyCode::PageDown);
    }
    let shown = table.lines();
    assert!(shown[1..21].iter().filter(|line| !line.is_empty()).count() > 14, "{shown:#?}");
    assert!(shown.iter().any(|line| line.starts_with("Mouse: ")), "{shown:#?}");
}

#[test]
fn all_tabs_are_seen_at_80_columns_while_packets_are_held() {
    let mut table = Table::new(80, 24);
    for number in 1..=12 {
        table.is_pushed(held(1, number));
    }
    let title = table.lines()[0].clone();
    assert!(title.contains("6 held (12)") && title.ends_with("? keys"), "{title}");
}

#[test]
fn sixteen_bytes_are_in_a_line_where_there_is_room() {
    for (width, per_row) in [(80, 8), (139, 8), (140, 16), (200, 16)] {
        let mut table = Table::new(width, 24);
        table.chats("a text of more than sixteen bytes");
        let lines = table.lines();
        let second = format!("{:05x} ", per_row);
        assert!(lines.iter().any(|line| line.contains(&second)), "{width}: {lines:#?}");
        // A click on a byte selects its field, in the second row as well.
        let y = lines.iter().position(|line| line.contains(&second)).unwrap() as u16;
        let x = lines[usize::from(y)].find(&second).unwrap() as u16 + 6 + 3;
        table.clicks(x, y);
        let pane = table.app.shared.details.as_ref().unwrap();
        assert!(pane.marked().contains(&(per_row + 1)), "{width}: {:?}", pane.marked());
    }
}

#[test]
fn a_terminal_without_unicode_gets_only_ascii() {
    let mut table = Table::new(80, 24);
    table.chats("Grüße");
    let app = &mut table.app;
    let drawn = table.terminal.draw(|frame| {
        Painter::new(frame.buffer_mut()).ascii(true).draw(app);
    });
    drawn.unwrap();
    let buffer = table.terminal.backend().buffer();
    let text: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
    assert!(text.is_ascii() && text.contains("Gr??e") && text.contains(" > play"), "{text}");
}

#[test]
fn ctrl_z_stops_a_view_of_captures_and_no_running_proxy() {
    for live in [false, true] {
        let mut table = Table::new(80, 24);
        table.app.shared.live = live;
        table.app.on_key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL));
        assert_eq!(table.app.suspends, !live);
        assert_eq!(table.app.shared.status.contains("would stop the game's traffic"), live);
    }
}

#[test]
fn statistics_go_on_while_packets_come() {
    let mut table = Table::new(80, 24);
    table.chats("one");
    table.types("4");
    let count = |table: &mut Table| {
        while table.app.advance() {}
        let lines = table.lines();
        let line = lines.iter().find(|line| line.ends_with(" chat"));
        line.and_then(|line| line.split_whitespace().next()).map(str::to_owned)
    };
    assert_eq!(count(&mut table).as_deref(), Some("1"));
    table.chats("two");
    assert_eq!(count(&mut table).as_deref(), Some("2"));
}

#[test]
fn what_was_sent_is_listed_with_its_replies_and_sent_again() {
    let mut table = Table::new(100, 24);
    table.chats("before");
    table.types("8");
    assert!(table.lines()[1].starts_with("what people send appears here"), "{:#?}", table.lines());
    let sent = |record: Record| Record {
        outcome: Outcome::Send,
        comment: Some("sent by hand".to_owned()),
        ..record
    };
    for text in ["first", "second"] {
        table.puts(Direction::Serverbound, &json!({ "message": text }), sent);
    }
    let reply = json!({ "message": "{\"text\":\"yes\"}", "position": 0 });
    table.puts(Direction::Clientbound, &reply, |record| record);
    table.chats("after");
    while table.app.advance() {}
    let lines = table.lines();
    assert!(lines[0].contains("8 sent"), "{lines:#?}");
    assert!(lines[2].contains("+chat message=\"first\"") && lines[3].contains("\"second\""));
    assert!(table.reversed(3).contains("second"), "the newest is selected");
    let below = lines.iter().position(|it| it.starts_with("-- 1 packet came back within a second"));
    assert!(lines[below.unwrap() + 1].contains("chat message=\"yes\""), "{lines:#?}");
    table.types("kr");
    let body = "AQVmaXJzdA==".to_owned();
    assert!(
        matches!(&table.requests()[..], [Request::Send { session: 1, body: Some(it), .. }] if *it == body)
    );
    table.types("E");
    assert!(table.lines()[22].contains("\"fields\":{\"message\":\"first\"}"));
    table.key(KeyCode::Esc);
    // Where it is in the list.
    table.key(KeyCode::Enter);
    assert!(table.reversed(3).contains("first"), "{:#?}", table.lines());
}

#[test]
fn what_came_and_what_was_sent_in_its_place_are_side_by_side() {
    for original in [true, false] {
        let mut table = Table::new(100, 24);
        let way = Direction::Serverbound;
        let rewritten = |record| Record { outcome: Outcome::Rewrite, ..record };
        table.puts(way, &json!({ "message": "as it came" }), rewritten);
        let sent = |record| Record { outcome: Outcome::Send, of: Some(1), ..record };
        table.puts(way, &json!({ "message": "as it went" }), sent);
        table.types(if original { "g" } else { "G" });
        let lines = table.lines();
        let head = lines.iter().position(|it| it.contains("field") && it.contains("original"));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let head = head.unwrap_or_else(|| panic!("{lines:#?}"));
        assert_eq!(words(&lines[head])[..3], ["field", "original", "sent"]);
        let field = &lines[head + 1];
        assert!(field.starts_with("* message"), "{field}");
        let (came, went) = (field.find("\"as it c"), field.find("\"as it w"));
        assert!(came.is_some() && came < went, "{field}");
        // The bytes that differ, which are those of the last words.
        let bytes = table.app.shared.details.as_ref().unwrap();
        assert_eq!((bytes.differing.clone(), bytes.details.bytes.len()), (8..12, 12));
        // A click on the field selects it, and marks its bytes.
        table.clicks(4, u16::try_from(head + 1).unwrap());
        assert!(table.app.packets.focused);
        assert!(table.reversed(u16::try_from(head + 1).unwrap()).starts_with("message"));
    }
}

#[test]
fn the_timeline_has_several_expressions_and_marks_the_selected_packet() {
    let mut table = Table::new(80, 24);
    table.types("5");
    while table.app.advance() {}
    assert!(table.lines()[1].starts_with("the list has no packets"));
    for number in 0..40 {
        table.chats(&format!("number {number}"));
    }
    table.types("5");
    while table.app.advance() {}
    let lines = table.lines();
    assert_eq!(lines[1], "clientbound: 0 packets, at most 0.0 per second");
    let title = |lines: &[String], text: &str| lines.iter().position(|it| it.starts_with(text));
    let bars = title(&lines, "serverbound: 40 packets, at most").unwrap();
    assert!(lines[bars + 1].contains('█') || lines[bars + 2].contains('█'), "{lines:#?}");
    let marker = lines.iter().position(|it| it.contains('▲')).unwrap();
    assert!(lines[marker].contains("packet 40, 00:00:21.000"), "{lines:#?}");
    assert!(lines[marker + 1].starts_with("00:00:01.500") && lines[marker + 1].ends_with(" UTC"));
    table.types("1g5");
    while table.app.advance() {}
    assert!(table.lines()[marker].starts_with("▲ packet 1, 00:00:01.500"), "{:#?}", table.lines());
    // Others, of which one is wrong at first.
    table.types("a; mesage");
    let lines = table.lines();
    assert_eq!(lines[22], "series, with ; between them: clientbound; serverbound; mesage");
    assert_eq!(lines[23].find('^'), lines[22].find("mesage"), "{lines:#?}");
    (0.."mesage".len()).for_each(|_| table.key(KeyCode::Backspace));
    table.types("message contains \"3\"");
    table.key(KeyCode::Enter);
    while table.app.advance() {}
    let lines = table.lines();
    assert!(title(&lines, "message contains \"3\": 13 packets").is_some(), "{lines:#?}");
    // It goes on while packets come.
    table.chats("one more");
    for _ in 0..100 {
        table.app.advance();
    }
    assert!(title(&table.lines(), "serverbound: 41 packets").is_some(), "{:#?}", table.lines());
}

#[test]
fn colours_are_listed_and_chosen_where_the_terminal_shows_any() {
    let mut table = Table::new(80, 24);
    table.types("p");
    assert!(table.lines()[23].starts_with("colours are switched off"), "{:#?}", table.lines());
    let catalog = Catalog::embedded();
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("colors.json");
    table.app = App::new(Arc::clone(&table.store), Arc::new(catalog.clone()), true)
        .highlighted(ColorStore::open(kept.clone(), catalog).0);
    table.chats("hello");
    let shade = |table: &mut Table| {
        table.lines();
        table.terminal.backend().buffer()[(60, 2)].fg
    };
    assert_eq!(shade(&mut table), Color::Green);
    table.types("p");
    let lines = table.lines();
    assert!(
        lines.iter().any(|it| it.starts_with(" gray     pkt.verdict == \"drop\"")),
        "{lines:#?}"
    );
    (0..200).for_each(|_| table.key(KeyCode::Backspace));
    table.types("pink: chat");
    assert!(table.lines()[23].contains("no colour `pink`"), "{:#?}", table.lines());
    (0..20).for_each(|_| table.key(KeyCode::Backspace));
    table.types("red: message == \"a;b\"; blue: chat");
    assert!(table.lines().iter().any(|it| it.starts_with(" blue     chat")));
    table.key(KeyCode::Enter);
    assert_eq!(shade(&mut table), Color::Blue);
    let texts: Vec<_> =
        table.app.packets.highlights.iter().map(|it| it.condition.clone()).collect();
    assert_eq!(texts, ["message == \"a;b\"", "chat"]);
    assert!(table.app.shared.status.starts_with("kept in `"), "{}", table.app.shared.status);
    // The next one begins with them. What an option sets is changed until the end.
    for (colors, said) in [
        (ColorStore::open(kept.clone(), catalog).0, "kept in `"),
        (ColorStore::open(kept.clone(), catalog).0.unkept(), "until this ends: an option or the"),
    ] {
        table.app =
            App::new(Arc::clone(&table.store), Arc::new(catalog.clone()), true).highlighted(colors);
        while table.app.advance() {}
        assert_eq!(shade(&mut table), Color::Blue);
        table.types("p");
        table.key(KeyCode::Enter);
        assert!(table.app.shared.status.starts_with(said), "{}", table.app.shared.status);
    }
}

#[test]
fn what_a_peer_does_with_a_changed_signed_message_is_said_before_it_is_sent() {
    let context = |protocol| {
        let protocol = Catalog::embedded().find(protocol).unwrap().protocol;
        let client = ([127, 0, 0, 1], 50000).into();
        Arc::new(Context::new(2, Timestamp(1_000_000_000), client, protocol))
    };
    let signed = json!({
        "message": "hello", "timestamp": 1, "salt": 2, "offset": 0,
        "signature": BASE64_STANDARD.encode([7; 256]), "acknowledged": "AAAA", "checksum": 0,
    });
    for (signature, warned) in [(signed["signature"].clone(), true), (Json::Null, false)] {
        let mut table = Table::new(80, 24);
        let (context, way) = (context(770), Direction::Serverbound);
        let kind = context.protocol.named(State::Play, way, "chat_message").unwrap();
        let mut fields = signed.clone();
        fields["signature"] = signature;
        let body = context.protocol.encode(kind, &Value::from_json(&fields)).unwrap();
        let content = Content::Frame(Frame::from_body(body.clone().into()));
        let at = Timestamp(2_000_000_000);
        let packet = Packet::new(Arc::clone(&context), 1, at, way, State::Play, content);
        table.store.push(&Entry::Event(Event { context, at, kind: EventKind::Open }));
        table.store.push(&Entry::Packet(Record::passed(packet)));
        table.app.advance();
        let says = |table: &mut Table| {
            let lines = table.lines();
            let line = lines.iter().position(|it| it.starts_with("! this message is signed"));
            line.is_some_and(|at| lines[at + 1].ends_with("ends the session"))
        };
        table.types("E");
        assert_eq!(says(&mut table), warned, "{:#?}", table.lines());
        table.key(KeyCode::Esc);
        assert!(!says(&mut table));
        // One that is held, in a line and in the editor.
        let held = HeldPacket {
            session: 2,
            held: 1,
            number: 1,
            since: 0,
            dir: way,
            state: State::Play,
            packet: Some("chat_message".to_owned()),
            size: body.len(),
            summary: String::new(),
            in_order: None,
            decided: None,
        };
        table.is_pushed(Push::Held(held));
        table.types("6E");
        let (id, _) = table.app.poll_request().unwrap();
        let body = BASE64_STANDARD.encode(&body);
        table.hears(Message::answer(Some(id), content_of(Some(fields.clone()), &body)));
        assert_eq!(says(&mut table), warned, "{:#?}", table.lines());
        table.key(KeyCode::Esc);
        table.types("v");
        let (id, _) = table.app.poll_request().unwrap();
        table.hears(Message::answer(Some(id), content_of(Some(fields.clone()), &body)));
        let (purpose, text) = table.app.shared.in_editor.take().unwrap();
        table.app.edited(purpose, &text);
        assert_eq!((says(&mut table), table.requests().len()), (warned, usize::from(!warned)));
        table.key(KeyCode::Enter);
        assert_eq!(table.requests().len(), usize::from(warned), "Enter sends it");
    }
}
