use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value as Json, json};
use ts_rs::{Config, TS, TypeVisitor};

use super::*;
use crate::control::{self, Decided};
use mitmcraft_engine::filter::EditError;
use mitmcraft_engine::link::{CommandError, Release, Side};
use mitmcraft_protocol::schema::{Direction, State};

fn read(request: &Json) -> Result<Request, String> {
    match Query::read(&request.to_string()) {
        Ok(Query { id: Some(1), request }) => Ok(request),
        Err((Some(1), failure)) => Err(failure.message),
        other => panic!("{request} has another number: {other:?}"),
    }
}

#[test]
fn requests_are_read_with_and_without_what_is_optional() {
    let view = |sessions: Vec<u64>, from| {
        let (filter, to) = ("chat".to_owned(), None);
        Ok(Request::View { filter, sessions, from, to, fold: false })
    };
    assert_eq!(read(&json!({ "id": 1, "do": "view", "filter": "chat" })), view(vec![], None));
    let request = json!({
        "id": 1, "do": "view", "filter": "chat", "sessions": [3], "from": 17, "to": null,
    });
    assert_eq!(read(&request), view(vec![3], Some(17.0)));
    let export =
        |rows: Json| read(&json!({ "id": 1, "do": "export", "format": "jsonl", "rows": rows }));
    let exported = |rows| Ok(Request::Export { format: ExportFormat::Jsonl, rows });
    assert_eq!(export(json!("marked")), exported(Some(Exported::Marked(MarkedPackets::Marked))));
    assert_eq!(export(json!([1, 2])), exported(Some(Exported::Rows(vec![1, 2]))));
    assert_eq!(export(Json::Null), exported(None));
    let send = json!({ "id": 1, "do": "send", "session": 2, "to": "client", "body": "0x03" });
    let Ok(Request::Send { to, body, times: None, .. }) = read(&send) else { panic!() };
    assert_eq!((to, body.as_deref()), (Side::Client, Some("0x03")));
    let Ok(Query { id: None, .. }) = Query::read(r#"{"do":"sessions"}"#) else { panic!() };
}

#[test]
fn what_is_wrong_with_a_request_is_said_with_its_key() {
    for (request, reason) in [
        (json!({}), "missing field `do`"),
        (json!({ "do": "dance" }), "unknown variant `dance`, expected one of `view`, `check`"),
        (json!({ "do": 1 }), "invalid type"),
        (json!({ "do": "rows", "start": 1 }), "missing field `count`"),
        (json!({ "do": "rows", "start": -1, "count": 1 }), "`start`: invalid value: integer `-1`"),
        (json!({ "do": "rows", "start": 1, "count": "1" }), "`count`: invalid type: string \"1\""),
        (json!({ "do": "sessions", "all": true }), "unknown field `all`"),
        (json!({ "do": "view", "filter": "", "sessions": ["x"] }), "`sessions`: invalid type"),
        (
            json!({ "do": "send", "session": 1, "to": "me", "body": "" }),
            "`to`: unknown variant `me`, expected `client` or `server`",
        ),
        (json!({ "do": "packets", "session": 1, "dir": "up" }), "`dir`: unknown variant `up`"),
        (json!({ "do": "forward", "session": 1 }), "missing field `held`"),
        (
            json!({ "do": "form", "session": 1, "dir": "clientbound", "packet": "chat",
                    "change": { "set": { "pointer": "/a" } } }),
            "`change`: missing field `raw`",
        ),
    ] {
        let mut asked = request.clone();
        asked["id"] = 1.into();
        let failure = read(&asked).unwrap_err();
        assert!(failure.starts_with(reason), "{request}: {failure}");
    }
    for (text, reason) in [
        ("no json", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        (r#"{"id":"x","do":"sessions"}"#, "`id`: not a number"),
    ] {
        let (id, failure) = Query::read(text).unwrap_err();
        assert!(id.is_none() && failure.message.starts_with(reason), "{text}: {failure:?}");
    }
}

#[test]
fn messages_say_what_they_are() {
    let as_json = |message: Message| serde_json::from_str::<Json>(&message.to_json()).unwrap();
    let answer = |answer| as_json(Message::answer(Some(7), Ok(answer)));
    assert_eq!(answer(Answer::DONE), json!({ "id": 7, "answer": "done" }));
    let found = Answer::Find { found: Some(Found { row: 3, index: 1 }), searching: false };
    assert_eq!(
        answer(found),
        json!({ "id": 7, "answer": "find", "found": { "row": 3, "index": 1 }, "searching": false })
    );
    assert_eq!(
        answer(Answer::SaveRules(SavedRules::Changed { text: Some("x".to_owned()) })),
        json!({ "id": 7, "answer": "save_rules", "outcome": "changed", "text": "x" })
    );
    let error = control::ControlError::Refused(CommandError::Encode {
        path: "items[3]".to_owned(),
        cause: Box::new(EditError::NothingToRemove),
    });
    assert_eq!(
        as_json(control::Message::Answer { id: None, answer: Err(error) }.into()),
        json!({ "id": null, "error": {
            "message": "no element to remove", "path": "items[3]", "hint": null, "start": null,
            "end": null,
        } })
    );
    let push = |push| as_json(control::Message::Push(push).into());
    let decision = Decided::Drop;
    assert_eq!(
        push(control::Push::Decided { session: 1, held: 2, decision }),
        json!({ "push": "decided", "session": 1, "held": 2, "decision": "drop" })
    );
    assert_eq!(
        push(control::Push::Released { session: 1, held: 2, how: Release::StateChange }),
        json!({ "push": "released", "session": 1, "held": 2, "how": "state_change" })
    );
    assert_eq!(
        push(control::Push::Control { condition: None, earlier: None, by: None, interfaces: 1 }),
        json!({ "push": "control", "break": null, "earlier": null, "by": null, "interfaces": 1 })
    );
}

/// Directions and states are the same words in the protocol as everywhere else.
#[test]
fn names_are_those_of_captures() {
    for direction in Direction::ALL {
        assert_eq!(serde_json::to_value(direction).unwrap(), direction.name());
    }
    for state in State::ALL {
        assert_eq!(serde_json::to_value(state).unwrap(), state.name());
    }
    for decided in [Decided::Forward, Decided::Drop, Decided::Edit] {
        assert_eq!(serde_json::to_value(decided).unwrap(), decided.name());
    }
}

#[test]
fn the_types_of_the_page_are_those_of_the_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/page/protocol.d.ts");
    let fresh = typescript();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = "is stale: UPDATE_DOCS=1 cargo test --lib view::protocol";
    assert!(page == fresh, "src/web/page/protocol.d.ts {stale}");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/control.md");
    let described = std::fs::read_to_string(&path).unwrap();
    let (text, _) = described.split_once("```ts\n").unwrap();
    let types = fresh.split_once("\n\n").unwrap().1;
    let fresh = format!("{text}```ts\n{types}```\n");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == fresh, "docs/control.md {stale}");
}

#[test]
fn every_answer_has_the_name_of_a_request() {
    let types = typescript();
    let names = |key: &str| -> BTreeSet<String> {
        let name = regex::Regex::new(&format!("\"{key}\": \"([a-z_]+)\"")).unwrap();
        name.captures_iter(&types).map(|it| it[1].to_owned()).collect()
    };
    let (answers, requests) = (names("answer"), names("do"));
    assert!(answers.len() > 20, "{answers:?}");
    let strange: Vec<&String> = answers.difference(&requests).collect();
    assert_eq!(strange, ["done"]);
}

#[test]
fn every_request_is_described_once() {
    let described = include_str!("../../../docs/control.md");
    let (_, after) = described.split_once("\n## Requests\n").unwrap();
    let (tables, _) = after.split_once("\n## ").unwrap();
    let names = regex::Regex::new("`([a-z_]+)`").unwrap();
    let mut found: Vec<&str> = tables
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('|'))
        .flat_map(|(cell, _)| cell.split_whitespace().map(|it| it.trim_matches('`')))
        .collect();
    found.sort_unstable();
    // The error for another name lists all of them.
    let unknown = read(&json!({ "id": 1, "do": "dance" })).unwrap_err();
    let (_, listed) = unknown.split_once("expected one of ").unwrap();
    let mut requests: Vec<&str> =
        names.captures_iter(listed).map(|it| it.get(1).unwrap().as_str()).collect();
    requests.sort_unstable();
    assert_eq!(found, requests);
}

