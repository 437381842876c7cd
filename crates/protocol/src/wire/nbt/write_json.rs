use std::collections::HashSet;

use super::{Compound, List, Nbt, Tag, tag};
use crate::wire::{
    Encoding,
    json::{write_json_base64, write_json_f32, write_json_f64, write_json_int, write_json_str},
};

impl Nbt {
    /// Appends the document on one line in prismarine-nbt's JSON form. [`Nbt::from_json`] reads it
    /// back to the same bytes, with the exceptions below.
    ///
    /// * A tag is `{"type":"int","value":5}`; a root with a name also has `"name"`.
    /// * A list is `{"type":"list","value":{"type":"int","value":[1,2]}}`; an empty one is usually
    ///   of type `"end"`. Items are bare values: plain objects of tags in a list of compounds,
    ///   `{"type":"int","value":[1,2]}` in a list of lists. An empty list that has a negative count
    ///   on the wire has it as `"count"` beside its value.
    /// * Bytes are signed. 64-bit integers have all their digits. Floats and doubles are the
    ///   shortest decimals that read back as the same number; `"NaN"`, `"Infinity"` and
    ///   `"-Infinity"` are strings.
    /// * A string that is not modified UTF-8, or not the canonical encoding of its text, is
    ///   `{"base64":".."}`.
    ///
    /// JSON cannot express the bits of a NaN, keys of compounds that are not canonical modified
    /// UTF-8 (written with U+FFFD), and all but the last tag of a duplicate key (all are written,
    /// but a JSON object keeps only the last when read). A document with any of them also has all
    /// its bytes as `"base64"` beside its value.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":");
        write_json_str(out, self.root.tag_type().name());
        if let Some(name) = &self.name {
            out.extend_from_slice(b",\"name\":");
            write_text(out, name);
        }
        out.extend_from_slice(b",\"value\":");
        if !self.root.write_json(out) {
            let mut bytes = Vec::new();
            self.write(&mut bytes);
            out.extend_from_slice(b",\"base64\":");
            write_json_base64(out, &bytes);
        }
        out.push(b'}');
    }
}

impl Tag {
    /// Appends the bare value of the tag. Returns whether it reads back to the same bytes.
    fn write_json(&self, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Byte(value) => write_json_int(out, (*value).into()),
            Self::Short(value) => write_json_int(out, (*value).into()),
            Self::Int(value) => write_json_int(out, (*value).into()),
            Self::Long(value) => write_json_int(out, *value),
            Self::Float(value) => {
                write_json_f32(out, *value);
                return !value.is_nan() || value.to_bits() == f32::NAN.to_bits();
            }
            Self::Double(value) => {
                write_json_f64(out, *value);
                return !value.is_nan() || value.to_bits() == f64::NAN.to_bits();
            }
            Self::ByteArray(bytes) => {
                write_ints(out, bytes.iter().map(|byte| byte.cast_signed().into()));
            }
            Self::Text(text) => write_text(out, text),
            Self::List(list) => return list.write_json(out),
            Self::Compound(compound) => return compound.write_json(out),
            Self::IntArray(ints) => write_ints(out, ints.iter().map(|int| (*int).into())),
            Self::LongArray(longs) => write_ints(out, longs.iter().copied()),
        }
        true
    }
}

impl List {
    fn write_json(&self, out: &mut Vec<u8>) -> bool {
        let mut exact = true;
        out.extend_from_slice(b"{\"type\":");
        write_json_str(out, self.element.name());
        out.extend_from_slice(b",\"value\":");
        write_sequence(out, b"[]", self.items.iter(), |out, item| exact &= item.write_json(out));
        if self.items.is_empty() && self.empty_count != 0 {
            out.extend_from_slice(b",\"count\":");
            write_json_int(out, self.empty_count.into());
        }
        out.push(b'}');
        exact
    }
}

impl Compound {
    fn write_json(&self, out: &mut Vec<u8>) -> bool {
        let mut exact = !self.has_duplicates();
        write_sequence(out, b"{}", self.entries.iter(), |out, (name, tag)| {
            let text = Encoding::ModifiedUtf8.decode_lossy(name);
            exact &= tag::encode(&text)[..] == **name;
            write_json_str(out, &text);
            out.extend_from_slice(b":{\"type\":");
            write_json_str(out, tag.tag_type().name());
            out.extend_from_slice(b",\"value\":");
            exact &= tag.write_json(out);
            out.push(b'}');
        });
        exact
    }

    fn has_duplicates(&self) -> bool {
        let mut names = self.entries.iter().map(|(name, _)| name);
        if self.entries.len() > FEW {
            let mut seen = HashSet::with_capacity(self.entries.len());
            return !names.all(|name| seen.insert(name));
        }
        let before = |place: usize| self.entries[..place].iter().map(|(name, _)| name);
        names.enumerate().any(|(place, name)| before(place).any(|other| other == name))
    }
}

fn write_ints(out: &mut Vec<u8>, ints: impl Iterator<Item = i64>) {
    write_sequence(out, b"[]", ints, write_json_int);
}

