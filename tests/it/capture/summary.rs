use mitmcraft_engine::analysis::{CountingSink, PacketCounts};
use mitmcraft_engine::capture::{Outcome, Sink};
use mitmcraft_protocol::packet::{Content, Origin, RawReason};
use serde_json::json;

use crate::support::samples::*;

fn stage(session: u64) -> Stage {
    Stage::new(session, "127.0.0.1:51234", "192.0.2.7:25565")
}

fn counted(stages: &[Stage]) -> CountingSink {
    let mut sink = CountingSink::default();
    for entry in stages.iter().flat_map(|stage| &stage.entries) {
        sink.write(entry).unwrap();
    }
    sink.finish().unwrap();
    sink
}

#[test]
fn counts_packets_by_kind_and_bytes_before_and_after_compression() {
    let mut first = stage(1);
    let body = encode(Serverbound, Play, "chat", &json!({"message": "a".repeat(98)}));
    let frame = compressed(&body, 64);
    let wire = frame.wire().len();
    first.content(Serverbound, Play, Content::Frame(frame));
    first.body(Serverbound, Play, &[0x01, 1, b'x']).outcome = Outcome::Drop;
    first.body(Clientbound, Play, &[0x00, 5]);
    first.rewrite(Clientbound, Play, &[0x00, 5], &[0x00, 0x80, 1]);
    let made = first.body(Clientbound, Play, &[0x00, 6]);
    made.outcome = Outcome::Send;
    made.packet.set_origin(Origin::Proxy);
    for id in 0x70..0x7f {
        first.body(Clientbound, Play, &[id]);
    }
    first.raw(Serverbound, b"GET", RawReason::NotMinecraft);
    let mut second = stage(2);
    second.body(Clientbound, Play, &[0x00, 5]);
    second.close("over");

    let sink = counted(&[first, second]);
    let mut table = String::new();
    sink.overall().write_table(&mut table, usize::MAX);
    assert_eq!(
        table,
        format!(
            "  packets        bytes  on the wire  packet\n        \
                2        103 B  {:>11}  → play chat (1 dropped)\n       \
               15         15 B         30 B  ← play (unknown)\n        \
                3          6 B          9 B  ← play keep_alive (1 rewritten, 1 made)\n        \
                1          3 B          3 B  → play (no packet)\n       \
               21        127 B  {:>11}  total (1 dropped, 1 rewritten, 1 made)\n",
            format!("{} B", wire + 4),
            format!("{} B", wire + 4 + 30 + 9 + 3),
        )
    );
    let sessions: Vec<_> = sink.sessions().collect();
    assert_eq!(sessions.len(), 2);
    assert!(sessions[0].closed.is_none());
    let (at, summary) = sessions[1].closed.as_ref().unwrap();
    assert_eq!(summary.reason, "over");
    assert!(*at > sessions[1].context.opened);
    let counts = PacketCounts {
        packets: 1,
        bytes: 2,
        wire: 3,
        smallest: 2,
        largest: 2,
        ..PacketCounts::default()
    };
    assert_eq!(sessions[1].totals.total(), counts);
}

#[test]
fn a_limited_number_of_sessions_is_counted_separately() {
    let mut sink = CountingSink::default();
    for session in 1..=2000 {
        let mut stage = stage(session);
        stage.body(Clientbound, Play, &[0x00, 5]);
        if session > 1500 {
            stage.close("over");
        }
        for entry in &stage.entries {
            sink.write(entry).unwrap();
        }
    }
    let kept: Vec<u64> = sink.sessions().map(|session| session.context.session).collect();
    assert!(kept.len() <= 1024, "{}", kept.len());
    assert_eq!(kept.last(), Some(&2000));
    assert_eq!(sink.overall().total().packets, 2000);
}
