use std::sync::Arc;

use super::{Attachment, ControlHandle};
use crate::control::Push;
use crate::view::protocol::{self, Answer, Message, Request};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::link::{Action, Breakpoint, Report};
use mitmcraft_protocol::schema::Catalog;

fn start(condition: Option<&str>) -> ControlHandle {
    let catalog = Catalog::embedded();
    let breakpoint = condition.map(|text| {
        let (condition, _) = Expr::parse(text, catalog).unwrap();
        Breakpoint { condition, overtaken: false }
    });
    ControlHandle::start(Arc::new(catalog.clone()), breakpoint)
}

fn kick() -> Request {
    Request::Kick { session: 7, text: None }
}

async fn next(interface: &mut Attachment) -> Message {
    interface.next().await.unwrap()
}

/// Returns the number of interfaces, if that is what a message is about.
fn interfaces(message: &Message) -> Option<usize> {
    match message {
        Message::Push(protocol::Push::Control(Push::Control { interfaces, .. })) => {
            Some(*interfaces)
        }
        _ => None,
    }
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
    assert_eq!(interfaces(&next(&mut interface).await), Some(1));
    interface.send(Some(1), kick()).await.unwrap();
    let command = session.next().await;
    assert!(matches!(command.action, Action::Kick(_)));
    session.report(Report::Done { command: command.number }).await;
    assert_eq!(next(&mut interface).await, Message::answer(Some(1), Ok(Answer::DONE)));
    interface.send(Some(2), kick()).await.unwrap();
    session.close().await;
    let Message::Error { id: Some(2), error } = next(&mut interface).await else { panic!() };
    assert_eq!(error.message, "the session has ended");
    let wrong = interface.send(Some(3), Request::Sessions {}).await.unwrap_err();
    assert_eq!(wrong.message, "this is not a request to running sessions");
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_is_dropped_or_stops_reading_is_detached() {
    let control = start(Some("chat"));
    let mut session = control.open(1).await.unwrap();
    assert!(session.try_next().is_some());
    let (slow, mut other) = (control.attach().await.unwrap(), control.attach().await.unwrap());
    while interfaces(&next(&mut other).await) != Some(2) {}
    let mut asked = 0;
    loop {
        asked += 1;
        let request = Request::Break { condition: "chat".into(), overtaken: false };
        other.send(Some(asked), request).await.unwrap();
        let left = loop {
            if let Some(left) = interfaces(&next(&mut other).await) {
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
    let left = tokio::time::Instant::now();
    while !matches!(session.next().await.action, Action::Break(None)) {}
    assert!(matches!(session.next().await.action, Action::ForwardAll));
    // The clock of the test moves only when everything waits for it.
    assert_eq!(left.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn a_session_that_takes_no_commands_refuses_them() {
    let control = start(None);
    let mut interface = control.attach().await.unwrap();
    let _session = control.open(1).await.unwrap();
    let mut refused = None;
    for id in 0..300 {
        let request = Request::Kick { session: 1, text: None };
        interface.send(Some(id), request).await.unwrap();
    }
    while refused.is_none() {
        if let Message::Error { error, .. } = next(&mut interface).await {
            refused = Some(error.message);
        }
    }
    assert_eq!(refused.unwrap(), "the session is busy: try again");
}
