use bytes::Bytes;
use serde_json::Value as Json;

use super::DemoError;
use crate::schema::{Name, Value};
use crate::wire::Writer;

/// A packet that is to be sent: its name and its fields.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) value: Value,
}

impl Message {
    /// Fields as JSON says them, see [`Value::from_json`].
    pub(super) fn new(name: &'static str, fields: Json) -> Self {
        Self { name, value: Value::from_json(&fields) }
    }

    /// With one more field, of bytes.
    pub(super) fn with_bytes(mut self, field: &str, bytes: impl Into<Bytes>) -> Self {
        if let Value::Map(fields) = &mut self.value {
            fields.push((field.into(), Value::Bytes(bytes.into())));
        }
        self
    }

    /// A plugin message.
    pub(super) fn plugin(channel: &str, data: impl Into<Bytes>) -> Self {
        let message = Self::new("custom_payload", serde_json::json!({ "channel": channel }));
        message.with_bytes("data", data)
    }

    /// The plugin message in which each side says what it is.
    pub(super) fn brand(brand: &str) -> Self {
        let mut writer = Writer::new();
        let length = i32::try_from(brand.len()).unwrap_or(i32::MAX);
        writer.varint(length).put(brand.as_bytes());
        Self::plugin("MC|Brand", writer.into_bytes())
    }
}

/// A packet that came.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) name: Name,
    pub(super) value: Value,
}

impl Received {
    pub(super) fn text(&self, field: &'static str) -> Result<&str, DemoError> {
        self.field(field)?.as_text().ok_or_else(|| self.fault(field))
    }

    pub(super) fn int(&self, field: &'static str) -> Result<i64, DemoError> {
        self.field(field)?.as_int().ok_or_else(|| self.fault(field))
    }

    pub(super) fn float(&self, field: &'static str) -> Result<f64, DemoError> {
        match self.field(field)?.plain() {
            Value::Float32(float) => Ok((*float).into()),
            Value::Float64(float) => Ok(*float),
            _ => Err(self.fault(field)),
        }
    }

    pub(super) fn bytes(&self, field: &'static str) -> Result<&Bytes, DemoError> {
        self.field(field)?.as_bytes().ok_or_else(|| self.fault(field))
    }

    pub(super) fn field(&self, field: &'static str) -> Result<&Value, DemoError> {
        self.value.get(field).ok_or_else(|| self.fault(field))
    }

    pub(super) fn fault(&self, field: &'static str) -> DemoError {
        DemoError::Field { packet: self.name.to_string(), field }
    }
}
