use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::packet_form::{FormChange, packet_form};
use super::{Export, Exported, Viewer};
use crate::control::{packet_expression, packet_rule};
use crate::packet::Context;
use crate::schema::{Direction, State};
use crate::store::Annotation;

/// Packets of which type a person writes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormPlace {
    pub(super) session: u64,
    pub(super) direction: Direction,
    /// `None` for the state that the session is in.
    pub(super) state: Option<State>,
}

/// A form that a person fills in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormRequest {
    pub(super) place: FormPlace,
    pub(super) packet: String,
    /// The fields as JSON; a page would lose digits of long numbers.
    pub(super) text: Option<String>,
    pub(super) change: Option<FormChange>,
}

impl Viewer {
    /// Notes something about a packet.
    pub(super) fn annotate(&mut self, row: u64, marked: bool, comment: String) -> Json {
        self.store.annotate(row, Annotation { marked, comment });
        self.list.refresh();
        json!({})
    }

    /// Begins to export packets: those rows, or the list.
    pub(super) fn begin_export(&mut self, format: &str, rows: Option<Exported>) -> Json {
        let Some(mut export) = Export::new(format, self.store.capture()) else {
            return json!({ "error": { "message": "unknown format" } });
        };
        match rows {
            Some(Exported::Rows(rows)) => export.rows(self.list.snapshot(), &rows, &self.catalog),
            Some(Exported::Marked) => {
                let noted = self.store.annotations();
                let marked = noted.iter().filter(|(_, it)| it.marked);
                let rows: Vec<u64> = marked.map(|(row, _)| *row).collect();
                export.rows(self.list.snapshot(), &rows, &self.catalog)
            }
            None => {
                let piece = export.list(self.list.matches(), &self.catalog);
                self.export = Some(export);
                piece
            }
        }
    }

    /// Returns the next piece of the list that is being exported.
    pub(super) fn export_more(&mut self) -> Json {
        match &mut self.export {
            Some(export) => export.list(self.list.matches(), &self.catalog),
            None => {
                json!({ "error": { "message": "the list is another one now: export it again" } })
            }
        }
    }

    /// Returns an expression and a rule for packets like one.
    pub(super) fn expression(&self, row: u64) -> Json {
        let packet = self.list.snapshot().record(row).map(|record| record.packet);
        let expression = packet.as_ref().and_then(|it| packet_expression(it, &self.catalog));
        let rule = packet.as_ref().and_then(|it| packet_rule(it, &self.catalog));
        json!({ "expression": expression, "rule": rule })
    }

    /// Returns the names of the packets that can be sent.
    pub(super) fn packet_names(&self, place: &FormPlace) -> Json {
        let Some((context, state)) = self.place(place) else { return gone() };
        let packets = context.protocol.packets().iter();
        let here = packets.filter(|it| it.state() == state && it.direction() == place.direction);
        let names: Vec<&str> = here.map(|it| &**it.name()).collect();
        json!({ "state": state.name(), "names": names })
    }

    /// Returns the form of a packet.
    pub(super) fn form(&self, form: FormRequest) -> Json {
        let FormRequest { place, packet, text, change } = form;
        let fields = match text.as_deref().map(serde_json::from_str).transpose() {
            Ok(fields) => fields,
            Err(error) => return failed(&format!("this is not JSON: {error}")),
        };
        let Some((context, state)) = self.place(&place) else { return gone() };
        match context.protocol.named(state, place.direction, &packet) {
            Some(kind) => packet_form(&context, kind, fields, change),
            None => {
                let version = context.protocol.name();
                failed(&format!("{version} has no packet `{packet}` in the state {state}"))
            }
        }
    }

    /// Returns the form of a packet of the list, and where it belongs.
    pub(super) fn form_of(&self, row: u64) -> Json {
        let Some(record) = self.list.snapshot().record(row) else {
            return failed("it is no longer held");
        };
        let packet = &record.packet;
        let mut fields = Vec::new();
        let walked = packet.write_json(&mut fields);
        let fields = serde_json::from_slice(&fields).ok().filter(|_| walked.is_ok());
        let Some((kind, fields)) = packet.kind().zip(fields) else {
            return failed("a packet that does not decode can only be sent again as it is");
        };
        let mut form = packet_form(packet.context(), kind, Some(fields), None);
        form["place"] = json!({
            "session": packet.context().session,
            "dir": packet.direction().name(),
            "state": packet.state().name(),
            "packet": **kind.name(),
            "resent": packet.seq(),
        });
        form
    }

    fn place(&self, place: &FormPlace) -> Option<(Arc<Context>, State)> {
        let sessions = self.store.sessions();
        let session = sessions.iter().find(|it| it.context.session == place.session)?;
        let now = || session.legs.map_or(State::Play, |legs| legs.state);
        Some((Arc::clone(&session.context), place.state.unwrap_or_else(now)))
    }
}

fn gone() -> Json {
    failed("there is no such session")
}

fn failed(message: &str) -> Json {
    json!({ "error": { "message": message, "pointer": "" } })
}
