use super::{VarInt, VarLong, WireError};

/// What is left of a slice, and how far reading has come. Never copies.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// 0 <= position <= bytes.len()
    position: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the front of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Reads from `position` on; offsets stay those of the whole slice.
    #[must_use]
    pub fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()) }
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] when fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let rest = &self.bytes[self.position..];
        let Some(taken) = rest.get(..count) else {
            return Err(WireError::Incomplete { needed: count, left: rest.len() });
        };
        self.position += count;
        Ok(taken)
    }

    /// Takes all that is left.
    pub fn take_rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.position..];
        self.position = self.bytes.len();
        rest
    }

    /// Takes `N` bytes as an array.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] when fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let rest = &self.bytes[self.position..];
        let Some(array) = rest.first_chunk::<N>() else {
            return Err(WireError::Incomplete { needed: N, left: rest.len() });
        };
        self.position += N;
        Ok(*array)
    }

    /// Takes an unsigned byte.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end.
    pub fn u8(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Takes a big-endian 16-bit unsigned integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Takes a big-endian 32-bit signed integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Takes a big-endian 64-bit signed integer.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end.
    pub fn i64(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Takes a 32-bit VarInt of at most 5 bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end, [`WireError::VarInt`] when a fifth byte goes on.
    pub fn varint(&mut self) -> Result<VarInt, WireError> {
        let read = VarInt::read(&self.bytes[self.position..])?;
        self.position += read.length;
        Ok(read)
    }

    /// Takes a 64-bit VarLong of at most 10 bytes.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] at the end, [`WireError::VarInt`] when a tenth byte goes on.
    pub fn varlong(&mut self) -> Result<VarLong, WireError> {
        let read = VarLong::read(&self.bytes[self.position..])?;
        self.position += read.length;
        Ok(read)
    }

    /// The next byte, left where it is.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    /// Offset of the next byte from the front of the whole slice.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// The bytes from `start` to where reading stands.
    #[must_use]
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.position]
    }

    /// All that is left, not taken.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_many_bytes_are_missing_and_takes_none() {
        let mut reader = Reader::new(&[1, 2]);
        assert_eq!(reader.i32(), Err(WireError::Incomplete { needed: 4, left: 2 }));
        assert_eq!(reader.u16(), Ok(0x0102));
        assert!(reader.is_empty());
        assert_eq!(reader.u8(), Err(WireError::Incomplete { needed: 1, left: 0 }));
    }

    #[test]
    fn offsets_stay_those_of_the_whole_slice() {
        let mut reader = Reader::at(&[9, 8, 7, 6], 1);
        assert_eq!(reader.u8(), Ok(8));
        assert_eq!(reader.position(), 2);
        assert_eq!(reader.since(1), [8]);
        assert_eq!(reader.take_rest(), [7, 6]);
    }
}
