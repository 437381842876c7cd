use std::collections::BTreeSet;

use super::*;
use crate::control::tests::Room;
use crate::proxy::ColorStore;
use crate::view::tests::{Driver, HeldDriver, color_name};
use crate::view::{Combination, Interface};

fn viewer(packets: u64) -> Viewer {
    Viewer::new(store(packets), Arc::new(Catalog::embedded().clone()))
}

/// Asks, and looks at everything that is then to be looked at.
fn ask(viewer: &mut Viewer, request: &Json) -> Json {
    let answer = viewer.ask(request);
    viewer.settle();
    answer
}

#[test]
fn rows_of_the_list_have_what_its_columns_show() {
    let mut viewer = viewer(1000);
    let answer = ask(&mut viewer, &json!({ "id": 7, "do": "rows", "start": 99, "count": 2 }));
    assert_eq!((&answer["id"], &answer["total"]), (&json!(7), &json!(1000)));
    let [first, second] = &answer["rows"].as_array().unwrap()[..] else { panic!("two rows") };
    assert_eq!(
        first,
        &json!({
            "row": 99, "at": 1_795_176_000_099.0, "t": 0.099, "delta": 0.001, "session": 1,
            "seq": 100, "dir": "clientbound", "state": "play", "name": "update_time",
            "guess": false, "size": 17, "verdict": "pass", "origin": "server",
            "summary": "age=99 (4.95 s) time=0 (06:00)", "id": 3, "wire": 18, "error": false,
            "marked": false, "note": null, "comment": null, "columns": [],
            "color": null, "sent": null,
        })
    );
    assert_eq!(second["summary"], "message=\"Hello 100\" position=0 (chat)");
    let beyond = ask(&mut viewer, &json!({ "do": "rows", "start": 1000, "count": 5 }));
    assert_eq!(beyond["rows"], json!([]));
}

#[test]
fn the_newest_rows_come_with_the_state_if_they_are_asked_for() {
    let open = Arc::new(Store::new(StoreOptions::whole()));
    fill(&open, 0, 5);
    let mut viewer = Viewer::new(Arc::clone(&open), Arc::new(Catalog::embedded().clone()));
    let newest = |viewer: &mut Viewer| {
        let state = viewer.settle().pop().unwrap();
        (state["list"]["total"].as_u64().unwrap(), state["newest"].clone())
    };
    assert_eq!(newest(&mut viewer), (5, json!([])));
    let request = json!({ "do": "rows", "start": 0, "count": 0, "columns": ["age"], "newest": 3 });
    viewer.ask(&request);
    fill(&open, 5, 7);
    let (total, rows) = newest(&mut viewer);
    assert_eq!((total, numbers(rows.as_array().unwrap())), (7, vec![4, 5, 6]));
    assert_eq!((&rows[0]["delta"], &rows[0]["columns"]), (&json!(0.001), &json!(["4"])));
    // They are those of the list, and as many as there are.
    viewer.ask(&json!({ "do": "view", "filter": "chat" }));
    let (total, rows) = newest(&mut viewer);
    assert_eq!((total, numbers(rows.as_array().unwrap())), (1, vec![0]));
    viewer.ask(&json!({ "do": "rows", "start": 0, "count": 1 }));
    viewer.ask(&json!({ "do": "view", "filter": "" }));
    assert_eq!(newest(&mut viewer).1.as_array().unwrap().len(), 3, "as before");
    viewer.ask(&json!({ "do": "rows", "start": 0, "count": 0, "newest": 0 }));
    fill(&open, 7, 8);
    assert_eq!(newest(&mut viewer), (8, json!([])));
}

#[test]
fn a_page_writes_colours_only_into_their_file_and_only_those_that_compile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colors.json");
    let mut viewer = viewer(1);
    let open = || ColorStore::open(path.clone(), Catalog::embedded()).0;
    viewer.set_colors(open());
    let color = |where_: &str| json!({ "color": "blue", "where": where_ });
    let mut save = |colors: Json, save: bool| {
        ask(&mut viewer, &json!({ "do": "highlight", "colors": colors, "save": save }))
    };
    let shown = save(json!([color("chat")]), false);
    assert_eq!((&shown["colors"][0], &shown["file"]), (&color("chat"), &json!(path)));
    let refused = [
        json!([color("chat"), color("no_such_packet")]),
        json!(vec![color("chat"); 51]),
        json!([{ "color": "\u{1b}[31m", "where": "chat" }]),
    ];
    for colors in refused {
        assert!(save(colors.clone(), true)["error"].is_object(), "{colors}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing was written");
    save(json!([color("chat"), color("pkt.error")]), true);
    let kept: Vec<_> = open().now().iter().map(|it| it.condition.clone()).collect();
    assert_eq!(kept, ["chat", "pkt.error"]);
    // Programs of `--control` show them, and write nothing.
    std::fs::remove_file(&path).unwrap();
    viewer.set_colors(open().unkept());
    let answer = ask(&mut viewer, &json!({ "do": "highlight", "colors": [], "save": true }));
    assert_eq!((&answer["colors"], &answer["file"]), (&json!([]), &Json::Null));
    assert!(!path.exists());
}

