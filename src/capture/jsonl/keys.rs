use std::collections::BTreeMap;
use std::str::FromStr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::super::EntryError;

/// The members of a JSON object as unparsed text: values that are not asked for are not parsed.
pub(super) struct Keys<'j>(BTreeMap<String, &'j RawValue>);

impl<'j> Keys<'j> {
    pub(super) fn parse(text: &'j [u8]) -> Result<Self, EntryError> {
        serde_json::from_slice(text).map(Self).map_err(|error| EntryError::json(&error))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The member's JSON; `None` if it is absent or `null`.
    pub(super) fn json(&self, key: &str) -> Option<&'j str> {
        self.0.get(key).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    pub(super) fn integer<T: TryFrom<i128>>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        let number = text.parse::<i128>().ok().and_then(|number| T::try_from(number).ok());
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
        let Some(text) = self.json(key) else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|_| EntryError::invalid(key, text))
    }

    /// Parses a member's text as a `T`.
    pub(super) fn parsed<T: FromStr>(&self, key: &'static str) -> Read<Option<T>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| EntryError::invalid(key, &text))
    }

    /// Decodes a member's base64 text.
    pub(super) fn bytes(&self, key: &'static str) -> Read<Option<Bytes>> {
        let Some(text) = self.json(key) else { return Ok(None) };
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let inside = inside.ok_or_else(|| EntryError::invalid(key, text))?;
        // Some writers escape the slash.
        let bytes = if inside.contains('\\') {
            STANDARD.decode(self.text(key)?.unwrap_or_default())
        } else {
            STANDARD.decode(inside)
        };
        bytes.map(|bytes| Some(bytes.into())).map_err(|_| EntryError::invalid(key, text))
    }

    /// The members of an object in this one; no members if it is absent.
    pub(super) fn inside(&self, key: &'static str) -> Read<Self> {
        let Some(text) = self.json(key) else { return Ok(Self(BTreeMap::new())) };
        serde_json::from_str(text).map(Self).map_err(|_| EntryError::invalid(key, text))
    }
}

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
