use super::{write_varint, write_varlong};

/// A growing buffer to which primitives are appended.
#[derive(Debug, Default, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `bytes` unchanged.
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends a byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    /// Appends a big-endian 16-bit integer.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Appends a big-endian 32-bit integer.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Appends a big-endian 64-bit integer.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.put(&value.to_be_bytes())
    }

    /// Appends the shortest VarInt encoding of `value`.
    pub fn varint(&mut self, value: i32) -> &mut Self {
        write_varint(&mut self.bytes, value);
        self
    }

    /// Appends the shortest VarLong encoding of `value`.
    pub fn varlong(&mut self, value: i64) -> &mut Self {
        write_varlong(&mut self.bytes, value);
        self
    }

    /// Returns the written bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
