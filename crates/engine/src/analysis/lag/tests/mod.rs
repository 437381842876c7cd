//! Sessions with one planted cause each, and healthy ones, judged.

mod world;

use std::collections::HashMap;
use std::sync::Arc;

use world::{CLIENT_PROXY, PROXY_CLIENT, PROXY_SERVER, Plan, Random, SERVER_PROXY, moment};

use super::sink::MAX_SESSIONS;
use super::{Lag, LagPlace, LagReport, ShareKind};
use crate::analysis::RoundTrips;
use crate::capture::{Entry, Record, Sink as _};
use crate::explain::{ExplainReport, Explainer};
use crate::lint::tests::context;
use crate::lint::tests::planted::body::body;
use crate::report::Report as _;
use crate::text::LineOptions;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet};
use mitmcraft_protocol::schema::{Direction, State};

/// Versions with other packets for what is measured.
const VERSIONS: [i32; 9] = [47, 107, 340, 754, 759, 765, 768, 770, 777];

fn judged(entries: &[Entry]) -> LagReport {
    let mut lag = Lag::default();
    for entry in entries {
        lag.write(entry).unwrap();
    }
    lag.into_report()
}

/// A session with a cause of lag, the place of that, and the time.
fn planted(number: u64) -> (&'static str, Plan, LagPlace, (f64, f64)) {
    let version = VERSIONS[(number * 5 % 9) as usize];
    let mut plan = Plan::healthy(version, 100 + number);
    let mut random = Random::new(number + 7);
    let (from, to) = (60_000.0, random.range(100_000.0, 130_000.0));
    let variant = number / 6;
    let (name, place) = match number % 6 {
        0 => {
            match variant % 3 {
                0 => plan.stalls = vec![(from, random.range(4000.0, 12_000.0))],
                1 => {
                    let stalls = (0..8).map(|it| from + 7000.0 * f64::from(it));
                    plan.stalls = stalls.map(|at| (at, random.range(2200.0, 3500.0))).collect();
                }
                _ => plan.slow_server = Some((from, to, random.range(70.0, 120.0))),
            }
            ("server stalls", LagPlace::Server)
        }
        1 => {
            let more = random.range(250.0, 700.0);
            let (links, place) = legs(variant);
            for link in links {
                plan.links[link].worse = Some((from, to, more, 0.0));
            }
            ("delay", place)
        }
        2 => {
            let jitter = random.range(500.0, 1200.0);
            let (links, place) = legs(variant + 1);
            for link in links {
                plan.links[link].worse = Some((from, to, 0.0, jitter));
            }
            ("jitter", place)
        }
        3 => {
            if variant.is_multiple_of(3) {
                plan.freezes = vec![(from, random.range(4000.0, 9000.0))];
            } else {
                plan.slow_client = Some((from, to, random.range(180.0, 450.0)));
                plan.one_thread = variant % 3 == 1;
            }
            ("slow reader", LagPlace::Client)
        }
        4 => {
            plan.chunks = (random.range(3.0, 6.0), 6000);
            let speed = plan.chunks.0 * 6.0 * random.range(0.6, 0.9);
            let (link, place) = match variant % 2 {
                0 => (PROXY_CLIENT, LagPlace::ClientNetwork),
                _ => (SERVER_PROXY, LagPlace::ServerNetwork),
            };
            plan.links[link].slow = Some((from, to, speed));
            // The connection gets through what has waited before the end.
            plan.length = 240_000.0;
            ("slow pipe", place)
        }
        _ => {
            let of_client = variant % 3 == 2;
            let link = if of_client { CLIENT_PROXY } else { PROXY_CLIENT };
            let speed = random.range(100.0, 400.0);
            plan.links[link].speed = speed;
            // A little more than the connection takes.
            let bytes = speed * 50.0 * random.range(1.05, 1.3);
            plan.flood = Some((from, from + 30_000.0, bytes as usize, of_client));
            plan.length = 240_000.0;
            ("flooding channel", if of_client { LagPlace::Client } else { LagPlace::Server })
        }
    };
    (name, plan, place, (from, to))
}

