use std::io::{self, ErrorKind, Read as _};
use std::net::Shutdown;
use std::time::Duration;

use futures_util::future::OptionFuture;
use socket2::SockRef;
use thiserror::Error;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinError, JoinSet, block_in_place};
use tokio::time::{Instant, sleep_until};

use super::ask;
use super::chains::Link;
use super::closing::{PATIENCE, STOP_PATIENCE, close, reset};
use super::descriptors::out_of_descriptors;
use super::event::{Event, give_way, ready, stop_reason};
use super::route::{Noted, Route};
use super::shared::Shared;
use super::write_delay::WriteDelay;
use crate::proxy::control::SessionControl;
use crate::proxy::log::Batch;
use crate::proxy::log::WireTap;
use crate::proxy::pipe::SessionPipe;
use crate::proxy::{ConnectError, RefusalError, RunNotice, Trouble, caught};
use mitmcraft_engine::link::{Engine, Input, Notice, Output, PerSide, Side, Unruled};
use mitmcraft_protocol::codec::KeyLogLine;
use mitmcraft_protocol::packet::Cause;

/// Runs one session over its sockets, two for a proxy and one for a replay: moves bytes, reports
/// events to the session, and performs its outputs.
pub(super) struct Driver {
    pub(super) session: Box<dyn Engine>,
    shared: Shared,
    /// How [`Output::Connect`] connects.
    route: Route,
    sockets: PerSide<Option<TcpStream>>,
    /// Keeps the connection to the server known as the proxy's own.
    noted: Option<Noted>,
    /// Sides that have sent all that they will send.
    ended: PerSide<bool>,
    /// Sides that take no more bytes, and why. What they have sent before is still read: a server that
    /// closes while the client is sending resets the connection, behind its last packets.
    broken: PerSide<Option<io::Error>>,
    /// How long bytes wait to be written.
    delays: PerSide<WriteDelay>,
    /// Sides to shut down once nothing is pending for them.
    shutting: PerSide<bool>,
    /// Sides whose connection is reset at the end, since the other one was.
    resets: PerSide<bool>,
    /// Work that the session waits for: a connection, a key, an answer of the session service.
    work: JoinSet<Event>,
    /// Lines for the key log.
    keys: Vec<KeyLogLine>,
    /// The time at which to give up writing to a peer that does not read, once the session is over.
    give_up: Option<Instant>,
    /// `None` if no capture records what crosses the wire.
    tap: Option<WireTap>,
    /// The way to the people who control the session; `None` if nobody can.
    pub(super) control: Option<SessionControl>,
    /// The way to the program that decides on packets; `None` if there is none.
    pub(super) pipe: Option<SessionPipe>,
    /// What tells whether the session is part of a chain; `None` once it is not.
    pub(super) link: Option<Link>,
    /// Bytes that were read since other tasks had a chance to run.
    received: usize,
    stopped: bool,
    /// `true` once the session knows that the run drains.
    drained: bool,
}

/// The reason why a driver ends its session, or cannot connect it.
#[derive(Debug, Error)]
enum DriverError {
    #[error("cannot generate an RSA key: {0}")]
    Key(rsa::Error),
    #[error("internal error: {0}")]
    Panic(JoinError),
    #[error("{0} (timeout `connect`)")]
    Timeout(ConnectError),
}

impl Driver {
    pub(super) fn new(
        mut session: Box<dyn Engine>,
        shared: Shared,
        route: impl Into<Route>,
        client: Option<TcpStream>,
    ) -> Box<Self> {
        if !shared.log.wants_packets {
            session.start_tally();
        }
        if let Some(client) = &client {
            // The game's packets are small. A socket without this option works, only slower.
            let _ = client.set_nodelay(true);
        }
        let route = route.into();
        Box::new(Self {
            session,
            shared,
            // A refused client gets its refusal even while the run drains.
            drained: route.refused.is_some(),
            route,
            sockets: PerSide { client, server: None },
            noted: None,
            ended: PerSide::default(),
            broken: PerSide::default(),
            delays: PerSide::default(),
            shutting: PerSide::default(),
            resets: PerSide::default(),
            work: JoinSet::new(),
            keys: Vec::new(),
            give_up: None,
            tap: None,
            control: None,
            pipe: None,
            link: None,
            received: 0,
            stopped: false,
        })
    }

    /// Also records what crosses the wire, as session number `session`, if a capture wants it.
    pub(super) fn tapped(mut self: Box<Self>, session: u64) -> Box<Self> {
        if self.shared.log.wants_wire {
            let now = self.shared.clock.now();
            let mut tap = WireTap::new(session);
            for side in Side::ALL {
                if let Some(socket) = &self.sockets[side] {
                    tap.open(now, side, socket);
                }
            }
            self.tap = Some(tap);
        }
        self
    }

