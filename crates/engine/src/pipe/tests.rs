//! A broker with a simulated clock; the program is the test.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::link::{Question, RulingError, Unruled};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

const BEGIN: Timestamp = Timestamp(1_000_000_000_000);

fn at(millis: u64) -> Timestamp {
    BEGIN.plus(Duration::from_millis(millis))
}

/// A broker whose program runs, with a timeout of one second.
fn running() -> Broker {
    let mut broker = Broker::new(Duration::from_secs(1));
    assert!(matches!(broker.poll_action(), Some(BrokerAction::Start)));
    broker.on_started(BEGIN);
    broker
}

/// What the broker wants done, in short.
fn actions(broker: &mut Broker) -> Vec<String> {
    let actions = std::iter::from_fn(|| broker.poll_action());
    let text = |action| match action {
        BrokerAction::Start => "start".to_owned(),
        BrokerAction::Kill => "kill".to_owned(),
        BrokerAction::Say(line) => format!("says {line}"),
        BrokerAction::Answer { session, number, ruling: Ok(ruling) } => {
            format!("{session}.{number} {:?}", ruling.verdict)
        }
        BrokerAction::Answer { session, number, ruling: Err(reason) } => {
            format!("{session}.{number} {reason}")
        }
        BrokerAction::Report { fault, last, undecided, pause } => {
            let last = last.map(|it| format!(", `{it}`")).unwrap_or_default();
            format!("{fault}{last}; {undecided} undecided; again in {} ms", pause.as_millis())
        }
    };
    actions.map(text).collect()
}

/// Reads the pending questions as the program would: their ids, sessions and packet numbers.
fn read(broker: &mut Broker) -> Vec<String> {
    let text = String::from_utf8(broker.pending().to_vec()).unwrap();
    broker.advance(BEGIN, text.len());
    let lines = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{}: {}.{}", line["id"], line["session"], line["seq"])
    });
    lines.collect()
}

fn question(session: u64, number: u64, size: usize) -> Question {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let context = Arc::new(Context::new(session, BEGIN, ([127, 0, 0, 1], 1).into(), protocol));
    let content = Content::Frame(Frame::from_body(vec![0x7f; size].into()));
    let to = Direction::Serverbound;
    Question { number, packet: Packet::new(context, number, BEGIN, to, State::Play, content) }
}

fn ask(broker: &mut Broker, millis: u64, session: u64, number: u64) {
    broker.ask(at(millis), session, question(session, number, 3));
}

fn answer(broker: &mut Broker, millis: u64, id: usize) {
    broker.on_output(at(millis), format!("{{\"id\":{id},\"pass\":true}}\n").as_bytes());
}

#[test]
fn questions_are_numbered_together_and_answered_in_any_order() {
    let mut broker = running();
    for (session, number) in [(7, 1), (9, 1), (7, 2)] {
        ask(&mut broker, 0, session, number);
    }
    assert_eq!(read(&mut broker), ["1: 7.1", "2: 9.1", "3: 7.2"]);
    // In pieces, with carriage returns and empty lines.
    let answers =
        b"{\"id\":3,\"drop\":true}\r\n\n{\"id\":1,\"pass\":true}\n{\"id\":2,\"pass\":true}\n";
    for piece in answers.chunks(5) {
        broker.on_output(at(1), piece);
    }
    assert_eq!(actions(&mut broker), ["7.2 Drop", "7.1 Pass", "9.1 Pass"]);
    assert_eq!((broker.poll_timeout(), broker.outstanding()), (None, 0));
}

#[test]
fn what_became_of_questions_is_counted() {
    let mut broker = running();
    for number in 1..=6 {
        ask(&mut broker, 0, 1, number);
    }
    for line in [
        "{\"id\":1,\"pass\":true}",
        "{\"id\":2,\"drop\":true}",
        "{\"id\":3,\"set\":{\"message\":\"x\"}}",
        "{\"id\":4,\"send\":[{\"to\":\"client\",\"hex\":\"0102\"}]}",
    ] {
        broker.on_output(at(1), format!("{line}\n").as_bytes());
    }
    broker.on_end(at(2), "has ended".to_owned());
    ask(&mut broker, 3, 1, 7);
    let counts = BrokerCounts { passed: 2, changed: 1, dropped: 1, sent: 1, undecided: 3 };
    assert_eq!(broker.counts(), counts);
}

