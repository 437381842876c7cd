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
        formula(text).value(self)
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

    fn kind(&self) -> Option<&PacketType> {
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

fn formula(text: &str) -> Formula {
    match Formula::parse(text, Catalog::embedded()) {
        Ok(formula) => formula,
        Err(error) => panic!("{}", error.render(text)),
    }
}

/// The golden bytes of a packet, by the place of the case: `play clientbound chat 0`.
fn golden(place: &str) -> Sample {
    let found = GOLDEN.iter().find(|golden| golden.place == place);
    found.unwrap_or_else(|| panic!("no {place}")).sample()
}

/// All golden packets.
fn goldens() -> impl Iterator<Item = Sample> {
    GOLDEN.iter().map(Golden::sample)
}

struct Golden {
    place: String,
    state: State,
    direction: Direction,
    body: Vec<u8>,
}

impl Golden {
    fn sample(&self) -> Sample {
        Sample::new(self.state, self.direction, self.body.clone())
    }
}

static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| {
    let file = include_str!("../../../tests/golden/java-47.toml");
    let file: toml::Table = file.parse().unwrap();
    let mut all = Vec::new();
    for packet in file["packet"].as_array().unwrap() {
        let word = |key: &str| packet[key].as_str().unwrap();
        let (state, direction, name) = (word("state"), word("direction"), word("name"));
        for (index, case) in packet["case"].as_array().unwrap().iter().enumerate() {
            let digits = case["hex"].as_str().unwrap().replace(char::is_whitespace, "");
            let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            all.push(Golden {
                place: format!("{state} {direction} {name} {index}"),
                state: state.parse().unwrap(),
                direction: direction.parse().unwrap(),
                body: (0..digits.len()).step_by(2).map(byte).collect(),
            });
        }
    }
    all
});

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
    let mut catalog = Catalog::embedded().only(&[47]);
    catalog.insert(Protocol::from_json(900, "9.0", &description).unwrap());
    catalog
}