fn write_sequence<T>(
    out: &mut Vec<u8>,
    [open, close]: &[u8; 2],
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(*open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(*close);
}

/// Appends a string if encoding it again gives exactly `bytes`, otherwise an object with base64.
fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    if let Ok(text) = Encoding::ModifiedUtf8.decode(bytes)
        && tag::encode(&text)[..] == *bytes
    {
        return write_json_str(out, &text);
    }
    out.extend_from_slice(b"{\"base64\":");
    write_json_base64(out, bytes);
    out.push(b'}');
}

/// Compounds with more entries are searched for duplicate keys with a set.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;
    use crate::wire::{Reader, nbt::samples::ALL_TYPES};

    fn json(bytes: &[u8], named: bool) -> String {
        let nbt = Nbt::read(&mut Reader::new(bytes), named).unwrap().unwrap();
        let mut out = Vec::new();
        nbt.write_json(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn writes_every_type_as_prismarine_nbt_does() {
        let expected = concat!(
            r#"{"type":"compound","name":"","value":{"#,
            r#""byte":{"type":"byte","value":-128},"#,
            r#""short":{"type":"short","value":32767},"#,
            r#""int":{"type":"int","value":-2147483648},"#,
            r#""long":{"type":"long","value":9223372036854775807},"#,
            r#""float":{"type":"float","value":0.49823147},"#,
            r#""double":{"type":"double","value":0.4931287132182315},"#,
            r#""bytes":{"type":"byteArray","value":[0,127,-128]},"#,
            r#""string":{"type":"string","value":"HELLO ÅÄÖ!"},"#,
            r#""ends":{"type":"list","value":{"type":"end","value":[]}},"#,
            r#""longs":{"type":"list","value":{"type":"long","value":[11,-1]}},"#,
            r#""lists":{"type":"list","value":{"type":"list","value":["#,
            r#"{"type":"byte","value":[5]},{"type":"string","value":[]}]}},"#,
            r#""compounds":{"type":"list","value":{"type":"compound","value":["#,
            r#"{"a":{"type":"byte","value":1}},{}]}},"#,
            r#""compound":{"type":"compound","value":{"egg":{"type":"compound","value":{}}}},"#,
            r#""ints":{"type":"intArray","value":[1,-1]},"#,
            r#""lngs":{"type":"longArray","value":[-9223372036854775808]}}}"#,
        );
        assert_eq!(json(&ALL_TYPES, true), expected);
    }

    #[test]
    fn an_anonymous_root_has_no_name_and_a_bad_one_is_base64() {
        assert_eq!(json(&hex!("08 0002 6869"), false), r#"{"type":"string","value":"hi"}"#);
        assert_eq!(
            json(&hex!("01 0001 ff 05"), true),
            r#"{"type":"byte","name":{"base64":"/w=="},"value":5}"#
        );
    }

    #[test]
    fn a_document_that_json_cannot_express_has_its_bytes_too() {
        assert_eq!(
            json(&hex!("0a 01 0001 ff 01 01 0001 ff 02 00"), false),
            "{\"type\":\"compound\",\"value\":{\"\u{fffd}\":{\"type\":\"byte\",\"value\":1},\
             \"\u{fffd}\":{\"type\":\"byte\",\"value\":2}},\"base64\":\"CgEAAf8BAQAB/wIA\"}"
        );
        for (bytes, exact) in [
            (&hex!("05 7fc00000")[..], true),
            (&hex!("05 7fc00001"), false),
            (&hex!("06 fff8000000000000"), false),
            (&hex!("09 05 00000001 ffc00000"), false),
            (&hex!("0a 01 0001 61 01 01 0001 62 01 00"), true),
            (&hex!("0a 01 0001 61 01 01 0001 61 01 00"), false),
            // U+0000 as one byte: valid, but not in canonical form.
            (&hex!("0a 01 0001 00 01 00"), false),
        ] {
            assert_eq!(!json(bytes, false).contains("base64"), exact, "{bytes:02x?}");
        }
        let many = |last: u8| {
            let entry = |name: u8| [1, 0, 1, name, 7];
            let names = (b'a'..b'p').chain([last]);
            json(&[&[10][..], &names.flat_map(entry).collect::<Vec<_>>(), &[0]].concat(), false)
        };
        assert!(many(b'c').contains("base64") && !many(b'z').contains("base64"));
    }

    #[test]
    fn text_that_is_not_canonical_modified_utf8_is_base64() {
        for (text, shown) in [
            (&hex!("08 0002 c080")[..], r#""\u0000""#),
            (&hex!("08 0001 00"), r#"{"base64":"AA=="}"#),
            (&hex!("08 0004 f09f9880"), r#"{"base64":"8J+YgA=="}"#),
            (&hex!("08 0006 eda0bdedb880"), "\"\u{1f600}\""),
            (&hex!("08 0003 eda0bd"), r#"{"base64":"7aC9"}"#),
        ] {
            assert_eq!(json(text, false), format!(r#"{{"type":"string","value":{shown}}}"#));
        }
    }
}
