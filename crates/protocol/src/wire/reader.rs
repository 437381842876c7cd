use super::{VarInt, VarLong, WireError};

/// A cursor over a byte slice that reads primitives without copying.
///
/// A failed read consumes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// 0 <= position <= bytes.len()
    position: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Creates a reader at offset `position` of `bytes`, or at the end if that is smaller. Offsets
    /// remain relative to the whole slice.
    #[must_use]
    pub fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()) }
    }

    /// Consumes the next `count` bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if fewer bytes are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let rest = &self.bytes[self.position..];
        let Some(taken) = rest.get(..count) else {
            return Err(WireError::Incomplete { needed: count, left: rest.len() });
        };
        self.position += count;
        Ok(taken)
    }

    /// Consumes all remaining bytes.
    pub fn take_rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        self.position = self.bytes.len();
        rest
    }

    /// Consumes `N` bytes as an array.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if fewer bytes are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let rest = &self.bytes[self.position..];
        let Some(array) = rest.first_chunk::<N>() else {
            return Err(WireError::Incomplete { needed: N, left: rest.len() });
        };
        self.position += N;
        Ok(*array)
    }

    /// Reads an unsigned byte.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end of the input.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a big-endian 16-bit unsigned integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if fewer than 2 bytes are left.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a big-endian 32-bit signed integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if fewer than 4 bytes are left.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads a big-endian 64-bit signed integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if fewer than 8 bytes are left.
    pub fn i64(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a 32-bit VarInt of at most 5 bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if the input ends before the VarInt, [`WireError::VarInt`] if the
    /// fifth byte has its continuation bit set.
    #[inline]
    pub fn varint(&mut self) -> Result<VarInt, WireError> {
        let read = VarInt::read(&self.bytes[self.position..])?;
        self.position += read.length;
        Ok(read)
    }

    /// Reads a 64-bit VarLong of at most 10 bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if the input ends before the VarLong, [`WireError::VarInt`] if the
    /// tenth byte has its continuation bit set.
    pub fn varlong(&mut self) -> Result<VarLong, WireError> {
        let read = VarLong::read(&self.bytes[self.position..])?;
        self.position += read.length;
        Ok(read)
    }

    /// Returns the next byte without consuming it.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// Returns the offset of the next byte in the whole slice.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of remaining bytes.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Returns whether no bytes remain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Returns the consumed bytes from offset `start` on.
    ///
    /// # Panics
    /// If `start` is greater than [`position`](Self::position).
    #[must_use]
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.position]
    }

    /// Returns all bytes, those that were read too.
    pub(crate) fn whole(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the remaining bytes without consuming them.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_names_the_missing_bytes_and_consumes_none() {
        let mut reader = Reader::new(&[1, 2]);
        assert_eq!(reader.i32(), Err(WireError::Incomplete { needed: 4, left: 2 }));
        assert_eq!(reader.u16(), Ok(0x0102));
        assert!(reader.is_empty());
        assert_eq!(reader.u8(), Err(WireError::Incomplete { needed: 1, left: 0 }));
    }

    #[test]
    fn offsets_are_relative_to_the_whole_slice() {
        let mut reader = Reader::at(&[9, 8, 7, 6], 1);
        assert_eq!(reader.u8(), Ok(8));
        assert_eq!(reader.position(), 2);
        assert_eq!(reader.since(1), [8]);
        assert_eq!(reader.take_rest(), [7, 6]);
    }
}