/// Returns the types of the protocol in TypeScript.
fn typescript() -> String {
    let mut types = Types {
        config: Config::new().with_large_int("number"),
        known: Vec::new(),
        declared: BTreeMap::new(),
    };
    types.visit::<Login>();
    types.visit::<Request>();
    types.visit::<Answer>();
    types.visit::<Message>();
    // In the form of the page's other files.
    let forms = [
        (r"\[(`\w+`)\]\([\w:]*\)", "$1"),
        ("`None`", "`null`"),
        (r" +\n", "\n"),
        (r"/\*\*\n \* (.*)\n \*/\n", "/** $1 */\n"),
        (r"(?m)^(/\*\* .*\n)(\w.*)$", "  $1  $2"),
        (r"(?m)^  (/\*\* .*\n)  export", "${1}export"),
        (r"\} \| \{", "}\n| {"),
    ];
    let declared = types.declared.into_values().collect::<String>();
    let declared = forms.iter().fold(declared, |text, (from, to)| {
        regex::Regex::new(from).unwrap().replace_all(&text, *to).into_owned()
    });
    format!("{HEAD}{declared}")
}

/// The types declared so far.
struct Types {
    config: Config,
    known: Vec<TypeId>,
    /// Their declarations by name: the order in which they are found is another one in every build.
    declared: BTreeMap<String, String>,
}

impl TypeVisitor for Types {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if self.known.contains(&TypeId::of::<T>()) {
            return;
        }
        self.known.push(TypeId::of::<T>());
        // What has no file of its own is part of the language.
        if T::output_path().is_some() {
            let docs = T::docs().unwrap_or_default();
            let declaration = format!("\n{docs}export {}\n", T::decl(&self.config));
            self.declared.insert(T::ident(&self.config), declaration);
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}

const HEAD: &str = "\
// The protocol between user interfaces and mitmcraft. Written by the test
// `the_types_of_the_page_are_those_of_the_protocol` from src/view/protocol.

/** The name of a request. */
export type RequestName = Request[\"do\"];

/** The arguments of a request. */
export type Arguments<Name extends RequestName> = Omit<Extract<Request, { do: Name }>, \"do\">;

/** The answer to a request: that of the same name, or `done`. */
export type AnswerTo<Name extends RequestName> =
  Name extends Answer[\"answer\"] ? Extract<Answer, { answer: Name }> : Extract<Answer, { answer: \"done\" }>;

/** The reply to a request: its answer, or an `error`. */
export type Reply<Name extends RequestName> =
  | (AnswerTo<Name> & { error?: undefined })
  | ({ [Key in keyof AnswerTo<Name>]?: undefined } & { error: Failure });
";
