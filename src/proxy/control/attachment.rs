use std::sync::Arc;

use serde_json::Value as Json;
use tokio::sync::mpsc;

use super::{ControlHandle, Message};

/// A user interface attached to the controller of a run; see [`control`](crate::control) for its
/// messages. Dropping it detaches the interface.
#[derive(Debug)]
pub struct Attachment {
    pub(super) control: ControlHandle,
    pub(super) interface: u64,
    pub(super) messages: mpsc::Receiver<Arc<Json>>,
}

impl Attachment {
    /// Sends a request. The answer comes as a message.
    pub async fn send(&self, request: Json) {
        // Without a controller there are no more messages, which the caller sees.
        let _ = self.control.0.send(Message::Request(self.interface, request)).await;
    }

    /// Returns the next message. Returns `None` if the interface was detached because too many were
    /// waiting, or if the run has ended.
    pub async fn next(&mut self) -> Option<Arc<Json>> {
        self.messages.recv().await
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let (sender, interface) = (self.control.0.clone(), self.interface);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { sender.send(Message::Detach(interface)).await });
        }
    }
}