#[test]
fn a_filter_narrows_the_list_and_its_errors_have_their_place_in_utf_16() {
    let mut viewer = viewer(10_000);
    let view = json!({ "do": "view", "filter": "chat", "sessions": [] });
    assert_eq!(ask(&mut viewer, &view)["warnings"], json!([]));
    let rows = ask(&mut viewer, &json!({ "do": "rows", "start": 1, "count": 500 }));
    assert_eq!((&rows["total"], rows["rows"].as_array().unwrap().len()), (&json!(100), 99));
    assert_eq!(rows["rows"][0]["row"], 100);
    assert_eq!(rows["rows"][0]["delta"], 0.1);
    let index = ask(&mut viewer, &json!({ "do": "index", "row": 200 }));
    assert_eq!((&index["index"], &index["found"]), (&json!(2), &json!(true)));

    let text = "\"𝄞\" == mesage";
    for request in ["view", "check"] {
        let answer = ask(&mut viewer, &json!({ "do": request, "filter": text }));
        assert_eq!(answer["error"]["hint"], "did you mean `message`?", "{answer}");
        assert_eq!((&answer["error"]["start"], &answer["error"]["end"]), (&json!(8), &json!(14)));
    }
    // The list is still that of the last valid filter.
    assert_eq!(ask(&mut viewer, &json!({ "do": "rows", "start": 0, "count": 0 }))["total"], 100);

    let from = 1_795_176_001_000.0;
    let view = json!({ "do": "view", "filter": "", "from": from, "to": from + 10.0 });
    ask(&mut viewer, &view);
    assert_eq!(ask(&mut viewer, &json!({ "do": "rows", "start": 0, "count": 0 }))["total"], 10);
    let none = json!({ "do": "view", "filter": "", "sessions": [2] });
    ask(&mut viewer, &none);
    assert_eq!(ask(&mut viewer, &json!({ "do": "rows", "start": 0, "count": 9 }))["total"], 0);
}

#[test]
fn names_are_completed_where_the_cursor_is() {
    let mut viewer = viewer(1);
    let request = json!({ "do": "complete", "filter": "\"𝄞\" == mes and chat", "at": 11 });
    let answer = ask(&mut viewer, &request);
    assert_eq!((&answer["start"], &answer["names"]), (&json!(8), &json!(["message"])));
}

#[test]
fn details_have_fields_with_their_bytes_and_text_with_its_colours() {
    let mut viewer = viewer(1);
    let answer = ask(&mut viewer, &json!({ "do": "details", "row": 0 }));
    let packet = &answer["packet"];
    assert_eq!(
        packet["fields"][0]["text"],
        json!([{ "text": "Hello 0", "color": "c", "formats": [] }])
    );
    assert_eq!(packet["fields"][1]["path"], "position");
    let end = packet["size"].as_u64().unwrap();
    assert_eq!(packet["fields"][1]["start"], end - 1);
    assert_eq!(packet["fields"][1]["end"], end);
    assert_eq!(packet["player"], "<b>Notch</b>");
    assert!(packet["bytes"].as_str().unwrap().starts_with("AiB7InRleHQ"), "{packet}");
    let gone = ask(&mut viewer, &json!({ "do": "details", "row": 1 }));
    assert_eq!(gone["error"]["message"], "the packet is no longer held");
}

#[test]
fn a_search_goes_from_match_to_match_within_the_list() {
    let mut viewer = viewer(1000);
    ask(&mut viewer, &json!({ "do": "view", "filter": "chat", "sessions": [] }));
    ask(&mut viewer, &json!({ "do": "search", "text": "HELLO 3" }));
    let find = |row: u64, back: bool| json!({ "do": "find", "row": row, "back": back });
    let found = ask(&mut viewer, &find(0, false));
    assert_eq!(&found["found"], &json!({ "row": 300, "index": 3 }));
    assert_eq!(ask(&mut viewer, &find(300, false))["found"], Json::Null);
    assert_eq!(ask(&mut viewer, &find(900, true))["found"]["row"], 300);
    ask(&mut viewer, &json!({ "do": "view", "filter": "update_time", "sessions": [] }));
    assert_eq!(ask(&mut viewer, &find(0, false))["found"], Json::Null);
    ask(&mut viewer, &json!({ "do": "search", "text": "" }));
    assert_eq!(ask(&mut viewer, &find(0, false))["found"], Json::Null);
}

