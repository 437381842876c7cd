mod errors;
mod grammar;
mod laziness;
mod semantics;
mod sent;
mod versions;

use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::{Expr, Formula};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Origin, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, PacketType, Protocol, State, Value};

/// A packet to evaluate expressions on.
struct Sample {
    protocol: Arc<Protocol>,
    state: State,
    direction: Direction,
    body: Vec<u8>,
    player: Option<&'static str>,
}

impl Sample {
    fn new(state: State, direction: Direction, body: Vec<u8>) -> Self {
        Self { protocol: java_47(), state, direction, body, player: Some("Notch") }
    }

    fn packet(&self) -> Packet {
        let context = Context {
            upstream: "mc.example.org:25565".to_owned(),
            player: self.player.map(str::to_owned),
            ..Context::new(
                1,
                Timestamp(0),
                "127.0.0.1:50000".parse().unwrap(),
                Arc::clone(&self.protocol),
            )
        };
        let (context, at) = (Arc::new(context), Timestamp(3_250_000_000));
        let content = Content::Frame(Frame::from_body(self.body.clone().into()));
        let mut packet = Packet::new(context, 42, at, self.direction, self.state, content);
        packet.set_wire_size(self.body.len() + 2);
        packet.set_origin(Origin::Server);
        packet
    }

    fn identify(&self) -> Option<(&PacketType, usize)> {
        self.protocol.identify(self.state, self.direction, &self.body).ok()
    }

    fn matches(&self, text: &str) -> bool {
        expr(text).matches(&self.packet())
    }

    fn value(&self, text: &str) -> Option<Value> {
        formula(text).value(&self.packet())
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

/// The golden bytes of a packet, by the name of the case: `play clientbound chat 0`.
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
    let file = include_str!("../../../../../tests/golden/java-47.toml");
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

/// A catalog of protocol 47 and of 900, which has only the packets described here.
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
