//! Bodies of packets, written field by field as the documents of the protocol have them.

use std::ops::Range;

/// The body of a packet after its id, with the place of an error in it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// The field at fault.
    pub(crate) mark: Option<Range<usize>>,
}

pub(crate) fn body() -> Body {
    Body::default()
}

impl Body {
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn varint(self, number: i32) -> Self {
        let (mut rest, mut bytes) = (number as u32, Vec::new());
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        self.raw(&bytes)
    }

    pub(crate) fn i8(self, number: i8) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn i16(self, number: i16) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn i32(self, number: i32) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn i64(self, number: i64) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn f32(self, number: f32) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn f64(self, number: f64) -> Self {
        self.raw(&number.to_be_bytes())
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.varint(text.len() as i32).raw(text.as_bytes())
    }

    pub(crate) fn uuid(self) -> Self {
        self.raw(&[7; 16])
    }

    /// Appends what `build` writes, if there is to be an error there marked as its place.
    pub(crate) fn marked(self, build: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        let mut body = build(self);
        body.mark = Some(start..body.bytes.len());
        body
    }

    /// Appends bytes with their number before them, as a VarInt.
    pub(crate) fn counted(self, inner: &Self) -> Self {
        self.varint(inner.bytes.len() as i32).raw(&inner.bytes)
    }
}

/// A compound in NBT, whose root has a name before 1.20.2, with these tags in it.
pub(crate) fn compound(version: i32, tags: &[Vec<u8>]) -> Vec<u8> {
    let name: &[u8] = if version < 764 { &[0, 0] } else { &[] };
    [&[10][..], name, &tags.concat(), &[0]].concat()
}

/// A named string in a compound.
pub(crate) fn string(name: &str, value: &str) -> Vec<u8> {
    let value = [&(value.len() as u16).to_be_bytes()[..], value.as_bytes()].concat();
    named(8, name, &value)
}

/// A named tag in a compound.
pub(crate) fn named(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind][..], &(name.len() as u16).to_be_bytes(), name.as_bytes(), value].concat()
}
