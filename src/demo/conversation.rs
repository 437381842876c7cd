use super::DemoError;
use super::connection::Connection;
use super::message::Received;
use mitmcraft_engine::capture::Entry;
use mitmcraft_engine::link::{Engine, Input, KeyMaterial, Output, Side};
use mitmcraft_protocol::packet::Timestamp;

/// The demo's client or server: the decisions of a [`Conversation`].
pub(super) trait Peer: Send {
    /// Takes bytes as they were received.
    fn on_bytes(&mut self, bytes: &[u8], connection: &mut Connection) -> Result<(), DemoError> {
        connection.endpoint.receive(bytes);
        Ok(())
    }

    fn on_packet(
        &mut self,
        packet: &Received,
        connection: &mut Connection,
    ) -> Result<(), DemoError>;

    fn on_timeout(&mut self, connection: &mut Connection) -> Result<(), DemoError>;

    /// Takes the answer to [`Output::GenerateKey`].
    fn on_key(
        &mut self,
        material: &KeyMaterial,
        connection: &mut Connection,
    ) -> Result<(), DemoError>;

    /// Takes the end of what the other peer sends.
    fn on_closed(&mut self, connection: &mut Connection) -> Result<(), DemoError> {
        Err(DemoError::Closed(connection.state()))
    }

    /// Takes the reason why the connection ends now.
    fn on_error(&mut self, error: DemoError, connection: &mut Connection);

    /// The time of the next [`Peer::on_timeout`].
    fn timeout(&self) -> Timestamp;
}

/// One connection of the demo's client or server, as an engine.
#[derive(Debug)]
pub(super) struct Conversation<P> {
    pub(super) peer: P,
    pub(super) connection: Connection,
}

impl<P: Peer> Conversation<P> {
    pub(super) fn new(peer: P, connection: Connection) -> Self {
        Self { peer, connection }
    }

    fn on_input(&mut self, input: Input<'_>) -> Result<(), DemoError> {
        let Self { peer, connection } = self;
        let state = connection.state();
        match input {
            Input::Received(_, bytes) => peer.on_bytes(bytes, connection)?,
            Input::Closed(_) => return peer.on_closed(connection),
            Input::Lost(_, reason) => return Err(DemoError::Lost { state, reason }),
            Input::Key(material) => peer.on_key(&material, connection)?,
            Input::Timeout => peer.on_timeout(connection)?,
            Input::Stop(reason) => return Err(DemoError::Stopped(reason)),
            _ => {}
        }
        while !connection.endpoint.is_over()
            && let Some(packet) = connection.poll()?
        {
            peer.on_packet(&packet, connection)?;
        }
        Ok(())
    }
}

impl<P: Peer> Engine for Conversation<P> {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.connection.endpoint.set_now(at);
        if self.connection.endpoint.is_over() {
            return;
        }
        if let Err(error) = self.on_input(input) {
            let reason = error.to_string();
            self.peer.on_error(error, &mut self.connection);
            self.connection.endpoint.end(reason);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.connection.endpoint.poll_output()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.connection.endpoint.take_entries(into);
    }

    fn advance(&mut self, side: Side, count: usize) {
        self.connection.endpoint.advance(side, count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        self.connection.endpoint.pending(side)
    }

    fn wants_read(&self, side: Side) -> bool {
        self.connection.endpoint.wants_read(side) && !self.connection.endpoint.is_full()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        (!self.connection.endpoint.is_over()).then(|| self.peer.timeout())
    }

    fn is_over(&self) -> bool {
        self.connection.endpoint.is_over()
    }
}
