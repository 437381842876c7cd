use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value as Json, json};

use crate::view::protocol::{
    Failure, Form, FormChange, FormLine, FormProblem, TextPiece, read_body,
};
use mitmcraft_engine::link::signature_warning;
use mitmcraft_engine::text::{FieldLine, FieldLines};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::meaning::{FieldMeaning, FieldMeanings};
use mitmcraft_protocol::packet::{
    Content, Context, FieldPath, Packet, PathStep, StyledText, Timestamp,
};
use mitmcraft_protocol::schema::{
    EncodeCause, EncodeError, LayoutField, PacketType, Protocol, Value,
};
use mitmcraft_protocol::wire::to_hex;

/// Returns the form of the fields of a packet of a type, as captures have them, after a change. Without fields, it
/// begins with the simplest ones that can be sent.
pub(super) fn packet_form(
    context: &Arc<Context>,
    kind: &PacketType,
    fields: Option<Json>,
    change: Option<FormChange>,
) -> Form {
    let protocol = &context.protocol;
    let mut fields = fields.unwrap_or_else(|| first_fields(protocol, kind));
    match change {
        Some(FormChange::Set { pointer, raw }) => {
            if let Some(place) = fields.pointer_mut(&pointer) {
                // What is not JSON becomes text, about which the encoder says what it thinks.
                *place = serde_json::from_str(&raw).unwrap_or_else(|_| raw.into());
                // Other fields can depend on it.
                fields = completed(protocol, kind, fields, Some(&pointer));
            }
        }
        Some(FormChange::Choose { pointer, name }) => {
            if let Some(place) = fields.pointer_mut(&pointer) {
                *place = json!({ name: null });
                fields = completed(protocol, kind, fields, None);
            }
        }
        Some(FormChange::Fill(pointer)) => {
            if let Some((parent, name)) = pointer.rsplit_once('/')
                && let Some(Json::Object(object)) = fields.pointer_mut(parent)
            {
                let place = object.entry(unescaped(name)).or_insert(Json::Null);
                if place.is_null() {
                    // The encoder says what it has to be instead.
                    *place = json!({});
                    fields = completed(protocol, kind, fields, None);
                }
            }
        }
        Some(FormChange::Add(pointer)) => {
            if let Some(Json::Array(list)) = fields.pointer_mut(&pointer) {
                list.push(list.last().cloned().unwrap_or_default());
                fields = completed(protocol, kind, fields, None);
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
    let Checked { body, problem, shown, warning } = check(context, kind, &fields);
    let meanings = FieldMeanings::of(protocol, kind);
    let optional = protocol.layout(kind, MAX_DEPTH).into_iter().filter(is_optional);
    let mut optional: Vec<String> = optional.map(|field| field.path).collect();
    // Several cases of a choice can have a field of that name.
    optional.sort_unstable();
    optional.dedup();
    let values = Values { protocol, kind, fields: &fields, meanings, shown, optional };
    let mut lines = Vec::new();
    values.add("", "", 0, &fields, &mut lines);
    let text = format!("{fields:#}");
    Form { text, body, problem, warning, more: lines.len() >= MAX_LINES, lines }
}

/// Returns the simplest fields of a new packet of a type.
pub(super) fn first_fields(protocol: &Protocol, kind: &PacketType) -> Json {
    completed(protocol, kind, json!({}), None)
}

/// The result of encoding the fields of a packet that is to be sent.
pub(super) struct Checked {
    /// Id and fields in hex; `None` if they cannot be encoded.
    body: Option<String>,
    /// Why the packet cannot be sent.
    pub(super) problem: Option<FormProblem>,
    shown: Vec<FieldLine>,
    warning: Option<&'static str>,
}

/// Encodes a packet, and reads it as its receiver does.
pub(super) fn check(context: &Arc<Context>, kind: &PacketType, fields: &Json) -> Checked {
    let (mut shown, mut warning) = (Vec::new(), None);
    let (body, problem) = match context.protocol.encode(kind, &Value::from_json(fields)) {
        Ok(body) => {
            let hex = to_hex(&body, "");
            let content = Content::Frame(Frame::from_body(Bytes::from(body)));
            let (direction, state) = (kind.direction(), kind.state());
            let (context, at) = (Arc::clone(context), Timestamp::default());
            let packet = Packet::new(context, 0, at, direction, state, content);
            let mut visitor = FieldLines::new(&packet);
            let walked = packet.walk_dyn(&mut visitor);
            warning = signature_warning(&packet);
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
    Checked { body, problem, shown, warning }
}

/// Returns the fields of a packet of a type that a person gives as bytes.
///
/// # Errors
/// If it is not one.
pub(super) fn body_fields(
    context: &Arc<Context>,
    kind: &PacketType,
    body: &str,
) -> Result<Json, Failure> {
    let content = Content::Frame(Frame::from_body(read_body(body)?));
    let (direction, state) = (kind.direction(), kind.state());
    let at = Timestamp::default();
    let packet = Packet::new(Arc::clone(context), 0, at, direction, state, content);
    match packet.kind() {
        Some(other) if other.id() == kind.id() => {}
        Some(other) => {
            let why =
                format!("these are the bytes of `{}`, not of `{}`", other.name(), kind.name());
            return Err(Failure::new(why));
        }
        None => return Err(Failure::new("no packet begins with these bytes")),
    }
    let mut fields = Vec::new();
    packet.write_json(&mut fields).map_err(|error| {
        let (name, at) = (kind.name(), error.at());
        Failure::new(format!("these are not the bytes of `{name}`: {error} (at byte {at})"))
    })?;
    serde_json::from_slice(&fields).map_err(|error| Failure::new(error.to_string()))
}

/// Finds out what values can hold, by asking the encoder, which knows it best.
struct Values<'a> {
    protocol: &'a Protocol,
    kind: &'a PacketType,
    fields: &'a Json,
    meanings: Option<FieldMeanings>,
    shown: Vec<FieldLine>,
    /// The paths of fields that can be absent, with `[*]` for every index.
    optional: Vec<String>,
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
        if let Json::Object(fields) = value {
            self.add_absent(path, place, depth, fields, lines);
        }
    }

    /// Adds the fields that a container could have.
    fn add_absent(
        &self,
        path: &str,
        place: &str,
        depth: usize,
        fields: &Map<String, Json>,
        lines: &mut Vec<FormLine>,
    ) {
        let dot = if path.is_empty() { "" } else { "." };
        let inside = format!("{}{dot}", any_index(path));
        for name in self.optional.iter().filter_map(|field| field.strip_prefix(&inside)) {
            let path = format!("{path}{dot}{name}");
            let place = format!("{place}/{name}");
            if name.contains(['.', '[', '/', '~']) || fields.contains_key(name) {
                continue;
            }
            // Where another field decides, the encoder knows whether it can be there.
            let accepts = |error: EncodeError| {
                error.path.starts_with(&path) && !matches!(error.cause, EncodeCause::UnknownField)
            };
            let encoded = self.encoded_with(&place, json!({}));
            if encoded.is_some_and(|it| it.map_or_else(accepts, |_| true))
                && lines.len() < MAX_LINES
            {
                lines.push(self.line(name, &path, &place, depth, &Json::Null));
            }
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
            ..FormLine::default()
        };
        let without = || matches!(self.encoded_with(place, Json::Null), Some(Ok(_)));
        line.optional = !value.is_null() && without();
        if let Json::Object(fields) = value {
            if let Some(EncodeCause::OneOf(names)) = self.refusal(path, place, json!({})) {
                line.options = Some(names.map(|name| name.to_string()).to_vec());
                line.raw = fields.keys().next().cloned();
            }
            return line;
        }
        if value.is_array() {
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
                line.flags = meaning.as_ref().map(flags).filter(|flags| !flags.is_empty());
                line.names = meaning.as_ref().map(names).filter(|names| !names.is_empty());
            }
            Json::String(_) => match self.refusal(path, place, "\u{1}".into()) {
                Some(EncodeCause::UnknownName { known, .. }) => {
                    line.options = Some(known.iter().map(ToString::to_string).collect());
                }
                Some(EncodeCause::Base64(_)) => line.encoding = Some("base64"),
                _ => {}
            },
            _ => {}
        }
        line
    }

    fn component(&self, path: &str) -> Option<&StyledText> {
        self.shown.iter().find(|line| line.path == path)?.component.as_ref()
    }

    /// Returns why the field cannot have another value, if it cannot.
    fn refusal(&self, path: &str, place: &str, value: Json) -> Option<EncodeCause> {
        let error = self.encoded_with(place, value)?.err()?;
        (error.path == path).then_some(error.cause)
    }

    /// Encodes the packet with another value at a place, which may be a new field.
    fn encoded_with(&self, place: &str, value: Json) -> Option<Result<Vec<u8>, EncodeError>> {
        let mut fields = self.fields.clone();
        let (parent, name) = place.rsplit_once('/')?;
        match fields.pointer_mut(parent)? {
            Json::Object(object) => drop(object.insert(unescaped(name), value)),
            list => *list.get_mut(name.parse::<usize>().ok()?)? = value,
        }
        Some(self.protocol.encode(self.kind, &Value::from_json(&fields)))
    }
}

/// Fills in the simplest values for what is missing, as far as something simple helps. If a person has changed the
/// value at a JSON pointer, that stays, and so do the others that have the wrong type.
fn completed(
    protocol: &Protocol,
    kind: &PacketType,
    mut fields: Json,
    changed: Option<&str>,
) -> Json {
    for _ in 0..MAX_LINES {
        let Err(error) = protocol.encode(kind, &Value::from_json(&fields)) else { break };
        let place = pointer(&error.path);
        if let Some(changed) = changed {
            let given = fields.pointer(&place).is_some_and(|it| !it.is_null());
            if place == changed || (given && !matches!(error.cause, EncodeCause::UnknownField)) {
                break;
            }
        }
        let value = match &error.cause {
            EncodeCause::Type { expected, .. } => match *expected {
                "an integer" | "a number" => json!(0),
                "true or false" => json!(false),
                "text" => json!(""),
                "a list" => json!([]),
                "a table" => json!({}),
                "a UUID" => json!("00000000-0000-0000-0000-000000000000"),
                "bytes" => json!(""),
                "NBT" => empty_nbt(true),
                _ => break,
            },
            EncodeCause::OneOf([name, _]) => json!({ &**name: null }),
            EncodeCause::Length { fixed, .. } => match fields.pointer(&place) {
                Some(Json::Array(_)) => vec![Json::Null; *fixed].into(),
                _ => BASE64_STANDARD.encode(vec![0; *fixed]).into(),
            },
            EncodeCause::Empty => json!([null]),
            EncodeCause::RootName { named } => empty_nbt(*named),
            EncodeCause::UnknownField => {
                // Another choice than before does not have it.
                let Some((object, name)) = place.rsplit_once('/') else { break };
                let Some(Json::Object(object)) = fields.pointer_mut(object) else { break };
                if object.remove(&unescaped(name)).is_none() {
                    break;
                }
                continue;
            }
            EncodeCause::Range { low, .. } => match i64::try_from(*low) {
                Ok(low) => json!(low),
                Err(_) => break,
            },
            EncodeCause::NoLayout { on, known: Some(number) } => {
                // Beside the field, or in it if it is what a container takes in.
                let beside = place.rsplit_once('/').map(|(container, _)| container);
                let mut places = beside.into_iter().chain([&*place]);
                let Some(other) = places.find_map(|it| {
                    let pointer = format!("{it}/{on}");
                    fields.pointer(&pointer).is_some().then_some(pointer)
                }) else {
                    break;
                };
                let Some(other) = fields.pointer_mut(&other) else { break };
                if *other == json!(number) {
                    break;
                }
                *other = json!(number);
                continue;
            }
            EncodeCause::UnknownName { known, .. } => {
                known.first().map(ToString::to_string).unwrap_or_default().into()
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

/// Returns whether a bool before the field says if it is there.
fn is_optional(field: &LayoutField) -> bool {
    field.condition.as_ref().is_some_and(|it| it.contains("a bool before it is true"))
}

/// Returns the name that a part of a JSON pointer stands for.
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn empty_nbt(named: bool) -> Json {
    match named {
        true => json!({ "type": "compound", "name": "", "value": {} }),
        false => json!({ "type": "compound", "value": {} }),
    }
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

/// Returns the bits that have names, with these.
fn flags(meaning: &FieldMeaning) -> Vec<(i64, &'static str)> {
    meaning.flags().iter().map(|(bit, name)| (*bit, name.as_str())).collect()
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

/// Containers in containers in which absent fields are looked for.
const MAX_DEPTH: usize = 6;

/// Most names of a field: those of all items.
const MAX_NAMES: usize = 2000;
