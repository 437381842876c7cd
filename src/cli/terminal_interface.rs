use std::io::{IsTerminal as _, stdin, stdout};

use anyhow::Context as _;
use mitmcraft::proxy::{Attachment, ControlHandle, HeldNews, Stop};
use mitmcraft::tui::{App, Inbox, Screen, ScreenEnd};
use mitmcraft::view::protocol::{Message, Request};

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

    /// Returns why there can be no interface in a terminal.
    pub(crate) fn obstacle() -> Option<&'static str> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            return Some("stdin and stdout are not both a terminal");
        }
        // It has nothing but lines.
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        is_dumb.then_some("this one cannot move its cursor (TERM is `dumb`)")
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
        let inbox = app.inbox();
        let mut attachment = attach(control.as_ref()).await;
        let (send, mut requests) = tokio::sync::mpsc::channel(QUEUE);
        let screen = Screen::open().context("cannot use the terminal")?;
        divert(Some(inbox.clone()));
        let stopping = stop.clone();
        let mut running = tokio::task::spawn_blocking(move || {
            // A run that has ended takes no more requests.
            let send = |id, request| drop(send.blocking_send((id, request)));
            screen.run(&mut app, send, || stopping.is_stopped())
        });
        let ended = loop {
            tokio::select! {
                message = next(&mut attachment) => match message {
                    Some(message) => inbox.put(message),
                    // The terminal was detached: the controller reports all held packets again.
                    None => {
                        inbox.forget_held();
                        attachment = attach(control.as_ref()).await;
                    }
                },
                Some((id, request)) = requests.recv() => {
                    ask(attachment.as_ref(), &inbox, id, request).await;
                }
                ended = &mut running => break ended,
            }
        };
        divert(None);
        // What the person asked for last, before the sessions hear that the interface is gone.
        while let Some((id, request)) = requests.recv().await {
            ask(attachment.as_ref(), &inbox, id, request).await;
        }
        // The answer comes after all of that is with the sessions.
        drop(attach(control.as_ref()).await);
        match ended?? {
            ScreenEnd::Left => stop.stop("stopped by the user"),
            ScreenEnd::Panicked => stop.stop("a task of the program failed"),
            ScreenEnd::Stopped => {}
        }
        Ok(())
    }
}

/// Attaches the interface to the controller, if there is one.
async fn attach(control: Option<&ControlHandle>) -> Option<Attachment> {
    control?.attach(HeldNews::Each).await
}

/// Passes a request on to the controller.
async fn ask(attachment: Option<&Attachment>, inbox: &Inbox, id: u64, request: Request) {
    if let Some(attachment) = attachment
        && let Err(failure) = attachment.send(Some(id), request).await
    {
        inbox.put(Message::answer(Some(id), Err(failure)));
    }
}

/// Returns the next message of the controller, or `None` once it has detached the interface; waits forever without
/// one.
async fn next(attachment: &mut Option<Attachment>) -> Option<Message> {
    match attachment {
        Some(attachment) => attachment.next().await,
        None => std::future::pending().await,
    }
}

/// Requests that wait.
const QUEUE: usize = 4096;
