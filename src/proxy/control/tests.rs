use std::sync::Arc;

use bytes::Bytes;

use super::{Attachment, ControlHandle, HeldNews};
use crate::control::Push;
use crate::view::protocol::{self, Answer, Message, Request};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::link::{Action, Breakpoint, Report};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

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
    let mut interface = control.attach(HeldNews::Each).await.unwrap();
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
    let wrong = interface.send(Some(3), Request::Unsubscribe {}).await.unwrap_err();
    assert_eq!(wrong.message, "this is not a request to running sessions");
}

#[tokio::test(start_paused = true)]
async fn an_interface_that_is_dropped_or_stops_reading_is_detached() {
    let control = start(Some("chat"));
    let mut session = control.open(1).await.unwrap();
    assert!(session.try_next().is_some());
    let (slow, mut other) = (
        control.attach(HeldNews::Each).await.unwrap(),
        control.attach(HeldNews::Each).await.unwrap(),
    );
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
    let mut interface = control.attach(HeldNews::Each).await.unwrap();
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

#[tokio::test]
async fn an_interface_that_counts_is_never_overrun_by_held_packets() {
    let control = start(Some("chat"));
    let session = control.open(1).await.unwrap();
    let context = Context::new(
        1,
        Timestamp(0),
        ([127, 0, 0, 1], 50000).into(),
        Catalog::embedded().find(47).unwrap().protocol,
    );
    let content = Content::Frame(Frame::from_body(Bytes::from_static(b"\x01\x01a")));
    let (at, to) = (Timestamp(0), Direction::Serverbound);
    let packet = Packet::new(Arc::new(context), 0, at, to, State::Play, content);
    let hold = |held| {
        let packet = packet.clone();
        Report::Held { held, packet, since: Timestamp(0), in_order: None }
    };
    let mut early = control.attach(HeldNews::Count).await.unwrap();
    for held in 1..=10_000 {
        session.report(hold(held)).await;
    }
    let mut late = control.attach(HeldNews::Count).await.unwrap();
    for interface in [&mut early, &mut late] {
        let mut holding = interface.holding();
        let holding = holding.wait_for(|it| it.total == 10_000).await.unwrap();
        assert_eq!(holding.changes, 0, "nothing was decided");
        drop(holding);
        let request = Request::HeldRows { start: 9_900, count: 1000, anchor: Some(5_001) };
        interface.send(Some(1), request).await.unwrap();
        let rows = loop {
            if let Message::Answer { answer: Answer::HeldRows(rows), .. } = next(interface).await {
                break rows;
            }
        };
        assert_eq!((rows.total, rows.packets.len(), rows.anchor), (10_000, 100, Some(5_000)));
        assert_eq!(rows.packets[99].held, 10_000);
    }
}
