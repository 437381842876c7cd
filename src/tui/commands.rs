//! What the person does with the traffic of a running proxy.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use super::Purpose;
use super::app::{App, Asked, View};
use crate::schema::Direction;

impl App {
    /// Returns the open session that a command applies to: the selected session, otherwise the selected packet's.
    pub(super) fn open_session(&mut self) -> Option<u64> {
        let chosen = match self.view {
            View::Sessions => self.sessions.get(self.session).map(|it| it.context.session),
            View::Held => self.held.target().map(|(session, _)| session),
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

    /// Sends the selected packet again, as it is.
    pub(super) fn resend(&mut self) {
        let Some((session, line)) = self.packet_to_send(false) else { return };
        let mut request = line;
        request["do"] = "send".into();
        request["session"] = session.into();
        self.request(request, None);
    }

    /// Asks for changes to the held packet, or to the selected one to send it again: in a line, or in the
    /// person's editor.
    pub(super) fn edit(&mut self, in_editor: bool) {
        if self.view == View::Held {
            let Some((session, held)) = self.held.target() else { return };
            let request = json!({ "do": "held", "session": session, "held": held });
            let asked = Asked::Content(Purpose::Edit(session, held), in_editor);
            self.request(request, Some(asked));
        } else if let Some((session, line)) = self.packet_to_send(true) {
            self.take_content(Purpose::Send(session), &line, in_editor);
        }
    }

    /// Lets the person change the content of a packet.
    pub(super) fn take_content(&mut self, purpose: Purpose, content: &Json, in_editor: bool) {
        if in_editor {
            self.in_editor = Some((purpose, format!("{content:#}\n")));
        } else {
            self.ask(purpose, content.to_string());
        }
    }

    /// Returns an open session and what sends the selected packet there: its fields, or its bytes as they are.
    fn packet_to_send(&mut self, fields: bool) -> Option<(u64, Json)> {
        if self.view != View::Packets {
            return None;
        }
        let session = self.open_session()?;
        let packet = &self.details.as_ref()?.details.record.packet;
        let to = match packet.direction() {
            Direction::Clientbound => "client",
            Direction::Serverbound => "server",
        };
        let mut line = json!({ "to": to, "resent": packet.seq() });
        if fields {
            let mut json = Vec::new();
            let walked = packet.write_json(&mut json);
            let json = serde_json::from_slice::<Json>(&json).ok().filter(|_| walked.is_ok());
            let Some((kind, json)) = packet.kind().zip(json) else {
                self.status =
                    "a packet that does not decode can only be sent again as it is".to_owned();
                return None;
            };
            line["packet"] = kind.name().to_string().into();
            line["fields"] = json;
        } else {
            let Ok(body) = packet.body() else {
                self.status = "what is no packet cannot be sent again".to_owned();
                return None;
            };
            line["body"] = BASE64_STANDARD.encode(body).into();
        }
        Some((session, line))
    }

    /// Decides on the selected packet of those that are held.
    pub(super) fn decide(&mut self, what: &str) {
        let target = self.held.target().filter(|_| self.view == View::Held);
        if let Some((session, held)) = target {
            self.request(json!({ "do": what, "session": session, "held": held }), None);
        }
    }

    pub(super) fn request(&mut self, mut request: Json, asked: Option<Asked>) {
        self.number += 1;
        request["id"] = self.number.into();
        if let Some(asked) = asked {
            self.asked.insert(self.number, asked);
        }
        self.requests.push_back(request);
    }
}