#[test]
fn the_conversation_has_the_chat_of_the_list() {
    let mut viewer = viewer(300);
    let asked = json!({ "do": "conversation", "start": 1, "count": 1 });
    ask(&mut viewer, &json!({ "do": "view", "filter": "update_time", "sessions": [] }));
    assert_eq!(ask(&mut viewer, &asked)["total"], 0);
    ask(&mut viewer, &json!({ "do": "view", "filter": "clientbound", "sessions": [] }));
    let answer = ask(&mut viewer, &asked);
    assert_eq!(answer["total"], 3);
    assert_eq!(
        answer["lines"][0]["text"],
        json!([{ "text": "Hello 100", "color": "c", "formats": [] }])
    );
    assert_eq!(answer["lines"][0]["row"], 100);
    // Where a row is, or the next one after it.
    let anchored =
        |anchor: u64| json!({ "do": "conversation", "start": 0, "count": 0, "anchor": anchor });
    let places = [0, 100, 101, 250].map(|row| ask(&mut viewer, &anchored(row))["anchor"].clone());
    assert_eq!(places, [0, 1, 2, 3].map(Json::from));
    assert_eq!(answer["anchor"], Json::Null);
}

#[test]
fn two_packets_are_compared_field_by_field() {
    let mut viewer = viewer(300);
    let answer = ask(&mut viewer, &json!({ "do": "compare", "a": 1, "b": 2 }));
    assert_eq!(
        answer["fields"],
        json!([
            { "path": "age", "depth": 0, "a": "1", "b": "2", "same": false },
            { "path": "time", "depth": 0, "a": "0", "b": "0", "same": true },
        ])
    );
}

#[test]
fn statistics_of_the_list_follow_when_they_are_counted() {
    let mut viewer = viewer(1000);
    viewer.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    viewer.ask(&json!({ "do": "statistics" }));
    let pushed = viewer.settle();
    let report = pushed.iter().find(|push| push["push"] == "statistics").unwrap();
    assert_eq!(report["report"]["packets"][0]["packet"], "chat");
    assert_eq!(report["report"]["total"]["packets"], 10);
    let names = report["report"]["timeline"]["names"].as_array().unwrap();
    let chat = names.iter().find(|it| it["name"] == "chat").unwrap();
    let packets = chat["packets"].as_array().unwrap().iter().filter_map(Json::as_u64);
    assert_eq!((names.len(), packets.sum::<u64>()), (1, 10));
}

#[test]
fn all_views_count_a_rewritten_packet_once() {
    let samples = ["session-1.20.4-wire.pcapng", "session-1.6.4.jsonl", "session-alpha.jsonl"];
    for (sample, packets) in samples.into_iter().zip([37, 126, 45]) {
        let mut viewer = Viewer::new(captured(sample), Arc::new(Catalog::embedded().clone()));
        viewer.ask(&json!({ "do": "view", "filter": "", "sessions": [], "fold": true }));
        viewer.ask(&json!({ "do": "statistics" }));
        viewer.ask(&json!({ "do": "chart" }));
        let pushed = viewer.settle();
        let last = |push: &str| pushed.iter().rfind(|it| it["push"] == push).unwrap();
        let number = |of: &Json| of.as_u64().unwrap();
        let state = last("state");
        let stored = number(&state["end"]) - number(&state["replacements"]);
        assert_eq!((stored, number(&state["list"]["total"])), (packets, packets), "{sample}");
        let statistics = &last("statistics")["report"]["total"]["packets"];
        assert_eq!(number(statistics), packets, "{sample}");
        let sum = |counts: &Json| counts.as_array().unwrap().iter().map(number).sum::<u64>();
        let series = last("chart")["series"].as_array().unwrap();
        assert_eq!(series.iter().map(|it| sum(&it["packets"])).sum::<u64>(), packets, "{sample}");
        let sessions = viewer.ask(&json!({ "do": "sessions" }));
        let sessions = sessions["sessions"].as_array().unwrap().iter();
        assert_eq!(sessions.map(|it| number(&it["packets"])).sum::<u64>(), packets, "{sample}");
    }
}

#[test]
fn a_session_is_explained_whatever_the_list_shows() {
    let mut viewer = viewer(1000);
    viewer.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    let answer = viewer.ask(&json!({ "do": "explain", "session": 1 }));
    assert_eq!(answer["error"], Json::Null);
    let pushed = viewer.settle();
    let explained = pushed.iter().find(|push| push["push"] == "explanation").unwrap();
    assert_eq!(explained["session"], 1);
    let first = explained["lines"][0].as_str().unwrap();
    assert!(first.contains("session 1 (<b>Notch</b>), 1.8.9"), "{first}");
    assert!(first.ends_with("the capture ends before the session"), "{first}");
    assert!(viewer.settle().iter().all(|push| push["push"] != "explanation"));
    let answer = viewer.ask(&json!({ "do": "explain", "session": 7 }));
    assert_eq!(answer["error"]["message"], "there is no session 7");
}

