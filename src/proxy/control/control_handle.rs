use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::{Attachment, SessionControl};
use crate::control::{Controller, Holding, Message, Request};
use mitmcraft_engine::link::{Breakpoint, Command, Report};
use mitmcraft_protocol::schema::Catalog;

/// The way to the [`Controller`] of a run, for user interfaces and sessions. Cheap to clone. The
/// controller's task ends with the last clone.
///
/// All queues are bounded. A session that does not take its commands refuses them, and an interface
/// that does not take its messages is detached: neither makes the others wait.
#[derive(Debug, Clone)]
pub struct ControlHandle {
    pub(super) sender: mpsc::Sender<ToController>,
    pub(super) catalog: Arc<Catalog>,
    holding: watch::Receiver<Holding>,
}

/// The news about held packets that an interface gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldNews {
    /// What happens to each of them.
    Each,
    /// How many there are: see [`Attachment::holding`]. The interface asks for those that it shows.
    Count,
}

/// A message to the controller's task.
#[derive(Debug)]
pub(super) enum ToController {
    Attach(HeldNews, oneshot::Sender<(u64, mpsc::Receiver<Message>)>),
    Detach(u64),
    Request(u64, Option<u64>, Request),
    /// A session begins. The last part says that its first commands are there.
    Open(u64, mpsc::Sender<Command>, oneshot::Sender<()>),
    Close(u64),
    Report(u64, Report),
}

impl ControlHandle {
    /// Starts the controller of a run, which holds what matches `breakpoint` from the start. Must be
    /// called within a runtime.
    #[must_use]
    pub fn start(catalog: Arc<Catalog>, breakpoint: Option<Breakpoint>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let controller = Controller::new(breakpoint);
        let (holding, held) = watch::channel(Holding::default());
        let (interfaces, sessions) = (HashMap::new(), HashMap::new());
        let task = ControlTask { controller, interfaces, sessions, holding };
        tokio::spawn(task.run(receiver));
        Self { sender, catalog, holding: held }
    }

    /// Adds a user interface. Returns `None` once the controller has ended.
    pub async fn attach(&self, news: HeldNews) -> Option<Attachment> {
        let (sender, receiver) = oneshot::channel();
        self.sender.send(ToController::Attach(news, sender)).await.ok()?;
        let (interface, messages) = receiver.await.ok()?;
        let mut holding = self.holding.clone();
        holding.mark_changed();
        Some(Attachment { control: self.clone(), interface, messages, holding })
    }

    /// Adds a session.
    pub(in crate::proxy) async fn open(&self, session: u64) -> Option<SessionControl> {
        let (sender, commands) = mpsc::channel(COMMANDS);
        let (ready, is_ready) = oneshot::channel();
        self.sender.send(ToController::Open(session, sender, ready)).await.ok()?;
        is_ready.await.ok()?;
        Some(SessionControl { control: self.clone(), session, commands })
    }
}

/// Owns the controller.
struct ControlTask {
    controller: Controller,
    interfaces: HashMap<u64, (HeldNews, mpsc::Sender<Message>)>,
    sessions: HashMap<u64, mpsc::Sender<Command>>,
    holding: watch::Sender<Holding>,
}

impl ControlTask {
    async fn run(mut self, mut messages: mpsc::Receiver<ToController>) {
        let mut left_at: Option<Instant> = None;
        loop {
            let grace = left_at.map(|at| sleep_until(at + GRACE));
            let message = tokio::select! {
                message = messages.recv() => message,
                Some(()) = OptionFuture::from(grace) => {
                    self.controller.abandon();
                    left_at = None;
                    self.pass_on();
                    continue;
                }
            };
            let Some(message) = message else { return };
            match message {
                ToController::Attach(news, attached) => {
                    let (sender, receiver) = mpsc::channel(QUEUE);
                    let interface = self.controller.attach();
                    self.interfaces.insert(interface, (news, sender));
                    if attached.send((interface, receiver)).is_err() {
                        self.detach(interface);
                    }
                }
                ToController::Detach(interface) => self.detach(interface),
                ToController::Request(interface, id, request) => {
                    self.controller.handle(interface, id, request);
                }
                ToController::Open(session, sender, ready) => {
                    self.sessions.insert(session, sender);
                    self.controller.open(session);
                    self.pass_on();
                    // A session that is gone already closes too.
                    let _ = ready.send(());
                }
                ToController::Close(session) => {
                    self.sessions.remove(&session);
                    self.controller.close(session);
                }
                ToController::Report(session, report) => self.controller.report(session, report),
            }
            self.pass_on();
            left_at = self.controller.is_left().then(|| left_at.unwrap_or_else(Instant::now));
        }
    }

    fn detach(&mut self, interface: u64) {
        self.interfaces.remove(&interface);
        self.controller.detach(interface);
    }

    /// Passes on what the controller says until it has nothing more to say.
    fn pass_on(&mut self) {
        loop {
            if let Some((session, command)) = self.controller.poll_command() {
                self.command(session, command);
            } else if let Some((interface, message)) = self.controller.poll_message() {
                self.tell(interface, message);
            } else {
                break;
            }
        }
        let now = self.controller.holding();
        self.holding.send_if_modified(|holding| std::mem::replace(holding, now) != now);
    }

    fn command(&mut self, session: u64, command: Command) {
        let Some(sender) = self.sessions.get(&session) else { return };
        match sender.try_send(command) {
            Ok(()) => {}
            Err(TrySendError::Full(command)) => self.controller.refuse(session, &command),
            Err(TrySendError::Closed(_)) => {
                self.sessions.remove(&session);
                self.controller.close(session);
            }
        }
    }

    fn tell(&mut self, interface: Option<u64>, message: Message) {
        let mut stopped = Vec::new();
        let about_packet = matches!(&message, Message::Push(push) if push.is_about_packet());
        for (number, (news, sender)) in &self.interfaces {
            let meant = interface.is_none_or(|it| it == *number)
                && (!about_packet || *news == HeldNews::Each);
            if meant && sender.try_send(message.clone()).is_err() {
                stopped.push(*number);
            }
        }
        for interface in stopped {
            self.detach(interface);
        }
    }
}

/// Time after the last interface has gone until what is held is forwarded: a page is loaded again, or a lost
/// connection comes back.
const GRACE: Duration = Duration::from_secs(10);

/// Messages that wait for the controller, or for one interface.
const QUEUE: usize = 1024;

/// Commands that wait for one session.
const COMMANDS: usize = 256;