/// The links of a leg, and the place of what happens on it.
fn legs(variant: u64) -> ([usize; 2], LagPlace) {
    match variant % 2 {
        0 => ([PROXY_CLIENT, CLIENT_PROXY], LagPlace::ClientNetwork),
        _ => ([SERVER_PROXY, PROXY_SERVER], LagPlace::ServerNetwork),
    }
}

#[test]
fn lag_is_named_by_where_it_was_planted_and_never_by_another_place() {
    let (mut right, mut wrong, mut untold) = (0, Vec::new(), Vec::new());
    for number in 0..40 {
        let (name, plan, place, (from, to)) = planted(number);
        let version = plan.version;
        let report = judged(&plan.play());
        let mut text = String::new();
        report.write_text(&mut text);
        let about = format!("{number}: {name} in {version}, {}:\n{text}", place.name());
        let is_named = |it: &super::LagFinding| {
            it.place == place && it.begin < moment(to) && it.end > moment(from)
        };
        if report.findings().any(|it| it.place != place && it.place != LagPlace::Unknown)
            || report.findings().any(|it| it.end < moment(from))
        {
            wrong.push(about);
        } else if report.findings().any(is_named) {
            right += 1;
        } else {
            untold.push(about);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right >= 36, "{right}\n{}", untold.join("\n"));
}

/// A session with a cause that is hard to tell, and the places that may be named.
fn hard(number: u64) -> (Plan, Vec<LagPlace>) {
    let mut plan = Plan::healthy(VERSIONS[(number * 7 % 9) as usize], 900 + number);
    let mut random = Random::new(number + 70);
    let from = 60_000.0;
    let client = [PROXY_CLIENT, CLIENT_PROXY];
    let server = [SERVER_PROXY, PROXY_SERVER];
    let down = Some((from, random.range(1500.0, 12_000.0)));
    let more = random.range(800.0, 2500.0);
    let lasting =
        |to_the_end| if to_the_end { (150_000.0, f64::INFINITY) } else { (from, 100_000.0) };
    let places = match number % 13 {
        // A server that catches up with all that it has missed.
        0 => {
            let stalls = (0..4).map(|it| from + 15_000.0 * f64::from(it));
            plan.stalls = stalls.map(|at| (at, random.range(900.0, 1900.0))).collect();
            vec![LagPlace::Server]
        }
        // The same, while the client shows the debug charts.
        1 => {
            (plan.version, plan.debug_pings) = (770, true);
            plan.stalls = vec![(from, 1700.0), (from + 20_000.0, 1300.0)];
            vec![LagPlace::Server]
        }
        // Long delays, also in the last half minute of the session.
        2 | 3 => {
            let (from, to) = lasting(number % 13 == 3);
            client.iter().for_each(|link| plan.links[*link].worse = Some((from, to, more, 0.0)));
            vec![LagPlace::ClientNetwork]
        }
        4 | 5 => {
            let (from, to) = lasting(number % 13 == 5);
            server.iter().for_each(|link| plan.links[*link].worse = Some((from, to, more, 0.0)));
            vec![LagPlace::ServerNetwork]
        }
        // Networks that are down for some time: one of them, or both, or the proxy's machine.
        6 => {
            client.iter().for_each(|link| plan.links[*link].down = down);
            vec![LagPlace::ClientNetwork]
        }
        7 => {
            server.iter().for_each(|link| plan.links[*link].down = down);
            vec![LagPlace::ServerNetwork]
        }
        8 => {
            plan.links.iter_mut().for_each(|link| link.down = down);
            Vec::new()
        }
        // A world in which nothing happens but a stall.
        9 => {
            (plan.walks, plan.entities, plan.chunks) = (false, 0, (0.0, 1));
            plan.stalls = vec![(from, random.range(2500.0, 9000.0))];
            vec![LagPlace::Server]
        }
        10 => {
            plan.slow_client = Some((from, 110_000.0, random.range(70.0, 160.0)));
            vec![LagPlace::Client]
        }
        11 => {
            plan.freezes = (0..3).map(|it| (from + 14_000.0 * f64::from(it), 2200.0)).collect();
            vec![LagPlace::Client]
        }
        // Two causes, one after the other.
        _ => {
            plan.stalls = vec![(from, 3000.0)];
            plan.links[PROXY_CLIENT].slow = Some((100_000.0, 130_000.0, plan.chunks.0 * 4.0));
            vec![LagPlace::Server, LagPlace::ClientNetwork]
        }
    };
    (plan, places)
}

#[test]
fn what_is_hard_to_tell_is_found_and_not_named_wrongly() {
    for number in 0..26 {
        let (plan, places) = hard(number);
        let version = plan.version;
        let report = judged(&plan.play());
        let mut text = String::new();
        report.write_text(&mut text);
        let is_wrong = |it: &super::LagFinding| {
            it.place != LagPlace::Unknown && !places.contains(&it.place)
                || it.end < moment(60_000.0)
        };
        assert!(!report.findings().any(is_wrong), "{number} in {version}:\n{text}");
        assert!(report.findings().next().is_some(), "{number} in {version}:\n{text}");
    }
}

#[test]
fn a_capture_without_some_packets_shows_no_lag_of_the_client() {
    for number in [0, 4, 6] {
        let mut entries = Plan::healthy(VERSIONS[number], 3).play();
        let is_kept = |entry: &Entry| entry.record().is_none_or(|it| it.packet.seq() % 400 < 150);
        entries.retain(is_kept);
        let report = judged(&entries);
        let mut text = String::new();
        report.write_text(&mut text);
        assert_eq!(report.findings().count(), 0, "{text}");
        assert!(text.contains("packets are missing from the capture"), "{text}");
        assert!(!text.contains("ticks per second") && !text.contains("silent for"), "{text}");
        let json = &report.json()["sessions"][0];
        assert!(json["server_silence"].is_null() && json["client"].is_null(), "{json}");
    }
}

#[test]
fn a_finding_has_its_packets_and_what_took_most_meanwhile() {
    let (_, plan, ..) = planted(5);
    let entries = plan.play();
    let report = judged(&entries);
    let finding = report.findings().next().unwrap();
    let first = |kind| {
        let share = finding.shares.iter().find(|it| it.kind == kind).unwrap();
        (&*share.name, share.direction)
    };
    let down = Some(Direction::Clientbound);
    assert_eq!(first(ShareKind::Player), ("#1", None));
    assert_eq!(first(ShareKind::Channel), ("shop:prices", down));
    assert_eq!(first(ShareKind::Packet), ("custom_payload", down));
    assert!(first(ShareKind::Chunk).0.ends_with(", 3"));
    let seqs = entries.iter().filter_map(Entry::record).map(|it| (it.packet.seq(), it.packet.at()));
    let seqs: HashMap<_, _> = seqs.collect();
    assert!(!finding.evidence.is_empty());
    for it in &finding.evidence {
        assert!(seqs[&it.seq].since(it.at).as_millis() < 1, "{it:?}");
    }
    let json = report.json();
    assert_eq!(json["lag"][0]["where"], "server");
    assert_eq!(json["lag"][0]["evidence"][0]["seq"], finding.evidence[0].seq);
    assert_eq!(
        json["sessions"][0]["server"]["lost"],
        report.measured().next().unwrap().server.lost
    );
}

/// A session without lag, but with what is easily taken for it.
fn healthy(number: u64) -> Plan {
    let version = VERSIONS[(number * 2 % 9) as usize];
    let mut plan = Plan::healthy(version, 500 + number);
    let hitches = (0..5).map(|it| (30_000.0 + 31_000.0 * f64::from(it), 300.0));
    match number % 10 {
        // A server that saves its world now and then.
        0 => plan.stalls = hitches.collect(),
        1 => plan.no_daylight = true,
        // Many chunks at the beginning.
        2 => (plan.join_chunks, plan.links[PROXY_CLIENT].speed) = (900, 400.0),
        // Nobody does anything.
        3 => {
            (plan.walks, plan.entities, plan.chunks, plan.length) = (false, 0, (0.0, 1), 600_000.0)
        }
        4 => {
            plan.version = 777 - (number as i32 % 3);
            plan.rate = Some((70_000.0, [10.0, 40.0][number as usize / 10], false));
        }
        5 => {
            plan.version = 765;
            plan.rate = Some((70_000.0, 20.0, true));
        }
        // Another world, with another age, which the client loads.
        6 => plan.respawn = Some(80_000.0),
        7 => plan.time_set = Some(90_500.0),
        // Far away, and not quite regular.
        8 => {
            for link in &mut plan.links {
                (link.delay, link.noise) = (120.0, 90.0);
            }
        }
        // A client with few frames per second, and a program that sends no move while its player stands.
        9 if number < 10 => plan.frame = 125.0,
        _ => (plan.version, plan.is_program) = (754, true),
    }
    plan
}

#[test]
fn healthy_sessions_have_no_lag() {
    for number in 0..20 {
        let plan = healthy(number);
        let version = plan.version;
        let report = judged(&plan.play());
        let mut text = String::new();
        report.write_text(&mut text);
        assert_eq!(report.findings().count(), 0, "{number} in {version}:\n{text}");
        assert_eq!(report.measured().count(), 1);
    }
}

/// Returns a keep-alive or its answer.
fn keep_alive(session: u64, seq: u64, at: f64, direction: Direction, number: i64) -> Entry {
    let context = Context { session, ..context(340) };
    let kind = context.protocol.named(State::Play, direction, "keep_alive").unwrap();
    let bytes = body().varint(kind.id()).i64(number).bytes;
    let content = Content::Frame(Frame::from_body(bytes.into()));
    let (context, state) = (Arc::new(context), State::Play);
    Entry::Packet(Record::passed(Packet::new(context, seq, moment(at), direction, state, content)))
}

#[test]
fn time_that_goes_back_stands_still() {
    let (down, up) = (Direction::Clientbound, Direction::Serverbound);
    let entries = [
        keep_alive(1, 1, 10_001.0, down, 7),
        keep_alive(1, 2, 10_000.0, up, 7),
        keep_alive(1, 3, 0.0, down, 8),
        keep_alive(1, 4, 10_003.0, up, 8),
    ];
    let report = judged(&entries);
    assert_eq!(report.findings().count(), 0);
    assert_eq!(report.json()["sessions"][0]["answers"][0]["longest"], 0.002);
    // Packets that are recorded in another order than they came in.
    let mut plan = Plan::healthy(770, 3);
    (plan.pings, plan.debug_pings) = (true, true);
    let mut entries = plan.play();
    let records = entries.len() - 1;
    entries[..records].chunks_mut(7).for_each(<[Entry]>::reverse);
    assert!(judged(&entries).measured().all(|it| it.server_silence >= 0.0));
}

#[test]
fn sessions_beyond_those_that_are_followed_are_counted_and_not_judged() {
    let sessions = MAX_SESSIONS as u64 + 10;
    let mut entries = Vec::new();
    for second in 0..20 {
        let at = 1000.0 * f64::from(second);
        let seq = 1 + u64::try_from(second).unwrap();
        let one = |session| keep_alive(session, seq, at, Direction::Clientbound, second.into());
        entries.extend((1..=sessions).map(one));
    }
    let json = judged(&entries).json();
    let count = |name: &str| json[name].as_u64().unwrap();
    let followed = json["sessions"].as_array().unwrap().len() as u64 + count("sessions_left_out");
    assert_eq!((followed, count("sessions_not_followed")), (MAX_SESSIONS as u64, 10));
    // Those that are silent give way to another one.
    entries.push(keep_alive(1000, 1, 80_000.0, Direction::Clientbound, 1));
    let report = judged(&entries);
    let mut text = String::new();
    report.write_text(&mut text);
    assert!(text.contains("\n10 sessions not followed: "), "{text}");
    assert_eq!(report.json()["sessions_not_followed"], 10);
}

#[test]
fn a_connection_that_is_slow_while_a_world_loads_is_no_lag() {
    for (version, seed) in VERSIONS.into_iter().zip(40..) {
        let mut plan = Plan::healthy(version, seed);
        (plan.join_chunks, plan.chunks.0) = (300, 3.0);
        plan.links[SERVER_PROXY].slow = Some((2000.0, 12_000.0, 12.0));
        let report = judged(&plan.play());
        let mut text = String::new();
        report.write_text(&mut text);
        assert_eq!(report.findings().count(), 0, "{version}:\n{text}");
    }
}

#[test]
fn what_happens_while_a_half_hour_ends_is_found_with_its_packets() {
    let (at, length) = (1_790_000.0, 20_000.0);
    for of_client in [false, true] {
        let mut plan = Plan::healthy(770, 12);
        (plan.entities, plan.chunks, plan.length) = (1, (1.0, 50), 1_900_000.0);
        (plan.one_thread, plan.pings) = (of_client, false);
        *(if of_client { &mut plan.freezes } else { &mut plan.stalls }) = vec![(at, length)];
        let entries = plan.play();
        let report = judged(&entries);
        let mut text = String::new();
        report.write_text(&mut text);
        let place = if of_client { LagPlace::Client } else { LagPlace::Server };
        let finding = report.findings().next().unwrap_or_else(|| panic!("{text}"));
        assert_eq!((finding.place, report.findings().count()), (place, 1), "{text}");
        assert!(
            finding.begin > moment(at - 2000.0) && finding.begin < moment(at + 7000.0),
            "{text}"
        );
        assert!(finding.end >= moment(at + length), "{text}");
        // Whole seconds are counted.
        let (begin, end) = (finding.begin.0, finding.end.0 + 1_000_000_000);
        let times = entries.iter().filter_map(Entry::record).map(|it| it.packet.at().0);
        let most = times.filter(|at| (begin - 1_000_000_000..=end).contains(at)).count() as u64;
        let times = entries.iter().filter_map(Entry::record).map(|it| it.packet.at().0);
        let least = times.filter(|at| (begin..=finding.end.0).contains(at)).count() as u64;
        assert!((least..=most).contains(&finding.total.0), "{least} to {most}\n{text}");
        let all = RoundTrips::default();
        let all = entries.iter().filter_map(Entry::record).fold(all, |mut all, record| {
            all.count(record);
            all
        });
        let answered = |name: &str| all.iter().find(|it| it.0 == name).unwrap().2.answered;
        let json = report.json();
        let measured = &json["sessions"][0]["answers"][0];
        assert_eq!(measured["name"], "keep-alive");
        assert_eq!(measured["answered"], answered("keep-alive"));
        let seconds = json["sessions"][0]["seconds"].as_f64().unwrap();
        assert!((1895.0..1900.1).contains(&seconds), "{seconds}");
    }
}

#[test]
fn the_page_says_which_capture_has_a_session_and_how_many_are_left_out() {
    let mut lag = Lag::default();
    lag.begin("logs/one.jsonl");
    for second in 0..3 {
        let at = 1000.0 * f64::from(second);
        let seq = 1 + u64::try_from(second).unwrap();
        for session in 1..=30 {
            let direction = Direction::Clientbound;
            lag.write(&keep_alive(session, seq, at, direction, second.into())).unwrap();
        }
    }
    let mut text = String::new();
    lag.into_report().write_text(&mut text);
    assert!(text.contains("#1, 2.0 s in the game\n  in logs/one.jsonl\n"), "{text}");
    assert!(text.ends_with("\n10 sessions more; as JSON, the first 200 are complete.\n"), "{text}");
}

/// Explains a session of which the first `recorded` milliseconds are in the capture. If it `stalls`, its server stands
/// still for 8 s after one minute.
fn explained(recorded: f64, stalls: bool) -> ExplainReport {
    let mut plan = Plan::healthy(770, 12);
    if stalls {
        plan.stalls = vec![(60_000.0, 8000.0)];
    }
    let mut explainer = Explainer::default();
    let at = |entry: &Entry| match entry {
        Entry::Packet(record) => record.packet.at(),
        Entry::Event(event) => event.at,
    };
    let entries = plan.play();
    entries
        .iter()
        .filter(|it| at(it) <= moment(recorded))
        .for_each(|entry| explainer.write(entry).unwrap());
    explainer.into_report()
}

#[test]
fn lag_before_the_end_of_a_session_is_part_of_its_explanation() {
    let report = explained(85_000.0, true);
    let lag = report.sessions[0].lag.as_ref().unwrap();
    assert_eq!(lag.place, LagPlace::Server);
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    let line = format!("\n  lag: {}: server, ", lag.period());
    assert!(text.contains(&line) && text.contains(&lag.reason), "{text}");
    assert_eq!(report.json()["sessions"][0]["lag"]["where"], "server");
    // Not if it was over long before, nor if there was none.
    for report in [explained(130_000.0, true), explained(85_000.0, false)] {
        assert!(report.sessions[0].lag.is_none());
        assert!(report.json()["sessions"][0]["lag"].is_null());
    }
}
