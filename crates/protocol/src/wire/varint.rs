use super::WireError;

/// A decoded 32-bit VarInt: 7 bits per byte, least significant group first, at most 5 bytes.
///
/// Source: Protocol 1.8 document, section "Definitions"; the limit of 5 bytes is the game's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VarInt {
    /// The decoded number.
    pub value: i32,
    /// Number of encoded bytes, 1 to 5.
    pub length: usize,
}

impl VarInt {
    /// Bytes of the longest VarInt.
    pub const MAX: usize = 5;

    /// Reads a VarInt from the front of `bytes`.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if the input ends before the VarInt, [`WireError::VarInt`] if the
    /// fifth byte has its continuation bit set.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let mut value = 0u32;
        for (index, &byte) in bytes.iter().take(Self::MAX).enumerate() {
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(Self { value: value.cast_signed(), length: index + 1 });
            }
        }
        if bytes.len() >= Self::MAX {
            return Err(WireError::VarInt("VarInt", Self::MAX));
        }
        Err(WireError::Incomplete { needed: bytes.len() + 1, left: bytes.len() })
    }

    /// Returns the number of bytes in the shortest encoding of `value`.
    #[must_use]
    pub fn size(value: i32) -> usize {
        let bits = 32 - (value.cast_unsigned() | 1).leading_zeros() as usize;
        bits.div_ceil(7)
    }

    /// Returns whether `bytes`, from which `self` was read, are what writing the number produces:
    /// the shortest encoding, without bits above the 32nd.
    #[must_use]
    pub fn is_canonical(&self, bytes: &[u8]) -> bool {
        self.length == Self::size(self.value) && (self.length < Self::MAX || bytes[4] & 0xf0 == 0)
    }
}

/// A decoded 64-bit VarLong: 7 bits per byte, least significant group first, at most 10 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VarLong {
    /// The decoded number.
    pub value: i64,
    /// Number of encoded bytes, 1 to 10.
    pub length: usize,
}

impl VarLong {
    /// Bytes of the longest VarLong.
    pub const MAX: usize = 10;

    /// Reads a VarLong from the front of `bytes`.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if the input ends before the VarLong, [`WireError::VarInt`] if the
    /// tenth byte has its continuation bit set.
    pub fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let mut value = 0u64;
        for (index, &byte) in bytes.iter().take(Self::MAX).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(Self { value: value.cast_signed(), length: index + 1 });
            }
        }
        if bytes.len() >= Self::MAX {
            return Err(WireError::VarInt("VarLong", Self::MAX));
        }
        Err(WireError::Incomplete { needed: bytes.len() + 1, left: bytes.len() })
    }

    /// Returns the number of bytes in the shortest encoding of `value`.
    #[must_use]
    pub fn size(value: i64) -> usize {
        let bits = 64 - (value.cast_unsigned() | 1).leading_zeros() as usize;
        bits.div_ceil(7)
    }

    /// Returns whether `bytes`, from which `self` was read, are what writing the number produces:
    /// the shortest encoding, without bits above the 64th.
    #[must_use]
    pub fn is_canonical(&self, bytes: &[u8]) -> bool {
        self.length == Self::size(self.value) && (self.length < Self::MAX || bytes[9] <= 1)
    }
}

/// Appends the shortest VarInt encoding of `value`, 1 to 5 bytes.
pub fn write_varint(out: &mut Vec<u8>, value: i32) {
    let mut rest = value.cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends the shortest VarLong encoding of `value`, 1 to 10 bytes.
pub fn write_varlong(out: &mut Vec<u8>, value: i64) {
    let mut rest = value.cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_and_writes_the_known_values() {
        let known: [(i32, &[u8]); 8] = [
            (0, &hex!("00")),
            (1, &hex!("01")),
            (127, &hex!("7f")),
            (128, &hex!("8001")),
            (25565, &hex!("ddc701")),
            (2_097_151, &hex!("ffff7f")),
            (i32::MAX, &hex!("ffffffff07")),
            (-1, &hex!("ffffffff0f")),
        ];
        for (value, bytes) in known {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(out, bytes);
            let read = VarInt::read(bytes).unwrap();
            assert_eq!(read, VarInt { value, length: bytes.len() });
            assert!(read.is_canonical(bytes));
        }
    }

    #[test]
    fn keeps_long_forms_apart_from_the_shortest() {
        for bytes in [&hex!("8000")[..], &hex!("ffffffff1f"), &hex!("8080808000")] {
            assert!(!VarInt::read(bytes).unwrap().is_canonical(bytes), "{bytes:02x?}");
        }
    }

    #[test]
    fn rejects_a_sixth_byte_and_reports_a_missing_one_as_incomplete() {
        assert_eq!(VarInt::read(&hex!("ffffffffff01")), Err(WireError::VarInt("VarInt", 5)));
        assert!(VarInt::read(&hex!("ffff")).unwrap_err().is_incomplete());
        assert_eq!(VarLong::read(&[0xff; 10]), Err(WireError::VarInt("VarLong", 10)));
        assert!(VarLong::read(&[0xff; 9]).unwrap_err().is_incomplete());
    }

    proptest! {
        #[test]
        fn every_number_round_trips(int: i32, long: i64) {
            let mut out = Vec::new();
            write_varint(&mut out, int);
            prop_assert_eq!(out.len(), VarInt::size(int));
            prop_assert_eq!(VarInt::read(&out).unwrap().value, int);
            out.clear();
            write_varlong(&mut out, long);
            prop_assert_eq!(out.len(), VarLong::size(long));
            let read = VarLong::read(&out).unwrap();
            prop_assert_eq!(read.value, long);
            prop_assert!(read.is_canonical(&out));
        }
    }
}
