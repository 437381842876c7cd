mod errors;
mod grammar;
mod laziness;
mod semantics;
mod versions;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::json;

use super::{Expr, Formula, View};
use crate::schema::{Catalog, Direction, PacketType, Protocol, State, Value};

/// A packet, and how often what of it was asked for.
struct Sample {
    protocol: Arc<Protocol>,
    state: State,
    direction: Direction,
    body: Vec<u8>,
    player: Option<&'static str>,
    packets: Cell<usize>,
    bodies: Cell<usize>,
    errors: Cell<usize>,
}

impl Sample {
    fn new(state: State, direction: Direction, body: Vec<u8>) -> Self {
        Self {
            protocol: java_47(),
            state,
            direction,
            body,
            player: Some("Notch"),
            packets: Cell::new(0),
            bodies: Cell::new(0),
            errors: Cell::new(0),
        }
    }

    /// How often the packet, the body and the error were asked for.
    fn asked(&self) -> [usize; 3] {
        [self.packets.take(), self.bodies.take(), self.errors.take()]
    }

    fn identify(&self) -> Option<(&PacketType, usize)> {
        self.protocol.identify(self.state, self.direction, &self.body).ok()
    }

    fn matches(&self, text: &str) -> bool {
        expr(text).matches(self)
    }

    fn value(&self, text: &str) -> Option<Value> {
        match Formula::parse(text, Catalog::embedded()) {
            Ok(formula) => formula.value(self),
            Err(error) => panic!("{}", error.render(text)),
        }
    }
}

impl View for Sample {
    fn protocol(&self) -> &Arc<Protocol> {
        &self.protocol
    }

    fn state(&self) -> State {
        self.state
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn packet(&self) -> Option<&PacketType> {
        self.packets.set(self.packets.get() + 1);
        self.identify().map(|(packet, _)| packet)
    }

    fn id(&self) -> Option<i32> {
        crate::wire::Reader::new(&self.body).varint().ok().map(|id| id.value)
    }

    fn size(&self) -> usize {
        self.body.len()
    }

    fn wire(&self) -> usize {
        self.body.len() + 2
    }

    fn time(&self) -> f64 {
        3.25
    }

    fn number(&self) -> u64 {
        42
    }

    fn origin(&self) -> &str {
        "server"
    }

    fn verdict(&self) -> &str {
        "pass"
    }

    fn error(&self) -> Option<Cow<'_, str>> {
        self.errors.set(self.errors.get() + 1);
        let (packet, start) = match self.protocol.identify(self.state, self.direction, &self.body) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string().into()),
        };
        let decoded = self.protocol.decode(packet, &self.body, start);
        decoded.err().map(|error| error.to_string().into())
    }

    fn body(&self) -> Option<Bytes> {
        self.bodies.set(self.bodies.get() + 1);
        Some(Bytes::copy_from_slice(&self.body))
    }

    fn fields_at(&self) -> usize {
        self.identify().map_or(0, |(_, start)| start)
    }

    fn session(&self) -> u64 {
        1
    }

    fn player(&self) -> Option<&str> {
        self.player
    }

    fn client(&self) -> Cow<'_, str> {
        "127.0.0.1:50000".into()
    }

    fn server(&self) -> Cow<'_, str> {
        "mc.example.org:25565".into()
    }
}

fn java_47() -> Arc<Protocol> {
    Catalog::embedded().find(47).unwrap().protocol
}

fn expr(text: &str) -> Expr {
    match Expr::parse(text, Catalog::embedded()) {
        Ok((expr, _)) => expr,
        Err(error) => panic!("{}", error.render(text)),
    }
}

/// The golden bytes of a packet, in the order of the file: `play clientbound chat 0`.
fn golden(place: &str) -> Sample {
    let [state, direction, name, case] = place.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{place}");
    };
    static FILE: LazyLock<toml::Table> = LazyLock::new(|| GOLDEN.parse().unwrap());
    let is = |packet: &toml::Value, key: &str, value: &str| packet[key].as_str() == Some(value);
    let packet = FILE["packet"].as_array().unwrap().iter().find(|packet| {
        is(packet, "state", state) && is(packet, "direction", direction) && is(packet, "name", name)
    });
    let packet = packet.unwrap_or_else(|| panic!("no {place}"));
    let hex = packet["case"][case.parse::<usize>().unwrap()]["hex"].as_str().unwrap();
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let body = digits.chunks(2).map(pair).collect();
    Sample::new(state.parse().unwrap(), direction.parse().unwrap(), body)
}

/// A catalog of protocol 47 and one more of a few packets, 900, whose descriptions are these.
fn with_protocol_900(packets: &[(&str, serde_json::Value)]) -> Catalog {
    let ids: serde_json::Map<_, _> = (0..)
        .zip(packets)
        .map(|(id, (name, _)): (i32, _)| (format!("0x{id:02x}"), json!(name)))
        .collect();
    let types: serde_json::Map<_, _> = packets
        .iter()
        .map(|(name, _)| ((*name).to_owned(), json!(format!("packet_{name}"))))
        .collect();
    let mut local: serde_json::Map<_, _> = packets
        .iter()
        .map(|(name, fields)| (format!("packet_{name}"), json!(["container", fields])))
        .collect();
    local.insert(
        "packet".to_owned(),
        json!(["container", [
            {"name": "name", "type": ["mapper", {"type": "varint", "mappings": ids}]},
            {"name": "params", "type": ["switch", {"compareTo": "name", "fields": types}]}
        ]]),
    );
    let description = json!({
        "types": {"string": ["pstring", {"countType": "varint"}]},
        "play": {"toClient": {"types": local}}
    });
    let mut catalog = Catalog::embedded().clone();
    catalog.insert(Protocol::from_json(900, "9.0", &description).unwrap());
    catalog
}

const GOLDEN: &str = include_str!("../../../../tests/golden/java-47.toml");
