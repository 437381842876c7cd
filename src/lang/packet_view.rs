use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::View;
use crate::packet::Packet;
use crate::schema::{Direction, PacketType, Protocol, State};

/// A packet on its way: no verdict has been given yet.
impl View for Packet {
    fn protocol(&self) -> &Arc<Protocol> {
        &self.context.protocol
    }

    fn version(&self) -> i32 {
        self.context.version.unwrap_or_else(|| self.context.protocol.version())
    }

    fn state(&self) -> State {
        self.state
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn kind(&self) -> Option<&PacketType> {
        self.kind()
    }

    fn id(&self) -> Option<i32> {
        self.id()
    }

    fn size(&self) -> usize {
        self.size()
    }

    fn wire(&self) -> usize {
        self.wire_size()
    }

    fn time(&self) -> f64 {
        self.at.since(self.context.opened).as_secs_f64()
    }

    fn number(&self) -> u64 {
        self.seq
    }

    fn origin(&self) -> &str {
        self.origin.name()
    }

    fn verdict(&self) -> &str {
        "pass"
    }

    fn error(&self) -> Option<Cow<'_, str>> {
        self.error().map(|error| Cow::Owned(error.to_string()))
    }

    fn body(&self) -> Option<Bytes> {
        self.frame()?.body().ok()
    }

    fn fields_at(&self) -> usize {
        self.fields_at()
    }

    fn session(&self) -> u64 {
        self.context.session
    }

    fn player(&self) -> Option<&str> {
        self.context.player.as_deref()
    }

    fn client(&self) -> Cow<'_, str> {
        Cow::Owned(self.context.client.to_string())
    }

    fn server(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.context.upstream)
    }
}
