use bytes::Bytes;
use serde_json::Value as Json;

use super::DemoError;
use mitmcraft_protocol::schema::{Name, Value};

/// A packet to be sent, by its name.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) value: Value,
}

impl Message {
    /// Creates a packet with these fields, see [`Value::from_json`].
    pub(super) fn new(name: &str, fields: Json) -> Self {
        Self { name: name.to_owned(), value: Value::from_json(&fields) }
    }

    /// Adds a field of bytes.
    pub(super) fn with_bytes(mut self, field: &str, bytes: impl Into<Bytes>) -> Self {
        if let Value::Map(fields) = &mut self.value {
            fields.push((field.into(), Value::Bytes(bytes.into())));
        }
        self
    }
}

/// A packet that was received.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) name: Name,
    pub(super) value: Value,
}

impl Received {
    pub(super) fn text(&self, field: &'static str) -> Result<&str, DemoError> {
        self.value.get(field).and_then(Value::as_text).ok_or_else(|| self.fault(field))
    }

    pub(super) fn int(&self, field: &'static str) -> Result<i64, DemoError> {
        self.value.get(field).and_then(Value::as_int).ok_or_else(|| self.fault(field))
    }

    pub(super) fn float(&self, field: &'static str) -> Result<f64, DemoError> {
        match self.value.get(field).map(Value::plain) {
            Some(Value::Float32(float)) => Ok((*float).into()),
            Some(Value::Float64(float)) => Ok(*float),
            _ => Err(self.fault(field)),
        }
    }

    pub(super) fn fault(&self, field: &'static str) -> DemoError {
        DemoError::Field { packet: self.name.to_string(), field }
    }
}
