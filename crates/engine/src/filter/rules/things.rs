//! Names for numbers in values that rules set: `type = "creeper"`.

use super::component::Components;
use super::template::Template;
use crate::lang::meaning_path;
use mitmcraft_protocol::meaning::FieldMeanings;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::Value;

impl Components<'_> {
    /// Replaces the names in a value, which is at `steps` in the packet, by their numbers. Texts that are
    /// no names stay as they are.
    pub(super) fn resolve(self, steps: &[PathStep], value: &mut Value) {
        if has_text(value)
            && let Some(meanings) = FieldMeanings::of(self.protocol, self.packet)
        {
            resolve(&meanings, &mut meaning_path(steps), value);
        }
    }

    /// Returns the names that the values at `steps` can have.
    pub(super) fn names(self, steps: &[PathStep]) -> Vec<&'static str> {
        let meanings = FieldMeanings::of(self.protocol, self.packet);
        let meaning = meanings.and_then(|it| it.at(&meaning_path(steps), |_| None));
        meaning.map_or_else(Vec::new, |meaning| meaning.names())
    }

    /// Returns a template with the names replaced by their numbers.
    pub(super) fn resolved(self, steps: &[PathStep], template: &Template) -> Template {
        let mut template = template.clone();
        if let Some(meanings) = FieldMeanings::of(self.protocol, self.packet) {
            resolve_template(&meanings, &mut meaning_path(steps), &mut template);
        }
        template
    }
}

fn has_text(value: &Value) -> bool {
    match value {
        Value::Text(_) => true,
        Value::List(items) => items.iter().any(has_text),
        Value::Map(fields) => fields.iter().any(|(_, field)| has_text(field)),
        _ => false,
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn resolve(meanings: &FieldMeanings, path: &mut String, value: &mut Value) {
    let length = path.len();
    match value {
        Value::Text(text) => {
            let name = text.strip_prefix("minecraft:").unwrap_or(text);
            let meaning = meanings.at(path, |_| None);
            if let Some(number) = meaning.and_then(|meaning| meaning.number(name)) {
                *value = Value::Int(number);
            }
        }
        Value::List(items) => {
            path.push_str("[*]");
            items.iter_mut().for_each(|item| resolve(meanings, path, item));
        }
        Value::Map(fields) => {
            for (name, field) in fields {
                push(path, name);
                resolve(meanings, path, field);
                path.truncate(length);
            }
        }
        _ => {}
    }
    path.truncate(length);
}

fn resolve_template(meanings: &FieldMeanings, path: &mut String, template: &mut Template) {
    let length = path.len();
    match template {
        Template::Value(value) => resolve(meanings, path, value),
        Template::Formula(_) => {}
        Template::List(items) => {
            path.push_str("[*]");
            items.iter_mut().for_each(|item| resolve_template(meanings, path, item));
        }
        Template::Map(fields) => {
            for (name, field) in fields {
                push(path, name);
                resolve_template(meanings, path, field);
                path.truncate(length);
            }
        }
    }
    path.truncate(length);
}
