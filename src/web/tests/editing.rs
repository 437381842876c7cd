//! Marks, exports, forms and rules.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;
use crate::proxy::{FilterFiles, RuleEditor};
use crate::view::protocol::{Answer, Form, FormChange, FormLine, Request};
use crate::view::{packet_expression, rule_choices};
use crate::web::packet_form::{check, first_fields, packet_form};
use crate::web::packet_requests::answer_to;
use mitmcraft_engine::capture::{EventKind, LegState, read_capture};
use mitmcraft_engine::filter::RuleSet;
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::random_body;

fn viewer(store: &Arc<Store>) -> Viewer {
    Viewer::new(Arc::clone(store), Arc::new(Catalog::embedded().clone()))
}

/// Exports everything, and returns the pieces together with their number.
fn export(viewer: &mut Viewer, request: &Json) -> (Vec<u8>, usize) {
    let (mut bytes, mut count) = (Vec::new(), 1);
    let mut answer = viewer.ask(request);
    loop {
        let piece = answer["piece"].as_str().unwrap_or_else(|| panic!("{answer}"));
        bytes.extend(BASE64_STANDARD.decode(piece).unwrap());
        if answer["last"] == true {
            return (bytes, count);
        }
        count += 1;
        answer = viewer.ask(&json!({ "do": "export_more" }));
    }
}

#[test]
fn an_exported_capture_has_the_packets_of_the_list_and_what_was_noted() {
    let store = store(40_000);
    let (mut one, mut other) = (viewer(&store), viewer(&store));
    let note = json!({ "do": "annotate", "row": 100, "marked": true, "comment": "look \"here\"" });
    assert_eq!(one.ask(&note)["error"], Json::Null);
    other.settle();
    let row = other.ask(&json!({ "do": "rows", "start": 100, "count": 1 }));
    assert_eq!(
        (&row["rows"][0]["marked"], &row["rows"][0]["note"]),
        (&json!(true), &json!("look \"here\""))
    );

    one.ask(&json!({ "do": "view", "filter": "chat", "sessions": [] }));
    one.settle();
    for format in ["pcapng", "jsonl"] {
        let (bytes, _) = export(&mut one, &json!({ "do": "export", "format": format }));
        let entries = read_capture(std::io::Cursor::new(bytes), Catalog::embedded()).unwrap();
        let entries: Vec<Entry> = entries.map(Result::unwrap).collect();
        let records: Vec<&Record> = entries.iter().filter_map(Entry::record).collect();
        assert_eq!(records.len(), 400);
        assert_eq!(records[1].comment.as_deref(), Some("look \"here\"; #marked"));
        assert_eq!(records[2].comment, None);
        assert_eq!(records[1].packet.seq(), 101);
        assert_eq!(records[1].packet.context().player, records[0].packet.context().player);
    }
    let (bytes, pieces) = export(&mut other, &json!({ "do": "export", "format": "pcapng" }));
    assert!(pieces > 2, "{pieces}");
    let entries = read_capture(std::io::Cursor::new(bytes), Catalog::embedded()).unwrap();
    assert_eq!(entries.filter(|it| matches!(it, Ok(Entry::Packet(_)))).count(), 40_000);
    let rows: Vec<u64> = (0..30_000).collect();
    let (_, pieces) =
        export(&mut other, &json!({ "do": "export", "format": "json", "rows": rows }));
    assert!(pieces > 1, "{pieces}");
    // What was marked in a capture is marked when it is read again.
    let marked = json!({ "do": "export", "format": "jsonl", "rows": "marked" });
    let (bytes, _) = export(&mut one, &marked);
    let again = Arc::new(Store::new(StoreOptions::whole()));
    let entries = read_capture(std::io::Cursor::new(bytes), Catalog::embedded()).unwrap();
    entries.for_each(|entry| again.push(&entry.unwrap()));
    let rows = viewer(&again).ask(&json!({ "do": "rows", "start": 0, "count": 5 }));
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1);
    assert_eq!(rows["rows"][0]["marked"], true);
}

