use std::borrow::Cow;

use super::WireError;

/// A text encoding of the Minecraft protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// UTF-8, used since 1.7.
    Utf8,
    /// Java's modified UTF-8, used by Alpha to Beta 1.4 and by NBT: NUL takes two bytes, and
    /// supplementary characters are encoded as surrogate pairs. Decoding also accepts plain UTF-8,
    /// which some servers send.
    ModifiedUtf8,
    /// Big-endian UTF-16, used by Beta 1.5 to 1.6 and by legacy pings. Lengths count 16-bit units.
    Utf16,
    /// ISO 8859-1, one byte per character, used by Query. Bytes that are valid UTF-8 are decoded as such,
    /// because many servers send it, and text that Latin-1 cannot represent is encoded as UTF-8.
    Latin1,
}

impl Encoding {
    /// Returns the encoding with this name in a protocol description: `utf8`, `mutf8`, `utf16be` or
    /// `latin1`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "utf8" | "utf-8" => Some(Self::Utf8),
            "mutf8" => Some(Self::ModifiedUtf8),
            "utf16be" => Some(Self::Utf16),
            "latin1" => Some(Self::Latin1),
            _ => None,
        }
    }

    /// Returns the number of bytes in one unit of a length prefix.
    #[must_use]
    pub fn unit(self) -> usize {
        if self == Self::Utf16 { 2 } else { 1 }
    }

    /// Decodes `bytes`.
    ///
    /// # Errors
    /// [`WireError::Text`] if the bytes are invalid; [`Encoding::decode_lossy`] replaces them
    /// instead.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, WireError> {
        match self {
            Self::Utf8 => {
                str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| WireError::Text("UTF-8"))
            }
            Self::ModifiedUtf8 => match simd_cesu8::mutf8::decode(bytes) {
                Ok(text) => Ok(text),
                Err(_) => str::from_utf8(bytes)
                    .map(Cow::Borrowed)
                    .map_err(|_| WireError::Text("modified UTF-8")),
            },
            Self::Utf16 => {
                let (units, rest) = bytes.as_chunks::<2>();
                if !rest.is_empty() {
                    return Err(WireError::Text("UTF-16"));
                }
                char::decode_utf16(units.iter().map(|unit| u16::from_be_bytes(*unit)))
                    .collect::<Result<String, _>>()
                    .map(Cow::Owned)
                    .map_err(|_| WireError::Text("UTF-16"))
            }
            Self::Latin1 => Ok(match str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
            }),
        }
    }

    /// Decodes `bytes`, replacing invalid sequences by U+FFFD.
    #[must_use]
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        if let Ok(text) = self.decode(bytes) {
            return text;
        }
        match self {
            Self::ModifiedUtf8 => simd_cesu8::mutf8::decode_lossy(bytes),
            Self::Utf16 => {
                let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_be_bytes(*unit));
                Cow::Owned(
                    char::decode_utf16(units)
                        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect(),
                )
            }
            Self::Utf8 | Self::Latin1 => String::from_utf8_lossy(bytes),
        }
    }

    /// Encodes `text`.
    #[must_use]
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        match self {
            Self::Utf8 => Cow::Borrowed(text.as_bytes()),
            Self::ModifiedUtf8 => simd_cesu8::mutf8::encode(text),
            Self::Utf16 => Cow::Owned(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Latin1 => {
                let bytes = text.chars().map(|char| u8::try_from(u32::from(char)));
                match bytes.collect::<Result<Vec<u8>, _>>() {
                    Ok(bytes) => Cow::Owned(bytes),
                    Err(_) => Cow::Borrowed(text.as_bytes()),
                }
            }
        }
    }
}

/// Returns `true` for characters that a screen does not simply show: control characters, and Unicode characters that
/// are invisible or change the direction of writing.
#[must_use]
pub fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn each_encoding_round_trips() {
        for encoding in [Encoding::Utf8, Encoding::ModifiedUtf8, Encoding::Utf16, Encoding::Latin1]
        {
            for text in ["", "hello", "caf\u{e9}", "nul \0 in it"] {
                let bytes = encoding.encode(text);
                assert_eq!(encoding.decode(&bytes).unwrap(), text, "{encoding:?}");
            }
        }
    }

    #[test]
    fn modified_utf8_writes_nul_in_two_bytes_and_supplementary_characters_in_six() {
        let bytes = Encoding::ModifiedUtf8.encode("\0\u{1f600}");
        assert_eq!(bytes[..], hex!("c080 eda0bd edb880"));
        assert_eq!(Encoding::ModifiedUtf8.decode(&bytes).unwrap(), "\0\u{1f600}");
        assert_eq!(Encoding::ModifiedUtf8.decode("\u{1f600}".as_bytes()).unwrap(), "\u{1f600}");
    }

    #[test]
    fn invalid_text_is_an_error_and_can_be_decoded_lossily() {
        assert_eq!(Encoding::Utf8.decode(&hex!("61ff")), Err(WireError::Text("UTF-8")));
        assert_eq!(Encoding::Utf8.decode_lossy(&hex!("61ff")), "a\u{fffd}");
        assert_eq!(Encoding::Utf16.decode(&hex!("d800")), Err(WireError::Text("UTF-16")));
        assert_eq!(Encoding::Utf16.decode_lossy(&hex!("0061 d800")), "a\u{fffd}");
        assert_eq!(Encoding::Utf16.decode(&hex!("00")), Err(WireError::Text("UTF-16")));
    }

    #[test]
    fn latin_1_gives_way_to_utf_8() {
        let latin1 = Encoding::Latin1;
        assert_eq!(latin1.decode(&hex!("43 61 66 e9")).unwrap(), "Caf\u{e9}");
        assert_eq!(latin1.decode(&hex!("43 61 66 c3a9")).unwrap(), "Caf\u{e9}");
        assert_eq!(latin1.decode(&hex!("a7 61 c3")).unwrap(), "\u{a7}a\u{c3}");
        assert_eq!(latin1.encode("Caf\u{e9}")[..], hex!("43 61 66 e9"));
        assert_eq!(latin1.encode("\u{100}")[..], hex!("c480"));
    }
}
