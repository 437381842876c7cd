//! A filter in Rust: what players say goes to the server in capitals.
//!
//! `cargo run --example shout -- mc.example.org` relays 127.0.0.1:25566 to that server.

use std::sync::Arc;

use mitmcraft::filter::{Effects, Filter, Pipeline, Verdict};
use mitmcraft::packet::Packet;
use mitmcraft::proxy::{
    Listener, LogOptions, LogWriter, PipelineFactory, Proxy, ProxyOptions, Stop,
};
use mitmcraft::schema::{Direction, Role, Value};

struct Shout;

impl Filter for Shout {
    fn name(&self) -> &str {
        "shout"
    }

    fn apply(&mut self, packet: &Packet, _: &mut Effects) -> Verdict {
        let Some(ty) = packet.kind().filter(|ty| ty.role() == Some(Role::Chat)) else {
            return Verdict::Pass;
        };
        let Ok(value) = packet.value() else { return Verdict::Pass };
        let Some(text) = value.get("message").and_then(Value::as_text) else {
            return Verdict::Pass;
        };
        if packet.direction() != Direction::Serverbound || text.starts_with('/') {
            return Verdict::Pass;
        }
        let shouted = Value::map([("message", text.to_uppercase().as_str().into())]);
        match packet.context().protocol.encode(ty, &shouted) {
            Ok(body) => Verdict::Replace(body.into()),
            Err(_) => Verdict::Pass,
        }
    }
}

fn pipeline() -> Pipeline {
    let mut pipeline = Pipeline::default();
    pipeline.push(Box::new(Shout));
    pipeline
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let upstream = std::env::args().nth(1).ok_or("which server?")?.parse()?;
    let (log, writer) = LogWriter::start(Vec::new(), LogOptions::default())?;
    let options = ProxyOptions {
        pipeline: PipelineFactory::new(Arc::new(pipeline)).fixed(),
        ..ProxyOptions::new(upstream)
    };
    let listener = Listener::bind(([127, 0, 0, 1], 25566).into(), 100).await?;
    Proxy::new(listener, options, log).run(&Stop::new()).await;
    match writer.finish().into_iter().next() {
        Some(fault) => Err(fault.into()),
        None => Ok(()),
    }
}