#[test]
fn the_state_is_pushed_when_it_changes_and_later_packets_are_found() {
    let catalog = Arc::new(Catalog::embedded().clone());
    let store = Arc::new(Store::new(StoreOptions::default()));
    let mut viewer = Viewer::new(Arc::clone(&store), catalog);
    viewer.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    let state = viewer.settle().pop().unwrap();
    assert_eq!((&state["end"], &state["list"]["total"]), (&json!(0), &json!(0)));
    assert_eq!(viewer.settle(), [Json::Null; 0]);
    fill(&store, 0, 150);
    let state = viewer.settle().pop().unwrap();
    assert_eq!((&state["end"], &state["list"]["total"]), (&json!(150), &json!(2)));
    assert_eq!(state["complete"], false);
    let sessions = ask(&mut viewer, &json!({ "do": "sessions" }));
    assert_eq!(sessions["sessions"][0]["packets"], 150);
    assert_eq!(sessions["sessions"][0]["version"], "1.8.9");
}

#[test]
fn single_packets_are_hidden_in_the_list_and_the_search_and_shown_again() {
    let mut viewer = viewer(1000);
    viewer.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    let rows = |viewer: &mut Viewer| -> Vec<u64> {
        let answer = ask(viewer, &json!({ "do": "rows", "start": 0, "count": 500 }));
        answer["rows"].as_array().unwrap().iter().map(|it| it["row"].as_u64().unwrap()).collect()
    };
    let all = rows(&mut viewer);
    assert_eq!(all.len(), 10);
    viewer.ask(&json!({ "do": "search", "text": "hello" }));
    viewer.ask(&json!({ "do": "hide", "row": all[3] }));
    let state = viewer.settle().pop().unwrap();
    assert_eq!((&state["hidden"], &state["list"]["total"]), (&json!(1), &json!(9)));
    let left: Vec<u64> = all.iter().copied().filter(|row| *row != all[3]).collect();
    assert_eq!(rows(&mut viewer), left);
    let found = ask(&mut viewer, &json!({ "do": "find", "row": all[2], "back": false }));
    assert_ne!(found["found"]["row"], all[3]);
    // Another list has it neither.
    viewer.ask(&json!({ "do": "view", "filter": "", "sessions": [] }));
    let found = ask(&mut viewer, &json!({ "do": "index", "row": all[3] }));
    assert_eq!(found["found"], false);
    viewer.ask(&json!({ "do": "show_hidden" }));
    viewer.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    assert_eq!(rows(&mut viewer), all);
}

#[test]
fn what_became_of_marks_is_told_when_they_are_saved() {
    let store = Arc::new(Store::new(StoreOptions::default()));
    let mut viewer = Viewer::new(Arc::clone(&store), Arc::new(Catalog::embedded().clone()));
    viewer.ask(&json!({ "do": "save" }));
    while store.saved().is_none() {
        std::thread::yield_now();
    }
    let told = viewer.settle().pop().unwrap()["saved"].to_string();
    assert!(told.contains("kept in the capture of the run when that ends"), "{told}");
}

#[test]
fn packets_older_than_the_window_say_why_they_are_not_held_or_that_their_bytes_are_not() {
    let catalog = Arc::new(Catalog::embedded().clone());
    let new = || Arc::new(Store::new(StoreOptions { rows: 100, ..StoreOptions::default() }));
    let (forgets, keeps) = (new(), new());
    forgets.set_limit(Limit::NoCapture);
    // Nothing is in it.
    keeps.set_capture(tempfile::tempfile().unwrap());
    let mut viewers = [&forgets, &keeps].map(|store| {
        fill(store, 0, 10_000);
        Viewer::new(Arc::clone(store), Arc::clone(&catalog))
    });
    let [state, kept] = viewers.each_mut().map(|viewer| viewer.settle().pop().unwrap());
    assert_eq!(
        (&state["first"], &state["limit"]),
        (&json!(8192), &json!("a run that writes a capture keeps them"))
    );
    assert_eq!((&kept["first"], &kept["limit"]), (&json!(0), &json!(null)));
    let [gone, lost] = viewers.each_mut().map(|viewer| {
        ask(viewer, &json!({ "do": "details", "row": 3 }))["error"]["message"].clone()
    });
    assert_eq!(gone, "the packet is no longer held");
    assert_eq!(lost, words::MISSING);
    let rows = ask(&mut viewers[1], &json!({ "do": "rows", "start": 3, "count": 1 }));
    assert_eq!(rows["rows"][0]["seq"], 4);
    assert_eq!(rows["rows"][0]["summary"], words::MISSING);
}

