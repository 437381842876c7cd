use tokio::sync::{mpsc, watch};

use super::{ControlHandle, ToController};
use crate::control::{self, Holding};
use crate::view::protocol::{Failure, Message, Request};

/// A user interface attached to the controller of a run. Dropping it detaches the interface.
#[derive(Debug)]
pub struct Attachment {
    pub(super) control: ControlHandle,
    pub(super) interface: u64,
    pub(super) messages: mpsc::Receiver<control::Message>,
    pub(super) holding: watch::Receiver<Holding>,
}

impl Attachment {
    /// Sends a request. The answer comes as a message, with the same `id`.
    ///
    /// # Errors
    /// If it is not a request to running sessions, or if a part of it cannot be read.
    pub async fn send(&self, id: Option<u64>, request: Request) -> Result<(), Failure> {
        let request = request
            .for_controller(&self.control.catalog)
            .unwrap_or_else(|| Err(Failure::new("this is not a request to running sessions")))?;
        self.pass(id, request).await;
        Ok(())
    }

    /// Sends a request that has been read. The answer comes as a message, with the same `id`.
    pub(crate) async fn pass(&self, id: Option<u64>, request: control::Request) {
        // Without a controller there are no more messages, which the caller sees.
        let message = ToController::Request(self.interface, id, request);
        let _ = self.control.sender.send(message).await;
    }

    /// Returns how much is held, which changes at first and whenever that does.
    #[must_use]
    pub fn holding(&self) -> watch::Receiver<Holding> {
        self.holding.clone()
    }

    /// Returns the next message. Returns `None` if the interface was detached because too many were
    /// waiting, or if the run has ended.
    pub async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await.map(Message::from)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let (sender, interface) = (self.control.sender.clone(), self.interface);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { sender.send(ToController::Detach(interface)).await });
        }
    }
}
