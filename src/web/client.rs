use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::OptionFuture;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::opener::{Sent, Upload};
use super::rules::RuleDesk;
use super::web_server::{Desk, Shown};
use super::{Audience, Opener, Viewer, WebOptions};
use crate::control::Holding;
use crate::proxy::{Attachment, HeldNews};
use crate::view::Interface;
use crate::view::protocol::{ActionInfo, Answer, Failure, Hello, Login, Message, Push, Query};

/// A page or program that is connected.
///
/// It gets the state as fast as it reads, and no faster: one that stops reading misses states, and is
/// disconnected after a while. Nothing else waits for it.
pub(super) struct Client {
    socket: WebSocketStream<TokioIo<Upgraded>>,
    desk: Arc<Desk>,
    /// When the page said something last.
    heard: Instant,
    /// When it was asked since whether it is there.
    asked: Option<Instant>,
    /// The capture that the page is sending.
    upload: Option<Upload>,
}

impl Client {
    pub(super) fn new(socket: WebSocketStream<TokioIo<Upgraded>>, desk: Arc<Desk>) -> Self {
        Self { socket, desk, heard: Instant::now(), asked: None, upload: None }
    }

    /// Returns whether the first message of the page has the token.
    pub(super) async fn admit(&mut self) -> bool {
        let first = timeout(PATIENCE, self.receive()).await.ok().flatten();
        let login = first.and_then(|text| serde_json::from_str::<Login>(&text).ok());
        let admitted = login.is_some_and(|login| self.desk.access.admits(&login.token));
        if !admitted {
            self.refuse("wrong token").await;
        }
        admitted
    }

    /// Tells the page why it gets nothing, and closes.
    pub(super) async fn refuse(&mut self, why: &str) {
        let error = Failure::new(why);
        let _ = self.send(&Message::Error { id: None, error }).await;
        let _ = timeout(PATIENCE, self.socket.close(None)).await;
    }

    /// Tells the page why it is disconnected (RFC 6455, section 7.4.1: going away), and waits for a moment until
    /// it has read that.
    pub(super) async fn dismiss(&mut self, why: &'static str) {
        let close = CloseFrame { code: CloseCode::Away, reason: why.into() };
        let _ = timeout(FAREWELL, async {
            let _ = self.socket.close(Some(close)).await;
            while self.receive().await.is_some() {}
        })
        .await;
    }