/// A store of sessions that have ended, numbered from 1 on; every tenth is still open, and every seventh is a ping.
fn store_of_sessions(count: u64) -> Store {
    let store = Store::new(StoreOptions::whole());
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    for number in 1..=count {
        let client = ([10, 0, 0, u8::try_from(number % 250).unwrap()], 50000).into();
        let mut context = Context::new(number, Timestamp(START), client, Arc::clone(&protocol));
        context.version = Some(47);
        let is_ping = number % 7 == 0;
        context.player = (!is_ping).then(|| format!("Player{}", count - number));
        let context = Arc::new(context);
        let leg = LegState {
            state: if is_ping { State::Status } else { State::Play },
            client_threshold: None,
            server_threshold: None,
            client_encrypted: false,
            server_encrypted: false,
        };
        let reason =
            r#"disconnected by the server: {"text":"Server full","color":"red"}"#.to_owned();
        let closed = EventKind::Close(Summary { reason, ..Summary::default() });
        let opened = [EventKind::Open, EventKind::State(leg)];
        for kind in opened.into_iter().chain((number % 10 != 0).then_some(closed)) {
            let at = Timestamp(START + number * 1_000_000);
            store.push(&Entry::Event(Event { context: Arc::clone(&context), at, kind }));
        }
    }
    store
}

