//! Every version through the proxy: node-minecraft-protocol on both ends, and the page that lists
//! the results. `UPDATE_DOCS=1 cargo test --test peers every_version` rewrites its table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::thread;

use mitmcraft_protocol::schema::Catalog;
use serde_json::{Value as Json, json};

use crate::support::{Program, assert_same, capture_of, end, read_lines, root, scratch_file, text};

/// The results of the session of one version.
struct Run {
    /// The lines of the capture.
    lines: Vec<Json>,
}

#[test]
fn every_version_is_played_and_recorded_byte_for_byte() {
    let numbers: Vec<i32> = Catalog::embedded().versions().map(|(number, _)| number).collect();
    let groups = (0..GROUPS).map(|group| {
        let numbers: Vec<i32> = numbers.iter().copied().skip(group).step_by(GROUPS).collect();
        thread::spawn(move || play(&numbers))
    });
    let groups: Vec<_> = groups.collect();
    let runs: BTreeMap<i32, Run> =
        groups.into_iter().flat_map(|group| group.join().unwrap()).collect();
    assert!(runs.keys().copied().eq(numbers));
    verify_page(&table(&runs));
}

#[test]
fn an_unknown_version_uses_the_nearest_tables_and_is_reported_as_a_guess() {
    let unknown = [778, SNAPSHOT + 339];
    let (runs, errors) = play_with(&unknown, &[]);
    for (number, run) in runs {
        let packets: Vec<&Json> =
            run.lines.iter().filter(|line| line.get("packet").is_some()).collect();
        assert!(packets.len() > 30 && packets[2..].iter().all(|line| line["guess"] == true));
        let own = match number {
            778 => "is unknown",
            _ => "(26.4-snapshot-1) has no tables",
        };
        let warning =
            format!("protocol {number} {own}: its packets are decoded with the tables of 777");
        assert_eq!(errors.matches(&warning).count(), 1, "{errors}");
    }
    // With its own tables the version is not a guess.
    let own = scratch_file("778.json");
    fs::write(&own, r#"{ "extends": "26.3" }"#).unwrap();
    let (runs, errors) = play_with(&unknown[..1], &["--protocol", text(&own)]);
    assert!(runs[0].1.lines.iter().all(|line| line.get("guess").is_none()));
    assert!(!errors.contains("guess"), "{errors}");
}

/// AMP has ids and layouts of its own, which were tried with the game's server.
#[test]
fn a_player_of_26_2_with_layouts_of_its_own_is_understood() {
    let capture = scratch_file("amp.jsonl");
    let mut server = Program::node("versions.js", &["--guests", "1"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    let python = root().join("tests/real/venv/bin/python");
    let mut player = Command::new(python);
    player.arg(root().join("tests/real/amp_player.py")).arg(port);
    let heard = Program::start("amp_player.py", player).succeed();
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    // What the server sent, as the player reads it.
    let heard: Vec<Json> =
        heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let joined = json!({ "event": "SelfEntityIdentified", "entity_id": 1, "dimension_id": 0 });
    let expected = [
        joined.clone(),
        json!({ "event": "PositionChanged", "x": -1.5, "y": 64.25, "z": 300.0, "yaw": 90.0, "pitch": -12.5, "relative_flags": 0 }),
        json!({ "event": "HealthChanged", "health": 7.5, "food": 300, "saturation": 0.5 }),
        json!({ "event": "BlockChanged", "x": -7, "y": -60, "z": 1000, "state_id": 4711 }),
        json!({ "event": "EntityMoved", "entity_id": 4711, "dx": 1.0, "dy": -0.5, "dz": 0.0 }),
        json!({ "event": "EntitiesRemoved", "entity_ids": [4711, 5] }),
        joined,
    ];
    assert_eq!(heard[..heard.len() - 1], expected);
    // What the player sent, as mitmcraft reads it.
    let lines = read_lines(&capture);
    assert!(lines.iter().all(|line| line.get("error").is_none() && line.get("guess").is_none()));
    let sent = |name: &str| -> Vec<&Json> {
        let lines = lines.iter().filter(|line| line["packet"] == name);
        lines.filter(|line| line["dir"] == "serverbound").map(|line| &line["fields"]).collect()
    };
    assert_eq!(
        sent("chat_message").iter().map(|it| &it["message"]).collect::<Vec<_>>(),
        ["hello from AMP", "bye"]
    );
    let moved = sent("position")[0];
    assert_eq!([&moved["x"], &moved["y"], &moved["z"]], [-1.5, 64.25, 300.0]);
    let looked = sent("look")[0];
    assert_eq!([&looked["yaw"], &looked["pitch"]], [90.0, -12.5]);
    let dug = sent("block_dig");
    assert_eq!(dug[1]["location"], json!({ "x": -7, "y": -60, "z": 1000 }));
    assert_eq!(
        (&dug[0]["status"], &dug[1]["status"], &dug[1]["sequence"]),
        (&json!(0), &json!(2), &json!(1))
    );
    let placed = sent("block_place")[0];
    assert_eq!(placed["location"], json!({ "x": 5, "y": 70, "z": -5 }));
    assert_eq!((&placed["direction"], &placed["cursorZ"]), (&json!(2), &json!(0.5)));
    assert_eq!(sent("attack")[0]["entityId"], 4711);
    assert_eq!(sent("held_item_slot")[0]["slotId"], 8);
    assert_eq!(sent("player_input")[0]["inputs"]["shift"], true);
    assert_eq!(sent("arm_animation")[0]["hand"], "off_hand");
    assert_eq!(sent("teleport_confirm")[0]["teleportId"], 300);
    assert_eq!(sent("configuration_acknowledged").len(), 1);
}

#[test]
fn a_rule_rewrites_signed_chat_on_a_server_that_accepts_unsigned_chat() {
    let rules = scratch_file("chat.toml");
    let rule = "[[rule]]\nwhen = 'chat_message and message contains \"hello\"'\n\
                set = { message = '=message + \"!\"' }\n";
    fs::write(&rules, rule).unwrap();
    let (runs, _) = play_with(&[767], &["-f", text(&rules)]);
    let lines = &runs[0].1.lines;
    let verdicts = |name: &str| -> Vec<&str> {
        let lines = lines.iter().filter(|line| line["packet"] == name);
        lines.map(|line| line["verdict"].as_str().unwrap()).collect()
    };
    assert_eq!(verdicts("chat_session_update"), ["drop"]);
    assert_eq!(verdicts("chat_message"), ["rewrite", "send", "pass", "pass"]);
    let heard =
        |line: &Json| line["fields"].to_string().contains("heard: hello from a real client!");
    assert!(lines.iter().any(|line| line["packet"] == "system_chat" && heard(line)));
}

/// Plays sessions of these versions through one proxy.
fn play(numbers: &[i32]) -> Vec<(i32, Run)> {
    play_with(numbers, &[]).0
}

/// Plays sessions with options for the proxy; also returns its stderr.
fn play_with(numbers: &[i32], options: &[&str]) -> (Vec<(i32, Run)>, String) {
    let (log, capture) = (scratch_file("versions.log"), scratch_file("versions.jsonl"));
    let arguments = [
        ("--numbers", list(numbers)),
        ("--encrypt", list(ENCRYPTED)),
        ("--sign", list(SIGNED)),
        ("--log", text(&log).to_owned()),
    ];
    let arguments: Vec<&str> =
        arguments.iter().flat_map(|(name, value)| [*name, value.as_str()]).collect();
    let mut peers = Program::node("versions.js", &arguments);
    let upstream = format!("127.0.0.1:{}", peers.port());
    let mut proxy = Program::proxy(&upstream, &[&["-w", text(&capture)], options].concat());
    peers.tell(&proxy.listening().to_string());
    let output = peers.succeed();
    let errors = proxy.errors();
    proxy.interrupt();
    proxy.succeed();
    let output: Vec<Json> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (ends, mut sessions) =
        (by(&read_lines(&log), "conn"), by(&read_lines(&capture), "session"));
    let run = |number: &i32| {
        let event = |event: &str| {
            let it = output.iter().find(|it| it["event"] == event && it["number"] == *number);
            it.unwrap_or_else(|| panic!("no {event} of {number}"))
        };
        let has = |lines: &[Json]| lines.iter().any(|line| line["protocol"] == *number);
        let session = sessions.iter().find(|(_, lines)| has(lines)).map(|(session, _)| *session);
        let lines = sessions.remove(&session.unwrap()).unwrap();
        let [client, server] =
            ["login", "join"].map(|it| &ends[&event(it)["conn"].as_u64().unwrap()]);
        compare(*number, client, server, &lines);
        (*number, Run { lines })
    };
    (numbers.iter().map(run).collect(), errors)
}

/// Checks that the capture has all packets that each end sent and received, in order, byte for byte.
fn compare(number: i32, client: &[Json], server: &[Json], capture: &[Json]) {
    for line in capture {
        assert!(line.get("error").is_none(), "{number}: {line}");
    }
    for (direction, sender, receiver) in
        [("serverbound", client, server), ("clientbound", server, client)]
    {
        let came = capture_of(capture, direction, &["pass", "drop", "rewrite"]);
        let went = capture_of(capture, direction, &["pass", "send"]);
        assert_same(&format!("{number}: sent {direction}"), &end(sender, direction), &came);
        assert_same(&format!("{number}: received {direction}"), &end(receiver, direction), &went);
    }
}

/// Formats one row per version from the captures.
fn table(runs: &BTreeMap<i32, Run>) -> String {
    let mut table = "| protocol | game | seen |\n| ---: | --- | --- |\n".to_owned();
    for (number, names) in Catalog::embedded().versions() {
        let seen = runs[&number].seen();
        let number = match number {
            SNAPSHOT.. => format!("2^30 + {}", number - SNAPSHOT),
            _ => number.to_string(),
        };
        let game = match names {
            [first, .., last] => format!("{first}-{last}"),
            names => names.join(""),
        };
        writeln!(table, "| {number} | {game} | {seen} |").unwrap();
    }
    table
}

impl Run {
    /// The letters that the page explains.
    fn seen(&self) -> String {
        let both = |what: &dyn Fn(&Json) -> bool| {
            let both = |line: &&Json| what(&line["client"]) && what(&line["server"]);
            self.lines.iter().filter(|line| line["event"] == "state").any(|line| both(&line))
        };
        let signed = |line: &Json| match &line["fields"]["signature"] {
            Json::String(signature) => !signature.is_empty(),
            _ => false,
        };
        let proved = |line: &Json| line["fields"]["crypto"]["messageSignature"].is_string();
        let seen = [
            ('E', both(&|leg| leg["encrypted"] == true)),
            ('Z', both(&|leg| leg["threshold"] == 256)),
            ('P', self.has("login_plugin_request")),
            ('C', self.has("finish_configuration")),
            ('A', self.has("start_configuration")),
            ('V', self.lines.iter().any(proved)),
            ('S', self.lines.iter().any(signed)),
            ('K', self.has("chat_session_update")),
            ('T', self.has("store_cookie") && self.has("cookie_response")),
            ('B', self.has("bundle_delimiter")),
        ];
        seen.into_iter().filter_map(|(letter, seen)| seen.then_some(letter)).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.lines.iter().any(|line| line["packet"] == name)
    }
}

fn verify_page(table: &str) {
    let path = root().join("docs/versions.md");
    let page = fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let fresh = format!("{head}{BEGIN}{table}{END}{tail}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &fresh).unwrap();
        return;
    }
    assert!(
        page == fresh,
        "docs/versions.md is stale: UPDATE_DOCS=1 cargo test --test peers every_version"
    );
}

/// Groups lines by their numbers.
fn by(lines: &[Json], key: &str) -> BTreeMap<u64, Vec<Json>> {
    let mut parts: BTreeMap<u64, Vec<Json>> = BTreeMap::new();
    // What a capture says of its tables is of no session.
    let tables = |line: &&Json| line["event"] == "capture" || line["event"] == "table";
    for line in lines.iter().filter(|line| !tables(line)) {
        parts.entry(line[key].as_u64().unwrap()).or_default().push(line.clone());
    }
    parts
}

fn list(numbers: &[i32]) -> String {
    numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// Each is a node process with its own proxy; this many keep two cores busy.
const GROUPS: usize = 4;

/// Versions whose sessions are encrypted: the first and the last with each layout of the key exchange.
const ENCRYPTED: &[i32] = &[
    4, 47, 110, 340, 404, 498, 578, 735, 754, 757, 759, 760, 761, 763, 765, 766, 767, 770, 775, 777,
];

/// Versions whose clients have a key and sign chat messages.
const SIGNED: &[i32] = &[759, 760, 761, 763, 765, 767, 770, 775, 777];

/// The place of the table on the page.
const BEGIN: &str = "<!-- generated: sessions -->\n\n";
const END: &str = "\n<!-- until here -->";

const SNAPSHOT: i32 = 1 << 30;
