use std::sync::Arc;

use mitmcraft_engine::filter::Pipeline;
use mitmcraft_engine::link::{Engine as _, Input, Side, Upstream};
use mitmcraft_engine::session::{Config, Session, Start};
use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// A session of 1.8 in the game, with that threshold on both legs.
pub fn playing(threshold: i32) -> Session {
    let start = Start {
        session: 1,
        at: Timestamp(1),
        client: ([127, 0, 0, 1], 50000).into(),
        upstream: Upstream { host: "localhost".into(), port: 25565 },
    };
    let mut session = Session::new(Arc::new(Config::default()), start, Pipeline::default())
        .expect("the default version is known");
    session.handle(Timestamp(1), Input::Connected(([127, 0, 0, 1], 25565).into()));
    let handshake = Value::map([
        ("protocolVersion", Value::Int(47)),
        ("serverHost", Value::from("localhost")),
        ("serverPort", Value::Int(25565)),
        ("nextState", Value::Int(2)),
    ]);
    say(&mut session, Side::Client, None, State::Handshaking, "set_protocol", &handshake);
    let set = Value::map([("threshold", Value::from(threshold))]);
    say(&mut session, Side::Server, None, State::Login, "compress", &set);
    let success = Value::map([("uuid", Value::from("")), ("username", Value::from("Steve"))]);
    let threshold = usize::try_from(threshold).ok();
    say(&mut session, Side::Server, threshold, State::Login, "success", &success);
    for side in Side::ALL {
        let count = session.pending(side).len();
        session.advance(side, count);
    }
    session
}

fn say(
    session: &mut Session,
    side: Side,
    threshold: Option<usize>,
    state: State,
    name: &str,
    value: &Value,
) {
    let protocol = Catalog::embedded().find(47).expect("1.8 is known").protocol;
    let direction = match side {
        Side::Client => Direction::Serverbound,
        Side::Server => Direction::Clientbound,
    };
    let packet = protocol.named(state, direction, name).expect("a packet of 1.8");
    let body = protocol.encode(packet, value).expect("encodes");
    let mut leg = Leg::default();
    leg.set_compression(threshold);
    leg.encoder.send(&body);
    session.handle(Timestamp(1), Input::Received(side, leg.encoder.pending()));
}
