//! Planted changes of a server's behaviour: each is found, and nothing else.

use std::time::Duration;

use super::pair::{Pair, client, client_options, server, server_options};
use super::*;
use crate::capture::Sink as _;
use crate::regress::{Behaviour, Deviation, Freedom, Normalisation, Regression};
use crate::replay::step::Step;
use crate::replay::{Pace, PlayOptions, ServerOptions, Tally};
use mitmcraft_protocol::schema::{Direction, Value};

/// Plays the recording against a server that plays it after `change`; returns the recorded behaviour and
/// that of the server.
fn played(file: &str, change: &dyn Fn(&mut Vec<Step>)) -> (Behaviour, Behaviour) {
    let recorded = recording(file);
    let mut regression = Regression::new(&recorded, None, None);
    let mut other = (*recorded).clone();
    change(&mut other.steps);
    let options = server_options(Arc::new(other), Pace::FAITHFUL);
    let play = PlayOptions { refresh: false, ..options.play };
    let tally = Tally::default();
    let mut client_options = client_options(recorded);
    client_options.play.pace = Pace::FAITHFUL;
    let mut pair = Pair::new(
        server(ServerOptions { play, ..options }, &tally),
        client(client_options, "Other", &tally),
        usize::MAX,
    );
    pair.run();
    pair.client_entries.iter().for_each(|entry| regression.write(entry).unwrap());
    let run = regression.take().pop().unwrap();
    (regression.baseline.clone(), run.behaviour)
}

/// Returns what differs, as `missing chat`, or `changed update_health.health`.
fn found(file: &str, change: &dyn Fn(&mut Vec<Step>)) -> Vec<String> {
    let (baseline, now) = played(file, change);
    let compared = baseline.compare(&now, &Normalisation::default());
    compared.deviations.iter().map(described).collect()
}

fn described(deviation: &Deviation) -> String {
    let mut text = format!("{} {}", deviation.kind(), deviation.packet());
    let json = deviation.json();
    for change in json["changes"].as_array().into_iter().flatten() {
        text.push('.');
        text.push_str(change["path"].as_str().unwrap());
    }
    text
}

fn place(steps: &[Step], name: &str) -> usize {
    let is = |step: &Step| {
        step.direction == Direction::Clientbound && step.name.as_deref() == Some(name)
    };
    steps.iter().position(is).unwrap()
}

/// Changes a field of the first packet of that name.
fn set(steps: &mut [Step], name: &str, field: &str, value: Value) {
    let place = place(steps, name);
    let step = &mut steps[place];
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let (packet, start) = protocol.identify(step.state, step.direction, &step.body).unwrap();
    let fields = protocol.decode(packet, &step.body, start).unwrap();
    step.body = protocol.encode(packet, &fields.with_field(field, value)).unwrap().into();
}

fn swap_text(steps: &mut [Step], name: &str, from: &str, to: &str) {
    let place = place(steps, name);
    let step = &mut steps[place];
    let at = step.body.windows(from.len()).position(|it| it == from.as_bytes()).unwrap();
    let mut body = step.body.to_vec();
    body[at..at + from.len()].copy_from_slice(to.as_bytes());
    step.body = body.into();
}

type Plant = (&'static str, &'static str, fn(&mut Vec<Step>));

/// Each with what is to be found.
const PLANTS: [Plant; 13] = [
    ("session-1.8.jsonl", "missing spawn_position", |steps| {
        steps.remove(place(steps, "spawn_position"));
    }),
    ("session-1.8.jsonl", "missing rel_entity_move", |steps| {
        steps.remove(place(steps, "rel_entity_move"));
    }),
    ("session-1.8.jsonl", "new set_slot", |steps| {
        let at = place(steps, "set_slot");
        steps.insert(at, steps[at].clone());
    }),
    ("session-1.8.jsonl", "changed update_health.food", |steps| {
        set(steps, "update_health", "food", Value::Int(19));
    }),
    ("session-1.8.jsonl", "changed login.gameMode", |steps| {
        set(steps, "login", "gameMode", Value::Int(1));
    }),
    ("session-1.8.jsonl", "changed map_chunk.chunkData", |steps| {
        let at = place(steps, "map_chunk");
        let mut body = steps[at].body.to_vec();
        *body.last_mut().unwrap() ^= 1;
        steps[at].body = body.into();
    }),
    ("session-1.8.jsonl", "changed abilities.flags", |steps| {
        set(steps, "abilities", "flags", Value::Int(1));
    }),
    ("session-1.8.jsonl", "changed named_entity_spawn.x", |steps| {
        set(steps, "named_entity_spawn", "x", Value::Int(321));
    }),
    ("session-1.8.jsonl", "changed entity_teleport.entityId", |steps| {
        set(steps, "entity_teleport", "entityId", Value::Int(1001));
    }),
    ("session-1.8.jsonl", "moved spawn_position", |steps| {
        let [from, to] = ["spawn_position", "held_item_slot"].map(|name| place(steps, name));
        let step = steps.remove(from);
        let at = steps[to - 1].at;
        steps.insert(to, Step { at, ..step });
    }),
    ("session-1.8.jsonl", "changed kick_disconnect.reason", |steps| {
        swap_text(steps, "kick_disconnect", "see you", "See you");
    }),
    ("session-26.3.jsonl", "changed registry_data", |steps| {
        swap_text(steps, "registry_data", "minecraft:", "minecrafd:");
    }),
    ("session-1.8.jsonl", "late keep_alive", |steps| {
        let from = place(steps, "keep_alive");
        steps[from..].iter_mut().for_each(|step| step.at = step.at.plus(Duration::from_secs(9)));
    }),
];