    /// Serves the page until it goes, or does what it must not.
    pub(super) async fn run(&mut self, shown: &Shown) {
        let options = &self.desk.options;
        let control = options.control.is_some();
        let actions = match options.audience {
            Audience::Page => {
                let bindings = Interface::Page.bindings();
                bindings.filter(|it| control || !it.needs_proxy()).map(ActionInfo::from).collect()
            }
            Audience::Programs => Vec::new(),
        };
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION"),
            protocol: Hello::PROTOCOL,
            run: shown.run.clone(),
            live: options.live,
            listening: options.listening.clone(),
            control,
            rules: options.rules.is_some(),
            opens: options.opener.as_ref().map(Opener::limit),
            actions,
        };
        if self.send(&Message::Hello { hello }).await.is_none() {
            return;
        }
        // A page that goes away needs nothing more.
        let _ = self.serve(shown).await;
    }

    async fn serve(&mut self, shown: &Shown) -> Option<()> {
        let options = WebOptions { store: Arc::clone(&shown.store), ..self.desk.options.clone() };
        let mut viewer = open_viewer(options).await?;
        let mut feeds = Feeds::attach(&self.desk.options).await?;
        let mut pace = Pace::new();
        loop {
            let query = match self.next_turn(&mut feeds, pace.next).await? {
                Turn::Due => None,
                Turn::Said(text) => {
                    let Some(query) = self.pass_on(&feeds, &text).await? else { continue };
                    Some(query)
                }
                Turn::Told(message) => {
                    self.send(&message).await?;
                    continue;
                }
                Turn::Silent => {
                    self.ask_for_life().await?;
                    continue;
                }
                Turn::Ended => {
                    self.refuse("the run has ended, or too many messages were not read").await;
                    return None;
                }
            };
            viewer = self.look(viewer, query, &mut pace).await?;
        }
    }

    /// Waits for whatever comes first, at most until `due`. Returns `None` if the page has gone, or is to go.
    async fn next_turn(&mut self, feeds: &mut Feeds, due: Instant) -> Option<Turn> {
        let alive_until = self.alive_until();
        let Feeds { attachment, holding, held_at, held_pause, rules } = feeds;
        Some(tokio::select! {
            biased;
            text = self.receive() => Turn::Said(text?),
            Some(()) = OptionFuture::from(alive_until.map(sleep_until)) => Turn::Silent,
            Some(held) = OptionFuture::from(holding.as_mut().map(|it| changed(it, *held_at))) => {
                *held_at = Instant::now() + *held_pause;
                Turn::Told(Box::new(Message::Push(Push::Holding(held?))))
            }
            Some(message) = OptionFuture::from(attachment.as_mut().map(Attachment::next)) => {
                message.map_or(Turn::Ended, |message| Turn::Told(Box::new(message)))
            }
            Some(answer) = rules.next() => Turn::Told(Box::new(answer)),
            () = sleep_until(due) => Turn::Due,
        })
    }

    /// Returns the time at which a page that says nothing is asked whether it is there, or is taken for gone.
    fn alive_until(&self) -> Option<Instant> {
        match self.desk.options.audience {
            Audience::Page => Some(self.asked.map_or(self.heard + SILENT, |asked| asked + ANSWERS)),
            // A program may think for as long as it likes.
            Audience::Programs => None,
        }
    }

    /// Asks a silent page whether it is there. Returns `None` if it was asked before.
    async fn ask_for_life(&mut self) -> Option<()> {
        if self.asked.is_some() {
            return None;
        }
        self.asked = Some(Instant::now());
        let ping = tungstenite::Message::Ping(Bytes::new());
        timeout(PATIENCE, self.socket.send(ping)).await.ok()?.ok()
    }

    /// Reads a request, and passes it to the running sessions or the filter files if it is about them. Returns
    /// `Some(None)` then, or if it is wrong.
    async fn pass_on(&mut self, feeds: &Feeds, text: &str) -> Option<Option<Query>> {
        let query = match Query::read(text) {
            Ok(query) => query,
            Err((id, error)) => {
                self.send(&Message::Error { id, error }).await?;
                return Some(None);
            }
        };
        if let Some(request) = query.request.for_controller(&self.desk.options.catalog) {
            let sent = match (&feeds.attachment, request) {
                (None, _) => Err(Failure::new("there are no running sessions")),
                (Some(attachment), Ok(request)) => {
                    attachment.pass(query.id, request).await;
                    Ok(())
                }
                (Some(_), Err(failure)) => Err(failure),
            };
            if let Err(error) = sent {
                self.send(&Message::Error { id: query.id, error }).await?;
            }
            return Some(None);
        }
        if Opener::answers(&query.request) {
            self.take_piece(query).await?;
            return Some(None);
        }
        if RuleDesk::answers(&query.request) {
            if let Err(refused) = feeds.rules.take(query) {
                self.send(&refused).await?;
            }
            return Some(None);
        }
        Some(Some(query))
    }

    /// Takes a part of a capture that the page sends, and shows the capture once it is complete.
    async fn take_piece(&mut self, Query { id, request }: Query) -> Option<()> {
        let Some(opener) = self.desk.options.opener.clone() else {
            let error = Failure::new(
                "captures are opened where captures are viewed, not while a proxy runs",
            );
            return self.send(&Message::Error { id, error }).await;
        };
        let upload = self.upload.take();
        let work = move || opener.take(upload, request);
        let (answer, opened) = match tokio::task::spawn_blocking(work).await.ok()? {
            Ok(Sent::Part(upload)) => {
                self.upload = Some(upload);
                (Ok(Answer::DONE), None)
            }
            Ok(Sent::All(store)) => (Ok(Answer::DONE), Some(store)),
            Err(failure) => (Err(failure), None),
        };
        self.send(&Message::answer(id, answer)).await?;
        if let Some(store) = opened {
            self.desk.show(store);
        }
        Some(())
    }

    /// Lets the viewer answer a request, or look at what there is to be found, and sends what it says.
    async fn look(
        &mut self,
        mut viewer: Viewer,
        query: Option<Query>,
        pace: &mut Pace,
    ) -> Option<Viewer> {
        let asked = query.is_some();
        let work = move || {
            let (messages, busy) = answer(&mut viewer, query);
            (viewer, messages, busy)
        };
        let (viewer, messages, busy) = tokio::task::spawn_blocking(work).await.ok()?;
        if viewer.pushed.is_none() {
            // That of another list.
            pace.state = None;
        }
        for message in messages {
            match message {
                Message::Push(Push::State(_)) => pace.state = Some(message),
                message => self.send(&message).await?,
            }
        }
        let now = Instant::now();
        if pace.state_at <= now
            && let Some(state) = pace.state.take()
        {
            self.send(&state).await?;
            pace.state_at = now + PAUSE;
        }
        if !asked {
            pace.next = now + if busy { Duration::ZERO } else { PAUSE };
        }
        Some(viewer)
    }

    /// Receives the next text. Returns `None` at the end, or if the page sends something else.
    async fn receive(&mut self) -> Option<tungstenite::Utf8Bytes> {
        use tungstenite::Message::{Ping, Pong, Text};
        loop {
            let message = self.socket.next().await?.ok()?;
            (self.heard, self.asked) = (Instant::now(), None);
            match message {
                Text(text) => return Some(text),
                Ping(_) | Pong(_) => {}
                _ => return None,
            }
        }
    }

    /// Sends a message. Returns `None` if the page does not read it.
    async fn send(&mut self, message: &Message) -> Option<()> {
        let message = tungstenite::Message::text(message.to_json());
        timeout(PATIENCE, self.socket.send(message)).await.ok()?.ok()
    }
}

