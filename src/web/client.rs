use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite;

use super::{Access, Audience, Viewer, rules};
use crate::control::Holding;
use crate::proxy::{Attachment, ColorStore, ControlHandle, HeldNews, RuleEditor};
use crate::store::Store;
use crate::view::Interface;
use crate::view::protocol::{ActionInfo, Failure, Hello, Login, Message, Push, Query};
use mitmcraft_protocol::schema::Catalog;

/// A page or program that is connected.
///
/// It gets the state as fast as it reads, and no faster: one that stops reading misses states, and is
/// disconnected after a while. Nothing else waits for it.
pub(super) struct Client {
    socket: WebSocketStream<TokioIo<Upgraded>>,
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    control: Option<ControlHandle>,
    rules: Option<RuleEditor>,
    audience: Audience,
    colors: Option<ColorStore>,
    /// When the page said something last.
    heard: Instant,
    /// When it was asked since whether it is there.
    asked: Option<Instant>,
}

impl Client {
    pub(super) fn new(
        socket: WebSocketStream<TokioIo<Upgraded>>,
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        control: Option<ControlHandle>,
        rules: Option<RuleEditor>,
        audience: Audience,
        colors: Option<ColorStore>,
    ) -> Self {
        let heard = Instant::now();
        Self { socket, store, catalog, control, rules, audience, colors, heard, asked: None }
    }

    /// Returns whether the first message of the page has the token.
    pub(super) async fn admit(&mut self, access: &Access) -> bool {
        let first = timeout(PATIENCE, self.receive()).await.ok().flatten();
        let login = first.and_then(|text| serde_json::from_str::<Login>(&text).ok());
        let admitted = login.is_some_and(|login| access.admits(&login.token));
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

    /// Serves the page until it goes, or does what it must not.
    pub(super) async fn run(mut self, live: bool, listening: Option<String>) {
        let actions = match self.audience {
            Audience::Page => {
                let bindings = Interface::Page.bindings();
                let live = self.control.is_some();
                bindings.filter(|it| live || !it.needs_proxy()).map(ActionInfo::from).collect()
            }
            Audience::Programs => Vec::new(),
        };
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION"),
            protocol: Hello::PROTOCOL,
            live,
            listening,
            control: self.control.is_some(),
            rules: self.rules.is_some(),
            actions,
        };
        if self.send(&Message::Hello { hello }).await.is_none() {
            return;
        }
        // A page that goes away needs nothing more.
        let _ = self.serve().await;
    }

    async fn serve(&mut self) -> Option<()> {
        let (store, catalog) = (Arc::clone(&self.store), Arc::clone(&self.catalog));
        let colors = self.colors.clone();
        let create = move || {
            let mut viewer = Viewer::new(store, catalog);
            if let Some(colors) = colors {
                viewer.set_colors(colors);
            }
            viewer
        };
        let mut viewer = tokio::task::spawn_blocking(create).await.ok()?;
        let mut next = Instant::now();
        let (mut state, mut state_at) = (None, next);
        // Detached when this returns, so that nothing is held for a page that is gone.
        let mut attachment = match &self.control {
            Some(control) => Some(control.attach(HeldNews::Count).await?),
            None => None,
        };
        let mut holding = attachment.as_ref().map(Attachment::holding);
        let mut held_at = next;
        let held_pause = match self.audience {
            Audience::Page => PAUSE,
            // A program decides as fast as it can.
            Audience::Programs => Duration::ZERO,
        };
        loop {
            // A program may think for as long as it likes.
            let alive_until = match self.audience {
                Audience::Page => {
                    Some(self.asked.map_or(self.heard + SILENT, |asked| asked + ANSWERS))
                }
                Audience::Programs => None,
            };
            let text = tokio::select! {
                biased;
                text = self.receive() => Some(text?),
                () = reached(alive_until) => {
                    if self.asked.is_some() {
                        return None;
                    }
                    self.asked = Some(Instant::now());
                    let ping = tungstenite::Message::Ping(Bytes::new());
                    timeout(PATIENCE, self.socket.send(ping)).await.ok()?.ok()?;
                    continue;
                }
                held = changed(&mut holding, held_at) => {
                    self.send(&Message::Push(Push::Holding(held?))).await?;
                    held_at = Instant::now() + held_pause;
                    continue;
                }
                message = controlled(&mut attachment) => {
                    let Some(message) = message else {
                        self.refuse("the run has ended, or too many messages were not read").await;
                        return None;
                    };
                    self.send(&message).await?;
                    continue;
                }
                () = sleep_until(next) => None,
            };
            let query = match text.map(|text| Query::read(&text)).transpose() {
                Ok(query) => query,
                Err((id, error)) => {
                    self.send(&Message::Error { id, error }).await?;
                    continue;
                }
            };
            if let Some(Query { id, request }) = &query
                && request.is_for_controller()
            {
                let sent = match &attachment {
                    Some(attachment) => attachment.send(*id, request.clone()).await,
                    None => Err(Failure::new("there are no running sessions")),
                };
                if let Err(error) = sent {
                    self.send(&Message::Error { id: *id, error }).await?;
                }
                continue;
            }
            let asked = query.is_some();
            let editor = self.rules.clone();
            let work = move || {
                let mut messages = Vec::new();
                let mut busy = true;
                match query {
                    Some(Query { id, request }) => {
                        let answer = rules::answer(editor.as_ref(), &request)
                            .unwrap_or_else(|| viewer.handle(request));
                        messages.push(Message::answer(id, answer));
                    }
                    None => {
                        let mut pushes = Vec::new();
                        busy = viewer.advance(&mut pushes);
                        messages.extend(pushes.into_iter().map(Message::Push));
                    }
                }
                (viewer, messages, busy)
            };
            let (returned, messages, busy) = tokio::task::spawn_blocking(work).await.ok()?;
            viewer = returned;
            if viewer.owes_state() {
                // That of another list.
                state = None;
            }
            for message in messages {
                match message {
                    Message::Push(Push::State(_)) => state = Some(message),
                    message => self.send(&message).await?,
                }
            }
            let now = Instant::now();
            if state_at <= now
                && let Some(state) = state.take()
            {
                self.send(&state).await?;
                state_at = now + PAUSE;
            }
            if !asked {
                next = now + if busy { Duration::ZERO } else { PAUSE };
            }
        }
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

/// Returns the next message of the controller; waits forever if there is none.
async fn controlled(attachment: &mut Option<Attachment>) -> Option<Message> {
    match attachment {
        Some(attachment) => attachment.next().await,
        None => std::future::pending().await,
    }
}

/// Waits until that moment; forever if there is none.
async fn reached(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns how much is held once that has changed, but not before `at`; waits forever if nothing is.
async fn changed(holding: &mut Option<watch::Receiver<Holding>>, at: Instant) -> Option<Holding> {
    let Some(holding) = holding else { return std::future::pending().await };
    sleep_until(at).await;
    holding.changed().await.ok()?;
    Some(*holding.borrow_and_update())
}

/// Maximum time for the token to arrive, and for a message to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time after which a page that says nothing is asked whether it is there. Browsers answer for it.
const SILENT: Duration = Duration::from_secs(5);

/// Time after which a page that was asked and says nothing is taken for gone: its link is dead. It counts
/// from the question, since the whole machine may have slept before.
const ANSWERS: Duration = Duration::from_secs(10);

/// Time between two states.
const PAUSE: Duration = Duration::from_millis(100);
