use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use super::authority::{Answering, Authority};
use super::keys::KeyPool;
use super::log::Batch;
use super::route::Route;
use super::transfers::Transfers;
use super::upstream::explain;
use super::wire_tap::WireTap;
use super::{Clock, KeyLog, LogHandle, Notices, PipelineFactory, RunNotice, Stop, Trouble};
use crate::auth::{AuthError, Profile};
use crate::codec::KeyLogLine;
use crate::link::KeyMaterial;
use crate::link::{Engine, Input, Notice, Output, Side};

/// What a driver shares with the others.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) log: LogHandle,
    pub(super) keys: KeyPool,
    /// Who speaks to the session service; None: sessions never want it.
    pub(super) authority: Option<Authority>,
    pub(super) transfers: Transfers,
    /// Where what decrypts a leg is kept.
    pub(super) key_log: Option<KeyLog>,
    pub(super) notices: Notices,
    /// Says why when the run ends.
    pub(super) stop: watch::Receiver<Option<String>>,
    /// Makes new filters when the rules have changed.
    pub(super) pipelines: watch::Receiver<PipelineFactory>,
}

impl Shared {
    /// Of a run without filters that keeps no keys.
    pub(super) fn plain(clock: Clock, log: LogHandle, stop: &Stop) -> Self {
        Self {
            clock,
            log,
            keys: KeyPool::default(),
            authority: None,
            transfers: Transfers::default(),
            key_log: None,
            notices: Notices::default(),
            stop: stop.subscribe(),
            pipelines: PipelineFactory::default().fixed(),
        }
    }
}

type Connecting = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;
type Generating = tokio::task::JoinHandle<Result<KeyMaterial, rsa::Error>>;

/// One session with its sockets, two of a proxy's and one of a replay's: moves bytes, tells the
/// session what happens, and does what it says.
pub(super) struct Driver<E> {
    session: E,
    shared: Shared,
    /// Where [`Output::Connect`] leads.
    route: Route,
    client: Option<TcpStream>,
    server: Option<TcpStream>,
    /// Our end of the connection to the server.
    end: Option<std::net::SocketAddr>,
    /// Sides to be shut down once nothing is pending for them.
    shutting: [bool; 2],
    connecting: Option<Connecting>,
    generating: Option<Generating>,
    joining: Option<Answering<()>>,
    verifying: Option<Answering<Profile>>,
    /// When to give up writing to a peer that does not read, once the session is over.
    give_up: Option<Instant>,
    /// None: no capture wants what crosses the wire.
    tap: Option<WireTap>,
    stopped: bool,
}

/// What woke the driver.
enum Event {
    Readable(Side),
    Writable,
    Connected(io::Result<TcpStream>),
    Key(Option<Box<KeyMaterial>>),
    Joined(Result<(), AuthError>),
    Verified(Result<Profile, AuthError>),
    Timeout,
    Stop(String),
    Rules,
}

impl<E: Engine> Driver<E> {
    pub(super) fn new(
        session: E,
        shared: Shared,
        route: impl Into<Route>,
        client: Option<TcpStream>,
    ) -> Self {
        if let Some(client) = &client {
            // Small packets are what the game is about; a socket that cannot is no reason to stop.
            let _ = client.set_nodelay(true);
        }
        Self {
            session,
            shared,
            route: route.into(),
            client,
            server: None,
            end: None,
            shutting: [false; 2],
            connecting: None,
            generating: None,
            joining: None,
            verifying: None,
            give_up: None,
            tap: None,
            stopped: false,
        }
    }

    /// Also takes down what crosses the wire, for the session of that number, if a capture wants it.
    pub(super) fn tapped(mut self, session: u64) -> Self {
        if self.shared.log.wants_wire() {
            let now = self.shared.clock.now();
            let mut tap = WireTap::new(session);
            for (side, socket) in [(Side::Client, &self.client), (Side::Server, &self.server)] {
                if let Some(socket) = socket {
                    tap.open(now, side, socket);
                }
            }
            self.tap = Some(tap);
        }
        self
    }

