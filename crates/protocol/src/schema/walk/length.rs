use super::{Walk, Walked, fault};
use crate::schema::Visitor;
use crate::schema::number::Number;
use crate::schema::scope::{FieldValue, FrameMark};
use crate::schema::types::{Count, Int, Type, TypeId};
use crate::wire::WireError;

/// Reads and checks the lengths of lists and buffers.
impl<'a, V: Visitor + ?Sized> Walk<'a, '_, V> {
    /// Reads a length and checks it against the remaining bytes, of which each element takes at
    /// least `size`.
    pub(super) fn count(
        &mut self,
        count: &'a Count,
        size: usize,
        mark: FrameMark,
        at: usize,
    ) -> Walked<(usize, bool)> {
        let (number, canonical) = match count {
            Count::Fixed(count) => (Number::Int(*count as i64), true),
            Count::Prefix(prefix) => self.integer(*prefix, at)?,
            Count::Field(path) => match self.scope.find(path, mark, self.types) {
                FieldValue::Int(int) => (Number::Int(int), true),
                _ => (Number::Int(0), true),
            },
        };
        let number = match number {
            Number::Int(int) => int,
            Number::Unsigned(_) => i64::MAX,
        };
        Ok((self.limited(number, size, at)?, canonical))
    }

    /// Reads the length of a payload of more than 32,767 bytes, which Forge for 1.7 writes in three bytes: a short
    /// whose top bit is set, then a byte with the higher bits. `None` if these bytes are not such a length; the game
    /// itself would read a negative short.
    pub(super) fn forge_length(&mut self, count: &Count) -> Option<usize> {
        let Count::Prefix(prefix) = count else { return None };
        let Type::Int(Int { bytes: 2, signed: true, little: false }) =
            self.types[prefix.0 as usize]
        else {
            return None;
        };
        let [first, second, third, rest @ ..] = self.reader.rest() else { return None };
        let low = usize::from(u16::from_be_bytes([first & 0x7f, *second]));
        let length = usize::from(*third) << 15 | low;
        let is_one = first & 0x80 != 0 && !self.in_stream && length <= rest.len();
        is_one.then(|| self.reader.take(3).ok().map(|_| length)).flatten()
    }

    pub(super) fn checked(&mut self, count: i64, element: TypeId, at: usize) -> Walked<usize> {
        self.limited(count, self.sizes[element.0 as usize] as usize, at)
    }

    fn limited(&mut self, count: i64, size: usize, at: usize) -> Walked<usize> {
        let limit = match size {
            0 => self.empty,
            size => self.reader.left() / size,
        };
        match usize::try_from(count) {
            Ok(count) if count <= limit => {
                if size == 0 {
                    self.empty -= count;
                }
                Ok(count)
            }
            // The missing bytes may still arrive: an unframed packet is measured before it is
            // complete.
            Ok(count) if size > 0 && count <= MAX_COUNT => {
                let (needed, left) = (count.saturating_mul(size), self.reader.left());
                Err(fault(at, WireError::Incomplete { needed, left }.into()))
            }
            _ => {
                let limit = if size == 0 { limit } else { MAX_COUNT };
                let cause = WireError::Length { what: "length", length: count, limit };
                Err(fault(at, cause.into()))
            }
        }
    }
}

/// A count that no packet reaches: more elements than the largest configurable frame has bytes.
const MAX_COUNT: usize = 128 << 20;