#[test]
fn ten_thousand_sessions_are_listed_and_the_number_of_those_before_is_told() {
    let store = Arc::new(store_of_sessions(10_010));
    let mut viewer = Viewer::new(store, Arc::new(Catalog::embedded().clone()));
    let answer = ask(&mut viewer, &json!({ "do": "sessions" }));
    let sessions = answer["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &sessions[999]["session"]), (1000, &json!(10_010)));
    assert_eq!(answer["total"], 10_000);
    assert_eq!(answer["left_out"], 9_010);
    // A window of them is as long as it is asked for.
    let answer = ask(&mut viewer, &json!({ "do": "sessions", "start": 5_000, "count": 20 }));
    assert_eq!(answer["sessions"].as_array().unwrap().len(), 20);
    assert_eq!((&answer["left_out"], &answer["total"]), (&json!(10), &json!(10_000)));
}

#[test]
fn sessions_are_searched_sorted_and_left_out_and_their_ends_are_told_as_players_read_them() {
    let store = Arc::new(store_of_sessions(100));
    let mut viewer = Viewer::new(store, Arc::new(Catalog::embedded().clone()));
    let mut listed = |more: Json| {
        let mut request = json!({ "do": "sessions" });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = ask(&mut viewer, &request);
        let numbers = answer["sessions"].as_array().unwrap().iter();
        let numbers: Vec<u64> = numbers.map(|it| it["session"].as_u64().unwrap()).collect();
        (numbers, answer)
    };
    let (open, answer) = listed(json!({ "only": "open" }));
    assert_eq!(open, [10, 20, 30, 40, 50, 60, 80, 90, 100]);
    assert_eq!((&answer["pings"], &answer["total"]), (&json!(14), &json!(9)));
    assert_eq!(listed(json!({ "only": "pings", "count": 2 })).0, [91, 98]);
    assert_eq!(listed(json!({ "only": "players" })).1["total"], 86);
    assert_eq!(listed(json!({ "only": "ended", "text": "SERVER full 1.8.9 10.0.0.3:" })).0, [3]);
    assert!(listed(json!({ "text": "color" })).0.is_empty());
    assert_eq!(listed(json!({ "text": "player9 open" })).0, [10]);
    let by = json!({ "by": "player", "only": "open", "start": 1, "count": 3, "anchor": 10 });
    let (numbers, answer) = listed(by);
    assert_eq!(numbers, [90, 80, 60], "Player0, Player10, Player20, Player40 ..");
    assert_eq!((&answer["anchor"], &answer["anchored"]["session"]), (&json!(8), &json!(10)));
    let (numbers, answer) =
        listed(json!({ "by": "last", "descending": true, "count": 2, "start": 0, "anchor": 1 }));
    assert_eq!(numbers, [100, 99]);
    assert_eq!(answer["anchored"]["closed"], "disconnected by the server: Server full");
    // Those that have ended are left out, and what is open stays, also once it has ended.
    let mark = answer["mark"].clone();
    assert_eq!(mark["session"], 100);
    let (numbers, answer) = listed(json!({ "after": mark, "only": "players" }));
    assert_eq!(numbers, [10, 20, 30, 40, 50, 60, 80, 90, 100]);
    assert_eq!(answer["pings"], 1, "session 70 is open");
}

#[test]
fn very_many_rows_are_not_returned_at_once() {
    let mut viewer = viewer(1000);
    let count = |viewer: &mut Viewer, start: u64| {
        let rows = ask(viewer, &json!({ "do": "rows", "start": start, "count": u64::MAX }));
        rows["rows"].as_array().unwrap().len()
    };
    assert_eq!((count(&mut viewer, 0), count(&mut viewer, u64::MAX)), (500, 0));
    let sessions: Vec<u64> = (0..501).collect();
    let answer = ask(&mut viewer, &json!({ "do": "view", "filter": "", "sessions": sessions }));
    assert_eq!(answer["error"]["message"], "at most 500 sessions can be selected");
}

/// The page's side, asked as the page asks.
struct Driven {
    viewer: Viewer,
    filter: String,
    sessions: Vec<u64>,
    selected: u64,
    series: Option<Vec<String>>,
}

impl Driven {
    fn view(&mut self) {
        let request = json!({ "do": "view", "filter": self.filter, "sessions": self.sessions });
        let answer = ask(&mut self.viewer, &request);
        assert!(answer["error"].is_null(), "{answer}");
    }

    fn combine(&mut self, condition: &Json, how: Combination) {
        let request =
            json!({ "do": "combine", "filter": self.filter, "condition": condition, "how": how });
        let answer = ask(&mut self.viewer, &request);
        answer["filter"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .clone_into(&mut self.filter);
        self.view();
    }

    fn asked(&mut self, request: Json, key: &str) -> Vec<Json> {
        let mut all = request;
        (all["start"], all["count"]) = (0.into(), 500.into());
        let answer = ask(&mut self.viewer, &all);
        assert_eq!(answer[key].as_array().unwrap().len() as u64, answer["total"]);
        answer[key].as_array().unwrap().clone()
    }
}

impl Driver for Driven {
    fn filter(&mut self, text: &str) {
        text.clone_into(&mut self.filter);
        self.view();
    }

    fn session(&mut self, session: Option<u64>) {
        self.sessions = session.into_iter().collect();
        self.view();
    }

    fn select(&mut self, row: u64) {
        let index = ask(&mut self.viewer, &json!({ "do": "index", "row": row }));
        assert_eq!(index["found"], true, "{row} is not in the list");
        self.selected = row;
    }

    fn hide(&mut self) {
        ask(&mut self.viewer, &json!({ "do": "hide", "row": self.selected }));
    }

    fn show_hidden(&mut self) {
        ask(&mut self.viewer, &json!({ "do": "show_hidden" }));
        self.view();
    }

    fn search(&mut self, text: &str) -> Option<u64> {
        ask(&mut self.viewer, &json!({ "do": "search", "text": text }));
        self.find(false)
    }

    fn find(&mut self, back: bool) -> Option<u64> {
        let request = json!({ "do": "find", "row": self.selected, "back": back });
        let found = ask(&mut self.viewer, &request)["found"]["row"].as_u64()?;
        self.selected = found;
        Some(found)
    }

    fn sort(&mut self, by: &str) {
        let (key, descending) = by.strip_prefix('-').map_or((by, false), |by| (by, true));
        let by = Some(key).filter(|it| !it.is_empty());
        ask(&mut self.viewer, &json!({ "do": "sort", "by": by, "descending": descending }));
        while self.viewer.advance(&mut Vec::new()) {}
    }

    fn go_to(&mut self, text: &str) -> Option<u64> {
        let request = json!({ "do": "go_to", "to": text, "row": self.selected });
        let found = ask(&mut self.viewer, &request)["row"].as_u64()?;
        self.selected = found;
        Some(found)
    }

    fn answer(&mut self) -> Option<u64> {
        let details = ask(&mut self.viewer, &json!({ "do": "details", "row": self.selected }));
        details["packet"]["round_trip"]["row"].as_u64()
    }

    fn clear(&mut self) {
        ask(&mut self.viewer, &json!({ "do": "clear" }));
        self.view();
    }

    fn mark(&mut self) {
        let marked =
            !self.viewer.store.annotations().get(&self.selected).is_some_and(|it| it.marked);
        let request = json!({ "do": "mark_all", "rows": [self.selected], "marked": marked });
        ask(&mut self.viewer, &request);
    }

    fn next_mark(&mut self, back: bool) -> Option<u64> {
        let request = json!({ "do": "next_mark", "row": self.selected, "back": back });
        let found = ask(&mut self.viewer, &request)["found"]["row"].as_u64()?;
        self.selected = found;
        Some(found)
    }

    fn filter_type(&mut self, only: bool) {
        let how = if only { Combination::Only } else { Combination::Not };
        self.combine(&json!({ "type_of": self.selected }), how);
    }

    fn filter_by(&mut self, path: &str, how: Combination) -> String {
        let details = ask(&mut self.viewer, &json!({ "do": "details", "row": self.selected }));
        let fields = details["packet"]["fields"].as_array().unwrap();
        let field = fields.iter().position(|field| field["path"] == path).unwrap();
        let request = json!({ "do": "field", "row": self.selected, "field": field });
        let field = ask(&mut self.viewer, &request);
        self.combine(&json!({ "expression": field["condition"] }), how);
        self.filter.clone()
    }

    fn rows(&mut self) -> Vec<u64> {
        numbers(&self.asked(json!({ "do": "rows" }), "rows"))
    }

    fn conversation(&mut self) -> Vec<String> {
        let lines = self.asked(json!({ "do": "conversation" }), "lines");
        let text = |line: &Json| -> String {
            let spans = line["text"].as_array().unwrap().iter();
            spans.map(|span| span["text"].as_str().unwrap()).collect()
        };
        lines.iter().map(text).collect()
    }

    fn sent(&mut self) -> Vec<u64> {
        let request = json!({ "do": "sent", "start": 0, "count": 0 });
        ask(&mut self.viewer, &request);
        numbers(&self.asked(json!({ "do": "sent" }), "rows"))
    }

    fn replies(&mut self, row: u64) -> Vec<u64> {
        let answer = ask(&mut self.viewer, &json!({ "do": "replies", "row": row }));
        numbers(answer["rows"].as_array().unwrap())
    }

    fn series(&mut self, text: &str) {
        self.series = Some(text.split("; ").map(str::to_owned).collect());
    }

    fn chart(&mut self) -> Vec<(String, u64)> {
        self.viewer.ask(&json!({ "do": "chart", "expressions": self.series }));
        let pushed = self.viewer.settle();
        let chart = pushed.iter().find(|push| push["push"] == "chart").unwrap();
        let count = |series: &Json| {
            let packets = series["packets"].as_array().unwrap().iter();
            let count = packets.map(|it| it.as_u64().unwrap()).sum();
            (series["name"].as_str().unwrap().to_owned(), count)
        };
        chart["series"].as_array().unwrap().iter().map(count).collect()
    }

    fn colors(&mut self, text: &str) {
        let colors = text.split("; ").filter_map(|it| it.split_once(": "));
        let colors = colors.map(|(color, condition)| json!({ "color": color, "where": condition }));
        let request = json!({ "do": "highlight", "colors": colors.collect::<Vec<_>>() });
        assert!(ask(&mut self.viewer, &request)["error"].is_null());
    }

    fn color_of(&mut self, row: u64) -> Option<&'static str> {
        let rows = self.asked(json!({ "do": "rows" }), "rows");
        let row = rows.iter().find(|it| it["row"] == row).unwrap();
        color_name(|color| row["color"] == color.name())
    }
}

/// The numbers of rows.
fn numbers(rows: &[Json]) -> Vec<u64> {
    rows.iter().map(|row| row["row"].as_u64().unwrap()).collect()
}

/// A page on a store.
fn driven(store: Arc<Store>, catalog: Arc<Catalog>) -> Driven {
    let viewer = Viewer::new(store, catalog);
    let (filter, sessions, series) = (String::new(), Vec::new(), None);
    let mut driven = Driven { viewer, filter, sessions, selected: 0, series };
    driven.view();
    driven
}

#[test]
fn the_page_shows_and_finds_what_every_interface_does() {
    crate::view::tests::run(driven);
}

#[test]
fn the_page_lists_what_the_parts_of_a_combined_filter_match() {
    crate::view::tests::run_combinations(driven);
}

/// The held packets of the page, whose requests it makes.
struct DrivenHeld {
    room: Room,
    page: u64,
}

impl DrivenHeld {
    fn rows(&mut self) -> Vec<Json> {
        let asked = json!({ "do": "held_rows", "start": 0, "count": 100 });
        self.room.ask(self.page, asked)["packets"].as_array().unwrap().clone()
    }

    fn done(&mut self, request: Json) {
        assert_eq!(self.room.ask(self.page, request)["error"], Json::Null);
    }
}

impl HeldDriver for DrivenHeld {
    fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    fn hold(&mut self, condition: &str) {
        self.done(json!({ "do": "break", "where": condition, "overtaken": false }));
    }

    fn held(&mut self) -> Vec<(u64, String, String)> {
        let text = |it: &Json| it.as_str().unwrap_or_default().to_owned();
        let rows = self.rows().into_iter();
        let listed = rows.map(|it| {
            (it["session"].as_u64().unwrap(), text(&it["summary"]), text(&it["decided"]))
        });
        listed.collect()
    }

    fn decide(&mut self, place: usize, forward: bool) {
        let row = self.rows()[place].clone();
        let decision = if forward { "forward" } else { "drop" };
        let held = [row["held"].clone()];
        let request = json!({ "do": "decide", "session": row["session"], "held": held, "decision": decision });
        self.done(request);
    }

    fn forward_all(&mut self) {
        self.done(json!({ "do": "forward_all" }));
    }
}

#[test]
fn the_page_holds_and_decides_as_every_interface_does() {
    crate::view::tests::run_held(|mut room| {
        let page = room.attach();
        DrivenHeld { room, page }
    });
}

#[test]
fn the_page_has_a_function_for_every_action_of_the_table() {
    let page = include_str!("../page/main.js");
    let (_, functions) = page.split_once("const ACTIONS = {").unwrap();
    let (functions, _) = functions.split_once("\n};").unwrap();
    // `name: () => ..`, or `name,`.
    let lines = functions.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| line.starts_with(|char: char| char.is_ascii_lowercase()));
    let names: Vec<&str> = lines.filter_map(|line| line.split([':', ',']).next()).collect();
    let table: Vec<&str> = Interface::Page.bindings().map(|it| it.name).collect();
    assert_eq!(names, table);
}