    /// Ends before it has begun, and why.
    pub(super) fn refuse(mut self, why: String) -> Self {
        self.shared.log.metrics().count_trouble(Trouble::Refused);
        self.session.handle(self.shared.clock.now(), Input::Stop(why));
        self
    }

    /// With a connection to the server that is there already.
    pub(super) fn connected(mut self, server: TcpStream) -> Self {
        let _ = server.set_nodelay(true);
        self.server = Some(server);
        self
    }

    pub(super) async fn run(mut self) {
        loop {
            self.do_outputs();
            self.write_pending();
            self.hand_over_entries().await;
            if self.is_done() {
                break;
            }
            let event = self.next_event().await;
            self.on_event(event);
        }
        if let Some(end) = self.end {
            self.route.outgoing.forget(end);
        }
        for socket in [self.client.take(), self.server.take()].into_iter().flatten() {
            close(socket).await;
        }
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Connect => {
                    self.connecting = Some(Box::pin(self.route.clone().connect()));
                }
                Output::GenerateKey => {
                    self.generating = Some(self.generate());
                }
                Output::LogKey(line) => self.log_key(line),
                Output::Join { server_hash } => {
                    self.joining = self.shared.authority.clone().map(|it| it.join(server_hash));
                }
                Output::HasJoined { name, server_hash } => {
                    self.verifying =
                        self.shared.authority.clone().map(|it| it.verify(name, server_hash));
                }
                Output::Shutdown(side) | Output::Close(side) => {
                    self.shutting[side as usize] = true;
                }
                Output::Notice(notice) => {
                    if let Notice::TimedOut { .. } = notice {
                        self.shared.log.metrics().count_trouble(Trouble::Timeout);
                    }
                    self.shared.notices.show_of_session(&notice);
                }
                Output::Transfer(transfer) => self.shared.transfers.expect(*transfer),
            }
        }
    }

    fn generate(&self) -> Generating {
        let keys = self.shared.keys.clone();
        tokio::task::spawn_blocking(move || keys.take())
    }

    fn log_key(&self, line: KeyLogLine) {
        let Some(key_log) = &self.shared.key_log else { return };
        if let Err(error) = key_log.put(line) {
            self.shared.notices.show(&RunNotice::KeyLog(&error));
        }
    }

    /// Writes what the sockets take, and shuts down what has nothing left to write.
    fn write_pending(&mut self) {
        for side in Side::ALL {
            while let Some(socket) = self.socket(side) {
                let pending = self.session.pending(side);
                if pending.is_empty() {
                    break;
                }
                match socket.try_write(pending) {
                    Ok(count) => {
                        if let Some(tap) = &mut self.tap {
                            tap.sent(self.shared.clock.now(), side, &pending[..count]);
                        }
                        self.session.advance(side, count);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => self.lose(side, &error),
                }
            }
            let done = self.session.pending(side).is_empty();
            if self.shutting[side as usize]
                && done
                && let Some(socket) = self.socket(side)
            {
                // What fails here has failed before, and reading tells.
                let _ = socket2::SockRef::from(socket).shutdown(std::net::Shutdown::Write);
                self.shutting[side as usize] = false;
                if let Some(tap) = &mut self.tap {
                    tap.shut(self.shared.clock.now(), side);
                }
            }
        }
    }

    async fn hand_over_entries(&mut self) {
        let over = self.session.is_over();
        let done = over && self.is_done();
        let mut wires = Vec::new();
        if let Some(tap) = &mut self.tap {
            if over && !done {
                // The session's last entry goes behind the last that crosses the wire.
                return;
            }
            if done {
                tap.close(self.shared.clock.now());
            }
            wires = tap.take();
        }
        let mut entries = Vec::new();
        self.session.take_entries(&mut entries);
        if !entries.is_empty() || !wires.is_empty() {
            self.shared.log.put_all(Batch { wires, entries }).await;
        }
    }

    fn is_done(&mut self) -> bool {
        if !self.session.is_over() {
            return false;
        }
        let waiting = |side| self.socket(side).is_some() && !self.session.pending(side).is_empty();
        if !Side::ALL.into_iter().any(waiting) {
            return true;
        }
        let patience = if self.stopped { STOP_PATIENCE } else { PATIENCE };
        let give_up = *self.give_up.get_or_insert_with(|| Instant::now() + patience);
        give_up <= Instant::now()
    }

    async fn next_event(&mut self) -> Event {
        let timeout = match (self.give_up, self.session.poll_timeout()) {
            (Some(at), _) => Some(at),
            (None, Some(at)) => Some(self.shared.clock.instant(at).into()),
            (None, None) => None,
        };
        let (client_wants, server_wants) = (self.wants(Side::Client), self.wants(Side::Server));
        let (client, server) = (self.client.as_ref(), self.server.as_ref());
        let Shared { stop, pipelines, .. } = &mut self.shared;
        let stopped = self.stopped;
        tokio::select! {
            event = ready(client, client_wants, Side::Client) => event,
            event = ready(server, server_wants, Side::Server) => event,
            connected = wait(self.connecting.as_mut()) => {
                self.connecting = None;
                Event::Connected(connected)
            }
            key = wait(self.generating.as_mut()) => {
                self.generating = None;
                Event::Key(key.ok().and_then(Result::ok).map(Box::new))
            }
            joined = wait(self.joining.as_mut()) => {
                self.joining = None;
                Event::Joined(joined)
            }
            verified = wait(self.verifying.as_mut()) => {
                self.verifying = None;
                Event::Verified(verified)
            }
            () = sleep_until(timeout) => Event::Timeout,
            why = stop_reason(stop), if !stopped => Event::Stop(why),
            Ok(()) = pipelines.changed() => Event::Rules,
        }
    }

    fn on_event(&mut self, event: Event) {
        let now = self.shared.clock.now();
        match event {
            Event::Readable(side) => self.read(side),
            Event::Writable => {}
            Event::Connected(Ok(socket)) => match socket.peer_addr() {
                Ok(address) => {
                    let _ = socket.set_nodelay(true);
                    if let Some(tap) = &mut self.tap {
                        tap.open(now, Side::Server, &socket);
                    }
                    self.end = socket.local_addr().ok();
                    self.server = Some(socket);
                    self.session.handle(now, Input::Connected(address));
                }
                Err(error) => self.session.handle(now, Input::Refused(explain(&error))),
            },
            Event::Connected(Err(error)) => {
                let refused = self.route.refused.is_some();
                let trouble = if refused { Trouble::Refused } else { Trouble::Upstream };
                self.shared.log.metrics().count_trouble(trouble);
                self.session.handle(now, Input::Refused(explain(&error)));
            }
            Event::Key(Some(material)) => {
                self.session.handle(now, Input::Key(material));
            }
            Event::Key(None) => {
                self.session.handle(now, Input::Stop("no RSA key could be made".into()));
            }
            Event::Joined(joined) => self.session.handle(now, Input::AccountJoined(joined)),
            Event::Verified(verified) => self.session.handle(now, Input::Verified(verified)),
            Event::Timeout => {
                self.session.handle(now, Input::Timeout);
            }
            Event::Stop(why) => {
                self.stopped = true;
                self.session.handle(now, Input::Stop(why));
            }
            Event::Rules => {
                let pipeline = self.shared.pipelines.borrow_and_update().make();
                self.session.set_pipeline(pipeline);
            }
        }
    }

    /// Reads once: the other side gets its turn, and what is written does too.
    fn read(&mut self, side: Side) {
        BUFFER.with_borrow_mut(|buffer| {
            let Some(read) = self.socket(side).map(|socket| socket.try_read(buffer)) else {
                return;
            };
            let now = self.shared.clock.now();
            if let (Some(tap), Ok(count)) = (&mut self.tap, &read) {
                match *count {
                    0 => tap.ended(now, side),
                    count => tap.received(now, side, &buffer[..count]),
                }
            }
            match read {
                Ok(0) => self.session.handle(now, Input::Closed(side)),
                Ok(count) => {
                    self.session.handle(now, Input::Received(side, &buffer[..count]));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.lose(side, &error),
            }
        });
    }

    fn lose(&mut self, side: Side, error: &io::Error) {
        match side {
            Side::Client => self.client = None,
            Side::Server => self.server = None,
        }
        self.shared.log.metrics().count_trouble(side.into());
        let now = self.shared.clock.now();
        self.session.handle(now, Input::Lost(side, explain(error)));
    }

    /// Whether to read that side, and whether there is something to write to it.
    fn wants(&self, side: Side) -> (bool, bool) {
        (self.session.wants_read(side), !self.session.pending(side).is_empty())
    }

    fn socket(&self, side: Side) -> Option<&TcpStream> {
        match side {
            Side::Client => self.client.as_ref(),
            Side::Server => self.server.as_ref(),
        }
    }
}

/// Waits until a socket can be read, if the session wants that, or written, if there is something.
async fn ready(socket: Option<&TcpStream>, (reads, writes): (bool, bool), side: Side) -> Event {
    let Some(socket) = socket.filter(|_| reads || writes) else {
        return std::future::pending().await;
    };
    // An error of waiting shows again in what is tried next.
    tokio::select! {
        _ = socket.readable(), if reads => Event::Readable(side),
        _ = socket.writable(), if writes => Event::Writable,
    }
}

async fn wait<F: Future + Unpin>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn stop_reason(stop: &mut watch::Receiver<Option<String>>) -> String {
    loop {
        if let Some(why) = stop.borrow_and_update().clone() {
            return why;
        }
        if stop.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Closes a connection so that what was written last arrives: a socket that is closed with unread
/// bytes in it resets the connection, and the peer may lose what it has not read yet.
pub(super) async fn close(socket: TcpStream) {
    let _ = socket2::SockRef::from(&socket).shutdown(std::net::Shutdown::Write);
    let drain = async {
        let mut scrap = [0; 1024];
        while socket.readable().await.is_ok() {
            match socket.try_read(&mut scrap) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN, drain).await;
}

thread_local! {
    /// What a read is taken into: one for each thread, so that an idle session has none.
    static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; READ]);
}

/// Bytes read at once. More in one go would keep the other side waiting.
const READ: usize = 64 << 10;

/// How long a peer may take to read the last bytes of a session that is over.
const PATIENCE: Duration = Duration::from_secs(30);

/// The same, when the user wants to go.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait for a peer to close after us.
const DRAIN: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::capture::Entry;
    use crate::filter::Pipeline;
    use crate::link::Upstream;
    use crate::packet::Timestamp;
    use crate::proxy::{LogOptions, LogWriter};
    use crate::session::{Config, Session, Start};

    /// A session that counts how often its driver comes round, and the bytes that it brings.
    struct Counted {
        session: Session,
        rounds: Arc<AtomicUsize>,
        bytes: Arc<AtomicUsize>,
        /// Asks to be woken at once, always.
        restless: bool,
    }

    impl Engine for Counted {
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

    /// How often the driver of a session in which that was sent comes round while nothing comes.
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
        let counted = Counted {
            session: session.unwrap(),
            rounds: Arc::clone(&rounds),
            bytes: Arc::clone(&bytes),
            restless,
        };
        let shared = Shared::plain(clock, log, &stop);
        let driver = Driver::new(counted, shared, upstream, Some(accepted));
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
