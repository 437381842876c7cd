use std::collections::{BTreeSet, HashMap};
use std::io;
use std::time::Duration;

use futures_util::future::OptionFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::SessionPipe;
use super::process::{Event, PATIENCE, PipeCommand, Process};
use super::session_pipe::Answered;
use crate::proxy::{Clock, Notices, RunNotice};
use mitmcraft_engine::link::Question;
use mitmcraft_engine::pipe::{Broker, BrokerAction, BrokerCounts};

/// The way to the program that decides on packets of a run. Cheap to clone.
///
/// One task writes the questions of all sessions, and reads the answers. It waits for no session, and no
/// session waits for the program's stdin: each has a bounded number of questions, which wait in the [`Broker`].
#[derive(Debug, Clone)]
pub struct PipeHandle {
    sender: mpsc::Sender<ToPipe>,
}

/// A message to the task.
#[derive(Debug)]
pub(super) enum ToPipe {
    Open(u64, mpsc::UnboundedSender<Answered>),
    Ask(u64, Question),
    Close(u64),
    /// The run is over.
    Finish(oneshot::Sender<BrokerCounts>),
}

impl PipeHandle {
    /// Starts a program, which may take `timeout` for a packet. `notices` are told when it fails, and what it
    /// writes to stderr. Must be called within a runtime.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(command: PipeCommand, timeout: Duration, notices: Notices) -> io::Result<Self> {
        let first = Some(Process::start(&command)?);
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (broker, clock, sessions) = (Broker::new(timeout), Clock::new(), HashMap::new());
        let task = PipeTask { command, first, process: None, broker, clock, sessions, notices };
        tokio::spawn(task.run(receiver));
        Ok(Self { sender })
    }

    /// Adds a session.
    pub(in crate::proxy) async fn open(&self, session: u64) -> SessionPipe {
        let (sender, answers) = mpsc::unbounded_channel();
        // If the task is gone, the session learns it at its first question: see `SessionPipe::next`.
        let _ = self.sender.send(ToPipe::Open(session, sender)).await;
        let asked = BTreeSet::new();
        SessionPipe { sender: self.sender.clone(), session, answers, asked }
    }

    /// Ends the program at the end of the run: its stdin is closed, and it is killed if it does not end soon.
    /// Returns what it did.
    pub async fn finish(self) -> BrokerCounts {
        let (done, finished) = oneshot::channel();
        match self.sender.send(ToPipe::Finish(done)).await {
            Ok(()) => finished.await.unwrap_or_default(),
            Err(_) => BrokerCounts::default(),
        }
    }
}

/// Owns the program and the broker.
struct PipeTask {
    command: PipeCommand,
    /// The program that was started before the task was.
    first: Option<Process>,
    process: Option<Process>,
    broker: Broker,
    clock: Clock,
    sessions: HashMap<u64, mpsc::UnboundedSender<Answered>>,
    notices: Notices,
}

impl PipeTask {
    async fn run(mut self, mut messages: mpsc::Receiver<ToPipe>) {
        loop {
            self.act();
            let Self { process, broker, clock, .. } = &mut self;
            let timeout = broker.poll_timeout().map(|at| sleep_until(clock.instant(at).into()));
            let next = process.as_mut().map(|it| it.next(broker.pending()));
            tokio::select! {
                message = messages.recv() => match message {
                    Some(ToPipe::Finish(done)) => {
                        self.finish().await;
                        let _ = done.send(self.broker.counts());
                        return;
                    }
                    None => return self.finish().await,
                    Some(message) => self.on_message(message),
                },
                Some(event) = OptionFuture::from(next) => {
                    let now = clock.now();
                    match event {
                        Event::Took(count) => broker.advance(now, count),
                        Event::Closed => {}
                        Event::Output(bytes) => broker.on_output(now, bytes),
                        Event::Errors(bytes) => broker.on_errors(now, bytes),
                        Event::Ended { how, output, errors } => {
                            broker.on_output(now, &output);
                            broker.on_errors(now, &errors);
                            broker.on_end(now, how);
                        }
                    }
                }
                Some(()) = OptionFuture::from(timeout) => broker.on_timeout(clock.now()),
            }
        }
    }

    fn on_message(&mut self, message: ToPipe) {
        match message {
            ToPipe::Open(session, sender) => {
                self.sessions.insert(session, sender);
            }
            ToPipe::Ask(session, question) => {
                self.broker.ask(self.clock.now(), session, question);
            }
            ToPipe::Close(session) => {
                self.sessions.remove(&session);
                self.broker.close(session);
            }
            ToPipe::Finish(_) => {}
        }
    }

    /// Does what the broker wants done.
    fn act(&mut self) {
        while let Some(action) = self.broker.poll_action() {
            match action {
                BrokerAction::Start => {
                    let first = self.first.take().map(Ok);
                    let now = self.clock.now();
                    match first.unwrap_or_else(|| Process::start(&self.command)) {
                        Ok(process) => {
                            self.process = Some(process);
                            self.broker.on_started(now);
                        }
                        Err(error) => self.broker.on_not_started(now, error.to_string()),
                    }
                }
                BrokerAction::Kill => {
                    if let Some(process) = self.process.take() {
                        process.kill();
                    }
                }
                BrokerAction::Answer { session, number, ruling } => {
                    if let Some(sender) = self.sessions.get(&session) {
                        // A session that is over needs no answer.
                        let _ = sender.send((number, ruling));
                    }
                }
                BrokerAction::Say(line) => self.notices.show(&RunNotice::PipeSays(&line)),
                BrokerAction::Report { fault, last, undecided, pause } => {
                    let last = last.as_deref();
                    let fault = &fault;
                    self.notices.show(&RunNotice::PipeFails { fault, last, undecided, pause });
                }
                _ => {}
            }
        }
    }

    /// Tells the program that nothing more comes, shows what it still writes to stderr, and kills it if it
    /// does not end soon.
    async fn finish(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        process.stdin = None;
        let give_up = Instant::now() + PATIENCE;
        loop {
            let event = timeout_at(give_up, process.next(&[])).await;
            let now = self.clock.now();
            match event {
                Ok(Event::Errors(bytes)) => self.broker.on_errors(now, bytes),
                Ok(Event::Ended { errors, .. }) => {
                    self.broker.on_errors(now, &errors);
                    break self.act();
                }
                Ok(_) => {}
                Err(_) => break process.kill(),
            }
            self.act();
        }
    }
}

/// Questions that wait for the task.
const QUEUE: usize = 1024;
