//! Chat components as rules give them: plain text, JSON or a table, converted to the form that the
//! field has in the session's version. That is text with JSON up to 1.20.2, and NBT since.

use serde_json::{Map, Value as Json};

use super::EditError;
use super::nbt::{self, list_of};
use super::value_json::json_of;
use crate::lang::shape_at;
use mitmcraft_protocol::meaning::is_component;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{Family, Kind, Name, PacketType, Protocol, Release, Shape, Value};
use mitmcraft_protocol::wire::{Compound, Nbt, Tag};

/// The fields of a packet, which can hold components and numbers with names.
#[derive(Clone, Copy)]
pub(super) struct Components<'p> {
    pub(super) protocol: &'p Protocol,
    pub(super) packet: &'p PacketType,
}

/// The form of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A component as text with JSON.
    Json,
    /// NBT that may be a component.
    Component,
    /// NBT.
    Nbt,
    /// Not a component.
    Other,
}

impl<'p> Components<'p> {
    pub(super) fn of(protocol: &'p Protocol, packet: &'p PacketType) -> Self {
        Self { protocol, packet }
    }

    /// Returns the shape at a path; `None` within NBT.
    pub(super) fn shape_at(&self, path: &[PathStep]) -> Option<Shape<'p>> {
        shape_at(Shape::of(self.protocol, self.packet), path)
    }

    /// Returns the form of a field with that shape at a path of names.
    pub(super) fn form(&self, shape: &Shape<'_>, path: &[Name]) -> Form {
        let kinds = shape.kinds();
        let java = self.protocol.family() == Family::Java;
        if !java || kinds.has(Kind::Map) || kinds.has(Kind::List) {
            return Form::Other;
        }
        let release = self.protocol.release();
        match (kinds.has(Kind::Text), kinds.has(Kind::Nbt)) {
            (true, false) if is_component(release, self.packet, &path.join(".")) => Form::Json,
            (false, true) if release >= Release::V1_20_3 => Form::Component,
            (false, true) => Form::Nbt,
            _ => Form::Other,
        }
    }

    /// Converts texts that are given for components at or below `path`.
    pub(super) fn read_texts(&self, path: &[PathStep], value: &mut Value) {
        let read = &mut |form: Form, value: &mut Value| {
            let Value::Text(text) = &*value else { return Ok(()) };
            match form {
                Form::Component => {
                    let root = component_json(text).as_ref().map_or_else(|| in_text(text), tag_of);
                    *value = Value::Nbt(Box::new(Nbt { name: None, root }));
                }
                Form::Json if component_json(text).is_none() => {
                    *value = serde_json::json!({ "text": &**text }).to_string().as_str().into();
                }
                Form::Json | Form::Nbt | Form::Other => {}
            }
            Ok(())
        };
        // Reading texts does not fail.
        let _ = self.each_at(path, value, read);
    }

    /// Converts tables and lists that stand for components or NBT at or below `path`.
    pub(super) fn read_tables(
        &self,
        path: &[PathStep],
        value: &mut Value,
    ) -> Result<(), EditError> {
        self.each_at(path, value, &mut |form, value| {
            if !matches!(value, Value::Map(_) | Value::List(_)) {
                return Ok(());
            }
            match form {
                Form::Json => *value = json_of(value)?.to_string().as_str().into(),
                Form::Component | Form::Nbt if !nbt::is_typed(value) => {
                    let root = nbt::tag_of(std::mem::replace(value, Value::Absent))?;
                    *value = Value::Nbt(Box::new(Nbt { name: None, root }));
                }
                Form::Component | Form::Nbt | Form::Other => {}
            }
            Ok(())
        })
    }

    /// Changes the component in a text as a table says, which names the members to change. Returns
    /// `None` if the field at `path` is no such text.
    pub(super) fn merge(
        &self,
        path: &[PathStep],
        old: &Value,
        new: &Value,
    ) -> Option<Result<Value, EditError>> {
        let shape = self.shape_at(path)?;
        if self.form(&shape, &names(path)) != Form::Json || !matches!(new, Value::Map(_)) {
            return None;
        }
        let old = old.as_text().and_then(component_json);
        Some(json_of(new).map(|new| {
            let mut merged = old.filter(Json::is_object).unwrap_or(Json::Object(Map::new()));
            merge(&mut merged, new);
            merged.to_string().as_str().into()
        }))
    }

    fn each_at(
        &self,
        path: &[PathStep],
        value: &mut Value,
        act: &mut dyn FnMut(Form, &mut Value) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        match self.shape_at(path) {
            Some(shape) => self.each(&shape, &mut names(path), value, act),
            // Within NBT.
            None => Ok(()),
        }
    }

    /// Calls `act` with every value that stands for a leaf or NBT.
    fn each(
        &self,
        shape: &Shape<'_>,
        path: &mut Vec<Name>,
        value: &mut Value,
        act: &mut dyn FnMut(Form, &mut Value) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        let kinds = shape.kinds();
        match value {
            Value::Map(fields) if kinds.has(Kind::Map) => {
                fields.iter_mut().try_for_each(|(name, value)| {
                    let Some(shape) = shape.field(name) else { return Ok(()) };
                    path.push(name.clone());
                    let done = self.each(&shape, path, value, act);
                    path.pop();
                    done
                })
            }
            Value::List(items) if kinds.has(Kind::List) => match shape.element() {
                Some(element) => {
                    items.iter_mut().try_for_each(|item| self.each(&element, path, item, act))
                }
                None => Ok(()),
            },
            Value::Map(_) | Value::List(_) | Value::Text(_) => act(self.form(shape, path), value),
            _ => Ok(()),
        }
    }
}

/// Returns the names in a path.
pub(super) fn names(path: &[PathStep]) -> Vec<Name> {
    let name = |step: &PathStep| match step {
        PathStep::Name(name) => Some(name.clone()),
        PathStep::Index(_) | PathStep::Each | PathStep::Append => None,
    };
    path.iter().filter_map(name).collect()
}

/// Parses a component in JSON; `None` if the text is to be shown as it is.
fn component_json(text: &str) -> Option<Json> {
    let begins = text.trim_start().starts_with(['{', '[', '"']);
    begins.then(|| serde_json::from_str(text).ok()).flatten()
}

fn in_text(text: &str) -> Tag {
    Tag::Compound(Compound { entries: vec![(nbt::key("text"), Tag::text(text))] })
}

fn tag_of(json: &Json) -> Tag {
    match json {
        Json::Null => in_text(""),
        Json::Bool(bool) => Tag::Byte(i8::from(*bool)),
        Json::Number(number) => match number.as_i64() {
            Some(int) => i32::try_from(int).map_or(Tag::Long(int), Tag::Int),
            None => Tag::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Tag::text(text),
        Json::Array(items) => list_of(items.iter().map(tag_of).collect()),
        Json::Object(members) => Tag::Compound(Compound {
            entries: members.iter().map(|(name, it)| (nbt::key(name), tag_of(it))).collect(),
        }),
    }
}

fn merge(old: &mut Json, new: Json) {
    match (old, new) {
        (Json::Object(old), Json::Object(new)) => {
            for (name, new) in new {
                merge(old.entry(name).or_insert(Json::Null), new);
            }
        }
        (old, new) => *old = new,
    }
}
