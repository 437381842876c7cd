use std::sync::Arc;

use super::message::{Message, Received};
use super::{DemoError, Opening};
use mitmcraft_engine::link::{Endpoint, Side};
use mitmcraft_protocol::codec::Limits;
use mitmcraft_protocol::packet::{Content, Context, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Name, Protocol, State};

/// The connection of the demo's client or server: packets by their names.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) endpoint: Endpoint,
    peer: Side,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Connection {
    /// Starts with a new connection to `peer`, which speaks 1.8.
    pub(super) fn new(peer: Side, opening: &Opening) -> Self {
        let protocol = Catalog::embedded().find(VERSION).expect("1.8 is embedded").protocol;
        let context = Context {
            upstream: opening.server.to_string(),
            version: Some(VERSION),
            ..opening.context(protocol)
        };
        let endpoint = Endpoint::new(peer, context, Limits::default());
        Self { endpoint, peer, sent: 0, received: 0 }
    }

    /// Speaks Alpha from here on, which has one state and no frames.
    pub(super) fn use_alpha(&mut self) {
        let protocol = Catalog::embedded().alpha(ALPHA_VERSION).protocol;
        self.use_bare(protocol, State::Play);
    }

    /// Speaks a protocol without frames from here on.
    pub(super) fn use_bare(&mut self, protocol: Arc<Protocol>, state: State) {
        self.endpoint.update_context(|context| {
            context.version = Some(protocol.version());
            context.protocol = protocol;
        });
        self.endpoint.enter(state);
        self.endpoint.set_bare();
    }

    /// Sends a packet of the present state.
    pub(super) fn send(&mut self, message: &Message) -> Result<(), DemoError> {
        let fault = |source| DemoError::Encode { packet: message.name.clone(), source };
        let protocol = &self.endpoint.context().protocol;
        let packet = protocol.named(self.state(), self.peer.other().sends(), &message.name);
        let packet = packet.ok_or_else(|| fault(None))?;
        let body = protocol.encode(packet, &message.value).map_err(|error| fault(Some(error)))?;
        self.endpoint.send(&body);
        self.sent += 1;
        Ok(())
    }

    pub(super) fn send_all(&mut self, messages: &[Message]) -> Result<(), DemoError> {
        messages.iter().try_for_each(|message| self.send(message))
    }

    /// Returns the next packet that was received. In the play state, packets that cannot be decoded
    /// are skipped.
    pub(super) fn poll(&mut self) -> Result<Option<Received>, DemoError> {
        while let Some(packet) = self.endpoint.poll() {
            self.received += 1;
            let name = packet.kind().map(|kind| Name::clone(kind.name()));
            let value = packet.value();
            let raw = match packet.content() {
                Content::Raw(_, reason) => Some(reason.clone()),
                Content::Frame(_) => None,
            };
            let empty = packet.size() == 0;
            self.endpoint.record(packet);
            if let Some(reason) = raw {
                return Err(DemoError::Unreadable(reason));
            }
            match (name, value) {
                (Some(name), Ok(value)) => return Ok(Some(Received { name, value })),
                // An empty frame is no packet in any state.
                _ if self.state() == State::Play || empty => {}
                (_, Err(source)) => return Err(DemoError::Decode { state: self.state(), source }),
                (None, Ok(_)) => {}
            }
        }
        Ok(None)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.endpoint.now()
    }

    pub(super) fn state(&self) -> State {
        self.endpoint.state(self.peer.sends())
    }
}

/// The protocol number of Alpha 1.2.3.
pub(super) const ALPHA_VERSION: i32 = 5;

/// The protocol number of Minecraft 1.8.
pub(super) const VERSION: i32 = 47;
