use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use mitmcraft_engine::capture::{Record, write_packet};

/// A packet as a JSON object: what its line in a JSONL capture has, and its `row`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketJson(String);

impl PacketJson {
    /// Writes a packet.
    #[must_use]
    pub fn new(row: u64, record: &Record) -> Self {
        let mut object = format!("{{\"row\":{row},").into_bytes();
        let begin = object.len();
        write_packet(&mut object, record);
        // The brace that opened the line.
        object.remove(begin);
        // Captures are UTF-8.
        Self(String::from_utf8(object).unwrap_or_default())
    }

    /// Returns the object.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for PacketJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}
