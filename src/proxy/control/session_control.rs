use tokio::sync::mpsc;

use super::{ControlHandle, ToController};
use mitmcraft_engine::link::{Command, Report};

/// A session's end of the channels to the controller.
#[derive(Debug)]
pub(in crate::proxy) struct SessionControl {
    pub(super) control: ControlHandle,
    pub(super) session: u64,
    pub(super) commands: mpsc::Receiver<Command>,
}

impl SessionControl {
    /// Returns the next command; waits forever once there is no controller.
    pub(in crate::proxy) async fn next(&mut self) -> Command {
        match self.commands.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }

    /// Returns the next command if it is there.
    pub(in crate::proxy) fn try_next(&mut self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    /// Passes on what the session reports. The controller never waits for a session, so this takes no
    /// longer than its work.
    pub(in crate::proxy) async fn report(&self, report: Report) {
        let _ = self.control.sender.send(ToController::Report(self.session, report)).await;
    }

    /// Says that the session is over.
    pub(in crate::proxy) async fn close(self) {
        let _ = self.control.sender.send(ToController::Close(self.session)).await;
    }
}
