//! What the person does with the traffic of a running proxy.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};

use super::inbox::News;
use super::{App, DetailsPane, Prompt, Purpose, Shared};
use crate::control::{HeldContent, HeldId};
use crate::store::StoredSession;
use crate::view::protocol::{Answer, Failure, Request};
use mitmcraft_engine::link::{Side, signature_warning};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Packet, Timestamp};

/// What an answer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// The content of a held packet, for a line or for the editor.
    Content(HeldId, bool),
    /// A line that is right, unless the answer says otherwise.
    Line(Purpose, String),
}

impl App {
    /// Takes what has come into the inbox.
    pub(super) fn take(&mut self, news: News) {
        self.held.take(news.held);
        if let Some(text) = news.status {
            self.shared.status = text;
        }
        for (id, answer) in news.answers {
            let asked = id.and_then(|id| self.shared.asked.remove(&id));
            self.on_answer(asked, answer);
        }
    }

    fn on_answer(&mut self, asked: Option<Asked>, answer: Result<Answer, Failure>) {
        let shared = &mut self.shared;
        match (asked, answer) {
            (Some(Asked::Line(purpose, text)), Err(failure)) => {
                shared.refuse(purpose, text, failure);
            }
            (_, Err(failure)) => shared.status = failure.message,
            (Some(Asked::Content(id, in_editor)), Ok(Answer::Held(content))) => {
                let warning = self.held_warning(id, &content.body);
                let text = content.fields.unwrap_or_else(|| json!({ "body": content.body }));
                self.shared.take_content(Purpose::Edit(id), &text, in_editor, warning);
            }
            (Some(Asked::Line(..)), Ok(_)) => shared.status = "done".to_owned(),
            (_, Ok(_)) => {}
        }
    }

    /// Returns what a peer does with a held packet once it is changed, if the person should know that.
    fn held_warning(&self, id: HeldId, body: &str) -> Option<&'static str> {
        let held = self.held.list.packets().find(|it| it.id() == id)?;
        let sessions = self.shared.store.sessions();
        let session = sessions.iter().find(|it| it.context.session == id.session)?;
        let body = BASE64_STANDARD.decode(body).ok()?;
        let content = Content::Frame(Frame::from_body(body.into()));
        let (context, at) = (Arc::clone(&session.context), Timestamp::default());
        signature_warning(&Packet::new(context, 0, at, held.dir, held.state, content))
    }

    /// Asks for a line about an open session: the selected one, or that of the selected packet.
    pub(super) fn ask_about_session(&mut self, ask: fn(u64) -> (Purpose, String)) {
        let (pane, shared) = self.pane();
        let selected = pane.session(shared);
        if let Some(session) = shared.open_session(selected) {
            let (purpose, text) = ask(session);
            shared.ask(purpose, text);
        }
    }

    /// Does what a line says about sessions.
    pub(super) fn command(&mut self, purpose: Purpose, text: String) {
        let overtaken = self.held.list.condition.as_ref().is_some_and(|it| it.overtaken);
        match request_of(&purpose, &text, overtaken) {
            Ok(request) => self.shared.request(request, Some(Asked::Line(purpose, text))),
            Err(failure) => self.shared.refuse(purpose, text, failure),
        }
    }
}

impl Shared {
    /// Shows a line again with the reason why it is wrong.
    fn refuse(&mut self, purpose: Purpose, text: String, failure: Failure) {
        let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        let mut prompt = Prompt::new(purpose, text);
        prompt.error = Some((0, format!("{}{hint}", failure.message)));
        self.prompt = Some(prompt);
    }

    /// Returns the selected session if it is open; if none is selected, the only open one.
    fn open_session(&mut self, selected: Option<u64>) -> Option<u64> {
        let session = self.session(selected, |it| it.closed.is_none())?;
        let is_open = |it: &StoredSession| it.context.session == session && it.closed.is_none();
        if !self.sessions.iter().any(is_open) {
            self.status = "the session is not open any more".to_owned();
            return None;
        }
        Some(session)
    }

