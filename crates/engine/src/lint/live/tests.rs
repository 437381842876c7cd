//! Visits to a server in memory, and what the player says in every version.

use serde_json::json;

use super::speech::Speech;
use super::*;
use crate::capture::{Entry, Sink as _};
use crate::link::{Endpoint, Engine as _, Input, Opening, Output, Side, Upstream};
use crate::lint::tests::rule_of;
use crate::lint::{LintReport, LintRule, Linter};
use crate::report::Report as _;
use mitmcraft_protocol::codec::Limits;
use mitmcraft_protocol::packet::{Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const START: Timestamp = Timestamp(1_700_000_000_000_000_000);

#[test]
fn every_version_has_what_the_player_says() {
    let catalog = Catalog::embedded();
    let releases = catalog.versions().map(|(number, _)| number);
    let mut failures = Vec::new();
    for number in releases.filter(|number| *number < Catalog::FIRST_SNAPSHOT) {
        let protocol = catalog.find(number).unwrap().protocol;
        let configures = number >= 764;
        let early = if configures { State::Configuration } else { State::Play };
        let speech = |state| Speech::new(&protocol, state);
        for (what, state, body) in [
            ("login", State::Login, speech(State::Login).login("Linter", 7)),
            ("brand", early, speech(early).brand()),
            ("settings", early, speech(early).settings()),
            ("chat", State::Play, speech(State::Play).chat("hello", START)),
            ("command", State::Play, speech(State::Play).command("help", START)),
            ("respawn", State::Play, speech(State::Play).respawn()),
            ("look", State::Play, speech(State::Play).look(90.0)),
        ] {
            let Some(body) = body else {
                failures.push(format!("{number}: no {what}"));
                continue;
            };
            let decoded = protocol
                .identify(state, Direction::Serverbound, &body)
                .and_then(|(kind, start)| protocol.decode(kind, &body, start));
            if let Err(error) = decoded {
                failures.push(format!("{number}: {what}: {error}"));
            }
        }
        // Before 1.9 the arm is that of the entity in the packet; 1.7 has another form.
        if number >= 47 && speech(State::Play).swing().is_none() {
            failures.push(format!("{number}: no swing"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A server that does what the player asks for, or only a part of it.
struct Server {
    endpoint: Endpoint,
    version: i32,
    /// The stage from which on the player is not served.
    stops: Option<Stage>,
    teleports: i64,
    said: Vec<String>,
}

impl Server {
    fn new(version: i32, stops: Option<Stage>) -> Self {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        let context = Context::new(1, START, ([192, 0, 2, 1], 50000).into(), protocol);
        let endpoint = Endpoint::new(Side::Client, context, Limits::default());
        Self { endpoint, version, stops, teleports: 0, said: Vec::new() }
    }

    fn send(&mut self, name: &str, fields: serde_json::Value) {
        let fields = Value::from_json(&fields);
        assert!(self.endpoint.send_named(name, &fields), "{}: {name}", self.version);
    }

    fn serves(&self, stage: Stage) -> bool {
        self.stops.is_none_or(|stops| stage < stops)
    }

    fn on_packet(&mut self, packet: &Packet) {
        assert!(packet.error().is_none(), "{:?}", packet.error());
        let (name, fields) = (packet.kind().unwrap().name().to_string(), packet.value().unwrap());
        let text = |name: &str| fields.get(name).and_then(Value::as_text).unwrap().to_owned();
        match (packet.state(), &*name) {
            (State::Handshaking, _) => {
                let next = fields.get("nextState").and_then(Value::as_int).unwrap();
                self.endpoint.enter(if next == 1 { State::Status } else { State::Login });
            }
            (State::Status, "ping_start") => {
                self.send("server_info", json!({ "response": "{\"description\":\"a\"}" }));
            }
            (State::Status, "ping") => {
                self.endpoint.send_named("ping", &fields);
            }
            (State::Login, "login_start") if !self.serves(Stage::Login) => {
                self.send("disconnect", json!({ "reason": "\"Outdated client!\"" }));
                self.endpoint.end("refused");
            }
            (State::Login, "login_start") => {
                let uuid = "069a79f4-44e9-4726-a5be-fca90e38aaf5";
                let old = json!({ "uuid": uuid, "username": text("username") });
                let new = json!({ "uuid": uuid, "username": text("username"), "properties": [] });
                self.send("success", if self.version < 764 { old } else { new });
                if self.version < 764 {
                    self.endpoint.enter(State::Play);
                    self.join();
                }
            }
            (State::Login, "login_acknowledged") => {
                self.endpoint.enter(State::Configuration);
                self.send(
                    "select_known_packs",
                    json!({ "packs": [
                    { "namespace": "minecraft", "id": "core", "version": "1.21.4" },
                    { "namespace": "other", "id": "pack", "version": "1" },
                ] }),
                );
                for id in [
                    "dimension_type",
                    "damage_type",
                    "worldgen/biome",
                    "wolf_variant",
                    "painting_variant",
                ] {
                    let entries = json!([{ "key": "minecraft:first", "value": null }]);
                    self.send(
                        "registry_data",
                        json!({ "id": format!("minecraft:{id}"), "entries": entries }),
                    );
                }
                self.send("finish_configuration", json!({}));
            }
            (State::Configuration, "select_known_packs") => {
                let Some(Value::List(packs)) = fields.get("packs") else { panic!() };
                assert_eq!(packs.len(), 1, "only the game's own");
            }
            (State::Configuration, "finish_configuration") => {
                self.endpoint.enter(State::Play);
                self.join();
            }
            (State::Play, "chat" | "chat_message") => {
                let said = text("message");
                match said.strip_prefix('/') {
                    Some(command) => self.on_command(command.to_owned()),
                    None => self.said.push(said),
                }
            }
            (State::Play, "chat_command") => self.on_command(text("command")),
            (State::Play, "client_command") if self.serves(Stage::Respawn) => self.respawn(),
            _ => {}
        }
    }

    fn on_command(&mut self, command: String) {
        if command.starts_with("tp ") && self.serves(Stage::Teleport) {
            self.teleport();
        }
        if command == "kill" && self.serves(Stage::Death) {
            self.send("update_health", json!({ "health": 0.0, "food": 20, "foodSaturation": 5.0 }));
        }
        self.said.push(command);
    }

    fn join(&mut self) {
        if !self.serves(Stage::Join) {
            self.endpoint.end("closed");
            return;
        }
        let world = json!({
            "dimension": 0, "name": "minecraft:overworld", "hashedSeed": 1, "gamemode": "survival",
            "previousGamemode": 255, "isDebug": false, "isFlat": false, "death": null,
            "portalCooldown": 0, "seaLevel": 63,
        });
        self.send("login", if self.version == 47 {
            json!({ "entityId": 1, "gameMode": 0, "dimension": 0, "difficulty": 1, "maxPlayers": 20,
                "levelType": "flat", "reducedDebugInfo": false })
        } else {
            json!({ "entityId": 1, "isHardcore": false, "worldNames": ["minecraft:overworld"],
                "maxPlayers": 20, "viewDistance": 8, "simulationDistance": 8,
                "reducedDebugInfo": false, "enableRespawnScreen": true, "doLimitedCrafting": false,
                "worldState": world, "enforcesSecureChat": false })
        });
        if self.serves(Stage::Spawn) {
            self.teleport();
        }
    }

    fn teleport(&mut self) {
        self.teleports += 1;
        let place = json!({ "x": 1.5, "y": 64.0, "z": 2.5, "yaw": 0.0, "pitch": 0.0 });
        let mut place = place.as_object().unwrap().clone();
        if self.version == 47 {
            place.insert("flags".into(), json!(0));
        } else {
            place.insert("teleportId".into(), json!(self.teleports));
            place.insert("flags".into(), json!({}));
            for motion in ["dx", "dy", "dz"] {
                place.insert(motion.into(), json!(0.0));
            }
        }
        self.send("position", place.into());
    }

    fn respawn(&mut self) {
        self.send(
            "respawn",
            if self.version == 47 {
                json!({ "dimension": 0, "difficulty": 1, "gamemode": 0, "levelType": "flat" })
            } else {
                json!({ "worldState": {
                "dimension": 0, "name": "minecraft:overworld", "hashedSeed": 1,
                "gamemode": "survival", "previousGamemode": 255, "isDebug": false,
                "isFlat": false, "death": null, "portalCooldown": 0, "seaLevel": 63,
            }, "copyMetadata": 0 })
            },
        );
        self.teleport();
    }
}

/// Runs a visitor against a server; returns its entries and the time that it took.
fn run(visitor: &mut Visitor, server: &mut Server) -> (Vec<Entry>, Duration) {
    let (mut entries, mut now, mut closed) = (Vec::new(), START, false);
    while !visitor.is_over() {
        let sent = visitor.pending(Side::Server).to_vec();
        visitor.advance(Side::Server, sent.len());
        server.endpoint.receive(&sent);
        while let Some(packet) = server.endpoint.poll() {
            server.on_packet(&packet);
        }
        let answer = server.endpoint.pending(Side::Client).to_vec();
        server.endpoint.advance(Side::Client, answer.len());
        while let Some(output) = visitor.poll_output() {
            closed |= matches!(output, Output::Shutdown(_));
        }
        if !answer.is_empty() {
            visitor.handle(now, Input::Received(Side::Server, &answer));
        } else if closed || server.endpoint.is_over() {
            visitor.handle(now, Input::Closed(Side::Server));
        } else if sent.is_empty() {
            now = visitor.poll_timeout().unwrap().max(now);
            visitor.handle(now, Input::Timeout);
        }
        visitor.take_entries(&mut entries);
    }
    visitor.take_entries(&mut entries);
    (entries, now.since(START))
}

fn visit(version: i32, stops: Option<Stage>, stay: u64) -> (Visit, LintReport, Server, Duration) {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let upstream = Upstream { host: "localhost".into(), port: 25565 };
    let mut options = VisitOptions::new(Arc::clone(&protocol), upstream, "Linter");
    options.stay = Duration::from_secs(stay);
    let options = Arc::new(options);
    let mut visit = Visit::new(&protocol, stops.is_none());
    let mut linter = Linter::default();
    let (mut took, mut server) = (Duration::ZERO, Server::new(version, stops));
    for session in 1..=2 {
        let (client, peer) = (([127, 0, 0, 1], 50000).into(), ([127, 0, 0, 1], 25565).into());
        let opening = Opening { session, at: START, client, server: peer, seed: [7; 32] };
        let mut visitor = match session {
            1 => Visitor::status(Arc::clone(&options), &opening),
            _ => Visitor::player(Arc::clone(&options), &opening),
        };
        server = Server::new(version, stops);
        let (entries, time) = run(&mut visitor, &mut server);
        entries.iter().for_each(|entry| linter.write(entry).unwrap());
        visit.add(&visitor);
        took = time;
    }
    linter.finish().unwrap();
    (visit, linter.report(), server, took)
}

/// The client is not asked again, and the visit has one deadline.
#[test]
fn a_server_that_repeats_its_answer_or_says_nothing_keeps_no_visit_longer_than_its_deadline() {
    let protocol = Catalog::embedded().find(47).unwrap().protocol;
    let upstream = Upstream { host: "localhost".into(), port: 25565 };
    let options = Arc::new(VisitOptions::new(protocol, upstream, "Linter"));
    let (client, peer) = (([127, 0, 0, 1], 50000).into(), ([127, 0, 0, 1], 25565).into());
    let opening = Opening { session: 1, at: START, client, server: peer, seed: [7; 32] };
    let second = Duration::from_secs(1);
    for (repeats, pongs, name) in [
        (false, false, "status"),
        (true, false, "status"),
        (true, true, "status"),
        (false, false, "player"),
        (true, false, "player"),
    ] {
        let mut visitor = match name {
            "status" => Visitor::status(Arc::clone(&options), &opening),
            _ => Visitor::player(Arc::clone(&options), &opening),
        };
        let mut server = Server::new(47, None).endpoint;
        server.enter(State::Status);
        let (mut now, mut sent) = (START, 0);
        while !visitor.is_over() {
            now = now.plus(second / 10);
            sent += visitor.pending(Side::Server).len();
            visitor.advance(Side::Server, visitor.pending(Side::Server).len());
            if visitor.poll_timeout().unwrap() <= now {
                visitor.handle(now, Input::Timeout);
            }
            if repeats {
                server.send_named("server_info", &Value::map([("response", Value::from("{}"))]));
            }
            if pongs {
                server.send_named("ping", &Value::map([("time", Value::Int(1))]));
            }
            let answer = server.pending(Side::Client).to_vec();
            server.advance(Side::Client, answer.len());
            visitor.handle(now, Input::Received(Side::Server, &answer));
        }
        let took = now.since(START);
        assert!(took <= 31 * second && sent < 100, "{name}, {repeats}, {pongs}: {took:?}, {sent}");
        assert_eq!(visitor.is_late(), !pongs, "{name}, {repeats}: {}", visitor.end);
    }
}

#[test]
fn a_player_joins_does_everything_and_leaves() {
    for version in [47, 769] {
        let (visit, report, server, took) = visit(version, None, 7);
        let mut stages: BTreeSet<Stage> = [
            Stage::Status,
            Stage::Login,
            Stage::Join,
            Stage::Spawn,
            Stage::Teleport,
            Stage::Death,
            Stage::Respawn,
            Stage::Leave,
        ]
        .into();
        if version == 769 {
            stages.insert(Stage::Configuration);
        }
        assert_eq!(visit.stages, stages, "{version}: {}", visit.end);
        assert_eq!(visit.end, "the visit has ended");
        assert!(!visit.has_failed() && !visit.is_refused());
        let tp = if version == 47 { "tp ~ ~1 ~" } else { "tp @s ~ ~1 ~" };
        assert_eq!(server.said, ["hello", "help", tp, "kill"]);
        // The player stays as long as it was told, and not much longer.
        assert!((7..=8).contains(&took.as_secs()), "{took:?}");
        // This server sends no chunks, and nothing that starts the wait for them.
        let [finding] = &*report.findings else { panic!("{}", report.findings.len()) };
        let missing = if version == 47 { "no chunk at 0, 0" } else { "no `game_event` 13" };
        assert_eq!((&*finding.rule, finding.certain), ("join-incomplete", false));
        assert!(finding.reason.contains(missing), "{}", finding.reason);
        assert!(LintReport { visits: vec![visit], ..report }.passed());
    }
}

#[test]
fn what_a_server_does_not_do_is_told() {
    for (stops, refused, failed, text) in [
        (
            Stage::Login,
            true,
            false,
            "status; not let in: disconnected by the server: Outdated client!",
        ),
        (Stage::Join, true, false, "status, login; not let in: closed by the server"),
        (
            Stage::Spawn,
            false,
            false,
            "status, login, join, leave (not seen: spawn, teleport, death, respawn)",
        ),
        (
            Stage::Death,
            false,
            false,
            "status, login, join, spawn, teleport, leave (not seen: death, respawn)",
        ),
        (
            Stage::Respawn,
            false,
            false,
            "status, login, join, spawn, teleport, death, leave (not seen: respawn)",
        ),
    ] {
        let (visit, report, ..) = visit(47, Some(stops), 0);
        assert_eq!(visit.describe(), text);
        assert_eq!((visit.is_refused(), visit.has_failed()), (refused, failed), "{text}");
        let demanded = Visit { is_demanded: true, ..visit.clone() };
        assert_eq!(demanded.has_failed(), refused);
        // Without any version in the game, nothing was checked.
        assert_eq!(LintReport { visits: vec![visit], ..report }.passed(), !refused);
    }
}

#[test]
fn a_registry_that_was_not_sent_is_a_finding_of_the_visit() {
    let protocol = Catalog::embedded().find(769).unwrap().protocol;
    let upstream = Upstream { host: "localhost".into(), port: 25565 };
    let options = Arc::new(VisitOptions::new(protocol, upstream, "Linter"));
    let (client, peer) = (([127, 0, 0, 1], 50000).into(), ([127, 0, 0, 1], 25565).into());
    let opening = Opening { session: 1, at: START, client, server: peer, seed: [7; 32] };
    let mut visitor = Visitor::player(options, &opening);
    let mut server = Server::new(769, None);
    let (mut entries, _) = run(&mut visitor, &mut server);
    let is_dropped = |entry: &Entry| {
        let Entry::Packet(record) = entry else { return false };
        record.packet.value().is_ok_and(|value| {
            value.get("id").and_then(Value::as_text) == Some("minecraft:damage_type")
        })
    };
    let at = entries.iter().position(is_dropped).unwrap();
    let judged = |entries: &[Entry]| {
        let mut linter = Linter::default();
        entries.iter().for_each(|entry| linter.write(entry).unwrap());
        linter.finish().unwrap();
        linter.report().findings.iter().map(rule_of).collect::<Vec<_>>()
    };
    // A capture that lacks packets proves nothing.
    let left_out = entries.remove(at);
    assert_eq!(judged(&entries), []);
    // What the proxy dropped was sent; what it put in was not.
    entries.insert(
        at,
        match left_out {
            Entry::Packet(record) => Entry::Packet(crate::capture::Record {
                outcome: crate::capture::Outcome::Send,
                ..record
            }),
            event => event,
        },
    );
    assert_eq!(judged(&entries), [LintRule::RegistryMissing]);
}
