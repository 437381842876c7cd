//! Every version: which entity the player is, where places are, and which packets only tell latencies.

use std::sync::Arc;

use super::*;
use crate::capture::{Entry, Event, EventKind, Record, Sink as _, Summary};
use crate::link::framed;
use crate::replay::Recording;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{
    Catalog, Direction, Name, PacketType, Protocol, State, Value, random_body,
};

/// Lists the descriptions of all versions of the game.
fn protocols() -> Vec<Arc<Protocol>> {
    let catalog = Catalog::embedded();
    let old = catalog.old().filter(|it| it.family().is_unframed_game());
    let new = catalog.versions().map(|(number, _)| catalog.find(number).unwrap().protocol);
    old.chain(new).collect()
}

/// A server's session in the making.
struct Script {
    context: Arc<Context>,
    records: Vec<Record>,
}

impl Script {
    fn new(protocol: &Arc<Protocol>) -> Self {
        let client = ([127, 0, 0, 1], 50_000).into();
        let context = Context::new(1, Timestamp(0), client, Arc::clone(protocol));
        Self { context: Arc::new(context), records: Vec::new() }
    }

    /// Returns the game's packet of that name.
    fn kind(&self, name: &str) -> Option<&PacketType> {
        self.context.protocol.named(State::Play, Direction::Clientbound, name)
    }

    /// Sends a packet whose fields are minimal but for those at these paths; none if the version has no
    /// such packet. Fields that it has not are left out.
    fn send(&mut self, name: &str, fields: &[(&str, Value)]) -> &mut Self {
        let protocol = Arc::clone(&self.context.protocol);
        let Some(kind) = self.kind(name) else { return self };
        // The smallest body is not always a valid one: 1.2's absent NBT has a length of -1, Alpha's has none.
        let mut value = [&[][..], &[9; 64]]
            .into_iter()
            .find_map(|choices| {
                let mut body = random_body(&protocol, kind, choices);
                if protocol.family().is_unframed_game() && kind.id() > 0x7f {
                    // Ids before 1.7 are bytes, not VarInts.
                    body.remove(1);
                }
                let (_, start) =
                    protocol.identify(State::Play, Direction::Clientbound, &body).ok()?;
                protocol.decode(kind, &body, start).ok()
            })
            .unwrap_or_else(|| panic!("{} {name}", protocol.newest_name()));
        fields.iter().for_each(|(path, field)| set(&mut value, path, field));
        let body = protocol.encode(kind, &value).unwrap();
        let content = Content::Frame(framed(&protocol, Direction::Clientbound, body.into()));
        let (seq, context) = (self.records.len() as u64 + 1, Arc::clone(&self.context));
        let (direction, state) = (Direction::Clientbound, State::Play);
        let packet = Packet::new(context, seq, Timestamp(seq), direction, state, content);
        self.records.push(Record::passed(packet));
        self
    }

    fn behaviour(self) -> Behaviour {
        let ended = Timestamp(self.records.len() as u64 + 1);
        Behaviour { records: self.records, ended }
    }
}

/// Replaces the field at a path, if there is one; the items of a list, if it leads there, by one.
fn set(value: &mut Value, path: &str, field: &Value) {
    let (first, rest) = path.split_once('.').map_or((path, ""), |(first, rest)| (first, rest));
    let Value::Map(fields) = value else { return };
    let Some((_, inner)) = fields.iter_mut().find(|(key, _): &&mut (Name, _)| **key == *first)
    else {
        return;
    };
    match inner {
        inner if rest.is_empty() => *inner = field.clone(),
        inner => set(inner, rest, field),
    }
}

fn deviations(a: Script, b: Script) -> Vec<String> {
    let compared = a.behaviour().compare(&b.behaviour(), &Normalisation::default());
    let deviations = compared.deviations.iter();
    deviations.map(|it| format!("{} {}", it.kind(), it.packet())).collect()
}

/// A server that lets the player in as an entity, and animates another.
fn animated(protocol: &Arc<Protocol>, player: i64, animated: i64) -> Script {
    let mut script = Script::new(protocol);
    let id = |entity: i64| [("entityId", Value::Int(entity))];
    script.send("login", &id(player)).send("animation", &id(animated));
    script.send("entity_effect", &id(animated));
    let collect =
        [("collectedEntityId", Value::Int(5)), ("collectorEntityId", Value::Int(animated))];
    script.send("collect", &collect);
    script
}