#[test]
fn what_is_asked_before_the_program_runs_is_written_once_it_does() {
    let mut broker = Broker::new(Duration::from_secs(1));
    ask(&mut broker, 0, 1, 1);
    assert_eq!(read(&mut broker), [""; 0]);
    broker.on_started(at(5));
    assert_eq!(read(&mut broker), ["1: 1.1"]);
}

#[test]
fn a_program_that_takes_too_long_has_failed_and_is_started_again() {
    let mut broker = running();
    ask(&mut broker, 0, 1, 1);
    ask(&mut broker, 400, 2, 1);
    broker.on_errors(at(500), b"loading the model\nstill loading");
    assert_eq!(broker.poll_timeout(), Some(at(1000)));
    broker.on_timeout(at(999));
    assert_eq!(actions(&mut broker), ["says loading the model"]);
    broker.on_timeout(at(1000));
    assert_eq!(
        actions(&mut broker),
        [
            "kill",
            "1.1 the program took longer than 1 s for a packet",
            "2.1 the program took longer than 1 s for a packet",
            "took longer than 1 s for a packet, `still loading`; 2 undecided; again in 500 ms",
        ]
    );
    // Until it runs again, nobody waits for it.
    ask(&mut broker, 1200, 3, 1);
    let down = "3.1 the program has failed and is not running again yet";
    assert_eq!(actions(&mut broker), [down]);
    assert_eq!(read(&mut broker), [""; 0]);
    assert_eq!(broker.poll_timeout(), Some(at(1500)));
    broker.on_timeout(at(1500));
    assert_eq!(actions(&mut broker), ["start"]);
    broker.on_started(at(1501));
    ask(&mut broker, 1600, 3, 2);
    assert_eq!(read(&mut broker), ["3: 3.2"], "ids go on: old answers are not new ones");
    broker.on_output(at(1601), b"{\"id\":3,\"pass\":true}\n");
    assert_eq!(actions(&mut broker), ["3.2 Pass"]);
}

#[test]
fn everything_but_answers_is_a_fault() {
    let asked = "{\"id\":1,\"pass\":true}\n";
    for (output, fault) in [
        (
            "hello\n",
            "wrote a line that is not an answer: expected value at line 1 column 1: `hello`",
        ),
        ("{\"id\":3,\"pass\":true}\n", "answered 3, which was not asked"),
        ("{\"id\":0,\"pass\":true}\n", "answered 0, which was not asked"),
        (&[asked, asked].concat(), "answered 1 twice"),
    ] {
        let mut broker = running();
        for number in [1, 2] {
            ask(&mut broker, 0, 5, number);
        }
        // What follows the fault has no effect.
        broker.on_output(at(1), format!("{output}{{\"id\":2,\"pass\":true}}\n").as_bytes());
        let all = actions(&mut broker);
        let report = all.last().unwrap();
        assert!(report.starts_with(fault), "{output}: {report}");
        assert!(all.contains(&"kill".to_owned()));
        assert_eq!(all.iter().filter(|it| it.starts_with("5.")).count(), 2, "one answer each");
        assert!(all.contains(&format!("5.2 the program {fault}")), "{all:?}");
        broker.on_output(at(2), b"{\"id\":2,\"pass\":true}\n");
        broker.on_end(at(2), "killed".to_owned());
        assert_eq!(actions(&mut broker), [""; 0], "it is gone");
    }
}

#[test]
fn a_line_is_bounded_and_a_long_answer_is_not_an_endless_line() {
    let mut broker = running();
    ask(&mut broker, 0, 1, 1);
    let long = format!("{{\"id\":1,\"set\":{{\"a\":\"{}\"}}}}\n", "x".repeat(8 << 20));
    broker.on_output(at(1), long.as_bytes());
    assert_eq!(broker.outstanding(), 0);
    assert_eq!(std::iter::from_fn(|| broker.poll_action()).count(), 1);
    ask(&mut broker, 2, 1, 2);
    let piece = vec![b'y'; 1 << 20];
    let pieces = (0..100).take_while(|_| {
        broker.on_output(at(3), &piece);
        broker.outstanding() > 0
    });
    assert_eq!(pieces.count(), 32);
    let said = actions(&mut broker);
    assert!(said.last().unwrap().starts_with("wrote 33554432 bytes without a line feed"));
    // A long line that is wrong is shown in part.
    let mut broker = running();
    broker.on_output(at(1), format!("{}\n", "z".repeat(1000)).as_bytes());
    assert!(actions(&mut broker)[1].contains(&format!("`{}..`", "z".repeat(100))));
}