#[test]
fn planted_changes_of_a_server_are_found_and_nothing_else() {
    for (file, planted, change) in PLANTS {
        let found = found(file, &change);
        assert_eq!(found.len(), 1, "{planted}: {found:?}");
        assert!(found[0].starts_with(planted), "{planted}: {found:?}");
    }
}

#[test]
fn an_unchanged_server_behaves_as_recorded() {
    for file in ["session-1.8.jsonl", "session-1.12.2.jsonl", "session-26.3.jsonl"] {
        assert_eq!(found(file, &|_| {}), [""; 0], "{file}");
    }
}

#[test]
fn a_calibration_allows_what_differs_between_runs_and_nothing_else() {
    let file = "session-1.8.jsonl";
    let noise = |steps: &mut Vec<Step>| {
        set(steps, "update_health", "food", Value::Int(19));
        steps.remove(place(steps, "set_slot"));
    };
    let ((baseline, again), (_, noisy)) = (played(file, &|_| {}), played(file, &noise));
    let mut normalisation = Normalisation::default();
    normalisation.calibrate(&[&baseline, &again, &noisy]);
    let text = normalisation.toml();
    let expected =
        "ignore = [\n    \"update_health.food\",\n]\nany_number = [\n    \"set_slot\",\n]\n";
    assert_eq!(text, expected);
    let mut read = Normalisation::default();
    read.read(&text).unwrap();
    assert!(baseline.compare(&noisy, &read).deviations.is_empty());
    let (_, other) = played(file, &|steps| {
        noise(steps);
        set(steps, "update_health", "health", Value::Float64(1.0));
    });
    let found: Vec<String> =
        baseline.compare(&other, &read).deviations.iter().map(described).collect();
    assert_eq!(found, ["changed update_health.health"]);
}

#[test]
fn a_normalisation_that_is_invalid_is_refused_with_its_key() {
    for (text, message) in [
        ("ignored = []", "unknown key `ignored`"),
        ("any_order = \"chat\"", "`any_order`: expected a list of texts"),
        ("late = \"soon\"", "`late`: expected a duration"),
        ("ignore = [\".\"]", "`ignore`: `.` is neither"),
        ("ignore = [", "invalid TOML"),
    ] {
        let error = Normalisation::default().read(text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let mut normalisation = Normalisation::default();
    normalisation.read("periodic = [\"ping\"]\nlate = \"20s\"").unwrap();
    assert!(normalisation.add(Freedom::Ignore, "").is_err());
    assert_eq!(normalisation.toml(), "periodic = [\n    \"ping\",\n]\nlate = \"20000ms\"\n");
}

/// A server that chooses the player's place at random: all places move by as much.
#[test]
fn a_player_who_appears_elsewhere_is_no_deviation_but_one_place_that_differs_is() {
    fn move_places(steps: &mut [Step], teleports: bool) {
        set(steps, "map_chunk", "x", Value::Int(2));
        set(steps, "map_chunk", "z", Value::Int(-1));
        if teleports {
            set(steps, "position", "x", Value::Float64(8.5 + 32.0));
            set(steps, "position", "z", Value::Float64(8.5 - 16.0));
        }
    }
    let file = "session-1.8.jsonl";
    assert_eq!(found(file, &|steps| move_places(steps, true)), Vec::<String>::new());
    // A chunk alone that is elsewhere, and a player who appears elsewhere than the chunks.
    let alone = found(file, &|steps| move_places(steps, false));
    assert_eq!(alone, ["changed map_chunk.x.z"]);
    let elsewhere = found(file, &|steps| set(steps, "position", "x", Value::Float64(40.5)));
    assert_eq!(elsewhere, Vec::<String>::new(), "the server's other places are where they were");
    // Where it matters, the place is compared.
    let (baseline, now) = played(file, &|steps| move_places(steps, true));
    let mut fixed = Normalisation::default();
    fixed.read("spawn = \"fixed\"").unwrap();
    let deviations = baseline.compare(&now, &fixed).deviations;
    assert_eq!(deviations.len(), 2, "{deviations:?}");
    assert!(fixed.read("spawn = \"near\"").unwrap_err().to_string().contains("\"random\""));
}
