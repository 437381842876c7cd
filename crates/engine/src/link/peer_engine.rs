use std::any::Any;

use super::{Endpoint, Engine, Input, Output, Side};
use crate::capture::Entry;
use mitmcraft_protocol::packet::Timestamp;

/// An [`Engine`] that is itself one of the two peers: its only connection is an [`Endpoint`].
pub trait PeerEngine: Any + Send {
    /// Returns the connection.
    fn endpoint(&self) -> &Endpoint;

    /// Returns the connection, to be changed.
    fn endpoint_mut(&mut self) -> &mut Endpoint;

    /// Handles an input. The connection has its time, and is not over.
    fn on_input(&mut self, input: Input<'_>);

    /// Returns when to pass [`Input::Timeout`], if nothing else happens before and the connection is
    /// not over.
    fn timeout(&self) -> Option<Timestamp>;

    /// Returns whether the peer should be read now, if the connection is not over.
    fn reads(&self) -> bool {
        !self.endpoint().is_full()
    }
}

impl<P: PeerEngine> Engine for P {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.endpoint_mut().set_now(at);
        if !self.is_over() {
            self.on_input(input);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.endpoint_mut().poll_output()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.endpoint_mut().take_entries(into);
    }

    fn advance(&mut self, side: Side, count: usize) {
        self.endpoint_mut().advance(side, count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        self.endpoint().pending(side)
    }

    fn wants_read(&self, side: Side) -> bool {
        self.endpoint().wants_read(side) && self.reads()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        if self.is_over() { None } else { self.timeout() }
    }

    fn is_over(&self) -> bool {
        self.endpoint().is_over()
    }
}