#[test]
fn what_waits_for_a_program_that_reads_nothing_is_bounded() {
    let mut broker = running();
    // Questions of a megabyte: one is written, whatever its size.
    for number in 1..=100 {
        broker.ask(at(0), 1, question(1, number, 1 << 20));
    }
    let waiting = broker.pending().len();
    assert!((1 << 20..2 << 20).contains(&waiting), "{waiting}");
    broker.on_timeout(at(1000));
    let all = actions(&mut broker);
    assert_eq!(all.iter().filter(|it| it.starts_with("1.")).count(), 100);
    let report = "took longer than 1 s for a packet; 100 undecided; again in 500 ms";
    assert_eq!(all.last().unwrap(), report);
    assert_eq!(broker.pending().len(), 0);
}

#[test]
fn sessions_ask_in_turns() {
    let mut broker = running();
    for number in 1..=1000 {
        for session in 1..=10 {
            ask(&mut broker, 0, session, number);
        }
    }
    assert_eq!(read(&mut broker).len(), 64, "the program has few at once");
    ask(&mut broker, 1, 99, 1);
    ask(&mut broker, 1, 99, 2);
    let mut sent = Vec::new();
    for id in 1..=30 {
        answer(&mut broker, 2, id);
        sent.extend(read(&mut broker));
    }
    let good: Vec<_> = (0..30).filter(|place| sent[*place].contains(" 99.")).collect();
    assert_eq!(good, [10, 21], "one of each other session at most: {sent:?}");
    broker.close(1);
    broker.close(99);
    (31..=50).for_each(|id| answer(&mut broker, 3, id));
    let rest = read(&mut broker);
    assert!(rest.len() == 20 && rest.iter().all(|it| !it.contains(" 1.")), "{rest:?}");
}

/// It takes nearly its time for each packet, and is asked far more than it can answer.
#[test]
fn a_program_is_judged_by_what_it_does_and_not_by_how_much_it_is_asked() {
    let mut broker = running();
    for number in 1..=100_000 {
        ask(&mut broker, 0, number % 7, number);
    }
    for round in 1..=1000 {
        let now = round as u64 * 900;
        assert_eq!(broker.poll_timeout(), Some(at(now + 100)));
        broker.on_timeout(at(now));
        answer(&mut broker, now, round);
        read(&mut broker);
    }
    let all = actions(&mut broker);
    assert!(all.len() == 1000 && all.iter().all(|it| it.ends_with(" Pass")), "{all:?}");
    // Those that it answers do not hide the one that it leaves out.
    for id in 1002..=1060 {
        answer(&mut broker, 900_500, id);
    }
    broker.on_timeout(at(901_000));
    let said = actions(&mut broker).pop().unwrap();
    assert!(said.starts_with("took longer than 1 s for a packet; 98941 undecided"), "{said}");
}

#[test]
fn a_program_that_ends_or_cannot_be_started_is_tried_again_after_longer_pauses() {
    let mut broker = running();
    ask(&mut broker, 0, 1, 1);
    broker.on_errors(at(1), b"Traceback\nValueError: 7\n");
    actions(&mut broker);
    broker.on_end(at(2), "exit status: 1".to_owned());
    assert_eq!(
        actions(&mut broker)[1..],
        [
            "1.1 the program has ended (exit status: 1)",
            "has ended (exit status: 1), `ValueError: 7`; 1 undecided; again in 500 ms",
        ]
    );
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let due = broker.poll_timeout().unwrap();
        broker.on_timeout(due);
        assert_eq!(actions(&mut broker), ["start"]);
        broker.on_not_started(due, "not found".to_owned());
        let said = actions(&mut broker).pop().unwrap();
        assert!(said.starts_with("cannot be started: not found; 0 undecided"), "{said}");
        pauses.push(broker.poll_timeout().unwrap().since(due).as_secs());
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30]);
    // It works for a minute: the pauses begin anew.
    let due = broker.poll_timeout().unwrap();
    broker.on_timeout(due);
    broker.on_started(due);
    let end = due.plus(Duration::from_secs(60));
    broker.on_end(end, "exit status: 0".to_owned());
    assert_eq!(broker.poll_timeout().unwrap().since(end), Duration::from_millis(500));
}

#[test]
fn the_reasons_for_no_answer_are_sentences() {
    for (reason, wanted) in [
        (Unruled::Ended, "the session ended"),
        (
            Unruled::Unfit(RulingError::SendDrives),
            "its answer cannot be carried out: a packet to send would change the connection",
        ),
    ] {
        assert_eq!(reason.to_string(), wanted);
    }
}
