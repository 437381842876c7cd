use std::sync::Arc;

use serde_json::Value as Json;

use super::packet_form::{first_fields, packet_form};
use super::{Export, Viewer};
use crate::control::HeldContent;
use crate::store::Details;
use crate::view::protocol::{
    Answer, ConditionSource, ExportFormat, Exported, Failure, FieldSetting, FormPlace, OtherPacket,
    PacketDetails,
};
use crate::view::{
    Combination, GoTo, RoundTrip, answer_type, has_name, next_rule, packet_expression, packet_rule,
    rule_choices, words,
};
use mitmcraft_engine::lang::{Condition, Literal, Path};
use mitmcraft_protocol::meaning::is_component;
use mitmcraft_protocol::packet::{Context, Packet};
use mitmcraft_protocol::schema::{Direction, PacketType, State};

impl Viewer {
    /// Returns the details of a row with the packets that belong to it.
    pub(super) fn details(&self, row: u64, details: &Details) -> PacketDetails {
        let snapshot = self.list.snapshot();
        let trip = RoundTrip::of(snapshot, row);
        let round_trip = trip.map(|it| OtherPacket { row: it.row, text: words::round_trip(&it) });
        PacketDetails { counterpart: snapshot.counterpart(row), round_trip, ..details.into() }
    }

    /// Goes on looking for the packet to go to if that was asked for before, and begins to otherwise.
    pub(super) fn go_to(
        &mut self,
        to: String,
        row: Option<u64>,
        zone: i64,
    ) -> Result<Answer, Failure> {
        let mut going = match self.going.take() {
            Some((before, going)) if before == to => going,
            _ => GoTo::new(&to, &self.list, row, zone)
                .map_err(|error| Failure::new(error.to_string()))?,
        };
        let Some(found) = going.advance(&self.list, GoTo::SLICE) else {
            self.going = Some((to, going));
            return Ok(Answer::GoTo { row: None, searching: true });
        };
        let row = found.map_err(|error| Failure::new(error.to_string()))?;
        Ok(Answer::GoTo { row: Some(row), searching: false })
    }

    /// Begins to export packets: those rows, or the list.
    pub(super) fn begin_export(
        &mut self,
        format: ExportFormat,
        rows: Option<Exported>,
    ) -> Result<Answer, Failure> {
        let rows = match rows {
            Some(Exported::Rows(rows)) => Some(rows),
            Some(Exported::Marked(_)) => {
                let noted = self.store.annotations();
                Some(noted.iter().filter(|(_, it)| it.marked).map(|(row, _)| *row).collect())
            }
            None => None,
        };
        let export = Export::new(format, rows, self.store.capture());
        let mut export = export.map_err(|error| Failure::new(error.to_string()))?;
        let (piece, last) = export.advance(self.list.matches(), &self.catalog);
        self.export = Some(export).filter(|_| !last);
        Ok(Answer::Export { piece, last })
    }

    /// Returns the next piece of what is being exported.
    pub(super) fn export_more(&mut self) -> Result<Answer, Failure> {
        let Some(export) = &mut self.export else {
            return Err(Failure::new("the list is another one now: export it again"));
        };
        let (piece, last) = export.advance(self.list.matches(), &self.catalog);
        Ok(Answer::ExportMore { piece, last })
    }

    /// Returns an expression, and a rule for the filter file with the text `rules`, for packets like one.
    pub(super) fn expression(
        &self,
        row: u64,
        rules: &str,
        set: Option<FieldSetting>,
    ) -> Result<Answer, Failure> {
        let set = set.map(|it| self.setting(row, it)).transpose()?;
        let packet = self.list.snapshot().record(row).map(|record| record.packet);
        let found = packet.as_ref().and_then(|packet| {
            Some((packet.kind()?.name(), packet_expression(packet, &self.catalog)?))
        });
        let rule = found.as_ref().map(|(name, like)| {
            let rule = packet_rule(name, &like.condition, next_rule(name, rules), set.as_ref());
            format!("{rule}{}", rule_choices(like, packet.as_ref().and_then(answer_to)))
        });
        let expression = found.map(|(_, it)| it.condition.to_string());
        Ok(Answer::Expression { expression, rule })
    }

