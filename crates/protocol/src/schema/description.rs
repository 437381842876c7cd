use std::fmt;
use std::io::Read as _;

use flate2::Crc;
use flate2::read::GzDecoder;
use serde_json::Value as Json;

use super::gzip;
use crate::wire::is_unseen;

/// The source of a [`Protocol`](super::Protocol) that is not built in, as captures contain it.
#[derive(Debug)]
pub struct Description {
    id: DescriptionId,
    packed: Box<[u8]>,
}

impl Description {
    pub(super) fn new(json: &Json) -> Self {
        let text = json.to_string();
        let packed = gzip::deflate(text.as_bytes()).into();
        Self { id: DescriptionId::of(text.as_bytes()), packed }
    }

    /// Returns the number by which captures refer to the description.
    #[must_use]
    pub fn id(&self) -> DescriptionId {
        self.id
    }

    /// Returns the description as ProtoDef JSON, compressed with gzip.
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Inflates and parses a description of at most `limit` bytes, and returns it with its length.
    ///
    /// Returns `None` if it is longer, damaged, not JSON, or contains text that could control a
    /// terminal.
    #[must_use]
    pub fn unpack(packed: &[u8], limit: usize) -> Option<(Json, usize)> {
        let mut text = Vec::new();
        let mut limited = GzDecoder::new(packed).take(limit as u64 + 1);
        limited.read_to_end(&mut text).ok()?;
        let json = serde_json::from_slice(&text).ok().filter(|_| text.len() <= limit)?;
        is_plain(&json).then_some((json, text.len()))
    }
}

/// The checksum of a protocol description, which identifies it in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DescriptionId(pub u32);

impl DescriptionId {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(text);
        Self(crc.sum())
    }
}

impl fmt::Display for DescriptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl std::str::FromStr for DescriptionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u32::from_str_radix(text, 16).map(Self)
    }
}

/// Returns `true` if every character of the texts in the JSON is one that a screen shows.
fn is_plain(json: &Json) -> bool {
    let plain = |text: &str| !text.contains(is_unseen);
    match json {
        Json::String(text) => plain(text),
        Json::Array(items) => items.iter().all(is_plain),
        Json::Object(members) => members.iter().all(|(key, it)| plain(key) && is_plain(it)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comes_back_with_the_same_id_and_is_bounded() {
        let json = json!({ "types": { "b": "native", "a": ["buffer", { "count": 12 }] } });
        let packed = Description::new(&json);
        let length = json.to_string().len();
        let (again, found) = Description::unpack(packed.packed(), length).unwrap();
        assert_eq!((&again, found), (&json, length));
        assert_eq!(Description::new(&again).id(), packed.id());
        assert_eq!(packed.id().to_string().parse(), Ok(packed.id()));
        assert!(Description::unpack(packed.packed(), length - 1).is_none());
        assert!(Description::unpack(&packed.packed()[..20], length).is_none());
        for text in ["a\u{1b}[2Jb", "\u{202e}"] {
            let json = json!({ text: [text] });
            assert!(Description::unpack(Description::new(&json).packed(), 1000).is_none());
        }
    }
}