#[test]
fn the_player_may_have_another_id_but_what_happens_to_it_may_not_happen_to_another_entity() {
    for protocol in protocols() {
        let version = protocol.newest_name();
        let recorded = || animated(&protocol, 1, 1);
        let count = recorded().records.len();
        assert!(count >= 2, "{version}");
        assert_eq!(deviations(recorded(), animated(&protocol, 77, 77)), [""; 0], "{version}");
        let found = deviations(recorded(), animated(&protocol, 77, 9999));
        assert_eq!(found.len(), count - 1, "{version}: {found:?}");
        assert!(found.iter().all(|it| !it.ends_with(" login")), "{version}: {found:?}");
        // The same ids, of which another is the player's.
        let found = deviations(recorded(), animated(&protocol, 77, 1));
        assert_eq!(found.len(), count - 1, "{version}: {found:?}");
    }
}

fn has_field(script: &Script, name: &str, path: &str) -> bool {
    let layout = script.kind(name).map(|kind| script.context.protocol.layout(kind, 3));
    layout.is_some_and(|fields| fields.iter().any(|field| field.path == path))
}

/// A player who appears at a place, with the packets around it: all as many blocks from where they could be.
fn placed(protocol: &Arc<Protocol>, [x, y, z]: [i64; 3]) -> Script {
    let mut script = Script::new(protocol);
    let float = |number: i64| Value::Float64(number as f64 + 0.5);
    let xyz = |make: &dyn Fn(i64) -> Value| {
        Value::map([("x", x), ("y", y), ("z", z)].map(|(name, number)| (name, make(number))))
    };
    let position = [("x", float(x)), ("y", float(y)), ("stance", float(y)), ("z", float(z))];
    script.send("position_look", &position);
    if script.records.is_empty() {
        script.send("position", &position);
    }
    let location = xyz(&Value::Int);
    for name in ["spawn_position", "block_change", "tile_entity_data"] {
        let fields = [("location", location.clone()), ("globalPos.location", location.clone())];
        script.send(name, &fields);
    }
    let [chunk_x, chunk_z] = [x, z].map(|it| Value::Int(it.div_euclid(16)));
    let [first_x, first_z] = match has_field(&script, "map_chunk", "sizeX") {
        true => [x, z].map(|it| Value::Int(it.div_euclid(16) * 16)),
        false => [chunk_x.clone(), chunk_z.clone()],
    };
    script.send("map_chunk", &[("x", first_x), ("z", first_z)]);
    script.send("pre_chunk", &[("x", chunk_x.clone()), ("z", chunk_z.clone())]);
    let chunk = [("x", chunk_x.clone()), ("z", chunk_z.clone())];
    let mut masks = vec![("bitMap", Value::Int(0)), ("addBitMap", Value::Int(0))];
    masks.retain(|(mask, _)| has_field(&script, "map_chunk_bulk", &format!("meta[*].{mask}")));
    let meta = Value::map(chunk.clone().into_iter().chain(masks));
    script.send("map_chunk_bulk", &[("meta", Value::List(vec![meta]))]);
    for name in ["unload_chunk", "update_light", "update_view_position", "multi_block_change"] {
        let fields = [
            ("chunkX", chunk_x.clone()),
            ("chunkZ", chunk_z.clone()),
            ("chunkCoordinates.x", chunk_x.clone()),
            ("chunkCoordinates.z", chunk_z.clone()),
        ];
        script.send(name, &fields);
    }
    script
}

#[test]
fn a_player_may_appear_elsewhere_with_everything_around_it_in_every_version() {
    for protocol in protocols() {
        let version = protocol.newest_name();
        let (a, b) = (placed(&protocol, [8, 64, 8]), placed(&protocol, [40, 70, -8]));
        assert!(a.records.len() >= 4, "{version}");
        assert_eq!(deviations(a, b), [""; 0], "{version}");
        let mut fixed = Normalisation::default();
        fixed.read("spawn = \"fixed\"").unwrap();
        let (a, b) = (placed(&protocol, [8, 64, 8]), placed(&protocol, [40, 70, -8]));
        let count = a.records.len();
        let found = a.behaviour().compare(&b.behaviour(), &fixed).deviations.len();
        assert_eq!(found, count, "{version}: each of them has a place");
    }
}

