//! A replayed client with servers that deviate from the recording.

use super::pair::{Pair, client, client_options, game, reason, server, server_options};
use super::*;
use crate::analysis::{Difference, Ignore};
use crate::capture::Sink as _;
use crate::lang::Expr;
use crate::link::Engine;
use crate::regress::{Deviation, Normalisation, Regression};
use crate::replay::step::Step;
use crate::replay::{
    ClientOptions, ClientReplay, Pace, PlayOptions, Point, ServerOptions, ServerReplay, Tally,
};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, Name, Protocol, Role, State, Value};

/// Connects the client of the recording to a server that plays the recording after `change`.
fn against(
    change: impl FnOnce(&mut Vec<Step>),
    options: impl FnOnce(&mut ClientOptions),
    tally: &Tally,
) -> Pair<ServerReplay, ClientReplay> {
    let recorded = recording("session-1.8.jsonl");
    let mut other = (*recorded).clone();
    change(&mut other.steps);
    let server_options =
        ServerOptions { threshold: None, ..server_options(Arc::new(other), Pace::LOCKSTEP) };
    let mut client_options = client_options(recorded);
    options(&mut client_options);
    let server = server(server_options, &Tally::default());
    Pair::new(server, client(client_options, "Tester", tally), usize::MAX)
}

fn protocol() -> Arc<Protocol> {
    Catalog::embedded().find(47).unwrap().protocol
}

/// Makes a step of the server like `step`, with another packet.
fn made(step: &Step, name: &str, fields: &[(&str, Value)]) -> Step {
    let protocol = protocol();
    let packet = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
    let body = protocol.encode(packet, &Value::map(fields.iter().cloned())).unwrap();
    let (name, role) = (Some(Name::from(name)), packet.role());
    Step { direction: Direction::Clientbound, name, role, body: body.into(), ..step.clone() }
}

fn place(steps: &[Step], name: &str) -> usize {
    steps.iter().position(|step| step.name.as_deref() == Some(name)).unwrap()
}

fn fields<'e>(entries: &'e [Entry], name: &'e str) -> impl Iterator<Item = Value> + 'e {
    let records = entries.iter().filter_map(Entry::record);
    let records = records.filter(move |it| it.packet.direction() == Direction::Serverbound);
    records.filter(move |it| super::name(it) == name).map(|it| it.packet.value().unwrap())
}

#[test]
fn unreadable_entries_are_left_out_of_a_recording_and_counted() {
    let bad = || {
        let place = crate::capture::FilePosition::Line(3);
        Err(crate::capture::ReadError::Entry(place, crate::capture::EntryError::NoFrame))
    };
    let cut = || Err(crate::capture::ReadError::CutOff(crate::capture::FilePosition::Line(9)));
    let entries = || capture("session-1.8.jsonl").into_iter().map(Ok);
    let whole = Recording::read(entries(), None).unwrap();
    let front = entries().take(100).chain([bad()]).chain(entries().skip(100));
    let read = Recording::read(front, None).unwrap();
    assert_eq!((read.len(), read.left_out), (whole.len(), 1));
    let read = Recording::read(entries().take(100).chain([cut()]), None).unwrap();
    assert!((80..100).contains(&read.len()), "up to the damage");
    for (entries, session, message) in [
        (0, None, "it has no session"),
        (5, None, "its only session did not reach the game"),
        (5, Some(1), "session 1 did not reach the game"),
        (100, Some(2), "it has no session 2; those that reached the game: 1"),
    ] {
        let read = capture("session-1.8.jsonl").into_iter().take(entries).map(Ok);
        assert_eq!(Recording::read(read, session).unwrap_err().to_string(), message);
    }
    let read = Recording::read(std::iter::once(cut()), None).unwrap_err();
    assert!(read.to_string().contains("the file ends within this entry"), "{read}");
}