    /// Refuses the client before anything is relayed, and records the reason.
    pub(super) fn refuse(mut self: Box<Self>, reason: RefusalError) -> Box<Self> {
        self.shared.log.metrics.count_trouble(Trouble::from(&reason));
        self.session.handle(self.shared.clock.now(), Input::Stop(Cause::new(reason)));
        self
    }

    /// Uses a connection to the server that exists already.
    pub(super) fn connected(mut self: Box<Self>, server: TcpStream) -> Box<Self> {
        let _ = server.set_nodelay(true);
        self.sockets.server = Some(server);
        self
    }

    /// Runs the session until it is over, and returns the driver. A future holds what it is given twice,
    /// hence the box: an idle session is little else than its driver.
    pub(super) async fn run(mut self: Box<Self>) -> Box<Self> {
        if caught(self.serve()).await.is_none() {
            // What panicked once may do so again.
            let _ = caught(self.close_after_panic()).await;
        }
        let patience = self.patience();
        if let Some(control) = self.control.take() {
            control.close().await;
        }
        if let Some(pipe) = self.pipe.take() {
            pipe.close().await;
        }
        for side in Side::ALL {
            match self.sockets[side].take() {
                Some(socket) if self.resets[side] => reset(socket, patience).await,
                Some(socket) => close(socket).await,
                None => {}
            }
        }
        self
    }

    /// Records the end of a session that a fault of the program has ended.
    async fn close_after_panic(&mut self) {
        let reason = Cause::new("internal error: the session has panicked");
        self.session.handle(self.shared.clock.now(), Input::Stop(reason));
        self.do_outputs();
        self.write_pending();
        self.log_entries(true).await;
    }