/// The next event in serving a page or program.
enum Turn {
    /// A message from it.
    Said(tungstenite::Utf8Bytes),
    /// Nothing was heard from it for too long.
    Silent,
    /// A message for it.
    Told(Box<Message>),
    /// The end of the run, or of its patience with an interface that does not read.
    Ended,
    /// The time to look at the store.
    Due,
}

/// Where messages come from that are not about the store.
struct Feeds {
    /// Detached when this is dropped, so that nothing is held for a page that is gone.
    attachment: Option<Attachment>,
    holding: Option<watch::Receiver<Holding>>,
    /// The time before which nothing more is said about what is held, and the pause after that.
    held_at: Instant,
    held_pause: Duration,
    rules: RuleDesk,
}

impl Feeds {
    /// Attaches to the running sessions, if there are any. Returns `None` if the run has ended.
    async fn attach(options: &WebOptions) -> Option<Self> {
        let attachment = match &options.control {
            Some(control) => Some(control.attach(HeldNews::Count).await?),
            None => None,
        };
        let held_pause = match options.audience {
            Audience::Page => PAUSE,
            // A program decides as fast as it can.
            Audience::Programs => Duration::ZERO,
        };
        let holding = attachment.as_ref().map(Attachment::holding);
        let rules = RuleDesk::new(options.rules.clone());
        Some(Self { attachment, holding, held_at: Instant::now(), held_pause, rules })
    }
}

/// When a page gets the state of the store, and when the store is looked at.
struct Pace {
    /// The newest state, if it was not sent yet.
    state: Option<Message>,
    /// The time before which no state is sent.
    state_at: Instant,
    /// The time at which the store is looked at again.
    next: Instant,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { state: None, state_at: now, next: now }
    }
}

async fn open_viewer(options: WebOptions) -> Option<Viewer> {
    let create = move || {
        let mut viewer = Viewer::new(options.store, options.catalog);
        if let Some(colors) = options.colors {
            viewer.set_colors(colors);
        }
        viewer
    };
    tokio::task::spawn_blocking(create).await.ok()
}

/// Answers a request, or looks at what there is to be found. Returns `true` if there is more to be found.
fn answer(viewer: &mut Viewer, query: Option<Query>) -> (Vec<Message>, bool) {
    if let Some(Query { id, request }) = query {
        return (vec![Message::answer(id, viewer.handle(request))], true);
    }
    let mut pushes = Vec::new();
    let busy = viewer.advance(&mut pushes);
    (pushes.into_iter().map(Message::Push).collect(), busy)
}

/// Returns how much is held once that has changed, but not before `at`.
async fn changed(holding: &mut watch::Receiver<Holding>, at: Instant) -> Option<Holding> {
    sleep_until(at).await;
    holding.changed().await.ok()?;
    Some(*holding.borrow_and_update())
}

/// Maximum time for the token to arrive, and for a message to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum time until a page has read that the run has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// Time after which a page that says nothing is asked whether it is there. Browsers answer for it.
const SILENT: Duration = Duration::from_secs(5);

/// Time after which a page that was asked and says nothing is taken for gone: its link is dead. It counts
/// from the question, since the whole machine may have slept before.
const ANSWERS: Duration = Duration::from_secs(10);

/// Time between two states.
const PAUSE: Duration = Duration::from_millis(100);
