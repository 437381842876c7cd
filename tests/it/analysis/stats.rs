use mitmcraft_engine::analysis::{Sort, Stats};
use mitmcraft_engine::capture::{Entry, Sink};
use serde_json::json;

use crate::support::samples::*;

fn counted(entries: &[Entry]) -> Stats {
    let mut stats = Stats::default();
    for entry in entries {
        stats.write(entry).unwrap();
    }
    stats
}

fn table(stats: &Stats, sort: Sort, top: usize) -> String {
    let mut table = String::new();
    stats.report(sort).top(top).write_table(&mut table);
    table
}

fn stage() -> Stage {
    Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565")
}

#[test]
fn the_table_of_a_real_session() {
    let stats = counted(&repository_capture("session-1.8.jsonl"));
    insta::assert_snapshot!(table(&stats, Sort::Bytes, 12));
}

#[test]
fn the_table_of_a_session_with_everything() {
    let entries = everything(1, "127.0.0.1:51234", "192.0.2.7:25565");
    insta::assert_snapshot!(table(&counted(&entries), Sort::Packets, usize::MAX));
}

#[test]
fn entities_and_blocks_are_counted_by_name() {
    let mut stage = stage();
    let change = |y: i64, block: i64| json!({"horizontalPos": 0, "y": y, "blockId": block << 4});
    let records = json!([change(1, 1), change(2, 1), change(3, 7)]);
    let fields = json!({"chunkX": 0, "chunkZ": 0, "records": records});
    stage.packet(Clientbound, Play, "multi_block_change", fields);
    let at = json!({"x": 1, "y": 2, "z": 3});
    stage.packet(Clientbound, Play, "block_change", json!({"location": at, "type": 7 << 4 | 3}));
    stage.packet(Clientbound, Play, "block_change", json!({"location": at, "type": 7 << 4}));
    for kind in [10, 60, 60] {
        let fields = json!({
            "entityId": 1, "type": kind, "x": 0, "y": 0, "z": 0, "pitch": 0, "yaw": 0,
            "objectData": 0
        });
        stage.packet(Clientbound, Play, "spawn_entity", fields);
    }
    let stats = counted(&stage.entries);
    assert_eq!(stats.named.entities(), [("arrow", 2), ("minecart", 1)]);
    assert_eq!(stats.named.blocks(), [("bedrock", 3), ("stone", 2)]);
    let json = stats.report(Sort::Bytes).json();
    assert_eq!(
        json["blocks"],
        json!([{"name": "bedrock", "count": 3}, {"name": "stone", "count": 2}])
    );
    let table = table(&stats, Sort::Bytes, 1);
    assert!(
        table
            .contains("\n    count  entity that appeared\n        2  arrow\n        1  (1 more)\n"),
        "{table}"
    );
}

#[test]
fn an_empty_capture_has_no_tables() {
    assert_eq!(table(&Stats::default(), Sort::Bytes, 1), "0 sessions, 0 packets\n");
    let json = Stats::default().report(Sort::Bytes).json();
    assert_eq!((&json["begin"], &json["total"]["packets"]), (&json!(null), &json!(0)));
    assert!(Stats::default().report(Sort::Bytes).svg().ends_with("</svg>\n"));
}

#[test]
fn json_and_the_table_have_the_same_numbers() {
    let stats = counted(&repository_capture("session-1.8-encrypted.pcapng"));
    let json = stats.report(Sort::Packets).json();
    assert_eq!(json["total"]["packets"], 465);
    let packets = json["packets"].as_array().unwrap();
    let sum: u64 = packets.iter().map(|row| row["wire"].as_u64().unwrap()).sum();
    assert_eq!(json["total"]["wire"], sum);
    assert_eq!(packets[0]["packets"], 200);
    let channels = json["channels"].as_array().unwrap();
    assert!(channels.iter().any(|row| row["channel"] == "MC|Brand" && row["packets"] == 1));
    let trips = &json["round_trips"];
    assert_eq!((&trips[0]["name"], &trips[0]["answered"]), (&json!("keep-alive"), &json!(1)));
    assert_eq!(json["sessions"][0]["player"], "Tester");
    assert_eq!(json["sessions"][0]["keep_alives"]["answered"], 1);
    for (place, direction) in json["directions"].as_array().unwrap().iter().enumerate() {
        let bins = json["timeline"]["directions"][place]["packets"].as_array().unwrap();
        let sum: u64 = bins.iter().map(|bin| bin.as_u64().unwrap()).sum();
        assert_eq!(direction["packets"], sum);
    }
}

#[test]
fn answers_are_matched_by_number_and_session() {
    let mut first = stage();
    let alive = |id: i32| json!({ "keepAliveId": id });
    first.packet(Clientbound, Play, "keep_alive", alive(7));
    first.packet(Clientbound, Play, "keep_alive", alive(8));
    first.packet(Serverbound, Play, "keep_alive", alive(8));
    first.packet(Serverbound, Play, "keep_alive", alive(7));
    first.packet(Serverbound, Play, "keep_alive", alive(9));
    first.packet(Clientbound, Play, "keep_alive", alive(10));
    let mut second = Stage::new(2, "127.0.0.1:51235", "192.0.2.7:25565");
    second.packet(Serverbound, Play, "keep_alive", alive(10));
    let stats = counted(&[first.entries, second.entries].concat());
    let trips: Vec<_> = stats.round_trips.iter().collect();
    let [(name, asked, trip)] = trips[..] else { panic!("{trips:?}") };
    assert_eq!((name, asked), ("keep-alive", Clientbound));
    assert_eq!((trip.answered, trip.unanswered), (2, 1));
    assert_eq!(trip.shortest.as_nanos(), 1_234_567);
    assert_eq!(trip.longest.as_nanos(), 3 * 1_234_567);
    assert_eq!(trip.mean().unwrap().as_nanos(), 2 * 1_234_567);
    let of_sessions: Vec<u64> = stats.sessions().map(|(_, it)| it.keep_alives.answered).collect();
    assert_eq!(of_sessions, [2, 0]);
}

