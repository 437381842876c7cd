use std::io::{IsTerminal as _, stdin, stdout};
use std::sync::mpsc;

use anyhow::Context as _;
use mitmcraft::proxy::{Attachment, ControlHandle, Stop};
use mitmcraft::tui::{App, Screen, ScreenEnd};

use super::output::{Output, divert};

/// The interface in the terminal, before it takes the terminal over.
pub(crate) struct TerminalInterface {
    app: App,
    /// `None` if there are no sessions to control.
    control: Option<ControlHandle>,
}

impl TerminalInterface {
    pub(crate) fn new(app: App, control: Option<ControlHandle>) -> Self {
        Self { app, control }
    }

    /// Returns whether stdin and stdout are a terminal.
    pub(crate) fn is_possible() -> bool {
        stdin().is_terminal() && stdout().is_terminal()
    }

    /// Shows the interface until the person leaves, which stops the run, or until the run stops.
    /// Messages for stderr appear in its last line meanwhile.
    pub(crate) async fn run(self, stop: &Stop, output: &Output) {
        if let Err(error) = self.show(stop).await {
            output.error(&format!("{error:#}"));
            stop.stop("the terminal failed");
        }
    }

    async fn show(self, stop: &Stop) -> anyhow::Result<()> {
        let Self { mut app, control } = self;
        let mut attachment = match &control {
            Some(control) => control.attach().await,
            None => None,
        };
        let (to_app, messages) = mpsc::sync_channel(QUEUE);
        let (send, mut requests) = tokio::sync::mpsc::channel(QUEUE);
        let screen = Screen::open().context("cannot use the terminal")?;
        divert(Some(to_app.clone()));
        let stopping = stop.clone();
        let mut running = tokio::task::spawn_blocking(move || {
            // A run that has ended takes no more requests.
            let send = |request| drop(send.blocking_send(request));
            screen.run(&mut app, &messages, send, || stopping.is_stopped())
        });
        let ended = loop {
            tokio::select! {
                message = next(&mut attachment) => {
                    // An interface that does not take its messages loses them, and only those.
                    let _ = to_app.try_send((*message).clone());
                }
                Some(request) = requests.recv() => {
                    if let Some(attachment) = &attachment {
                        attachment.send(request).await;
                    }
                }
                ended = &mut running => break ended,
            }
        };
        divert(None);
        // What the person asked for last, before the sessions hear that the interface is gone.
        while let Some(request) = requests.recv().await {
            if let Some(attachment) = &attachment {
                attachment.send(request).await;
            }
        }
        if let Some(control) = &control {
            // Its answer comes after all of that is with the sessions.
            drop(control.attach().await);
        }
        match ended?? {
            ScreenEnd::Left => stop.stop("stopped by the user"),
            ScreenEnd::Panicked => stop.stop("a task of the program failed"),
            ScreenEnd::Stopped => {}
        }
        Ok(())
    }
}

/// Returns the next message of the controller; waits forever once there is none.
async fn next(attachment: &mut Option<Attachment>) -> std::sync::Arc<serde_json::Value> {
    if let Some(open) = attachment {
        if let Some(message) = open.next().await {
            return message;
        }
        *attachment = None;
    }
    std::future::pending().await
}

/// Messages and requests that wait.
const QUEUE: usize = 4096;
