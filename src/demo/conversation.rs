use super::DemoError;
use super::connection::Connection;
use super::message::Received;
use mitmcraft_engine::link::{Input, KeyMaterial, PeerEngine};

/// The demo's client or server: what it does with what comes over its connection.
pub(super) trait Conversation: PeerEngine {
    /// Returns the connection.
    fn connection(&mut self) -> &mut Connection;

    /// Takes bytes as they were received.
    fn on_bytes(&mut self, bytes: &[u8]) -> Result<(), DemoError> {
        self.endpoint_mut().receive(bytes);
        Ok(())
    }

    fn on_packet(&mut self, packet: &Received) -> Result<(), DemoError>;

    fn on_timeout(&mut self) -> Result<(), DemoError>;

    /// Takes the answer to [`Output::GenerateKey`](mitmcraft_engine::link::Output::GenerateKey), which
    /// only the server asks for.
    fn on_key(&mut self, _: &KeyMaterial) -> Result<(), DemoError> {
        Ok(())
    }

    /// Takes the end of what the other peer sends.
    fn on_closed(&mut self) -> Result<(), DemoError> {
        Err(DemoError::Closed(self.connection().state()))
    }

    /// Takes the reason why the connection ends now.
    fn on_error(&mut self, error: DemoError);

    /// Handles an input. The connection ends with the first error.
    fn converse(&mut self, input: Input<'_>) {
        if let Err(error) = self.take(input) {
            self.fail(error);
        }
    }

    /// Ends the connection for this reason.
    fn fail(&mut self, error: DemoError) {
        let reason = error.to_string();
        self.on_error(error);
        self.endpoint_mut().end(reason);
    }

    /// Handles an input, and every packet that is complete then.
    fn take(&mut self, input: Input<'_>) -> Result<(), DemoError> {
        let state = self.connection().state();
        match input {
            Input::Received(_, bytes) => self.on_bytes(bytes)?,
            Input::Closed(_) => return self.on_closed(),
            Input::Lost(_, reason) => return Err(DemoError::Lost { state, reason }),
            Input::Key(material) => self.on_key(&material)?,
            Input::Timeout => self.on_timeout()?,
            Input::Stop(reason) => return Err(DemoError::Stopped(reason)),
            _ => {}
        }
        while !self.endpoint().is_over()
            && let Some(packet) = self.connection().poll()?
        {
            self.on_packet(&packet)?;
        }
        Ok(())
    }
}