#[test]
fn packets_are_exported_as_json_hex_rules_and_a_command_line() {
    let mut viewer = viewer(&store(200));
    let store = Arc::clone(&viewer.store);
    let mut text = |format: &str, rows: Json| {
        let request = json!({ "do": "export", "format": format, "rows": rows });
        String::from_utf8(export(&mut viewer, &request).0).unwrap()
    };
    let json: Json = serde_json::from_str(&text("json", json!([0, 1]))).unwrap();
    assert_eq!(json[1]["fields"]["age"], 1);
    let hex = text("hex", json!([1]));
    assert!(hex.ends_with("update_time, 17 bytes\n000000  03 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00\n000010  00\n"), "{hex}");
    let rules = text("rule", json!([1]));
    let checked = RuleSet::parse(&rules, Catalog::embedded());
    assert_eq!(checked.rules.unwrap().counts().len(), 1, "{rules}");
    assert!(rules.contains("when = \"clientbound and update_time\"\n"), "{rules}");
    // Every name is another one, and packets that are alike have one rule.
    let many = text("rule", json!([0, 1, 1, 2, 100, 101, 101]));
    let checked = RuleSet::parse(&many, Catalog::embedded());
    // Names of old versions are warned about.
    assert!(checked.faults.iter().all(|it| it.severity.name() == "warning"), "{many}");
    let names: Vec<_> = checked.rules.unwrap().counts().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["chat from a packet", "update_time from a packet", "chat from a packet 2",]);
    assert_eq!(
        text("command", json!([1])),
        "mitmcraft show CAPTURE -Y 'session.id == 1 and pkt.n == 2'\n"
    );
    store.set_name("it's a \"run\".jsonl");
    let named = text("command", json!([1]));
    assert!(named.starts_with(r#"mitmcraft show 'it'\''s a "run".jsonl' -Y "#), "{named}");
    store.set_name("-x.jsonl");
    assert!(text("command", json!([1])).starts_with("mitmcraft show './-x.jsonl' -Y "));
    store.set_name("captures/run-1.jsonl");
    assert!(text("command", json!([1])).starts_with("mitmcraft show captures/run-1.jsonl -Y "));
    store.begin("viewed.pcapng");
    viewer.ask(
        &json!({ "do": "view", "filter": "chat and message contains \"it's\"", "sessions": [1] }),
    );
    let request = json!({ "do": "export", "format": "command" });
    let line = String::from_utf8(export(&mut viewer, &request).0).unwrap();
    assert_eq!(
        line,
        "mitmcraft show viewed.pcapng -Y 'chat and message contains \"it'\\''s\" and session.id == 1'\n"
    );
}

#[test]
fn the_expression_for_a_packet_matches_it_in_spite_of_odd_texts() {
    let store = store(1);
    let viewer = viewer(&store);
    let answer = { viewer }.ask(&json!({ "do": "expression", "row": 0 }));
    let text = answer["expression"].as_str().unwrap();
    let (expr, _) = Expr::parse(text, Catalog::embedded()).unwrap();
    assert!(text.contains(r#"message == "{\"text\""#), "{text}");
    assert!(expr.matches(&store.snapshot().record(0).unwrap()));
}

#[test]
fn a_rule_for_a_packet_sets_the_field_that_was_changed_and_offers_an_answer() {
    let store = store(2);
    let mut viewer = viewer(&store);
    let mut rule = |set: Json| {
        let request = json!({ "do": "expression", "row": 0, "set": set });
        let answer = viewer.ask(&request);
        answer["rule"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let field = |viewer: &mut Viewer, path: &str| {
        let details = viewer.ask(&json!({ "do": "details", "row": 0 }));
        let fields = details["packet"]["fields"].as_array().unwrap();
        fields.iter().position(|it| it["path"] == path).unwrap()
    };
    let parsed = |text: &str| RuleSet::parse(text, Catalog::embedded());
    let [message, position] =
        ["message", "position"].map(|path| field(&mut self::viewer(&store), path));
    for (field, text, line) in [
        (message, "hello \"you\"", r#"set  = { message = 'hello "you"' }"#),
        (position, "2", "set  = { position = 2 }"),
        (position, "=position + 1", r#"set  = { position = "=position + 1" }"#),
    ] {
        let made = rule(json!({ "field": field, "text": text }));
        assert!(made.contains(&format!("\n{line}\n")), "{made}");
        let checked = parsed(&made);
        assert!(checked.rules.is_some(), "{made}: {:?}", checked.faults);
    }
    let offered = rule(Json::Null);
    let line = r#"send  = [{ to = "server", packet = "chat", fields = { message = "=message" } }]"#;
    let text = offered.replace("tag  = \"seen\"\n", "").replace(&format!("# {line}"), line);
    assert!(text.contains(&format!("\n{line}\n")), "{offered}");
    let checked = parsed(&text);
    assert!(checked.rules.is_some(), "{text}: {:?}", checked.faults);
}

#[test]
fn an_answer_that_is_offered_is_a_rule_for_every_packet() {
    let catalog = Catalog::embedded();
    let mut offered = 0;
    for version in [47, 765] {
        let protocol = catalog.find(version).unwrap().protocol;
        let client = ([127, 0, 0, 1], 1).into();
        let context = Arc::new(Context::new(1, Timestamp(0), client, Arc::clone(&protocol)));
        for kind in protocol.packets().iter().filter(|it| it.state() == State::Play) {
            let body = random_body(&protocol, kind, &[]);
            let content = Content::Frame(Frame::from_body(body.into()));
            let (direction, context) = (kind.direction(), Arc::clone(&context));
            let packet = Packet::new(context, 1, Timestamp(0), direction, State::Play, content);
            let answer = answer_to(&packet);
            let like = packet_expression(&packet, catalog).unwrap();
            let choices = rule_choices(&like, answer);
            let Some(send) = choices.lines().find_map(|it| it.strip_prefix("# send")) else {
                continue;
            };
            let rule = format!("[[rule]]\nwhen = '{}'\nsend{send}\n", kind.name());
            let checked = RuleSet::parse(&rule, catalog);
            assert!(checked.rules.is_some(), "{rule}: {:?}", checked.faults);
            offered += 1;
        }
    }
    assert!(offered > 50, "{offered}");
}

#[test]
fn a_form_knows_ranges_names_and_errors_of_fields_and_keeps_long_numbers() {
    let store = store(1);
    let mut viewer = viewer(&store);
    let mut form = |packet: &str, more: Json| {
        let mut request =
            json!({ "do": "form", "session": 1, "dir": "clientbound", "packet": packet });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        viewer.ask(&request)
    };
    let line = |form: &Json, pointer: &str| -> Json {
        let lines = form["form"]["lines"].as_array().unwrap_or_else(|| panic!("{form}"));
        lines
            .iter()
            .find(|it| it["pointer"] == pointer)
            .cloned()
            .unwrap_or_else(|| panic!("{form}"))
    };
    let mob = form("spawn_entity_living", json!({}));
    assert_eq!(mob["form"]["problem"], Json::Null, "{mob}");
    let kind = line(&mob, "/type");
    assert_eq!((&kind["low"], &kind["high"]), (&json!("0"), &json!("255")));
    assert!(kind["names"].as_array().unwrap().contains(&json!([50, "creeper"])), "{kind}");
    let text = mob["form"]["text"].as_str().unwrap();
    let changed = form(
        "spawn_entity_living",
        json!({ "text": text, "change": { "set": { "pointer": "/type", "raw": "300" } } }),
    );
    assert_eq!(changed["form"]["problem"]["pointer"], "/type");
    assert_eq!(changed["form"]["problem"]["message"], "300 is out of range (0 to 255)");
    let changed = form(
        "spawn_entity_living",
        json!({ "text": text, "change": { "set": { "pointer": "/type", "raw": "odd" } } }),
    );
    assert_eq!(changed["form"]["problem"]["pointer"], "/type");

    let age = json!({ "text": "{\"age\":9007199254740993,\"time\":0}" });
    assert!(
        form("update_time", age)["form"]["text"].as_str().unwrap().contains("9007199254740993")
    );

    let chat = form(
        "chat",
        json!({ "text": "{\"message\":\"{\\\"text\\\":\\\"Hi\\\",\\\"color\\\":\\\"red\\\"}\",\"position\":0}" }),
    );
    assert_eq!(
        line(&chat, "/message")["text"],
        json!([{ "text": "Hi", "color": "c", "formats": [] }])
    );

    let items = form("window_items", json!({}));
    let text = items["form"]["text"].as_str().unwrap();
    let more = form("window_items", json!({ "text": text, "change": { "add": "/items" } }));
    assert_eq!(more["form"]["problem"], Json::Null, "{more}");
    assert_eq!(line(&more, "/items")["count"], 1);
    let text = more["form"]["text"].as_str().unwrap();
    let less = form("window_items", json!({ "text": text, "change": { "remove": "/items/0" } }));
    assert_eq!(line(&less, "/items")["count"], 0);
    assert_eq!(
        form("nothing", json!({}))["error"]["message"],
        "1.8.9 has no packet `nothing` in the state play"
    );
    assert!(
        form("chat", json!({ "text": "{" }))["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("this is not JSON")
    );
}

#[test]
fn a_new_packet_of_every_type_of_every_version_can_be_sent_as_it_begins() {
    let versions = Catalog::embedded().versions().map(|(number, _)| number);
    let versions: Vec<i32> = versions.filter(|number| *number >= 47).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let parts = versions.chunks(versions.len().div_ceil(threads));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || begin_all(part))).collect();
        workers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let seen: usize = results.iter().map(|(seen, _)| seen).sum();
    let failed: Vec<String> = results.into_iter().flat_map(|(_, failed)| failed).collect();
    assert!(seen > 10_000, "{seen}");
    assert!(failed.is_empty(), "{} of {seen}:\n{}", failed.len(), failed.join("\n"));
}

/// Begins a packet of every type of some versions. Returns how many there are, and those that cannot be sent.
fn begin_all(versions: &[i32]) -> (usize, Vec<String>) {
    let (mut seen, mut failed) = (0, Vec::new());
    for number in versions {
        let context = context_of(*number);
        let protocol = &context.protocol;
        for kind in protocol.packets() {
            let fields = first_fields(protocol, kind);
            seen += 1;
            if let Some(problem) = check(&context, kind, &fields).problem {
                let (name, dir, state) = (kind.name(), kind.direction().name(), kind.state());
                failed.push(format!("{} {state} {dir} {name}: {problem:?}", protocol.name()));
            }
        }
    }
    (seen, failed)
}

/// Returns a session of a version.
fn context_of(version: i32) -> Arc<Context> {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let client = ([127, 0, 0, 1], 50000).into();
    let context = Context::new(1, Timestamp(START), client, protocol);
    Arc::new(Context { version: Some(version), ..context })
}

#[test]
fn kinds_of_values_are_chosen_absent_values_added_and_what_depends_on_another_follows() {
    let line = |form: &Form, pointer: &str| -> FormLine {
        let found = form.lines.iter().find(|it| it.pointer == pointer);
        found.cloned().unwrap_or_else(|| panic!("{pointer}: {}", form.text))
    };
    let set = |pointer: &str, raw: &str| {
        Some(FormChange::Set { pointer: pointer.to_owned(), raw: raw.to_owned() })
    };
    let fields = |form: &Form| Some(serde_json::from_str::<Json>(&form.text).unwrap());

    let context = context_of(769);
    let kind =
        context.protocol.named(State::Play, Direction::Clientbound, "profileless_chat").unwrap();
    let form = packet_form(&context, kind, None, None);
    let choice = line(&form, "/type");
    assert_eq!(choice.options, Some(vec!["chatType".to_owned(), "data".to_owned()]));
    assert_eq!(choice.raw.as_deref(), Some("chatType"));
    let change = FormChange::Choose { pointer: "/type".to_owned(), name: "data".to_owned() };
    let form = packet_form(&context, kind, fields(&form), Some(change));
    assert_eq!((line(&form, "/type").raw.as_deref(), &form.problem), (Some("data"), &None));

    // What depends on the mode of a team follows it; what was typed elsewhere stays.
    let context = context_of(765);
    let kind = context.protocol.named(State::Play, Direction::Clientbound, "teams").unwrap();
    let form = packet_form(&context, kind, None, set("/team", "\"red\""));
    let form = packet_form(&context, kind, fields(&form), set("/mode", "1"));
    assert_eq!((form.problem.as_ref(), form.lines.len()), (None, 2), "{}", form.text);
    let form = packet_form(&context, kind, fields(&form), set("/mode", "0"));
    assert_eq!(form.problem, None);
    assert!(form.lines.len() > 5 && form.text.contains("\"red\""), "{}", form.text);
    // A wrong value is not replaced.
    let form = packet_form(&context, kind, fields(&form), set("/team", "5"));
    assert_eq!(form.problem.as_ref().map(|it| &*it.pointer), Some("/team"));
    let form = packet_form(&context, kind, fields(&form), set("/mode", "3"));
    assert_eq!(form.problem.as_ref().map(|it| &*it.pointer), Some("/team"));

    // A signature that is added makes a message one that cannot be changed unseen.
    let context = context_of(765);
    let kind = context.protocol.named(State::Play, Direction::Serverbound, "chat_message").unwrap();
    let form = packet_form(&context, kind, None, None);
    assert_eq!((line(&form, "/signature").kind, form.warning), ("null", None));
    let change = FormChange::Fill("/signature".to_owned());
    let form = packet_form(&context, kind, fields(&form), Some(change));
    let signature = line(&form, "/signature");
    assert_eq!((signature.encoding, signature.optional), (Some("base64"), true));
    assert_eq!(form.problem, None);
    assert!(form.warning.unwrap().contains("a server that verifies it ends the session"));
    let form = packet_form(&context, kind, fields(&form), set("/signature", "null"));
    assert_eq!((form.warning, form.problem), (None, None));
}

#[test]
fn bits_of_a_number_have_names_and_packets_are_given_as_bytes() {
    let context = context_of(47);
    let kind = context.protocol.named(State::Play, Direction::Clientbound, "position").unwrap();
    let form = packet_form(&context, kind, None, None);
    let flags = form.lines.iter().find(|it| it.pointer == "/flags").unwrap();
    let named = flags.flags.as_ref().unwrap();
    assert!(named.len() == 5 && named.iter().all(|(bit, _)| bit.count_ones() == 1), "{named:?}");

    let mut viewer = viewer(&store(1));
    let mut form = |packet: &str, body: &str| {
        let request = json!({
            "do": "form", "session": 1, "dir": "clientbound", "state": "play", "packet": packet, "body": body,
        });
        viewer.ask(&request)
    };
    // A length in more bytes than needed is read as any other.
    let chat = form("chat", "0x02 82 00 22 22 01");
    assert_eq!(chat["form"]["lines"][0]["raw"], json!("\"\\\"\\\"\""), "{chat}");
    assert_eq!(chat["form"]["problem"], Json::Null);
    let why = |answer: Json| answer["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(why(form("chat", "0x03")), "these are the bytes of `update_time`, not of `chat`");
    assert!(why(form("chat", "0x02 05 22")).starts_with("these are not the bytes of `chat`: "));
    assert!(why(form("chat", "0x0")).contains("base64, or hex digits"));
}

#[test]
fn packets_of_a_session_have_forms_over_the_protocol_of_the_page() {
    for version in [47, 340, 765, 775] {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let store = Arc::new(Store::new(StoreOptions::whole()));
        let context = Arc::new(Context {
            version: Some(version),
            ..Context::new(
                1,
                Timestamp(START),
                ([127, 0, 0, 1], 50000).into(),
                Arc::clone(&protocol),
            )
        });
        let kind = EventKind::State(LegState {
            state: State::Play,
            client_threshold: None,
            server_threshold: None,
            client_encrypted: false,
            server_encrypted: false,
        });
        store.push(&Entry::Event(Event { context, at: Timestamp(START), kind }));
        let mut viewer = viewer(&store);
        for dir in ["clientbound", "serverbound"] {
            let names = viewer.ask(&json!({ "do": "packets", "session": 1, "dir": dir }));
            assert_eq!(names["state"], "play");
            for name in names["names"].as_array().unwrap() {
                let form =
                    viewer.ask(&json!({ "do": "form", "session": 1, "dir": dir, "packet": name }));
                assert_eq!(form["error"], Json::Null);
                assert_eq!(form["form"]["problem"], Json::Null, "{name}");
            }
        }
    }
}

#[test]
fn the_first_rule_creates_the_file_of_the_run_and_a_page_names_no_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules-20261120T123104Z.toml");
    let files = FilterFiles::awaited(path.clone(), Catalog::embedded().clone());
    let (_sender, sets) = tokio::sync::watch::channel(files.load().unwrap().sets);
    let editor = RuleEditor::new(files.clone(), sets);
    let ask = |request: Json| match Query::read(&request.to_string()) {
        Ok(Query { id, request }) => {
            as_json(&Message::answer(id, rules::answer(Some(&editor), &request).unwrap()))
        }
        Err((id, error)) => as_json(&Message::Error { id, error }),
    };
    let file = json!({ "path": path.display().to_string(), "text": null, "error": null });
    assert_eq!(ask(json!({ "do": "rules" }))["files"], json!([file]));
    let text = "[[rule]]\nname = 'first'\nwhen = 'chat'\ndrop = true\n";
    let refused = [
        json!({ "do": "save_rules", "file": 1, "text": text }),
        json!({ "do": "save_rules", "file": 0, "text": text, "path": "/tmp/rules.toml" }),
        json!({ "do": "save_rules", "file": 0, "text": "[[rule]]\nwhen = 'chatt'\ndrop = true\n" }),
    ];
    for request in refused {
        assert_ne!(ask(request.clone())["outcome"], "saved", "{request}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{request}");
    }
    let save = json!({ "do": "save_rules", "file": 0, "text": text });
    assert_eq!(ask(save.clone())["outcome"], "saved");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // Another page that did not know of it learns that it is there.
    assert_eq!(ask(save)["outcome"], "changed");
    assert_eq!(files.load().unwrap().sets[0].counts()[0].name, "first");
}

#[test]
fn rules_are_checked_and_saved_unless_the_file_is_another_one_now() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.toml");
    let first = "[[rule]]\nname = 'first'\nwhen = 'chat'\ndrop = true\n";
    std::fs::write(&path, first).unwrap();
    let files = FilterFiles::new(vec![path.clone()], Catalog::embedded().clone());
    let (_sender, sets) = tokio::sync::watch::channel(files.load().unwrap().sets);
    let editor = RuleEditor::new(files, sets);
    let ask = |request: Json| {
        let Query { id, request } = Query::read(&request.to_string()).unwrap();
        as_json(&Message::answer(id, rules::answer(Some(&editor), &request).unwrap()))
    };
    let answer = ask(json!({ "do": "rules", "id": 3 }));
    assert_eq!((&answer["id"], &answer["files"][0]["text"]), (&json!(3), &json!(first)));
    assert_eq!(
        answer["counts"],
        json!([[{ "name": "first", "matched": 0, "acted": 0, "failed": 0 }]])
    );

    let wrong = first.replace("chat", "chatt");
    let faults = ask(json!({ "do": "check_rules", "text": wrong }))["faults"].clone();
    assert_eq!(
        (&faults[0]["line"], &faults[0]["column"], &faults[0]["width"]),
        (&json!(3), &json!(9), &json!(5))
    );
    let save = |base: &str, text: &str| {
        ask(json!({ "do": "save_rules", "file": 0, "base": base, "text": text }))
    };
    let refused = save(first, &wrong);
    assert_eq!((&refused["outcome"], &refused["faults"]), (&json!("faulty"), &faults));
    let on_disk = || std::fs::read_to_string(&path).unwrap();
    assert_eq!(on_disk(), first);

    let second = first.replace("first", "second");
    assert_eq!(save(first, &second)["outcome"], "saved");
    assert_eq!(on_disk(), second);
    // Somebody else has changed it meanwhile.
    let refused = save(first, first);
    assert_eq!((&refused["outcome"], &refused["text"]), (&json!("changed"), &json!(second)));
    assert_eq!(on_disk(), second);
    assert_eq!(save(&second, first)["outcome"], "saved");
    let version = || ask(json!({ "do": "rule_counts" }))["versions"][0].clone();
    let before = version();
    // It was deleted, and is written again only if that is known.
    std::fs::remove_file(&path).unwrap();
    assert_ne!(version(), before);
    assert_eq!(version(), "");
    assert!(ask(json!({ "do": "rules" }))["files"][0]["error"].is_string());
    let refused = save(first, &second);
    assert_eq!((&refused["outcome"], &refused["text"]), (&json!("changed"), &Json::Null));
    assert!(!path.exists());
    let created = ask(json!({ "do": "save_rules", "file": 0, "text": second }));
    assert_eq!((&created["outcome"], on_disk()), (&json!("saved"), second.clone()));
    let again = ask(json!({ "do": "save_rules", "file": 0, "text": first }));
    assert_eq!((&again["outcome"], &again["text"]), (&json!("changed"), &json!(second)));
    assert!(
        ask(json!({ "do": "save_rules", "file": 1, "base": "", "text": "" }))["error"].is_object()
    );
    let none = rules::answer(None, &Request::Rules {}).unwrap();
    assert_eq!(
        none,
        Ok(Answer::Rules { files: Vec::new(), versions: Vec::new(), counts: Vec::new() })
    );
    assert_eq!(rules::answer(None, &Request::Unsubscribe {}), None);
}

#[test]
fn chosen_packets_are_exported_in_pieces_whatever_their_size() {
    let store = Store::new(StoreOptions::whole());
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let at = Timestamp(START);
    let context = Arc::new(Context::new(1, at, ([127, 0, 0, 1], 50000).into(), protocol));
    for number in 1..=40 {
        let (to, state) = (Direction::Clientbound, State::Play);
        let mut body = vec![0; 1 << 20];
        body[0] = 0x7f;
        let content = Content::Frame(Frame::from_body(body.into()));
        let packet = Packet::new(Arc::clone(&context), number, at, to, state, content);
        store.push(&Entry::Packet(Record::passed(packet)));
    }
    store.set_complete();
    let mut viewer = viewer(&Arc::new(store));
    let rows: Vec<u64> = (0..40).collect();
    for format in ["jsonl", "hex"] {
        let mut answer = viewer.ask(&json!({ "do": "export", "format": format, "rows": rows }));
        let mut pieces = 1;
        loop {
            let piece = answer["piece"].as_str().unwrap();
            assert!(piece.len() < 16 << 20, "{} bytes", piece.len());
            if answer["last"] == true {
                break;
            }
            pieces += 1;
            answer = viewer.ask(&json!({ "do": "export_more" }));
        }
        assert_eq!(pieces, 40, "{format}");
    }
}