    async fn serve(&mut self) {
        self.on_commands();
        loop {
            self.ask_questions().await;
            self.do_outputs();
            self.log_keys().await;
            self.write_pending();
            if let Some(control) = &self.control {
                while let Some(report) = self.session.poll_report() {
                    control.report(report).await;
                }
            }
            let done = self.is_done();
            // With a tap, the session's last entry follows the last bytes on the wire.
            if done || self.tap.is_none() || !self.session.is_over() {
                self.log_entries(done).await;
            }
            if done {
                break;
            }
            give_way(std::mem::take(&mut self.received)).await;
            let event = self.next_event().await;
            // Other sessions that wait for this thread of the runtime go on with another one.
            match self.session.is_slow(self.shared.clock.now()) && has_other_threads() {
                true => block_in_place(|| self.on_event(event)),
                false => self.on_event(event),
            }
        }
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Connect => {
                    let connecting = self.route.clone().connect();
                    self.work.spawn(async { Event::Connected(connecting.await) });
                }
                Output::GenerateKey => {
                    let keys = self.shared.keys.clone();
                    self.work.spawn_blocking(move || Event::Key(keys.take().map(Box::new)));
                }
                Output::LogKey(line) => self.keys.push(line),
                Output::Join { server_hash, lent } => {
                    if let Some(authority) = self.shared.authority.clone() {
                        self.work.spawn(async move {
                            Event::Joined(authority.join(&server_hash, lent.as_deref()).await)
                        });
                    }
                }
                Output::AskPolicy => {
                    let (clock, route) = (self.shared.clock, self.route.clone());
                    self.work.spawn(async move {
                        Event::Policy(ask::enforces_signed_chat(&clock, route).await)
                    });
                }
                Output::HasJoined { name, server_hash } => {
                    if let Some(authority) = self.shared.authority.clone() {
                        self.work.spawn(async move {
                            Event::Verified(authority.verify(&name, &server_hash).await)
                        });
                    }
                }
                Output::Shutdown(side) | Output::Close(side) => self.shutting[side] = true,
                Output::Reset(side) => self.resets[side] = true,
                Output::Notice(notice) => {
                    if let Notice::TimedOut { .. } = notice {
                        self.shared.log.metrics.count_trouble(Trouble::Timeout);
                    }
                    self.shared.notices.show_of_session(&notice);
                }
                Output::Transfer(transfer) => self.shared.transfers.expect(*transfer),
            }
        }
    }

    /// Asks the program about the packets on which it is to decide.
    async fn ask_questions(&mut self) {
        while let Some(question) = self.session.poll_question() {
            let ruling = Err(Unruled::Down);
            match &mut self.pipe {
                Some(pipe) => pipe.ask(question).await,
                None => {
                    let now = self.shared.clock.now();
                    self.session.handle(now, Input::Ruled(question.number, ruling));
                }
            }
        }
    }

    /// Appends the new keys to the key log, before anything that they encrypt is forwarded.
    async fn log_keys(&mut self) {
        for line in std::mem::take(&mut self.keys) {
            let Some(key_log) = self.shared.key_log.clone() else { continue };
            if let Err(error) = key_log.put(line).await {
                self.shared.notices.show(&RunNotice::KeyLog(&error));
            }
        }
    }

    /// Writes as much as the sockets accept, and shuts down those with nothing left to write.
    fn write_pending(&mut self) {
        for side in Side::ALL {
            let was_pending = !self.session.pending(side).is_empty();
            self.write_to(side);
            let is_pending = !self.session.pending(side).is_empty();
            // What was discarded has not been forwarded.
            let was_pending = was_pending && self.broken[side].is_none();
            let now = || self.shared.clock.now();
            let metrics = &self.shared.log.metrics;
            self.delays[side].on_write(side, was_pending, is_pending, now, metrics);
            if self.shutting[side]
                && !is_pending
                && let Some(socket) = &self.sockets[side]
            {
                // This fails only if the connection is broken, which reading reports too.
                let _ = SockRef::from(socket).shutdown(Shutdown::Write);
                self.shutting[side] = false;
                if let Some(tap) = &mut self.tap {
                    tap.end(self.shared.clock.now(), side, side.other().sends());
                }
            }
        }
    }

    fn write_to(&mut self, side: Side) {
        while let Some(socket) = &self.sockets[side] {
            let pending = self.session.pending(side);
            if pending.is_empty() {
                return;
            }
            if self.broken[side].is_some() {
                let count = pending.len();
                return self.session.advance(side, count);
            }
            match socket.try_write(pending) {
                Ok(count) => {
                    if let Some(tap) = &mut self.tap {
                        let now = self.shared.clock.now();
                        tap.bytes(now, side, side.other().sends(), &pending[..count]);
                    }
                    self.session.advance(side, count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if self.ended[side] => self.lose(side, error),
                Err(error) => self.broken[side] = Some(error),
            }
        }
    }

    /// Passes new entries to the log, and waits while it is full.
    async fn log_entries(&mut self, done: bool) {
        let mut batch = Batch { wires: Vec::new(), entries: Vec::new() };
        if let Some(tap) = &mut self.tap {
            if done {
                tap.close(self.shared.clock.now());
            }
            batch.wires = tap.take();
        }
        self.session.take_entries(&mut batch.entries);
        if let Some(tally) = self.session.tally() {
            self.shared.log.count(tally);
        }
        if !batch.entries.is_empty() || !batch.wires.is_empty() {
            self.shared.log.put_all(batch).await;
        }
    }

    /// Returns whether the session is over, and nothing is left to write or a peer took too long to
    /// read it.
    fn is_done(&mut self) -> bool {
        if !self.session.is_over() {
            return false;
        }
        let waiting = |side| self.sockets[side].is_some() && !self.session.pending(side).is_empty();
        if !Side::ALL.into_iter().any(waiting) {
            return true;
        }
        let patience = self.patience();
        let give_up = *self.give_up.get_or_insert_with(|| Instant::now() + patience);
        give_up <= Instant::now()
    }

    /// Returns how long a peer may take to read the last bytes of the session.
    fn patience(&self) -> Duration {
        if self.stopped { STOP_PATIENCE } else { PATIENCE }
    }

    async fn next_event(&mut self) -> Event {
        let timeout = self.give_up.or_else(|| {
            let at = self.session.poll_timeout()?;
            Some(self.shared.clock.instant(at).into())
        });
        let interest = PerSide::from_fn(|side| self.interest(side));
        let Self { sockets, work, stopped, drained, control, pipe, .. } = self;
        let Shared { stop, drain, pipelines, .. } = &mut self.shared;
        tokio::select! {
            event = ready(&sockets.client, interest.client, Side::Client) => event,
            event = ready(&sockets.server, interest.server, Side::Server) => event,
            Some(done) = work.join_next() => {
                done.unwrap_or_else(|panic| Event::Stop(Cause::new(DriverError::Panic(panic))))
            }
            Some(()) = OptionFuture::from(timeout.map(sleep_until)) => Event::Timeout,
            Some(reason) = stop_reason(stop), if !*stopped => Event::Stop(reason),
            Ok(_) = drain.wait_for(|drains| *drains), if !*drained => Event::Drain,
            Ok(()) = pipelines.changed() => Event::Rules,
            Some(command) = OptionFuture::from(control.as_mut().map(SessionControl::next)) => {
                Event::Command(command)
            }
            Some((number, ruling)) = OptionFuture::from(pipe.as_mut().map(SessionPipe::next)) => {
                Event::Ruled(number, Box::new(ruling))
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        let now = self.shared.clock.now();
        match event {
            Event::Readable(side) => self.read(side, TcpStream::try_read),
            Event::Writable => {}
            Event::Connected(connected) => self.on_connected(connected),
            Event::Key(Ok(material)) => self.session.handle(now, Input::Key(material)),
            Event::Key(Err(error)) => {
                let reason = Cause::new(DriverError::Key(error));
                self.session.handle(now, Input::Stop(reason));
            }
            Event::Joined(joined) => self.session.handle(now, Input::AccountJoined(joined)),
            Event::Policy(enforces) => self.session.handle(now, Input::Policy(enforces)),
            Event::Verified(verified) => self.session.handle(now, Input::Verified(verified)),
            Event::Timeout => self.on_timeout(),
            Event::Stop(reason) => {
                // People gave them before.
                self.on_commands();
                self.stopped = true;
                self.session.handle(now, Input::Stop(reason));
            }
            Event::Drain => {
                self.drained = true;
                if self.session.is_expendable() {
                    self.on_event(Event::Stop(Cause::new("the run drains")));
                }
            }
            Event::Command(command) => self.session.handle(now, Input::Command(command)),
            Event::Ruled(number, ruling) => {
                self.session.handle(now, Input::Ruled(number, *ruling));
                // What has been decided by now goes out in one write.
                for _ in 0..RULINGS {
                    let next = self.pipe.as_mut().and_then(SessionPipe::try_next);
                    let Some((number, ruling)) = next else { break };
                    self.session.handle(now, Input::Ruled(number, ruling));
                }
            }
            Event::Rules => self.renew_pipeline(),
        }
    }

    fn renew_pipeline(&mut self) {
        let pipeline = self.shared.pipelines.borrow_and_update().make();
        self.session.set_pipeline(pipeline);
    }

    /// Handles the commands that are there.
    fn on_commands(&mut self) {
        while let Some(command) = self.control.as_mut().and_then(SessionControl::try_next) {
            self.session.handle(self.shared.clock.now(), Input::Command(command));
        }
    }

    fn on_connected(&mut self, connected: Result<(TcpStream, Option<Noted>), ConnectError>) {
        let now = self.shared.clock.now();
        let addressed = connected.and_then(|(socket, noted)| {
            let address = socket.peer_addr().map_err(ConnectError::Address)?;
            Ok((socket, noted, address))
        });
        match addressed {
            Ok((socket, noted, address)) => {
                let _ = socket.set_nodelay(true);
                if let Some(tap) = &mut self.tap {
                    tap.open(now, Side::Server, &socket);
                }
                self.noted = noted;
                if let Some(link) = &self.link {
                    link.connected();
                }
                self.sockets.server = Some(socket);
                self.session.handle(now, Input::Connected(address));
            }
            Err(error) => {
                let trouble = match &error {
                    ConnectError::Refused(reason) => Trouble::from(reason),
                    ConnectError::Unreachable(error) if out_of_descriptors(&error.0) => {
                        self.shared.notices.show_turned_away(&RefusalError::NoDescriptors);
                        Trouble::Descriptors
                    }
                    _ => Trouble::Upstream,
                };
                self.shared.log.metrics.count_trouble(trouble);
                let input = match error {
                    ConnectError::Refused(reason) => Input::TurnedAway(Cause::new(reason)),
                    ConnectError::Timeout(_) => {
                        Input::Refused(Cause::new(DriverError::Timeout(error)))
                    }
                    error => Input::Refused(Cause::new(error)),
                };
                self.session.handle(now, input);
            }
        }
    }

    /// Reads what has come before it reports a timeout. After a pause of the whole process, both
    /// are due, and the runtime may not know yet that a socket is readable.
    fn on_timeout(&mut self) {
        for side in Side::ALL {
            if self.session.wants_read(side) {
                self.read(side, |socket, buffer| (&*SockRef::from(socket)).read(buffer));
                self.do_outputs();
            }
        }
        let now = self.shared.clock.now();
        if self.session.poll_timeout().is_some_and(|at| at <= now) {
            self.session.handle(now, Input::Timeout);
        }
    }

    /// Reads once, so that the other side and writing get their turns.
    fn read(&mut self, side: Side, read: impl FnOnce(&TcpStream, &mut [u8]) -> io::Result<usize>) {
        BUFFER.with_borrow_mut(|buffer| {
            let Some(socket) = &self.sockets[side] else { return };
            let read = read(socket, buffer);
            let now = self.shared.clock.now();
            if let (Some(tap), Ok(count)) = (&mut self.tap, &read) {
                match *count {
                    0 => tap.end(now, side, side.sends()),
                    count => tap.bytes(now, side, side.sends(), &buffer[..count]),
                }
            }
            match read {
                Ok(0) => self.on_end(side),
                Ok(count) => {
                    self.received += count;
                    match side {
                        Side::Server => {
                            if let Some(link) = self.link.take() {
                                link.answered();
                            }
                        }
                        Side::Client => {
                            if let Some(link) = &mut self.link {
                                link.says(&buffer[..count]);
                            }
                        }
                    }
                    // Who was told that rules are active, or a command carried out, may have sent this.
                    if self.shared.pipelines.has_changed().is_ok_and(|changed| changed) {
                        self.renew_pipeline();
                    }
                    self.on_commands();
                    self.delays[side.other()].on_read(now);
                    self.session.handle(now, Input::Received(side, &buffer[..count]));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.lose(side, error),
            }
        });
    }

    fn on_end(&mut self, side: Side) {
        self.ended[side] = true;
        let broken = self.broken[side].take();
        // A pipe breaks if the peer had closed before it reset the connection.
        if broken.as_ref().is_none_or(|error| error.kind() == ErrorKind::BrokenPipe) {
            self.session.handle(self.shared.clock.now(), Input::Closed(side));
        }
        if let Some(error) = broken {
            self.lose(side, error);
        }
    }

    fn lose(&mut self, side: Side, error: io::Error) {
        self.sockets[side] = None;
        self.shared.log.metrics.count_trouble(side.into());
        let now = self.shared.clock.now();
        self.session.handle(now, Input::Lost(side, error.into()));
    }

    /// Returns what to wait for on a side; `None` if neither to read nor to write.
    fn interest(&self, side: Side) -> Option<Interest> {
        let reads = self.session.wants_read(side).then_some(Interest::READABLE);
        let writes = (!self.session.pending(side).is_empty()).then_some(Interest::WRITABLE);
        match (reads, writes) {
            (Some(reads), Some(writes)) => Some(reads | writes),
            (reads, writes) => reads.or(writes),
        }
    }
}

/// Returns whether the runtime has threads to which work can move.
fn has_other_threads() -> bool {
    Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread
}

thread_local! {
    /// Buffer for reads: one per thread, so that an idle session has none.
    static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; READ]);
}

/// Bytes read at a time. Reading more would keep the other side waiting.
const READ: usize = 64 << 10;

/// Answers of a program that are handled between two writes, so that the sockets get their turn.
const RULINGS: usize = 256;

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::sync::watch;

    use super::*;
    use crate::proxy::{
        Clock, ControlHandle, HeldNews, LogOptions, LogWriter, PipelineFactory, Stop,
    };
    use crate::view::protocol::Request;
    use mitmcraft_engine::capture::{Entry, Event, EventKind, Summary};
    use mitmcraft_engine::filter::Pipeline;
    use mitmcraft_engine::link::Upstream;
    use mitmcraft_engine::session::{Config, Session, Start};
    use mitmcraft_protocol::packet::Context;
    use mitmcraft_protocol::packet::Timestamp;
    use mitmcraft_protocol::schema::Catalog;

    /// A session that counts the rounds of its driver and the bytes that it receives.
    struct CountingSession {
        session: Session,
        rounds: Arc<AtomicUsize>,
        bytes: Arc<AtomicUsize>,
        /// `true` if it always asks to be woken at once.
        restless: bool,
    }

    impl Engine for CountingSession {
        fn handle(&mut self, at: Timestamp, input: Input<'_>) {
            if let Input::Received(_, bytes) = &input {
                self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            }
            self.session.handle(at, input);
        }

        fn poll_output(&mut self) -> Option<Output> {
            self.rounds.fetch_add(1, Ordering::Relaxed);
            self.session.poll_output()
        }

        fn take_entries(&mut self, into: &mut Vec<Entry>) {
            self.session.take_entries(into);
        }

        fn advance(&mut self, side: Side, count: usize) {
            self.session.advance(side, count);
        }

        fn pending(&self, side: Side) -> &[u8] {
            self.session.pending(side)
        }

        fn wants_read(&self, side: Side) -> bool {
            self.session.wants_read(side)
        }

        fn poll_timeout(&self) -> Option<Timestamp> {
            if self.restless { Some(Timestamp(1)) } else { self.session.poll_timeout() }
        }

        fn is_over(&self) -> bool {
            self.session.is_over()
        }
    }

    /// Returns the number of rounds of a driver while nothing arrives, after `asked` and `answered`.
    async fn rounds(asked: &[u8], answered: &[u8], restless: bool) -> usize {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(proxy.local_addr().unwrap()).await.unwrap();
        let (accepted, address) = proxy.accept().await.unwrap();
        let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
        let (clock, stop) = (Clock::new(), Stop::new());
        let port = server.local_addr().unwrap().port();
        let upstream = Upstream { host: "127.0.0.1".into(), port };
        let at = clock.now();
        let start = Start { session: 1, at, client: address, upstream: upstream.clone() };
        let session = Session::new(Arc::new(Config::default()), start, Pipeline::default());
        let (rounds, bytes) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let counted = CountingSession {
            session: session.unwrap(),
            rounds: Arc::clone(&rounds),
            bytes: Arc::clone(&bytes),
            restless,
        };
        let shared = Shared::plain(clock, log, &stop);
        let driver = Driver::new(Box::new(counted), shared, upstream, Some(accepted));
        let running = tokio::spawn(driver.run());
        let (mut server, _) = server.accept().await.unwrap();
        client.write_all(asked).await.unwrap();
        server.write_all(answered).await.unwrap();
        while bytes.load(Ordering::Relaxed) < asked.len() + answered.len() {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let before = rounds.load(Ordering::Relaxed);
        for _ in 0..2000 {
            tokio::task::yield_now().await;
        }
        running.abort();
        rounds.load(Ordering::Relaxed) - before
    }

    /// An engine that logs its inputs as text, and is over after the one that equals `last`.
    struct Attentive {
        told: Vec<String>,
        timer: Option<Timestamp>,
        last: &'static str,
        pending: PerSide<Vec<u8>>,
    }

    impl Attentive {
        fn new(timer: Option<Timestamp>, last: &'static str) -> Self {
            Self { told: Vec::new(), timer, last, pending: PerSide::default() }
        }
    }

    impl Engine for Attentive {
        fn handle(&mut self, _: Timestamp, input: Input<'_>) {
            self.told.push(match input {
                Input::Received(_, bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Input::Command(_) => "a command".to_owned(),
                other => format!("{other:?}"),
            });
        }

        fn set_pipeline(&mut self, _: Pipeline) {
            self.told.push("rules".to_owned());
        }

        fn poll_output(&mut self) -> Option<Output> {
            None
        }

        fn take_entries(&mut self, _: &mut Vec<Entry>) {}

        fn advance(&mut self, side: Side, count: usize) {
            self.pending[side].drain(..count);
        }

        fn pending(&self, side: Side) -> &[u8] {
            &self.pending[side]
        }

        fn wants_read(&self, _: Side) -> bool {
            true
        }

        fn poll_timeout(&self) -> Option<Timestamp> {
            self.timer
        }

        fn is_over(&self) -> bool {
            self.told.iter().any(|told| told == self.last)
        }
    }

    #[tokio::test]
    async fn bytes_that_are_discarded_are_not_forwarded() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (client, _) = listener.accept().await.unwrap();
        client.writable().await.unwrap();
        let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
        let shared = Shared::plain(Clock::new(), log, &Stop::new());
        let upstream = Upstream { host: "127.0.0.1".into(), port: 1 };
        let pending = || {
            let pending = PerSide { client: vec![7; 9], server: Vec::new() };
            Box::new(Attentive { pending, ..Attentive::new(None, "") })
        };
        let mut driver = Driver::new(pending(), shared, upstream, Some(client));
        let side = Side::Client;
        let forwarded = |driver: &Driver| {
            let counts = driver.shared.log.metrics.forwarding[side].cumulative();
            counts[counts.len() - 1]
        };
        driver.delays[side].on_read(driver.shared.clock.now());
        driver.write_pending();
        assert_eq!(forwarded(&driver), 1);
        driver.session = pending();
        driver.broken[side] = Some(ErrorKind::BrokenPipe.into());
        driver.delays[side].on_read(driver.shared.clock.now());
        driver.write_pending();
        assert!(driver.session.pending(side).is_empty());
        assert_eq!(forwarded(&driver), 1);
    }

    /// Returns the engine of a driver that has run one.
    fn attentive(driver: Box<Driver>) -> Box<Attentive> {
        (driver.session as Box<dyn Any>).downcast().expect("an attentive engine")
    }

    /// An engine that sends nothing. It is over once `take` returns `true` for an input.
    struct Quiet<F> {
        take: F,
        is_slow: bool,
        is_over: bool,
    }

    impl<F: FnMut(Input<'_>) -> bool + Send + 'static> Quiet<F> {
        fn new(take: F) -> Self {
            Self { take, is_slow: false, is_over: false }
        }
    }

    impl<F: FnMut(Input<'_>) -> bool + Send + 'static> Engine for Quiet<F> {
        fn handle(&mut self, _: Timestamp, input: Input<'_>) {
            if !self.is_over {
                self.is_over = (self.take)(input);
            }
        }

        fn is_slow(&self, _: Timestamp) -> bool {
            self.is_slow
        }

        fn poll_output(&mut self) -> Option<Output> {
            None
        }

        fn take_entries(&mut self, _: &mut Vec<Entry>) {}

        fn advance(&mut self, _: Side, _: usize) {}

        fn pending(&self, _: Side) -> &[u8] {
            &[]
        }

        fn wants_read(&self, _: Side) -> bool {
            !self.is_over
        }

        fn poll_timeout(&self) -> Option<Timestamp> {
            None
        }

        fn is_over(&self) -> bool {
            self.is_over
        }
    }

    #[test]
    fn what_takes_long_in_one_session_holds_up_no_other_task() {
        use std::io::Write as _;
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let ((begun, has_begun), (go, go_on)) =
            (std::sync::mpsc::channel(), std::sync::mpsc::channel());
        // It handles bytes until it hears that something else has been done.
        let engine = Quiet::new(move |_| {
            begun.send(()).unwrap();
            go_on.recv().is_ok()
        });
        let engine = Quiet { is_slow: true, ..engine };
        let driver = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().await.unwrap();
            let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
            let shared = Shared::plain(Clock::new(), log, &Stop::new());
            let upstream = Upstream { host: String::new(), port: 0 };
            client.write_all(b"hello").unwrap();
            Driver::new(Box::new(engine), shared, upstream, Some(accepted))
        });
        let running = runtime.spawn(driver.run());
        has_begun.recv().unwrap();
        // The only thread of the runtime is taken.
        runtime.spawn(async move { go.send(()).unwrap() });
        assert!(runtime.block_on(running).unwrap().session.is_over());
    }

    /// Returns how many bytes were read at most between two turns of another task, of `all` bytes that a client sends
    /// without a pause, in pieces.
    async fn most_between_turns(all: usize, piece: usize) -> usize {
        use std::io::Write as _;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
        let shared = Shared::plain(Clock::new(), log, &Stop::new());
        let upstream = Upstream { host: String::new(), port: 0 };
        SockRef::from(&client).set_send_buffer_size(all).unwrap();
        client.set_nonblocking(true).unwrap();
        // Much of it waits before the first of it is read.
        let mut sent = 0;
        while sent < all
            && let Ok(count) = client.write(&vec![0; piece.min(all - sent)])
        {
            sent += count;
        }
        client.set_nonblocking(false).unwrap();
        let sender = std::thread::spawn(move || client.write_all(&vec![0; all - sent]).unwrap());
        let read = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&read);
        let engine = Quiet::new(move |input| {
            let Input::Received(_, bytes) = input else { return true };
            counted.fetch_add(bytes.len(), Ordering::Relaxed);
            false
        });
        let driver = Driver::new(Box::new(engine), shared, upstream, Some(accepted));
        let running = tokio::spawn(driver.run());
        let (mut most, mut before) = (0, 0);
        while before < all {
            tokio::task::yield_now().await;
            let now = read.load(Ordering::Relaxed);
            (most, before) = (most.max(now - before), now);
        }
        sender.join().unwrap();
        running.await.unwrap();
        most
    }

    #[tokio::test]
    async fn a_client_that_sends_without_a_pause_leaves_turns_to_others() {
        for piece in [1 << 20, 100] {
            let most = most_between_turns(4 << 20, piece).await;
            assert!(most <= 3 * READ, "{most} bytes, sent in pieces of {piece}");
        }
    }

    /// An engine with a fault: it panics when it is told anything but to stop.
    #[derive(Default)]
    struct Faulty(Vec<String>);

    impl Engine for Faulty {
        fn handle(&mut self, _: Timestamp, input: Input<'_>) {
            match input {
                Input::Stop(why) => self.0.push(why.to_string()),
                input => panic!("a fault of the program: {input:?}"),
            }
        }

        fn poll_output(&mut self) -> Option<Output> {
            None
        }

        fn take_entries(&mut self, into: &mut Vec<Entry>) {
            for why in self.0.drain(..) {
                let client = "192.0.2.1:1".parse().unwrap();
                let protocol = Catalog::embedded().find(47).unwrap().protocol;
                let context = Context::new(7, Timestamp(0), client, protocol);
                let close = Summary {
                    reason: why,
                    serverbound_packets: 0,
                    clientbound_packets: 0,
                    serverbound_bytes: 0,
                    clientbound_bytes: 0,
                };
                into.push(Entry::Event(Event {
                    context: Arc::new(context),
                    at: Timestamp(0),
                    kind: EventKind::Close(close),
                }));
            }
        }

        fn advance(&mut self, _: Side, _: usize) {}

        fn pending(&self, _: Side) -> &[u8] {
            &[]
        }

        fn wants_read(&self, _: Side) -> bool {
            true
        }

        fn poll_timeout(&self) -> Option<Timestamp> {
            None
        }

        fn is_over(&self) -> bool {
            false
        }
    }

    /// A sink that keeps the reasons of the ends of sessions.
    struct Reasons(Arc<std::sync::Mutex<Vec<String>>>);

    impl mitmcraft_engine::capture::Sink for Reasons {
        fn write(&mut self, entry: &Entry) -> io::Result<()> {
            if let Entry::Event(Event { kind: EventKind::Close(close), .. }) = entry {
                self.0.lock().unwrap().push(close.reason.clone());
            }
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_session_that_panics_records_its_end_with_the_reason() {
        use std::io::Write as _;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let reasons: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let sink = ("reasons".to_owned(), Box::new(Reasons(Arc::clone(&reasons))) as Box<_>);
        let (log, writer) = LogWriter::start(vec![sink], LogOptions::default()).unwrap();
        let shared = Shared::plain(Clock::new(), log, &Stop::new());
        let upstream = Upstream { host: String::new(), port: 0 };
        client.write_all(b"hello").unwrap();
        let faulty = Box::new(Faulty::default());
        Driver::new(faulty, shared, upstream, Some(accepted)).run().await;
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "the client is told");
        assert!(tokio::task::spawn_blocking(|| writer.finish()).await.unwrap().is_empty());
        assert_eq!(*reasons.lock().unwrap(), ["internal error: the session has panicked"]);
    }

    /// Who was told that new rules are active, or a break condition set, may send what they are meant for
    /// before the session has heard of them.
    #[tokio::test]
    async fn rules_and_commands_that_are_there_hold_for_bytes_that_are_read_now() {
        use std::io::Write as _;
        let control = ControlHandle::start(Arc::new(Catalog::embedded().clone()), None);
        for round in 0..20 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut client = std::net::TcpStream::connect(address).unwrap();
            let (accepted, _) = listener.accept().await.unwrap();
            let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
            let mut shared = Shared::plain(Clock::new(), log, &Stop::new());
            let (sender, pipelines) = watch::channel(PipelineFactory::default());
            shared.pipelines = pipelines;
            let controlled = control.open(round).await;
            let person = control.attach(HeldNews::Each).await.unwrap();
            let engine = Attentive::new(None, "hello");
            let upstream = Upstream { host: String::new(), port: 0 };
            let mut driver = Driver::new(Box::new(engine), shared, upstream, Some(accepted));
            driver.control = controlled;
            let mut running = Box::pin(driver.run());
            let waits = poll_fn(|context| Poll::Ready(running.as_mut().poll(context).is_pending()));
            assert!(waits.await);
            client.write_all(b"hello").unwrap();
            drop(client);
            sender.send_replace(PipelineFactory::default());
            person.send(None, Request::Kick { session: round, text: None }).await.unwrap();
            // Its answer comes after the command is with the session.
            drop(control.attach(HeldNews::Each).await);
            let engine = attentive(running.await);
            assert_eq!(engine.told.last().unwrap(), "hello", "{:?}", engine.told);
            assert_eq!(engine.told.len(), 3, "{:?}", engine.told);
        }
    }

    /// As after the process was stopped for longer than a timeout.
    #[tokio::test]
    async fn bytes_that_wait_are_read_before_a_timer_that_is_due_too() {
        use std::io::Write as _;
        let clock = Clock::new();
        for _ in 0..20 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut client = std::net::TcpStream::connect(address).unwrap();
            let (accepted, _) = listener.accept().await.unwrap();
            let (log, _writer) = LogWriter::start(Vec::new(), LogOptions::default()).unwrap();
            let shared = Shared::plain(clock, log, &Stop::new());
            let engine = Attentive::new(Some(Timestamp(1)), "Timeout");
            let upstream = Upstream { host: String::new(), port: 0 };
            client.write_all(b"hello").unwrap();
            drop(client);
            let driver = Driver::new(Box::new(engine), shared, upstream, Some(accepted));
            let engine = attentive(driver.run().await);
            assert_eq!(engine.told[0], "hello", "{:?}", engine.told);
        }
    }

    #[tokio::test]
    async fn what_waits_for_the_rest_of_a_packet_costs_nothing() {
        let alpha = b"\x02\0\x05Steve\x01\0\0\0\x05\0\x05Steve\0\0\0\0\0\0\0\0\0\0\0";
        let chat = [&alpha[..], b"\x03\xff\xffhi"].concat();
        let ping = b"\xfe\x01\xfa\0\x0b\0M\0C";
        for (asked, answered) in [
            (&b"\x0f\0\x2f\x09loc"[..], &b""[..]),
            (&b"\x0f\0\x2f\x09localhost\x63\xdd\x01\x01\0"[..], &b"\xff\xff\x03\0"[..]),
            (&b"\xfe"[..], &b"\xff\0\x20\0a"[..]),
            (&ping[..], &b""[..]),
            (&chat[..], &b"\x03\x7f\xffhi"[..]),
        ] {
            assert_eq!(rounds(asked, answered, false).await, 0, "{asked:02x?} {answered:02x?}");
        }
        assert!(rounds(ping, b"", true).await > 100, "a driver that spins is found out");
    }
}