    /// Returns the path and the value that a rule sets. A number or `true` stays one where the field has it.
    fn setting(
        &self,
        row: u64,
        FieldSetting { field, text }: FieldSetting,
    ) -> Result<(String, Json), Failure> {
        let details = self.list.snapshot().details(row);
        let details = details.ok_or_else(|| Failure::new(words::MISSING))?;
        let line =
            details.fields.get(field).filter(|it| !it.path.is_empty() && !it.value.is_empty());
        let why = "a rule cannot set this as a whole: select one of the fields in it";
        let line = line.ok_or_else(|| Failure::new(why))?;
        let is_text = line.component.is_some() || line.value.starts_with('"');
        let value = serde_json::from_str(&text)
            .ok()
            .filter(|it: &Json| !is_text && (it.is_number() || it.is_boolean()));
        Ok((line.path.clone(), value.unwrap_or_else(|| text.into())))
    }

    /// Adds a condition to a filter.
    pub(super) fn combine(
        &self,
        filter: &str,
        condition: &ConditionSource,
        how: Combination,
    ) -> Result<Answer, Failure> {
        let condition = match condition {
            ConditionSource::Expression(text) => {
                Condition::parse(text).map_err(|error| Failure::of_expression(&error, text))?
            }
            ConditionSource::Packets { dir, state, name } => {
                let dir = Path::words([dir.name()]).holds();
                dir.and(Path::words(["state", state.name()]).holds()).and(has_name(name))
            }
            ConditionSource::TypeOf(row) => {
                let kind = self.list.snapshot().kind(*row);
                has_name(kind.ok_or_else(|| Failure::new("the packet's type is not known"))?.name())
            }
        };
        let combined = how.combine(filter, condition);
        let combined = combined.map_err(|error| Failure::of_expression(&error, filter))?;
        Ok(Answer::Combine { filter: combined.to_string() })
    }

    /// Returns the names of the packets that can be sent.
    pub(super) fn packet_names(
        &self,
        session: u64,
        dir: Direction,
        state: Option<State>,
    ) -> Result<Answer, Failure> {
        let (context, state) = self.context(session, state)?;
        let packets = context.protocol.packets().iter();
        let here = packets.filter(|it| it.state() == state && it.direction() == dir);
        Ok(Answer::Packets { state, names: here.map(|it| it.name().to_string()).collect() })
    }

    /// Returns the form of a packet of the list, and where it belongs.
    pub(super) fn form_of(&self, row: u64) -> Result<Answer, Failure> {
        let record = self.list.snapshot().record(row);
        let packet = record.ok_or_else(|| Failure::new("it is no longer held"))?.packet;
        let fields = HeldContent::from(&packet).fields;
        let Some((kind, fields)) = packet.kind().zip(fields) else {
            let message = "a packet that does not decode can only be sent again as it is";
            return Err(Failure::new(message));
        };
        let place = FormPlace {
            session: packet.context().session,
            dir: packet.direction(),
            state: packet.state(),
            packet: kind.name().to_string(),
            resent: packet.seq(),
        };
        let form = packet_form(packet.context(), kind, Some(fields), None);
        Ok(Answer::FormOf { place, form })
    }

    /// Returns what is known of a session, and a state or that of the session.
    pub(super) fn context(
        &self,
        session: u64,
        state: Option<State>,
    ) -> Result<(Arc<Context>, State), Failure> {
        let sessions = self.store.sessions();
        let found = sessions.iter().find(|it| it.context.session == session);
        let session = found.ok_or_else(|| Failure::new("there is no such session"))?;
        let now = || session.legs.map_or(State::Play, |legs| legs.state);
        Ok((Arc::clone(&session.context), state.unwrap_or_else(now)))
    }
}

/// Returns the type and the fields of a packet with which a rule can answer: what both packets have is the same, and
/// other fields have the simplest values.
pub(super) fn answer_to(packet: &Packet) -> Option<(&PacketType, Json)> {
    let protocol = &packet.context().protocol;
    let kind = answer_type(protocol, packet.kind()?)?;
    let own = packet.value().ok()?;
    let mut fields = first_fields(protocol, kind);
    for (name, value) in fields.as_object_mut()? {
        if is_component(protocol.release(), kind, name) {
            *value = "answer".into();
        } else if own.get(name).and_then(Literal::of).is_some() {
            *value = format!("={name}").into();
        }
    }
    Some((kind, fields))
}