#[test]
fn rows_have_the_columns_that_are_asked_for() {
    let mut viewer = viewer(200);
    let columns = json!(["chat.message", "pkt.size", "len(message) + 1"]);
    let request = json!({ "do": "rows", "start": 99, "count": 2, "columns": columns });
    let rows = ask(&mut viewer, &request)["rows"].clone();
    assert_eq!(rows[0]["columns"], json!([null, "17", null]));
    assert_eq!(rows[1]["columns"][0], "{\"text\":\"Hello 100\",\"color\":\"red\"}");
    let wrong = json!({ "do": "rows", "start": 0, "count": 0, "columns": ["mesage"] });
    assert_eq!(ask(&mut viewer, &wrong)["error"]["hint"], "did you mean `message`?");
}

#[test]
fn a_field_can_be_filtered_by_and_copied() {
    let mut viewer = viewer(200);
    let field = ask(&mut viewer, &json!({ "do": "field", "row": 100, "field": 1 }));
    let parts = ["path", "column", "condition", "text", "json", "hex"].map(|it| field[it].clone());
    assert_eq!(parts, ["position", "chat.position", "chat.position == 0", "0", "0", "00"]);
    let none = ask(&mut viewer, &json!({ "do": "field", "row": 100, "field": 99 }));
    assert!(none["error"]["message"].as_str().unwrap().contains("no name for this field"));
}