    /// Returns the selected session, or the only one of which `is_one` is true if none is selected. Says so if it is not
    /// clear which one is meant.
    pub(super) fn session(
        &mut self,
        selected: Option<u64>,
        is_one: fn(&StoredSession) -> bool,
    ) -> Option<u64> {
        let mut sessions =
            self.sessions.iter().filter(|it| is_one(it)).map(|it| it.context.session);
        let only = sessions.next().filter(|_| sessions.next().is_none());
        let session = selected.or(only);
        if session.is_none() {
            self.status = "select a session first: 2 shows them".to_owned();
        }
        session
    }

    /// Sends packets again, as they are and in their order.
    pub(super) fn resend(&mut self, rows: Vec<u64>) {
        let selected = self.details.take();
        for row in rows {
            self.details = DetailsPane::of(self.list.snapshot(), row);
            let Some((session, line)) = self.packet_to_send(false) else { break };
            match request_of(&Purpose::Send(session), &line.to_string(), false) {
                Ok(request) => self.request(request, None),
                Err(failure) => self.status = failure.message,
            }
        }
        self.details = selected;
    }

    /// Asks for changes to the selected packet, to send it again: in a line, or in the person's editor.
    pub(super) fn edit(&mut self, in_editor: bool) {
        if let Some((session, line)) = self.packet_to_send(true) {
            let packet = self.details.as_ref().map(|it| &it.details.record.packet);
            let warning = packet.and_then(signature_warning);
            self.take_content(Purpose::Send(session), &line, in_editor, warning);
        }
    }

    /// Lets the person change the content of a packet.
    fn take_content(
        &mut self,
        purpose: Purpose,
        content: &Json,
        in_editor: bool,
        warning: Option<&'static str>,
    ) {
        if in_editor {
            self.warning = warning;
            self.in_editor = Some((purpose, format!("{content:#}\n")));
            return;
        }
        self.ask(purpose, content.to_string());
        if let Some(prompt) = &mut self.prompt {
            prompt.warning = warning;
        }
    }

    /// Returns an open session and what sends the selected packet there: its fields, or its bytes as they are.
    fn packet_to_send(&mut self, fields: bool) -> Option<(u64, Json)> {
        let packet = &self.details.as_ref()?.details.record.packet;
        let session = packet.context().session;
        let session = self.open_session(Some(session))?;
        let packet = &self.details.as_ref()?.details.record.packet;
        let to = Side::from(packet.direction()).other();
        let mut line = json!({ "to": to, "resent": packet.seq() });
        if fields {
            let fields = HeldContent::from(packet).fields;
            let Some((kind, fields)) = packet.kind().zip(fields) else {
                self.status =
                    "a packet that does not decode can only be sent again as it is".to_owned();
                return None;
            };
            line["packet"] = kind.name().to_string().into();
            line["fields"] = fields;
        } else {
            let Ok(body) = packet.body() else {
                self.status = "bytes that are not a packet cannot be sent again".to_owned();
                return None;
            };
            line["body"] = BASE64_STANDARD.encode(body).into();
        }
        Some((session, line))
    }

    pub(super) fn request(&mut self, request: Request, asked: Option<Asked>) {
        self.number += 1;
        if let Some(asked) = asked {
            self.asked.insert(self.number, asked);
        }
        self.requests.push_back((self.number, request));
    }
}

/// Returns the request of a line. With `overtaken`, later packets overtake those that it holds.
fn request_of(purpose: &Purpose, text: &str, overtaken: bool) -> Result<Request, Failure> {
    let object = || match serde_json::from_str(text) {
        Ok(Json::Object(object)) => Ok(object),
        _ => Err(Failure::new("this is not a JSON object")),
    };
    match *purpose {
        Purpose::Kick(session) => Ok(Request::Kick { session, text: Some(text.to_owned()) }),
        Purpose::Edit(HeldId { session, held }) => {
            let fields = object()?;
            let (fields, body) = match fields.get("body") {
                Some(Json::String(body)) if fields.len() == 1 => (None, Some(body.clone())),
                _ => (Some(Json::Object(fields)), None),
            };
            Ok(Request::Edit { session, held, fields, body })
        }
        Purpose::Send(session) => {
            let named = [("do", "send".into()), ("session", session.into())];
            let mut request: Map<String, Json> = object()?;
            request.extend(named.map(|(key, value)| (key.to_owned(), value)));
            Request::read(request)
        }
        _ => Ok(Request::Break { condition: text.to_owned(), overtaken }),
    }
}