#[test]
fn keep_alives_are_answered_with_the_servers_number() {
    let mut pair = against(|_| {}, |_| {}, &Tally::default());
    pair.run();
    let alive = |direction| {
        let records = pair.server_entries.iter().filter_map(Entry::record);
        let records = records.filter(|it| it.packet.direction() == direction);
        let records = records.filter(|it| name(it) == "keep_alive");
        records.map(|it| it.packet.value().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(alive(Direction::Clientbound), alive(Direction::Serverbound));
    let number = alive(Direction::Serverbound)[0].get("keepAliveId").unwrap().as_int();
    assert_ne!(number, Some(2_076_653_514), "the recorded one");
}

#[test]
fn movement_continues_from_the_servers_position() {
    let mut pair = against(
        |steps| {
            let at = place(steps, "position");
            let place = [
                ("x", Value::Float64(108.5)),
                ("y", Value::Float64(64.0)),
                ("z", Value::Float64(-1.5)),
                ("yaw", Value::Float64(90.0)),
                ("pitch", Value::Float64(0.0)),
                ("flags", Value::Int(0)),
            ];
            steps[at] = made(&steps[at], "position", &place);
        },
        |_| {},
        &Tally::default(),
    );
    pair.run();
    let coordinates = |value: &Value| {
        ["x", "y", "z"].map(|name| match value.get(name).unwrap().plain() {
            Value::Float64(float) => *float,
            other => panic!("{other:?}"),
        })
    };
    let answers: Vec<Value> = fields(&pair.server_entries, "position_look").collect();
    assert_eq!(answers.len(), 1, "the recorded answer is left out");
    assert_eq!(coordinates(&answers[0]), [108.5, 64.0, -1.5]);
    let walked: Vec<[f64; 3]> =
        fields(&pair.server_entries, "position").map(|value| coordinates(&value)).collect();
    assert_eq!(walked.len(), 10);
    for (step, [x, y, z]) in (1..).zip(walked) {
        assert!((x - 108.5 - f64::from(step) / 10.0).abs() < 1e-9, "{x}");
        assert_eq!((y, z), (64.0, -1.5));
    }
}

#[test]
fn a_rejected_transaction_is_confirmed() {
    let mut pair = against(
        |steps| {
            let at = place(steps, "keep_alive");
            let refused = [
                ("windowId", Value::Int(0)),
                ("action", Value::Int(1)),
                ("accepted", Value::Bool(false)),
            ];
            let step = made(&steps[at], "transaction", &refused);
            steps.insert(at, step);
        },
        |_| {},
        &Tally::default(),
    );
    pair.run();
    let apologies: Vec<Value> = fields(&pair.server_entries, "transaction").collect();
    assert_eq!(apologies.len(), 1);
    assert_eq!(apologies[0].get("accepted"), Some(&Value::Bool(true)));
    assert_eq!(apologies[0].get("action").unwrap().as_int(), Some(1));
}

#[test]
fn everything_is_sent_even_if_packets_never_arrive() {
    let tally = Tally::default();
    let mut pair = against(
        |steps| {
            let lacking = ["spawn_position", "world_particles", "chat"];
            steps.retain(|step| {
                let name = step.name.as_deref().unwrap_or_default();
                step.direction == Direction::Serverbound || !lacking.contains(&name)
            });
        },
        |options| options.play.patience = std::time::Duration::from_secs(2),
        &tally,
    );
    let begun = pair.clock;
    pair.run();
    let chat: Vec<Value> = fields(&pair.server_entries, "chat").collect();
    assert_eq!(chat.len(), 3);
    let counted = tally.counts();
    assert_eq!((counted.finished, counted.missed), (1, 2), "particles are never waited for");
    let waited = pair.clock.since(begun).as_secs();
    assert!((2..10).contains(&waited), "{waited} s");
}

#[test]
fn a_part_is_sent_once_the_player_is_in_the_world() {
    let tally = Tally::default();
    let from = Some(Point::Packet(452));
    let to = Some(Point::Packet(463));
    let mut pair = against(
        |steps| steps.retain(|step| step.role != Some(Role::Disconnect)),
        |options| {
            // The server waits for the preceding packets, and gives up before the client does.
            let patience = std::time::Duration::from_secs(20);
            options.play = PlayOptions { from, to, patience, ..options.play };
        },
        &tally,
    );
    pair.run();
    let sent = game(&pair.server_entries, Direction::Serverbound);
    let names: Vec<&str> = sent.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["position_look", "chat", "chat"], "and the answer to the teleport");
    assert_eq!(reason(&pair.client_entries), "the recording has ended");
}

#[test]
fn a_servers_rejection_is_reported_with_its_reason() {
    let tally = Tally::default();
    let mut pair = against(|_| {}, |_| {}, &tally);
    // A recording of another version rejects the client.
    let other = Recording {
        context: Arc::new(mitmcraft_protocol::packet::Context {
            version: Some(48),
            ..(*recording("session-1.8.jsonl").context).clone()
        }),
        ..(*recording("session-1.8.jsonl")).clone()
    };
    pair.server = server(server_options(Arc::new(other), Pace::ASAP), &Tally::default());
    pair.run();
    let told = reason(&pair.client_entries);
    assert!(told.contains("disconnected by the server"), "{told}");
    assert!(
        told.ends_with("(the recording is of 1.8.9, protocol 47: is the server too?)"),
        "{told}"
    );
    assert_eq!(tally.counts().sessions, 0);
    // The client gives up on a server that sends nothing.
    let mut silent = client(client_options(recording("session-1.8.jsonl")), "Tester", &tally);
    let due = silent.poll_timeout().unwrap();
    silent.handle(due, crate::link::Input::Timeout);
    assert!(silent.is_over());
    let mut entries = Vec::new();
    silent.take_entries(&mut entries);
    assert_eq!(reason(&entries), "the server did not let the client in within 30 s");
    assert!(due > Timestamp(0));
}

/// Returns how the session of a player with this name differs, if the server plays the recording
/// after `change`.
fn expected(
    change: impl FnOnce(&mut Vec<Step>),
    name: &str,
    condition: Option<&str>,
    ignore: &[&str],
) -> Vec<Difference> {
    let recorded = recording("session-1.8.jsonl");
    let condition = condition.map(|text| Expr::parse(text, Catalog::embedded()).unwrap().0);
    let mut rules = Ignore::default();
    ignore.iter().for_each(|rule| rules.add(rule).unwrap());
    let mut regression = Regression::new(&recorded, condition, None);
    let mut other = (*recorded).clone();
    change(&mut other.steps);
    let tally = Tally::default();
    let mut pair = Pair::new(
        server(server_options(Arc::new(other), Pace::LOCKSTEP), &tally),
        client(client_options(recorded), name, &tally),
        usize::MAX,
    );
    pair.run();
    for entry in &pair.client_entries {
        regression.write(entry).unwrap();
    }
    let runs = regression.take();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!((run.session, &*run.player), (1, name));
    let compared = regression.baseline.compare(&run.behaviour, &Normalisation::new(rules));
    let differences = compared.deviations.into_iter().map(|deviation| match deviation {
        Deviation::Packet(difference) => difference,
        other => panic!("{other:?}"),
    });
    differences.collect()
}

fn renumber(steps: &mut [Step]) {
    let protocol = protocol();
    for step in steps.iter_mut().filter(|step| step.direction == Direction::Clientbound) {
        let (packet, start) = protocol.identify(step.state, step.direction, &step.body).unwrap();
        let Value::Map(mut fields) = protocol.decode(packet, &step.body, start).unwrap() else {
            continue;
        };
        for (name, value) in &mut fields {
            if &**name == "entityId" && value.as_int() == Some(1000) {
                *value = Value::Int(77);
            }
        }
        step.body = protocol.encode(packet, &Value::Map(fields)).unwrap().into();
    }
}

#[test]
fn expected_packets_match_though_numbers_differ() {
    assert!(expected(|_| {}, "Tester", None, &[]).is_empty());
    assert!(expected(|steps| renumber(steps), "Tester", None, &[]).is_empty());
}

#[test]
fn missing_and_different_packets_are_reported() {
    let change = |steps: &mut Vec<Step>| {
        let at = place(steps, "update_health");
        let health =
            [("health", Value::Float64(1.0)), ("food", 20.into()), ("foodSaturation", 5.into())];
        steps[at] = made(&steps[at], "update_health", &health);
        let at = place(steps, "world_particles");
        steps.remove(at);
    };
    let differences = expected(change, "Tester", None, &[]);
    let [Difference::Changed(_, _, changes), Difference::Removed(record)] = &differences[..] else {
        panic!("{differences:?}");
    };
    assert_eq!(changes[0].path, "health");
    assert_eq!(name(record), "world_particles");
    assert_eq!(expected(change, "Tester", Some("update_health"), &[]).len(), 1);
    assert!(expected(change, "Tester", Some("chat"), &[]).is_empty());
    assert_eq!(expected(change, "Tester", None, &["update_health.health"]).len(), 1);
}

#[test]
fn the_replaying_players_name_matches_the_recorded_one() {
    let rename = |steps: &mut Vec<Step>| {
        for step in steps.iter_mut().filter(|step| step.role == Some(Role::Chat)) {
            let text = String::from_utf8_lossy(&step.body).replace("Tester", "Senior");
            step.body = text.into_bytes().into();
        }
    };
    assert!(expected(rename, "Senior", Some("chat"), &[]).is_empty());
    assert!(!expected(rename, "Junior", Some("chat"), &[]).is_empty());
}
