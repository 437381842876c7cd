use super::types::{Path, Symbol, Type, TypeId};

/// The earlier fields that counts and switches refer to during a walk.
///
/// A container opens a frame. A path refers to its own frame or, with `..`, to the surrounding one.
pub(super) struct Scope<'a> {
    entries: Vec<Entry<'a>>,
}

/// A field that a path refers to.
struct Entry<'a> {
    symbol: Symbol,
    /// Offset of the field in the body, for errors.
    at: u32,
    value: FieldValue<'a>,
}

/// A field value that a path can refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldValue<'a> {
    Absent,
    Bool(bool),
    Int(i64),
    /// A text, as its bytes; it is not necessarily UTF-8.
    Text(&'a [u8]),
    /// The name of a mapped number.
    Name(&'a str),
    /// A bitfield or flags as one number, with the type.
    Bits(u64, TypeId),
}

/// Start of the fields of the two innermost containers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameMark {
    start: usize,
    parent: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new() }
    }

    pub(super) fn open(&self, outer: FrameMark) -> FrameMark {
        FrameMark { start: self.entries.len(), parent: outer.start }
    }

    pub(super) fn close(&mut self, mark: FrameMark) {
        self.entries.truncate(mark.start);
    }

    /// Remembers a field, which begins at offset `at` of the body.
    pub(super) fn see(&mut self, symbol: Symbol, value: FieldValue<'a>, at: usize) {
        // No body is that long; an offset in an error is all that depends on it.
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.entries.push(Entry { symbol, at, value });
    }

    /// Returns the field that a path refers to; `Absent` if there is none.
    pub(super) fn find(&self, path: &Path, mark: FrameMark, types: &'a [Type]) -> FieldValue<'a> {
        let Some(found) = self.entry(path, mark) else { return FieldValue::Absent };
        match (&found.value, &path.part) {
            (FieldValue::Bits(raw, ty), Some(part)) => bit_part(&types[ty.0 as usize], *raw, part),
            (FieldValue::Bits(raw, _), None) => FieldValue::Int(raw.cast_signed()),
            (seen, None) => *seen,
            (_, Some(_)) => FieldValue::Absent,
        }
    }

    /// Returns the offset of the field that a path refers to.
    pub(super) fn place(&self, path: &Path, mark: FrameMark) -> Option<usize> {
        self.entry(path, mark).map(|found| found.at as usize)
    }

    fn entry(&self, path: &Path, mark: FrameMark) -> Option<&Entry<'a>> {
        let frame = match path.up {
            0 => &self.entries[mark.start..],
            _ => &self.entries[mark.parent..mark.start],
        };
        frame.iter().rev().find(|entry| entry.symbol == path.symbol)
    }
}

pub(super) fn bit_part<'a>(ty: &Type, raw: u64, part: &str) -> FieldValue<'a> {
    match ty {
        Type::Flags { flags, .. } => match flags.iter().find(|(name, _)| **name == *part) {
            Some((_, mask)) => FieldValue::Bool(raw & mask == *mask),
            None => FieldValue::Absent,
        },
        Type::Bitfield(bits) => {
            let mut left: u32 = bits.iter().map(|it| it.size).sum();
            for it in bits {
                left -= it.size;
                if *it.name == *part {
                    return FieldValue::Int(bit_value(raw, left, it.size, it.signed));
                }
            }
            FieldValue::Absent
        }
        _ => FieldValue::Absent,
    }
}

/// Extracts `size` bits of `raw`, starting at bit `shift`.
pub(super) fn bit_value(raw: u64, shift: u32, size: u32, signed: bool) -> i64 {
    let high = raw << (64 - shift - size);
    if signed { high.cast_signed() >> (64 - size) } else { (high >> (64 - size)).cast_signed() }
}