/// The list of players, and how often it tells the latency of one.
fn listed(protocol: &Arc<Protocol>, latency: i64, times: usize) -> Script {
    let mut script = Script::new(protocol);
    let flags = [
        "add_player",
        "initialize_chat",
        "update_game_mode",
        "update_listed",
        "update_latency",
        "update_display_name",
        "update_hat",
        "update_list_order",
    ];
    let action = |name: &str| match script
        .kind("player_info")
        .map(|kind| script.context.protocol.layout(kind, 2))
    {
        Some(fields) if fields.iter().any(|it| it.path == "action.add_player") => {
            let has = |flag: &&str| fields.iter().any(|it| it.path == format!("action.{flag}"));
            Value::map(
                flags.iter().filter(|it| has(it)).map(|flag| (*flag, Value::Bool(*flag == name))),
            )
        }
        _ => Value::from(name),
    };
    let old = [
        ("playerName", Value::from("Steve")),
        ("online", Value::Bool(true)),
        ("ping", Value::Int(latency)),
    ];
    let fields = |name: &str| [&old[..], &[("action", action(name))]].concat();
    let (first, later) = (fields("add_player"), fields("update_latency"));
    script.send("player_info", &first);
    for _ in 0..times {
        script.send("player_info", &later);
    }
    script
}

#[test]
fn latencies_may_be_told_any_number_of_times_and_a_player_must_be_listed_in_every_version() {
    let mut count = 0;
    for protocol in protocols() {
        let version = protocol.newest_name();
        let recorded = || listed(&protocol, 20, 3);
        if recorded().records.is_empty() {
            continue;
        }
        count += 1;
        assert_eq!(deviations(recorded(), listed(&protocol, 50, 1)), [""; 0], "{version}");
        let mut none = Script::new(&protocol);
        none.send("login", &[]);
        let mut login = Script::new(&protocol);
        login.send("login", &[]).records.extend(recorded().records);
        assert_eq!(deviations(login, none), ["missing player_info"], "{version}");
    }
    assert!(count > 70, "{count}");
}

#[test]
fn what_sets_up_the_connection_is_not_compared_in_any_version() {
    for protocol in protocols() {
        let version = protocol.newest_name();
        let mut script = Script::new(&protocol);
        for name in ["handshake", "encryption_begin", "encryption_response", "set_compression"] {
            script.send(name, &[]);
        }
        script.send("login", &[("entityId", Value::Int(1))]);
        let close = Event {
            context: Arc::clone(&script.context),
            at: Timestamp(99),
            kind: EventKind::Close(Summary::default()),
        };
        let mut entries: Vec<Entry> = script.records.into_iter().map(Entry::Packet).collect();
        entries.push(Entry::Event(close));
        let recording = Recording::read(entries.iter().cloned().map(Ok), None).unwrap();
        let mut regression = Regression::new(&recording, None, None);
        entries.iter().for_each(|entry| regression.write(entry).unwrap());
        assert_eq!(regression.overflow(), None);
        let run = regression.take().pop().unwrap();
        let compared = regression.baseline.compare(&run.behaviour, &Normalisation::default());
        assert_eq!((compared.compared, compared.deviations.len()), (1, 0), "{version}");
    }
}

/// A server may send for as long as the replay lasts.
#[test]
fn what_servers_send_is_kept_as_far_as_there_is_room() {
    let protocol = protocols().pop().unwrap();
    let mut script = Script::new(&protocol);
    for _ in 0..20 {
        script.send("login", &[("entityId", Value::Int(1))]);
    }
    let entries: Vec<Entry> = script.records.into_iter().map(Entry::Packet).collect();
    let recording = Recording::read(entries.iter().cloned().map(Ok), None).unwrap();
    let mut regression = Regression::new(&recording, None, None);
    regression.set_room(2_000_000);
    let rounds = (0..10_000).take_while(|_| {
        entries.iter().for_each(|entry| regression.write(entry).unwrap());
        regression.overflow().is_none()
    });
    let rounds = rounds.count();
    assert!((2..10_000).contains(&rounds), "{rounds}");
    let said = regression.overflow().unwrap();
    assert!(said.starts_with("session 1: the server has sent more than "), "{said}");
    assert!(regression.take().is_empty());
}
