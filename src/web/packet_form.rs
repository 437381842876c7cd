use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value as Json, json};

use crate::view::protocol::{Form, FormChange, FormLine, FormProblem, TextPiece};
use mitmcraft_engine::text::{FieldLine, FieldLines};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::meaning::{FieldMeaning, FieldMeanings};
use mitmcraft_protocol::packet::{
    Content, Context, FieldPath, Packet, PathStep, StyledText, Timestamp,
};
use mitmcraft_protocol::schema::{EncodeCause, PacketType, Protocol, Value};

/// Returns the form of the fields of a packet of a type, as captures have them, after a change. Without fields, it
/// begins with the simplest ones that can be sent.
pub(super) fn packet_form(
    context: &Arc<Context>,
    kind: &PacketType,
    fields: Option<Json>,
    change: Option<FormChange>,
) -> Form {
    let protocol = &context.protocol;
    let mut fields = fields.unwrap_or_else(|| completed(protocol, kind, json!({})));
    match change {
        Some(FormChange::Set { pointer, raw }) => {
            if let Some(place) = fields.pointer_mut(&pointer) {
                // What is not JSON becomes text, about which the encoder says what it thinks.
                *place = serde_json::from_str(&raw).unwrap_or_else(|_| raw.into());
            }
        }
        Some(FormChange::Add(pointer)) => {
            if let Some(Json::Array(list)) = fields.pointer_mut(&pointer) {
                list.push(list.last().cloned().unwrap_or_default());
                fields = completed(protocol, kind, fields);
            }
        }
        Some(FormChange::Remove(pointer)) => {
            if let Some((list, index)) = pointer.rsplit_once('/')
                && let Some(Json::Array(list)) = fields.pointer_mut(list)
                && let Ok(index) = index.parse()
                && index < list.len()
            {
                list.remove(index);
            }
        }
        None => {}
    }
    let mut shown = Vec::new();
    let (body, problem) = match protocol.encode(kind, &Value::from_json(&fields)) {
        Ok(body) => {
            let hex = body.iter().map(|byte| format!("{byte:02x}")).collect();
            let content = Content::Frame(Frame::from_body(Bytes::from(body)));
            let (direction, state) = (kind.direction(), kind.state());
            let (context, at) = (Arc::clone(context), Timestamp::default());
            let packet = Packet::new(context, 0, at, direction, state, content);
            let mut visitor = FieldLines::new(&packet);
            let walked = packet.walk(&mut visitor);
            shown = visitor.finish();
            let problem = walked.err().map(|error| FormProblem {
                pointer: String::new(),
                message: format!("it would not decode: {error}"),
            });
            (Some(hex), problem)
        }
        Err(error) => {
            let (pointer, message) = (pointer(&error.path), error.cause.to_string());
            (None, Some(FormProblem { pointer, message }))
        }
    };
    let meanings = FieldMeanings::of(protocol, kind);
    let values = Values { protocol, kind, fields: &fields, meanings, shown };
    let mut lines = Vec::new();
    values.add("", "", 0, &fields, &mut lines);
    Form { text: format!("{fields:#}"), body, problem, more: lines.len() >= MAX_LINES, lines }
}

/// Finds out what values can hold, by asking the encoder, which knows it best.
struct Values<'a> {
    protocol: &'a Protocol,
    kind: &'a PacketType,
    fields: &'a Json,
    meanings: Option<FieldMeanings>,
    shown: Vec<FieldLine>,
}

