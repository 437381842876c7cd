use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;

use super::node::{Arithmetic, Comparison, Function};
use super::number::Number;
use crate::packet::{plain_nbt, plain_text};
use crate::schema::{Value, format_uuid};
use crate::wire::{Encoding, Nbt, Tag};

/// A value as an expression computes with it, borrowed from the body where that can be.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Bool(bool),
    Number(Number),
    /// A mapped number's name, and the number.
    Name(&'a str, i64),
    /// UTF-8; as it came, so that it may be none.
    Text(Cow<'a, [u8]>),
    Uuid(u128),
    Bytes(Cow<'a, [u8]>),
    /// A compound, a list or an array.
    Nbt(Box<Nbt>),
    /// A list of so many elements.
    List(usize),
    Map,
}

impl<'a> Val<'a> {
    #[inline]
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text.as_bytes()))
    }

    pub(super) fn cow(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::text(text),
            Cow::Owned(text) => Self::string(text),
        }
    }

    pub(super) fn string(text: String) -> Self {
        Self::Text(Cow::Owned(text.into_bytes()))
    }

    #[inline]
    pub(super) fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }

    /// The same, borrowed from this one.
    #[inline]
    pub(super) fn borrowed(&self) -> Val<'_> {
        match self {
            Self::Text(text) => Val::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Val::Bytes(Cow::Borrowed(bytes)),
            val => val.clone(),
        }
    }

    /// A tag of a tree whose root has a name (or not) like `name`.
    pub(super) fn tag(tag: &Tag, name: Option<&Bytes>) -> Self {
        let int = |int: i64| Self::Number(Number::Int(int));
        match tag {
            Tag::Byte(byte) => int((*byte).into()),
            Tag::Short(short) => int((*short).into()),
            Tag::Int(number) => int((*number).into()),
            Tag::Long(long) => int(*long),
            Tag::Float(float) => Self::Number(Number::Single(*float)),
            Tag::Double(double) => Self::Number(Number::Double(*double)),
            Tag::Text(text) => Self::string(Encoding::ModifiedUtf8.decode_lossy(text).into_owned()),
            Tag::ByteArray(bytes) => Self::Bytes(Cow::Owned(bytes.to_vec())),
            Tag::List(_) | Tag::Compound(_) | Tag::IntArray(_) | Tag::LongArray(_) => {
                Self::Nbt(Box::new(Nbt { name: name.cloned(), root: tag.clone() }))
            }
        }
    }

    /// Whether the comparison holds; never between what cannot be compared.
    #[inline]
    pub(super) fn compares(&self, comparison: Comparison, other: &Self) -> bool {
        match comparison {
            Comparison::Equal => self.equals(other) == Some(true),
            Comparison::Unequal => self.equals(other) == Some(false),
            Comparison::Less => self.order(other) == Some(Ordering::Less),
            Comparison::LessOrEqual => self.order(other).is_some_and(Ordering::is_le),
            Comparison::Greater => self.order(other) == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => self.order(other).is_some_and(Ordering::is_ge),
        }
    }

    /// Whether both are the same; none when they cannot be.
    #[inline]
    fn equals(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.compare(*b) == Some(Ordering::Equal),
            (Self::Text(a) | Self::Bytes(a), Self::Text(b) | Self::Bytes(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            // NBT has bytes for bools.
            (Self::Bool(a), Self::Number(Number::Int(b))) => i64::from(*a) == *b,
            (Self::Number(Number::Int(a)), Self::Bool(b)) => *a == i64::from(*b),
            (Self::Name(a, _), Self::Text(b)) | (Self::Text(b), Self::Name(a, _)) => {
                *a.as_bytes() == **b
            }
            (Self::Name(a, _), Self::Name(b, _)) => a == b,
            (Self::Name(_, a), Self::Number(b)) | (Self::Number(b), Self::Name(_, a)) => {
                Number::Int(*a).compare(*b) == Some(Ordering::Equal)
            }
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Uuid(a), Self::Text(b)) | (Self::Text(b), Self::Uuid(a)) => {
                uuid_of(b) == Some(*a)
            }
            _ => return None,
        })
    }

    #[inline]
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) | (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => self.number()?.compare(other.number()?),
        }
    }

    /// The number that it is or stands for.
    #[inline]
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(_, number) => Some(Number::Int(*number)),
            _ => None,
        }
    }

    /// The bytes in which something can be searched.
    pub(super) fn searchable(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Self::Name(name, _) => Some(Cow::Borrowed(name.as_bytes())),
            Self::Uuid(uuid) => Some(Cow::Owned(format_uuid(*uuid).into_bytes())),
            Self::Nbt(nbt) => Some(Cow::Owned(plain_nbt(&nbt.root).into_bytes())),
            _ => None,
        }
    }

    /// Whether the other's text or bytes are somewhere in its own.
    pub(super) fn contains(&self, other: &Self) -> bool {
        match (self.searchable(), other.searchable()) {
            (Some(all), Some(part)) => find(&all, &part),
            _ => false,
        }
    }

    /// What a function makes of it; none when that is nothing.
    pub(super) fn call(self, function: Function) -> Option<Self> {
        Some(match function {
            Function::Len => Val::Number(Number::from_usize(self.len()?)),
            Function::Abs => Val::Number(self.number()?.abs()),
            Function::Lower => Val::string(self.string_of()?.to_lowercase()),
            Function::Upper => Val::string(self.string_of()?.to_uppercase()),
            Function::Text if matches!(self, Val::Nbt(_)) => {
                Val::string(self.string_of()?.into_owned())
            }
            Function::Text => Val::string(plain_text(&self.string_of()?)),
        })
    }

    pub(super) fn compute(self, operator: Arithmetic, other: Val<'_>) -> Option<Self> {
        let texts = matches!(self, Self::Text(_)) || matches!(other, Val::Text(_));
        let names = matches!(self, Self::Name(..)) && matches!(other, Val::Name(..));
        if operator == Arithmetic::Add && (texts || names) {
            return Some(Val::string(self.printed()? + &other.printed()?));
        }
        self.number()?.compute(operator, other.number()?).map(Val::Number)
    }

    /// As a field's value.
    pub(super) fn to_value(&self) -> Option<Value> {
        Some(match self {
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Number(number) => number.to_value(),
            Self::Name(name, _) => Value::from(*name),
            Self::Text(text) => Value::from(&*String::from_utf8_lossy(text)),
            Self::Uuid(uuid) => Value::Uuid(*uuid),
            Self::Bytes(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes)),
            Self::Nbt(nbt) => Value::Nbt(nbt.clone()),
            Self::List(_) | Self::Map => return None,
        })
    }

    fn len(&self) -> Option<usize> {
        let chars = |text: &[u8]| text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        Some(match self {
            Self::Text(text) => chars(text),
            Self::Name(name, _) => chars(name.as_bytes()),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(count) => *count,
            Self::Nbt(nbt) => match &nbt.root {
                Tag::List(list) => list.items.len(),
                Tag::Compound(compound) => compound.entries.len(),
                Tag::IntArray(ints) => ints.len(),
                Tag::LongArray(longs) => longs.len(),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Its text; that of a component in NBT is what a player reads.
    fn string_of(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(String::from_utf8_lossy(text)),
            Self::Name(name, _) => Some(Cow::Borrowed(name)),
            Self::Nbt(nbt) => Some(Cow::Owned(plain_nbt(&nbt.root))),
            _ => None,
        }
    }

    /// As it reads when it is put into text.
    fn printed(&self) -> Option<String> {
        match self {
            Self::Bool(bool) => Some(bool.to_string()),
            Self::Number(number) => Some(number.to_text()),
            Self::Uuid(uuid) => Some(format_uuid(*uuid)),
            _ => self.string_of().map(Cow::into_owned),
        }
    }
}

/// The UUID of 32 hex digits with or without hyphens.
fn uuid_of(text: &[u8]) -> Option<u128> {
    let (mut uuid, mut digits) = (0, 0);
    for byte in text.iter().filter(|byte| **byte != b'-') {
        uuid = uuid << 4 | u128::from(char::from(*byte).to_digit(16)?);
        digits += 1;
        if digits > 32 {
            return None;
        }
    }
    (digits == 32).then_some(uuid)
}

fn find(all: &[u8], part: &[u8]) -> bool {
    let Some((first, rest)) = part.split_first() else { return true };
    let mut from = all;
    while let Some(place) = from.iter().position(|byte| byte == first) {
        from = &from[place + 1..];
        if from.starts_with(rest) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_part_anywhere_and_nothing_everywhere() {
        for (all, part, found) in [
            ("hello", "", true),
            ("", "", true),
            ("", "a", false),
            ("hello", "lo", true),
            ("hello", "hello", true),
            ("hello", "lo!", false),
            ("aaab", "aab", true),
        ] {
            assert_eq!(find(all.as_bytes(), part.as_bytes()), found, "{all} {part}");
        }
    }

    #[test]
    fn a_uuid_is_read_with_and_without_hyphens() {
        let uuid = 0x069a_79f4_44e9_4726_a5be_fca9_0e38_aaf5;
        assert_eq!(uuid_of(b"069a79f4-44e9-4726-a5be-fca90e38aaf5"), Some(uuid));
        assert_eq!(uuid_of(b"069A79F444E94726A5BEFCA90E38AAF5"), Some(uuid));
        assert_eq!(uuid_of(b"069a79f4-44e9-4726-a5be-fca90e38aaf"), None);
        assert_eq!(uuid_of(b"069a79f4-44e9-4726-a5be-fca90e38aaf50"), None);
        assert_eq!(uuid_of(b""), None);
    }
}