#[test]
fn several_packets_are_marked_and_hidden_at_once() {
    let mut viewer = viewer(200);
    let asked = json!({ "do": "row_numbers", "start": 50, "count": 3 });
    let rows = ask(&mut viewer, &asked)["rows"].clone();
    assert_eq!(rows, json!([50, 51, 52]));
    ask(&mut viewer, &json!({ "do": "annotate", "row": 51, "marked": false, "comment": "kept" }));
    ask(&mut viewer, &json!({ "do": "mark_all", "rows": rows, "marked": true }));
    let shown = ask(&mut viewer, &json!({ "do": "rows", "start": 51, "count": 1 }));
    assert_eq!(
        (&shown["rows"][0]["marked"], &shown["rows"][0]["note"]),
        (&json!(true), &json!("kept"))
    );
    let counted = |viewer: &mut Viewer| {
        viewer.ask(&json!({ "do": "statistics" }));
        let pushed = viewer.settle();
        let counted = pushed.iter().find(|it| it["push"] == "statistics").unwrap();
        counted["report"]["total"]["packets"].clone()
    };
    assert_eq!(counted(&mut viewer), 200);
    ask(&mut viewer, &json!({ "do": "hide_all", "rows": rows }));
    assert_eq!(counted(&mut viewer), 197);
    assert_eq!(ask(&mut viewer, &asked)["rows"], json!([53, 54, 55]));
    // As a page asks after its connection was lost.
    ask(&mut viewer, &json!({ "do": "clear", "before": 190 }));
    let left = ask(&mut viewer, &json!({ "do": "row_numbers", "start": 0, "count": 500 }));
    assert_eq!(left["rows"], json!([190, 191, 192, 193, 194, 195, 196, 197, 198, 199]));
}

/// The dialog about filters is made of pairs: what is written, and its meaning; or what another tool writes, and ours.
#[test]
fn what_the_page_says_about_filters_is_right() {
    let mut viewer = viewer(1);
    let mut is_right = |filter: &str| {
        let answer = viewer.ask(&json!({ "do": "check", "filter": filter }));
        answer["error"].is_null() && answer["warnings"] == json!([])
    };
    let help = include_str!("../page/filter_help.js");
    let pairs_of = |text: &str| -> Vec<[String; 2]> {
        let pairs = text
            .lines()
            .filter_map(|it| serde_json::from_str(it.trim().trim_end_matches(',')).ok());
        pairs.collect()
    };
    let pairs = pairs_of(help);
    assert!(pairs.len() > 25, "{pairs:?}");
    for [form, meaning] in &pairs {
        assert!(is_right(form) || is_right(meaning), "{form}: {meaning}");
    }
    let told = |what: &str| {
        pairs.iter().find_map(|[_, meaning]| meaning.strip_prefix(what)).unwrap().split(' ')
    };
    for comparison in told("comparisons: ") {
        assert!(is_right(&format!("pkt.n {comparison} 1")), "{comparison}");
    }
    // All functions, as the language itself says.
    let mut hint = |filter: &str| {
        let answer = viewer.ask(&json!({ "do": "check", "filter": filter }));
        answer["error"]["hint"].as_str().unwrap_or_default().to_owned()
    };
    let all: BTreeSet<String> =
        hint("zzzzzzzz(1) == 1").split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(told("functions: ").map(str::to_owned).collect::<BTreeSet<_>>(), all);
    // Errors about what other tools write lead to the same names.
    let (_, others) = help.split_once("OTHERS = [").unwrap();
    for [theirs, ours] in pairs_of(others) {
        let [theirs, ours] = [&theirs, &ours].map(|it| it.split(' ').next().unwrap());
        let hint = hint(&format!("{theirs} == 1"));
        assert!(hint.contains(&format!("`{ours}")), "{theirs}: {hint}");
    }
}
