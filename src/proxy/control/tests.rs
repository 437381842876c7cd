use std::sync::Arc;

use serde_json::json;

use super::ControlHandle;
use crate::lang::Expr;
use crate::link::{Action, Breakpoint, Report};
use crate::schema::Catalog;

fn start(condition: Option<&str>) -> ControlHandle {
    let catalog = Catalog::embedded();
    let breakpoint = condition.map(|text| {
        let (condition, _) = Expr::parse(text, catalog).unwrap();
        Breakpoint { condition, overtaken: false }
    });
    ControlHandle::start(Arc::new(catalog.clone()), breakpoint)
}

#[tokio::test]
async fn a_session_has_its_break_condition_before_its_first_packet() {
    let control = start(Some("chat"));
    let mut session = control.open(1).await.unwrap();
    assert!(matches!(session.try_next().unwrap().action, Action::Break(Some(_))));
    assert!(start(None).open(1).await.unwrap().try_next().is_none());
}

#[tokio::test]
async fn requests_reach_the_session_and_its_answer_the_interface() {
    let control = start(None);
    let mut interface = control.attach().await.unwrap();
    let mut session = control.open(7).await.unwrap();
    assert_eq!(interface.next().await.unwrap()["push"], "control");
    interface.send(json!({ "do": "kick", "session": 7, "id": 1 })).await;
    let command = session.next().await;
    assert!(matches!(command.action, Action::Kick(_)));
    session.report(Report::Done { command: command.number }).await;
    assert_eq!(*interface.next().await.unwrap(), json!({ "id": 1 }));
    interface.send(json!({ "do": "kick", "session": 7, "id": 2 })).await;
    session.close().await;
    assert_eq!(interface.next().await.unwrap()["error"]["message"], "the session has ended");
}

#[tokio::test]
async fn an_interface_that_is_dropped_or_stops_reading_is_detached() {
    let control = start(Some("chat"));
    let mut session = control.open(1).await.unwrap();
    assert!(session.try_next().is_some());
    let (slow, mut other) = (control.attach().await.unwrap(), control.attach().await.unwrap());
    while other.next().await.unwrap()["interfaces"] != 2 {}
    let mut asked = 0;
    loop {
        asked += 1;
        other.send(json!({ "do": "break", "where": "chat", "id": asked })).await;
        let left = loop {
            let message = other.next().await.unwrap();
            if let Some(left) = message["interfaces"].as_u64() {
                break left;
            }
        };
        while session.try_next().is_some() {}
        if left == 1 {
            break;
        }
        assert!(asked < 5000, "it was never detached");
    }
    drop(slow);
    drop(other);
    while !matches!(session.next().await.action, Action::Break(None)) {}
    assert!(matches!(session.next().await.action, Action::ForwardAll));
}

#[tokio::test]
async fn a_session_that_takes_no_commands_refuses_them() {
    let control = start(None);
    let mut interface = control.attach().await.unwrap();
    let _session = control.open(1).await.unwrap();
    let mut refused = None;
    for id in 0..300 {
        interface.send(json!({ "do": "kick", "session": 1, "id": id })).await;
    }
    while refused.is_none() {
        let message = interface.next().await.unwrap();
        refused = message["error"]["message"].as_str().map(str::to_owned);
    }
    assert_eq!(refused.unwrap(), "the session is busy: try again");
}
