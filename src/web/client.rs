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

use super::rules::RuleDesk;
use super::web_server::Desk;
use super::{Audience, Viewer, WebOptions};
use crate::control::Holding;
use crate::proxy::{Attachment, HeldNews};
use crate::view::Interface;
use crate::view::protocol::{ActionInfo, Failure, Hello, Login, Message, Push, Query};

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
}

impl Client {
    pub(super) fn new(socket: WebSocketStream<TokioIo<Upgraded>>, desk: Arc<Desk>) -> Self {
        Self { socket, desk, heard: Instant::now(), asked: None }
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

    /// Tells the page that the run has ended (RFC 6455, section 7.4.1: going away), and waits for a moment until
    /// it has read that.
    pub(super) async fn dismiss(&mut self) {
        let reason = "the run has ended".into();
        let close = CloseFrame { code: CloseCode::Away, reason };
        let _ = timeout(FAREWELL, async {
            let _ = self.socket.close(Some(close)).await;
            while self.receive().await.is_some() {}
        })
        .await;
    }

    /// Serves the page until it goes, or does what it must not.
    pub(super) async fn run(&mut self) {
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
            live: options.live,
            listening: options.listening.clone(),
            control,
            rules: options.rules.is_some(),
            actions,
        };
        if self.send(&Message::Hello { hello }).await.is_none() {
            return;
        }
        // A page that goes away needs nothing more.
        let _ = self.serve().await;
    }

    async fn serve(&mut self) -> Option<()> {
        let WebOptions { store, catalog, colors, control, rules, audience, .. } =
            self.desk.options.clone();
        let create = move || {
            let mut viewer = Viewer::new(store, catalog);
            if let Some(colors) = colors {
                viewer.set_colors(colors);
            }
            viewer
        };
        let mut viewer = tokio::task::spawn_blocking(create).await.ok()?;
        let mut rules = RuleDesk::new(rules);
        let mut next = Instant::now();
        let (mut state, mut state_at) = (None, next);
        // Detached when this returns, so that nothing is held for a page that is gone.
        let mut attachment = match control {
            Some(control) => Some(control.attach(HeldNews::Count).await?),
            None => None,
        };
        let mut holding = attachment.as_ref().map(Attachment::holding);
        let mut held_at = next;
        let held_pause = match audience {
            Audience::Page => PAUSE,
            // A program decides as fast as it can.
            Audience::Programs => Duration::ZERO,
        };
        loop {
            // A program may think for as long as it likes.
            let alive_until = match audience {
                Audience::Page => {
                    Some(self.asked.map_or(self.heard + SILENT, |asked| asked + ANSWERS))
                }
                Audience::Programs => None,
            };
            let text = tokio::select! {
                biased;
                text = self.receive() => Some(text?),
                Some(()) = OptionFuture::from(alive_until.map(sleep_until)) => {
                    if self.asked.is_some() {
                        return None;
                    }
                    self.asked = Some(Instant::now());
                    let ping = tungstenite::Message::Ping(Bytes::new());
                    timeout(PATIENCE, self.socket.send(ping)).await.ok()?.ok()?;
                    continue;
                }
                Some(held) = OptionFuture::from(holding.as_mut().map(|it| changed(it, held_at))) => {
                    self.send(&Message::Push(Push::Holding(held?))).await?;
                    held_at = Instant::now() + held_pause;
                    continue;
                }
                Some(message) = OptionFuture::from(attachment.as_mut().map(Attachment::next)) => {
                    let Some(message) = message else {
                        self.refuse("the run has ended, or too many messages were not read").await;
                        return None;
                    };
                    self.send(&message).await?;
                    continue;
                }
                Some(answer) = rules.next() => {
                    self.send(&answer).await?;
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
                && let Some(request) = request.for_controller(&self.desk.options.catalog)
            {
                let sent = match (&attachment, request) {
                    (None, _) => Err(Failure::new("there are no running sessions")),
                    (Some(attachment), Ok(request)) => {
                        attachment.pass(*id, request).await;
                        Ok(())
                    }
                    (Some(_), Err(failure)) => Err(failure),
                };
                if let Err(error) = sent {
                    self.send(&Message::Error { id: *id, error }).await?;
                }
                continue;
            }
            let query = match query {
                Some(query) if RuleDesk::answers(&query.request) => {
                    if let Err(refused) = rules.take(query) {
                        self.send(&refused).await?;
                    }
                    continue;
                }
                query => query,
            };
            let asked = query.is_some();
            let work = move || {
                let mut messages = Vec::new();
                let mut busy = true;
                match query {
                    Some(Query { id, request }) => {
                        messages.push(Message::answer(id, viewer.handle(request)));
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
            if viewer.pushed.is_none() {
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
