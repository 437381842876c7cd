//! What the person does with the traffic of a running proxy.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};

use super::inbox::News;
use super::{App, DetailsPane, Prompt, Purpose, View};
use crate::control::{HeldContent, HeldId, HeldPacket};
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
        self.held = news.held;
        self.held_packet = self.held_packet.min(self.held.packets().len().saturating_sub(1));
        if let Some(text) = news.status {
            self.status = text;
        }
        for (id, answer) in news.answers {
            let asked = id.and_then(|id| self.asked.remove(&id));
            self.on_answer(asked, answer);
        }
    }

    fn on_answer(&mut self, asked: Option<Asked>, answer: Result<Answer, Failure>) {
        match (asked, answer) {
            (Some(Asked::Line(purpose, text)), Err(failure)) => self.refuse(purpose, text, failure),
            (_, Err(failure)) => self.status = failure.message,
            (Some(Asked::Content(id, in_editor)), Ok(Answer::Held(content))) => {
                let warning = self.held_warning(id, &content.body);
                let text = content.fields.unwrap_or_else(|| json!({ "body": content.body }));
                self.take_content(Purpose::Edit(id), &text, in_editor, warning);
            }
            (Some(Asked::Line(..)), Ok(_)) => self.status = "done".to_owned(),
            (_, Ok(_)) => {}
        }
    }

    /// Shows a line again with the reason why it is wrong.
    fn refuse(&mut self, purpose: Purpose, text: String, failure: Failure) {
        let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        let mut prompt = Prompt::new(purpose, text);
        prompt.error = Some((0, format!("{}{hint}", failure.message)));
        self.prompt = Some(prompt);
    }

    /// Returns the open session that a command applies to: the selected session, otherwise the selected packet's.
    pub(super) fn open_session(&mut self) -> Option<u64> {
        let chosen = match self.view {
            View::Sessions => self.sessions.get(self.session).map(|it| it.context.session),
            View::Held => self.held_target().map(|it| it.session),
            _ => self.details.as_ref().map(|it| it.details.record.packet.context().session),
        };
        let open = self.sessions.iter().filter(|it| it.closed.is_none());
        let mut open = open.map(|it| it.context.session);
        let found = match chosen {
            Some(chosen) => open.find(|session| *session == chosen),
            None => open.next_back(),
        };
        if found.is_none() {
            self.status = "the session is not open any more".to_owned();
        }
        found
    }

    /// Sends the selected packets again, as they are and in their order.
    pub(super) fn resend(&mut self) {
        let selected = self.details.take();
        for row in self.targets() {
            self.details = DetailsPane::of(self.list.snapshot(), row);
            let Some((session, line)) = self.packet_to_send(false) else { break };
            match self.request_of(&Purpose::Send(session), &line.to_string()) {
                Ok(request) => self.request(request, None),
                Err(failure) => self.status = failure.message,
            }
        }
        self.details = selected;
    }

    /// Asks for changes to the held packet, or to the selected one to send it again: in a line, or in the
    /// person's editor.
    pub(super) fn edit(&mut self, in_editor: bool) {
        if self.view == View::Held {
            let Some(id) = self.held_target() else { return };
            let request = Request::Held { session: id.session, held: id.held };
            self.request(request, Some(Asked::Content(id, in_editor)));
        } else if let Some((session, line)) = self.packet_to_send(true) {
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

    /// Returns what a peer does with a held packet once it is changed, if the person should know that.
    fn held_warning(&self, id: HeldId, body: &str) -> Option<&'static str> {
        let held = self.held.packets().find(|it| it.id() == id)?;
        let sessions = self.store.sessions();
        let session = sessions.iter().find(|it| it.context.session == id.session)?;
        let body = BASE64_STANDARD.decode(body).ok()?;
        let content = Content::Frame(Frame::from_body(body.into()));
        let (context, at) = (Arc::clone(&session.context), Timestamp::default());
        signature_warning(&Packet::new(context, 0, at, held.dir, held.state, content))
    }

    /// Returns an open session and what sends the selected packet there: its fields, or its bytes as they are.
    fn packet_to_send(&mut self, fields: bool) -> Option<(u64, Json)> {
        if !matches!(self.view, View::Packets | View::Sent) {
            return None;
        }
        let session = self.open_session()?;
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

    /// Starts or stops letting later packets overtake held ones.
    pub(super) fn overtake(&mut self) {
        if let Some(condition) = self.held.condition.clone() {
            let (condition, overtaken) = (condition.condition, !condition.overtaken);
            self.request(Request::Break { condition, overtaken }, None);
        }
    }

    /// Decides on the selected packet of those that are held.
    pub(super) fn decide(&mut self, decision: fn(u64, u64) -> Request) {
        if let Some(id) = self.held_target().filter(|_| self.view == View::Held) {
            self.request(decision(id.session, id.held), None);
        }
    }

    /// Returns the selected packet of those that are held.
    fn held_target(&self) -> Option<HeldId> {
        self.held.packets().nth(self.held_packet).map(HeldPacket::id)
    }

    /// Does what a line says about sessions.
    pub(super) fn command(&mut self, purpose: Purpose, text: String) {
        match self.request_of(&purpose, &text) {
            Ok(request) => self.request(request, Some(Asked::Line(purpose, text))),
            Err(failure) => self.refuse(purpose, text, failure),
        }
    }

    fn request_of(&self, purpose: &Purpose, text: &str) -> Result<Request, Failure> {
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
            _ => {
                let overtaken = self.held.condition.as_ref().is_some_and(|it| it.overtaken);
                Ok(Request::Break { condition: text.to_owned(), overtaken })
            }
        }
    }

    pub(super) fn request(&mut self, request: Request, asked: Option<Asked>) {
        self.number += 1;
        if let Some(asked) = asked {
            self.asked.insert(self.number, asked);
        }
        self.requests.push_back((self.number, request));
    }
}