#[test]
fn a_server_transaction_answers_a_click_or_is_a_request() {
    let mut stage = stage();
    let transaction = |action: i32| json!({ "windowId": 0, "action": action, "accepted": true });
    let item = json!({ "blockId": -1 });
    let click = json!({
        "windowId": 0, "slot": 1, "mouseButton": 0, "action": 5, "mode": 0, "item": item
    });
    stage.packet(Serverbound, Play, "window_click", click);
    stage.packet(Clientbound, Play, "transaction", transaction(5));
    stage.packet(Clientbound, Play, "transaction", transaction(-3));
    stage.packet(Serverbound, Play, "transaction", transaction(-3));
    let stats = counted(&stage.entries);
    let trips = stats.round_trips.iter().map(|(name, asked, it)| (name, asked, it.answered));
    let expected = [("transaction", Clientbound, 1), ("window click", Serverbound, 1)];
    assert_eq!(trips.collect::<Vec<_>>(), expected);
}

#[test]
fn undecodable_packets_are_counted_by_reason_with_the_first_one_named() {
    let mut stage = stage();
    stage.body(Clientbound, Play, &[0x00, 5]);
    for _ in 0..3 {
        stage.body(Clientbound, Play, &[0x00, 5, 0xff]);
    }
    stage.body(Serverbound, Play, &[0x7f]);
    let stats = counted(&stage.entries);
    assert_eq!(stats.undecoded.rows().iter().map(|(_, count, _)| count).sum::<u64>(), 4);
    let rows = stats.undecoded.rows();
    let (fault, count, first) = rows[0];
    assert_eq!((&*fault.packet, count, first), ("keep_alive", 3, (1, 2)));
    assert_eq!(rows[1].0.packet, "(unknown)");
}

#[test]
fn a_timeline_is_bounded_whatever_its_length_and_order() {
    let mut stage = stage();
    for place in 0..5000u64 {
        // Every second minute lies before the capture's first.
        let away = (place / 2) * 60_000_000_000;
        stage.at.0 = if place % 2 == 0 { OPENED + away } else { OPENED - away };
        stage.body(Clientbound, Play, &[0x00, 5]);
    }
    let stats = counted(&stage.entries);
    let timeline = &stats.timeline;
    assert!((240..=480).contains(&timeline.len()), "{}", timeline.len());
    let sum = timeline.sum(Clientbound);
    assert_eq!(sum.bins.len(), timeline.len());
    assert_eq!((sum.total().packets, sum.total().wire), (5000, 15_000));
    // A rate would be 0 bytes per second here.
    let shown = table(&stats, Sort::Name, 1);
    let columns = shown.split("\nbytes on the wire, ").nth(1).unwrap();
    assert!(columns.contains("per column\n") && !columns.contains("/s\n"), "{columns}");
    assert!(!columns.contains("up to 0 B"), "{columns}");
}

#[test]
fn memory_for_names_chosen_by_peers_is_bounded() {
    let mut stage = stage();
    for place in 0..2000 {
        let fields = json!({ "channel": format!("plugin:{place}"), "data": "AAAA" });
        stage.packet(Serverbound, Play, "custom_payload", fields);
    }
    let stats = counted(&stage.entries);
    let channels: Vec<_> = stats.channels.iter().collect();
    assert_eq!(channels.len(), 513);
    assert_eq!(channels.iter().map(|(_, _, tally)| tally.packets).sum::<u64>(), 2000);
}

#[test]
fn sessions_of_two_captures_are_counted_separately() {
    let mut stats = Stats::default();
    for _ in 0..2 {
        stats.begin();
        for entry in repository_capture("session-1.8.jsonl") {
            stats.write(&entry).unwrap();
        }
    }
    assert_eq!(stats.sessions().count(), 2);
    assert_eq!(stats.totals().total().packets, 2 * 463);
    assert!(table(&stats, Sort::Name, 1).starts_with("2 sessions, 926 packets"));
}

#[test]
fn a_chart_of_one_packet_says_so() {
    let all = repository_capture("session-1.8.jsonl");
    let packets = all.iter().filter(|entry| matches!(entry, Entry::Packet(_)));
    let one: Vec<Entry> = packets.take(1).cloned().collect();
    let svg = counted(&one).report(Sort::Bytes).svg();
    assert!(svg.contains(">1 packet, "), "{svg}");
}

#[test]
fn the_chart_is_well_formed_and_names_its_series() {
    let stats = counted(&repository_capture("session-1.8.jsonl"));
    let svg = stats.report(Sort::Bytes).svg();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    for text in ["bytes on the wire per second, clientbound", "packets per second, serverbound"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.contains("<title>rel_entity_move</title>"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}
