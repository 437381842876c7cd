use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{Access, Request, Viewer, answers, rules};
use crate::proxy::{Attachment, ControlHandle, RuleEditor};
use crate::schema::Catalog;
use crate::store::Store;

/// A page that is connected.
///
/// It gets the state as fast as it reads, and no faster: a page that stops reading misses states, and is
/// disconnected after a while. Nothing else waits for it.
pub(super) struct Client {
    socket: WebSocketStream<TokioIo<Upgraded>>,
    store: Arc<Store>,
    catalog: Arc<Catalog>,
    control: Option<ControlHandle>,
    rules: Option<RuleEditor>,
}

impl Client {
    pub(super) fn new(
        socket: WebSocketStream<TokioIo<Upgraded>>,
        store: Arc<Store>,
        catalog: Arc<Catalog>,
        control: Option<ControlHandle>,
        rules: Option<RuleEditor>,
    ) -> Self {
        Self { socket, store, catalog, control, rules }
    }

    /// Serves the page until it goes, or does what it must not.
    pub(super) async fn run(mut self, access: &Access, live: bool) {
        let first = timeout(PATIENCE, self.receive()).await;
        let token = first.ok().flatten();
        let token = token.as_ref().and_then(|first| first.get("token")?.as_str());
        if !token.is_some_and(|token| access.admits(token)) {
            let _ = self.send(&json!({ "error": { "message": "wrong token" } })).await;
            let _ = timeout(PATIENCE, self.socket.close(None)).await;
            return;
        }
        let hello = json!({ "hello": {
            "version": env!("CARGO_PKG_VERSION"),
            "live": live,
            "control": self.control.is_some(),
            "rules": self.rules.is_some(),
            "actions": answers::actions(),
        } });
        if self.send(&hello).await.is_none() {
            return;
        }
        // A page that goes away needs nothing more.
        let _ = self.serve().await;
    }

    async fn serve(&mut self) -> Option<()> {
        let (store, catalog) = (Arc::clone(&self.store), Arc::clone(&self.catalog));
        let mut viewer =
            tokio::task::spawn_blocking(move || Viewer::new(store, catalog)).await.ok()?;
        let mut next = Instant::now();
        let (mut state, mut state_at) = (None, next);
        // Detached when this returns, so that nothing is held for a page that is gone.
        let mut attachment = match &self.control {
            Some(control) => Some(control.attach().await?),
            None => None,
        };
        loop {
            let request = tokio::select! {
                biased;
                request = self.receive() => Some(request?),
                message = controlled(&mut attachment) => {
                    self.send(&*message?).await?;
                    continue;
                }
                () = tokio::time::sleep_until(next) => None,
            };
            if let Some(request) = request.as_ref().filter(|it| rules::concerns(it)) {
                let (editor, request) = (self.rules.clone(), request.clone());
                let answer = move || rules::answer(editor.as_ref(), &request);
                let answer = tokio::task::spawn_blocking(answer).await.ok()?;
                self.send(&answer).await?;
                continue;
            }
            if let (Some(request), Some(control)) = (&request, &attachment)
                && Request::read(request).is_none()
            {
                control.send(request.clone()).await;
                continue;
            }
            let asked = request.is_some();
            let work = move || {
                let mut messages = Vec::new();
                let mut busy = true;
                match request {
                    Some(request) => messages.push(viewer.handle(&request)),
                    None => busy = viewer.advance(&mut messages),
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
                match message["push"].as_str() {
                    Some("state") => state = Some(message),
                    _ => self.send(&message).await?,
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

    /// Receives the next message. Returns `None` at the end, or if it is no JSON.
    async fn receive(&mut self) -> Option<Json> {
        loop {
            match self.socket.next().await?.ok()? {
                Message::Text(text) => return serde_json::from_str(&text).ok(),
                Message::Ping(_) | Message::Pong(_) => {}
                _ => return None,
            }
        }
    }

    /// Sends a message. Returns `None` if the page does not read it.
    async fn send(&mut self, message: &Json) -> Option<()> {
        let message = Message::text(message.to_string());
        timeout(PATIENCE, self.socket.send(message)).await.ok()?.ok()
    }
}

/// Returns the next message of the controller; waits forever if there is none.
async fn controlled(attachment: &mut Option<Attachment>) -> Option<Arc<Json>> {
    match attachment {
        Some(attachment) => attachment.next().await,
        None => std::future::pending().await,
    }
}

/// Maximum time for the token to arrive, and for a message to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two states.
const PAUSE: Duration = Duration::from_millis(100);
