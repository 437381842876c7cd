use std::collections::BTreeMap;
use std::str::FromStr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::super::EntryError;

/// The members of a JSON object, each still text: what nobody asks for is not looked into.
pub(crate) struct Keys<'j>(BTreeMap<String, &'j RawValue>);

impl<'j> Keys<'j> {
    pub(crate) fn parse(text: &'j [u8]) -> Result<Self, EntryError> {
        serde_json::from_slice(text).map(Self).map_err(|error| EntryError::json(&error))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The member's JSON.
    pub(crate) fn json(&self, key: &str) -> Option<&'j str> {
        self.0.get(key).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    pub(crate) fn integer<T: TryFrom<i128>>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        let number = text.parse::<i128>().ok().and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| EntryError::invalid(key, text))
    }

    pub(crate) fn flag(&self, key: &'static str) -> Read<bool> {
        match self.json(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => Err(EntryError::invalid(key, text)),
        }
    }

    pub(crate) fn text(&self, key: &'static str) -> Read<Option<String>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|_| EntryError::invalid(key, text))
    }

    /// Text that stands for something.
    pub(crate) fn parsed<T: FromStr>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| EntryError::invalid(key, &text))
    }

    /// The bytes of a base64 string.
    pub(crate) fn bytes(&self, key: &'static str) -> Read<Option<Bytes>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let inside = inside.ok_or_else(|| EntryError::invalid(key, text))?;
        let bytes = match inside.contains('\\') {
            // Some writers escape the slash.
            true => STANDARD.decode(self.text(key)?.unwrap_or_default()),
            false => STANDARD.decode(inside),
        };
        bytes.map(|bytes| Some(bytes.into())).map_err(|_| EntryError::invalid(key, text))
    }

    /// The members of an object inside this one; none if it is not there.
    pub(crate) fn inside(&self, key: &'static str) -> Read<Self> {
        let Some(text) = self.json(key) else { return Ok(Self(BTreeMap::new())) };
        serde_json::from_str(text).map(Self).map_err(|_| EntryError::invalid(key, text))
    }
}

/// What must be there.
pub(crate) trait Required<T> {
    fn required(self, key: &'static str) -> Read<T>;
}

impl<T> Required<T> for Read<Option<T>> {
    fn required(self, key: &'static str) -> Read<T> {
        self?.ok_or(EntryError::Missing(key))
    }
}

pub(crate) type Read<T> = Result<T, EntryError>;
