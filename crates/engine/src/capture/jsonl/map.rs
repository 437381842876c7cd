use std::fmt::Display;
use std::io::Write as _;

use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::wire::json::{
    write_json_base64, write_json_int, write_json_str, write_json_uint,
};

/// Appends a JSON object member by member, in the order of the calls.
pub(in crate::capture) struct JsonMap<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> JsonMap<'o> {
    pub(in crate::capture) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Appends a key, which must not need escaping, and returns the buffer for its value.
    #[inline]
    pub(in crate::capture) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    #[inline]
    pub(in crate::capture) fn int(&mut self, key: &str, value: i64) {
        write_json_int(self.key(key), value);
    }

    #[inline]
    pub(in crate::capture) fn count(&mut self, key: &str, value: u64) {
        write_json_uint(self.key(key), value);
    }

    #[inline]
    pub(in crate::capture) fn size(&mut self, key: &str, value: usize) {
        write_json_uint(self.key(key), value as u64);
    }

    /// Appends text that does not need escaping.
    #[inline]
    pub(in crate::capture) fn word(&mut self, key: &str, value: &str) {
        self.ascii(key, value.as_bytes());
    }

    /// Appends a moment as text.
    #[inline]
    pub(in crate::capture) fn time(&mut self, key: &str, value: Timestamp) {
        self.ascii(key, &value.text());
    }

    #[inline(always)]
    fn ascii(&mut self, key: &str, value: &[u8]) {
        let out = self.key(key);
        out.push(b'"');
        out.extend_from_slice(value);
        out.push(b'"');
    }

    #[inline]
    pub(in crate::capture) fn flag(&mut self, key: &str, value: bool) {
        self.key(key).extend_from_slice(if value { b"true" } else { b"false" });
    }

    #[inline]
    pub(in crate::capture) fn text(&mut self, key: &str, value: &str) {
        write_json_str(self.key(key), value);
    }

    pub(in crate::capture) fn bytes(&mut self, key: &str, value: &[u8]) {
        write_json_base64(self.key(key), value);
    }

    /// Adds a member by `write`, or `null` where there is no value.
    #[inline]
    pub(in crate::capture) fn or_null<T>(
        &mut self,
        key: &str,
        value: Option<T>,
        write: impl FnOnce(&mut Self, T),
    ) {
        match value {
            Some(value) => write(self, value),
            None => self.key(key).extend_from_slice(b"null"),
        }
    }

    /// Appends, as text, a value whose display does not need escaping.
    pub(in crate::capture) fn plain(&mut self, key: &str, value: impl Display) {
        write!(self.key(key), "\"{value}\"").expect(TAKES_ALL);
    }

    /// Appends a value whose display is JSON.
    pub(in crate::capture) fn bare(&mut self, key: &str, value: impl Display) {
        write!(self.key(key), "{value}").expect(TAKES_ALL);
    }

    pub(in crate::capture) fn close(self) {
        self.out.push(b'}');
    }
}

const TAKES_ALL: &str = "a `Vec` takes every byte";
