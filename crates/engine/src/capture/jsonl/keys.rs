use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base64_simd::STANDARD;
use bytes::Bytes;
use serde_core::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::EntryError;

/// The members of a JSON object as unparsed text: values that are not asked for are not parsed. There
/// are few, so that looking through them is faster than a map.
pub(super) struct Keys<'j>(Vec<(Cow<'j, str>, &'j RawValue)>);

impl<'j> Keys<'j> {
    pub(super) fn parse(text: &'j [u8]) -> Result<Self, EntryError> {
        serde_json::from_slice(text).map_err(|error| EntryError::json(&error))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The member's JSON; `None` if it is absent or `null`.
    pub(super) fn json(&self, key: &str) -> Option<&'j str> {
        self.get(key).filter(|text| *text != "null")
    }

    pub(super) fn integer<T: TryFrom<i128>>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        // Numbers of 128 bits take longer to parse.
        let number = text.parse().map(i64::into).or_else(|_| text.parse::<i128>()).ok();
        let number = number.and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| EntryError::invalid(key, text))
    }

    pub(super) fn flag(&self, key: &'static str) -> Read<bool> {
        match self.json(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(EntryError::invalid(key, text)),
        }
    }

    pub(super) fn text(&self, key: &'static str) -> Read<Option<String>> {
        Ok(self.string(key)?.map(Cow::into_owned))
    }

    /// Parses a member's text as a `T`.
    pub(super) fn parsed<T: FromStr>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| EntryError::invalid(key, &text))
    }

    /// Decodes a member's base64 text.
    pub(super) fn bytes(&self, key: &'static str) -> Read<Option<Bytes>> {
        let Some(json) = self.json(key) else { return Ok(None) };
        let invalid = || EntryError::invalid(key, json);
        // Some writers escape the slash.
        let text = self.string(key).ok().flatten().ok_or_else(invalid)?;
        STANDARD.decode_to_vec(&*text).map(|bytes| Some(bytes.into())).map_err(|_| invalid())
    }

    /// The members of an object in this one; no members if it is absent.
    pub(super) fn inside(&self, key: &'static str) -> Read<Self> {
        let Some(text) = self.json(key) else { return Ok(Self(Vec::new())) };
        serde_json::from_str(text).map_err(|_| EntryError::invalid(key, text))
    }

    /// The text of a member that is a string.
    fn string(&self, key: &'static str) -> Read<Option<Cow<'j, str>>> {
        let Some(json) = self.json(key) else { return Ok(None) };
        let inside = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
        match inside {
            // Valid JSON, so this is all of the string.
            Some(text) if !text.contains('\\') => Ok(Some(Cow::Borrowed(text))),
            _ => {
                let text =
                    serde_json::from_str(json).map_err(|_| EntryError::invalid(key, json))?;
                Ok(Some(Cow::Owned(text)))
            }
        }
    }

    /// The member's JSON; of several with the key, the last one's.
    fn get(&self, key: &str) -> Option<&'j str> {
        self.0.iter().rfind(|(name, _)| name == key).map(|(_, raw)| raw.get())
    }
}

impl<'j> Deserialize<'j> for Keys<'j> {
    fn deserialize<D: Deserializer<'j>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'j> Visitor<'j> for Members {
            type Value = Keys<'j>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Keys<'j>, A::Error> {
                let mut members = Vec::with_capacity(USUAL);
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Keys(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A key, copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Key<'j>(#[serde(borrow)] Cow<'j, str>);

/// Members of most lines, at most.
const USUAL: usize = 20;

/// Turns the absence of a member into an error.
pub(super) trait Required<T> {
    fn required(self, key: &'static str) -> Read<T>;
}

impl<T> Required<T> for Read<Option<T>> {
    fn required(self, key: &'static str) -> Read<T> {
        self?.ok_or(EntryError::Missing(key))
    }
}

pub(super) type Read<T> = Result<T, EntryError>;
