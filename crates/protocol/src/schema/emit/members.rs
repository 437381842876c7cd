use serde_json::{Map, Value as Json, json};

use super::json_schema::any_of;
use crate::schema::Name;

/// The fields of an object, in wire order. A field that several cases of a union have is one field.
#[derive(Default)]
pub(super) struct Members {
    properties: Map<String, Json>,
    required: Vec<String>,
}

impl Members {
    pub(super) fn add(&mut self, name: &Name, schema: Json, required: bool) {
        let schema = match self.properties.remove(&**name) {
            Some(other) => any_of([other, schema]),
            None => schema,
        };
        self.properties.insert(name.to_string(), schema);
        if required && !self.required.iter().any(|it| **it == **name) {
            self.required.push(name.to_string());
        }
    }

    /// Adds a field, if its type has a value.
    pub(super) fn extend(&mut self, name: &Name, schema: Option<Json>, required: bool) {
        if let Some(schema) = schema {
            self.add(name, schema, required);
        }
    }

    pub(super) fn object(self) -> Json {
        json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}
