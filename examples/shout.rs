//! A filter in Rust: what players say reaches the server in capitals.
//!
//! `cargo run --example shout -- mc.example.org` relays 127.0.0.1:25566 to that server.
//!
//! It works on every version. Only the message changes; all other fields of the packet (since 1.19 a
//! timestamp, a salt, a signature ..) keep what the client sent.
//!
//! Since 1.19 clients with an account sign what their players say, and a server that has a player's
//! key ends the session over a message that was changed. The proxy prevents that:
//!
//! * Since 1.19.3 the key is in a packet of its own. If the server does not enforce signed chat, the
//!   proxy withholds that packet, because [`Filter::changes`] says that this filter changes chat. The
//!   server takes all messages as unsigned, and they arrive in capitals.
//! * If the server enforces signed chat, or has the key from the login (1.19 to 1.19.2), it receives
//!   signed messages as the client sent them, and the log gives the reason.

use std::sync::Arc;

use mitmcraft::proxy::{
    Listener, LogOptions, LogWriter, PipelineFactory, Proxy, ProxyOptions, Stop,
};
use mitmcraft_engine::filter::{Effects, Filter, Pipeline, Verdict};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, Role, Value};

/// Turns the messages of players into capitals.
pub(crate) struct Shout;

impl Filter for Shout {
    fn name(&self) -> &str {
        "shout"
    }

    fn wants(&self, packet: &Packet) -> bool {
        packet.kind().is_some_and(is_message)
    }

    fn wants_type(&self, _: &Arc<Protocol>, kind: &PacketType) -> bool {
        is_message(kind)
    }

    fn changes(&self, _: &Arc<Protocol>, kind: &PacketType) -> bool {
        is_message(kind)
    }

    fn apply(&mut self, packet: &Packet, _: &mut Effects) -> Verdict {
        let (Some(kind), Ok(fields)) = (packet.kind(), packet.value()) else {
            return Verdict::Pass;
        };
        let shouted = match fields.get("message").and_then(Value::as_text) {
            // Before 1.19 commands are messages.
            Some(text) if !text.starts_with('/') => text.to_uppercase(),
            _ => return Verdict::Pass,
        };
        let fields = fields.with_field("message", shouted.as_str().into());
        match packet.context().protocol.encode(kind, &fields) {
            Ok(body) => Verdict::Replace(body.into()),
            Err(_) => Verdict::Pass,
        }
    }
}

/// Returns whether packets of this type are messages from players to the server.
fn is_message(kind: &PacketType) -> bool {
    kind.role() == Some(Role::Chat) && kind.direction() == Direction::Serverbound
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
    let mut options = ProxyOptions::new(upstream);
    options.pipeline = PipelineFactory::new(Arc::new(pipeline)).fixed();
    let listener = Listener::bind(([127, 0, 0, 1], 25566).into(), 100).await?;
    Proxy::new(listener, options, log).run(&Stop::new()).await;
    match writer.finish().into_iter().next() {
        Some(fault) => Err(fault.into()),
        None => Ok(()),
    }
}