impl Values<'_> {
    /// Adds the values in a container.
    fn add(&self, path: &str, place: &str, depth: usize, value: &Json, lines: &mut Vec<FormLine>) {
        let parts: Vec<(String, String, &Json)> = match value {
            Json::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let dot = if path.is_empty() { "" } else { "." };
                    (name.clone(), format!("{path}{dot}{name}"), value)
                })
                .collect(),
            Json::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| (at.to_string(), format!("{path}[{at}]"), item)).collect()
            }
            _ => return,
        };
        for (name, path, value) in parts {
            if lines.len() >= MAX_LINES {
                return;
            }
            let place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
            lines.push(self.line(&name, &path, &place, depth, value));
            self.add(&path, &place, depth + 1, value, lines);
        }
    }

    fn line(&self, name: &str, path: &str, place: &str, depth: usize, value: &Json) -> FormLine {
        let mut line = FormLine {
            name: name.to_owned(),
            path: path.to_owned(),
            pointer: place.to_owned(),
            depth,
            kind: match value {
                Json::Object(_) => "object",
                Json::Array(_) => "list",
                Json::Number(_) => "number",
                Json::String(_) => "text",
                Json::Bool(_) => "bool",
                Json::Null => "null",
            },
            count: value.as_array().map(Vec::len),
            raw: None,
            low: None,
            high: None,
            options: None,
            names: None,
            text: None,
        };
        if matches!(value, Json::Object(_) | Json::Array(_)) {
            return line;
        }
        line.raw = Some(value.to_string());
        line.text = self.component(path).map(TextPiece::all);
        match value {
            Json::Number(_) => {
                if let Some(EncodeCause::Range { low, high, .. }) =
                    self.refusal(path, place, i64::MAX.into())
                {
                    (line.low, line.high) = (Some(low.to_string()), Some(high.to_string()));
                }
                let meaning = self.meanings.as_ref().and_then(|it| it.any_at(&any_index(path)));
                line.names = meaning.as_ref().map(names).filter(|names| !names.is_empty());
            }
            Json::String(_) => {
                if let Some(EncodeCause::UnknownName { known, .. }) =
                    self.refusal(path, place, "\u{1}".into())
                {
                    line.options = Some(known.split(", ").map(str::to_owned).collect());
                }
            }
            _ => {}
        }
        line
    }

    fn component(&self, path: &str) -> Option<&StyledText> {
        self.shown.iter().find(|line| line.path == path)?.component.as_ref()
    }

    /// Returns why the field cannot have another value, if it cannot.
    fn refusal(&self, path: &str, place: &str, value: Json) -> Option<EncodeCause> {
        let mut fields = self.fields.clone();
        *fields.pointer_mut(place)? = value;
        let error = self.protocol.encode(self.kind, &Value::from_json(&fields)).err()?;
        (error.path == path).then_some(error.cause)
    }
}

/// Fills in the simplest values for what is missing, as far as something simple helps.
fn completed(protocol: &Protocol, kind: &PacketType, mut fields: Json) -> Json {
    for _ in 0..MAX_LINES {
        let Err(error) = protocol.encode(kind, &Value::from_json(&fields)) else { break };
        let value = match &error.cause {
            EncodeCause::Type { expected, .. } => match *expected {
                "an integer" | "a number" => json!(0),
                "true or false" => json!(false),
                "text" => json!(""),
                "a list" => json!([]),
                "a table" => json!({}),
                "a UUID" => json!("00000000-0000-0000-0000-000000000000"),
                "bytes" => json!(""),
                "NBT" => json!({ "type": "compound", "name": "", "value": {} }),
                _ => break,
            },
            EncodeCause::Range { low, .. } => match i64::try_from(*low) {
                Ok(low) => json!(low),
                Err(_) => break,
            },
            EncodeCause::UnknownName { known, .. } => {
                known.split(", ").next().unwrap_or_default().into()
            }
            _ => break,
        };
        let Some(place) = place_of(&mut fields, &error.path) else { break };
        if *place == value {
            break;
        }
        *place = value;
    }
    fields
}

/// Returns the place of a path; containers that are absent are made.
fn place_of<'a>(fields: &'a mut Json, path: &str) -> Option<&'a mut Json> {
    if path.is_empty() {
        return None;
    }
    let mut place = fields;
    for step in FieldPath::parse(path).ok()?.steps() {
        place = match step {
            PathStep::Name(name) => {
                if place.is_null() {
                    *place = json!({});
                }
                place.as_object_mut()?.entry(name.to_string()).or_insert(Json::Null)
            }
            PathStep::Index(index) => place.get_mut(usize::try_from(*index).ok()?)?,
            _ => return None,
        };
    }
    Some(place)
}

/// Returns the numbers that have names, with these.
fn names(meaning: &FieldMeaning) -> Vec<(i64, &'static str)> {
    let named = meaning.names().into_iter().take(MAX_NAMES);
    named.filter_map(|name| Some((meaning.number(name)?, name))).collect()
}

/// Returns a path as a JSON pointer.
fn pointer(path: &str) -> String {
    let mut pointer = String::new();
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        pointer.push('/');
        pointer.push_str(&step.trim_end_matches(']').replace('~', "~0"));
    }
    pointer
}

/// Returns a path with `[*]` for every index.
fn any_index(path: &str) -> String {
    let mut parts = path.split('[');
    let mut any = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        any.push_str("[*");
        any.push_str(part.find(']').map_or(part, |end| &part[end..]));
    }
    any
}

/// Most fields of a form; the others are edited as JSON.
const MAX_LINES: usize = 400;

/// Most names of a field: those of all items.
const MAX_NAMES: usize = 2000;
