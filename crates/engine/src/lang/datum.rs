use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::RangeInclusive;

use bytes::Bytes;
use memchr::memmem;

use super::ast::{Arithmetic, Comparison, Function, Item, Literal};
use mitmcraft_protocol::packet::{plain_nbt, plain_text};
use mitmcraft_protocol::schema::{Kind, Kinds, Value, format_uuid, parse_uuid};
use mitmcraft_protocol::wire::{Encoding, Nbt, Tag, to_hex};

/// A value in an evaluation, borrowed from the packet's body where possible.
#[derive(Debug, Clone)]
pub(super) enum Datum<'a> {
    Bool(bool),
    Number(Number),
    /// The name of a mapped number, and the number.
    Name(&'a str, i64),
    /// Text as received: usually, but not always, valid UTF-8.
    Text(Cow<'a, [u8]>),
    Uuid(u128),
    Bytes(Cow<'a, [u8]>),
    /// A compound, a list or an array.
    Nbt(Box<Nbt>),
    /// A list with its number of elements.
    List(usize),
    Map,
}

impl<'a> Datum<'a> {
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

    /// Returns a copy that borrows from this value.
    #[inline]
    pub(super) fn borrowed(&self) -> Datum<'_> {
        match self {
            Self::Text(text) => Datum::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Datum::Bytes(Cow::Borrowed(bytes)),
            datum => datum.clone(),
        }
    }

    /// Converts an NBT tag; `name` is the name of its root.
    pub(super) fn tag(tag: &Tag, name: Option<&Bytes>) -> Self {
        if let Some(int) = tag.as_int() {
            return Self::Number(Number::Int(int));
        }
        match tag {
            Tag::Float(float) => Self::Number(Number::Single(*float)),
            Tag::Double(double) => Self::Number(Number::Double(*double)),
            Tag::Text(text) => Self::string(Encoding::ModifiedUtf8.decode_lossy(text).into_owned()),
            Tag::ByteArray(bytes) => Self::Bytes(Cow::Owned(bytes.to_vec())),
            _ => Self::Nbt(Box::new(Nbt { name: name.cloned(), root: tag.clone() })),
        }
    }

    /// Compares two values; false when they cannot be compared.
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

    /// Returns whether both are equal; `None` when they cannot be compared.
    #[inline]
    fn equals(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.compare(*b) == Some(Ordering::Equal),
            (Self::Text(a) | Self::Bytes(a), Self::Text(b) | Self::Bytes(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            // NBT stores bools as bytes.
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
                str::from_utf8(b).ok().and_then(parse_uuid) == Some(*a)
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

    /// Returns the number, or that of a mapped number.
    #[inline]
    pub(super) fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(_, number) => Some(Number::Int(*number)),
            _ => None,
        }
    }

    /// Returns the bytes to search in.
    pub(super) fn searchable(&self) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
            Self::Name(name, _) => Some(Cow::Borrowed(name.as_bytes())),
            Self::Uuid(uuid) => Some(Cow::Owned(format_uuid(*uuid).into_bytes())),
            Self::Nbt(nbt) => Some(Cow::Owned(plain_nbt(&nbt.root).into_bytes())),
            _ => None,
        }
    }

    /// Returns whether the other value's text or bytes occur in this one.
    pub(super) fn contains(&self, other: &Self) -> bool {
        match (self.searchable(), other.searchable()) {
            (Some(all), Some(part)) => memmem::find(&all, &part).is_some(),
            _ => false,
        }
    }

    /// Applies a function; `None` when it has no result.
    pub(super) fn call(self, function: Function) -> Option<Self> {
        Some(match function {
            Function::Len => Datum::Number(Number::from_usize(self.len()?)),
            Function::Abs => Datum::Number(self.number()?.abs()),
            Function::Lower => Datum::string(self.string_of()?.to_lowercase()),
            Function::Upper => Datum::string(self.string_of()?.to_uppercase()),
            Function::Hex => match &self {
                Datum::Bytes(bytes) => Datum::string(to_hex(bytes, "")),
                _ => Datum::string(self.number()?.hex()?),
            },
            Function::Text if matches!(self, Datum::Nbt(_)) => {
                Datum::string(self.string_of()?.into_owned())
            }
            Function::Text => Datum::string(plain_text(&self.string_of()?)),
        })
    }

    /// Returns the characters of a text from a place on, up to another one if there are two: 0 is before the first
    /// character, -1 before the last one, and places beyond the text are its ends.
    pub(super) fn slice(self, places: &[i64]) -> Option<Self> {
        let text = self.string_of()?;
        let count = i64::try_from(text.chars().count()).ok()?;
        let place = |at: i64| if at < 0 { at.saturating_add(count).max(0) } else { at.min(count) };
        let from = place(*places.first()?);
        let to = places.get(1).map_or(count, |to| place(*to));
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        Some(Datum::string(text.chars().take(to).skip(from).collect()))
    }

    pub(super) fn compute(self, operator: Arithmetic, other: Datum<'_>) -> Option<Self> {
        let texts = matches!(self, Self::Text(_)) || matches!(other, Datum::Text(_));
        let names = matches!(self, Self::Name(..)) && matches!(other, Datum::Name(..));
        if operator == Arithmetic::Add && (texts || names) {
            return Some(Datum::string(self.printed()? + &other.printed()?));
        }
        self.number()?.compute(operator, other.number()?).map(Datum::Number)
    }

    /// Converts into a field's value.
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

    /// Returns its text; for a component in NBT, the text that a player reads.
    pub(super) fn string_of(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(String::from_utf8_lossy(text)),
            Self::Name(name, _) => Some(Cow::Borrowed(name)),
            Self::Nbt(nbt) => Some(Cow::Owned(plain_nbt(&nbt.root))),
            _ => None,
        }
    }

    /// Returns the value as printed into a text.
    fn printed(&self) -> Option<String> {
        match self {
            Self::Bool(bool) => Some(bool.to_string()),
            Self::Number(number) => Some(number.to_text()),
            Self::Uuid(uuid) => Some(format_uuid(*uuid)),
            _ => self.string_of().map(Cow::into_owned),
        }
    }
}

impl From<&Literal> for Datum<'static> {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Bool(bool) => Self::Bool(*bool),
            Literal::Int(int) => Self::Number(Number::Int(*int)),
            Literal::Unsigned(int) => Self::Number(Number::Unsigned(*int)),
            Literal::Float(float) => Self::Number(Number::Decimal(*float)),
            Literal::Text(text) => Self::string(text.clone()),
            Literal::Bytes(bytes) => Self::Bytes(Cow::Owned(bytes.clone())),
        }
    }
}

/// A number in an evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Int(i64),
    /// An integer above [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float of a packet.
    Single(f32),
    Double(f64),
    /// A float literal, compared at the precision of the other side.
    Decimal(f64),
}

impl Number {
    /// Compares integers exactly, and a 32-bit float with a literal at 32 bits; `None` for NaN.
    #[inline]
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Single(a), Self::Decimal(b)) => a.partial_cmp(&(b as f32)),
            (Self::Decimal(a), Self::Single(b)) => (a as f32).partial_cmp(&b),
            _ => match (self.integer(), other.integer()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                (Some(a), None) => compare_exactly(a, other.float()),
                (None, Some(b)) => compare_exactly(b, self.float()).map(Ordering::reverse),
                (None, None) => self.float().partial_cmp(&other.float()),
            },
        }
    }

    /// Applies an operator; `None` when the result is undefined or does not fit.
    pub(super) fn compute(self, operator: Arithmetic, other: Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.integer(), other.integer()) {
            return Self::from_integer(match operator {
                Arithmetic::Add => a + b,
                Arithmetic::Subtract => a - b,
                Arithmetic::Multiply => a.checked_mul(b)?,
                Arithmetic::Divide => a.checked_div(b)?,
                Arithmetic::Remainder => a.checked_rem(b)?,
            });
        }
        let (a, b) = (self.float(), other.float());
        let float = match operator {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::Remainder => a % b,
        };
        let written = |it| !matches!(it, Self::Single(_) | Self::Double(_));
        Some(if written(self) && written(other) {
            Self::Decimal(float)
        } else {
            Self::Double(float)
        })
    }

    /// Returns the negative; `None` when it does not fit.
    pub(super) fn negate(self) -> Option<Self> {
        match self {
            Self::Single(float) => Some(Self::Single(-float)),
            Self::Double(float) => Some(Self::Double(-float)),
            Self::Decimal(float) => Some(Self::Decimal(-float)),
            Self::Int(_) | Self::Unsigned(_) => Self::from_integer(-self.integer()?),
        }
    }

    /// Returns an integer in the form of packet ids: `0x0c`, `-0x1`. `None` for a float.
    pub(super) fn hex(self) -> Option<String> {
        let integer = self.integer()?;
        let sign = if integer < 0 { "-" } else { "" };
        Some(format!("{sign}0x{:02x}", integer.unsigned_abs()))
    }

    pub(super) fn abs(self) -> Self {
        match self {
            Self::Int(int) => Self::from_integer(i128::from(int).abs()).unwrap_or(self),
            Self::Unsigned(_) => self,
            Self::Single(float) => Self::Single(float.abs()),
            Self::Double(float) => Self::Double(float.abs()),
            Self::Decimal(float) => Self::Decimal(float.abs()),
        }
    }

    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Int(int) => Value::Int(int),
            Self::Unsigned(int) => Value::Unsigned(int),
            Self::Single(float) => Value::Float32(float),
            Self::Double(float) | Self::Decimal(float) => Value::Float64(float),
        }
    }

    /// Formats the number as part of a text.
    pub(super) fn to_text(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Unsigned(int) => int.to_string(),
            Self::Single(float) => float.to_string(),
            Self::Double(float) | Self::Decimal(float) => float.to_string(),
        }
    }

    pub(super) fn from_usize(count: usize) -> Self {
        i64::try_from(count).map_or(Self::Unsigned(u64::MAX), Self::Int)
    }

    pub(super) fn from_u64(int: u64) -> Self {
        i64::try_from(int).map_or(Self::Unsigned(int), Self::Int)
    }

    pub(super) fn from_integer(int: i128) -> Option<Self> {
        match i64::try_from(int) {
            Ok(int) => Some(Self::Int(int)),
            Err(_) => u64::try_from(int).ok().map(Self::Unsigned),
        }
    }

    pub(super) fn integer(self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(int.into()),
            Self::Unsigned(int) => Some(int.into()),
            Self::Single(_) | Self::Double(_) | Self::Decimal(_) => None,
        }
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Unsigned(int) => int as f64,
            Self::Single(float) => float.into(),
            Self::Double(float) | Self::Decimal(float) => float,
        }
    }
}

/// Compares an integer with a float without rounding either.
fn compare_exactly(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // No 64-bit integer is as large; smaller floats have an exact integer part.
    if float.abs() >= BEYOND {
        return 0.0.partial_cmp(&float);
    }
    let whole = float.trunc();
    Some(int.cmp(&(whole as i128)).then_with(|| whole.total_cmp(&float)))
}

/// 2^65, above the absolute value of any 64-bit integer.
const BEYOND: f64 = 36_893_488_147_419_103_232.0;

/// The set of an `in` operator, prepared for lookups.
#[derive(Debug, Clone)]
pub(super) struct Set {
    /// Integers and ranges of integers, both ends included, sorted and disjoint.
    integers: Box<[(i128, i128)]>,
    /// Ranges of numbers of other types, both ends included.
    ranges: Box<[(Number, Number)]>,
    others: Box<[Datum<'static>]>,
}

impl Set {
    pub(super) fn new(items: &[Item]) -> Self {
        let (mut integers, mut ranges, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            let low = Datum::from(&item.low);
            let high = item.high.as_ref().map_or_else(|| low.clone(), Datum::from);
            match (low, high) {
                (Datum::Number(low), Datum::Number(high)) => {
                    match (low.integer(), high.integer()) {
                        (Some(low), Some(high)) => integers.push((low, high)),
                        _ => ranges.push((low, high)),
                    }
                }
                (other, _) => others.push(other),
            }
        }
        integers.sort_unstable();
        integers.dedup_by(|(low, high), (_, before)| {
            let joined = *low <= *before + 1;
            *before = if joined { (*before).max(*high) } else { *before };
            joined
        });
        Self { integers: integers.into(), ranges: ranges.into(), others: others.into() }
    }

    /// Creates the set of numbers and texts that a name stands for.
    pub(super) fn named(numbers: Vec<RangeInclusive<i64>>, name: &str) -> Self {
        let mut integers: Vec<(i128, i128)> =
            numbers.into_iter().map(|it| ((*it.start()).into(), (*it.end()).into())).collect();
        integers.sort_unstable();
        let others = [name.to_owned(), format!("minecraft:{name}")].map(Datum::string);
        Self { integers: integers.into(), ranges: Box::default(), others: others.into() }
    }

    pub(super) fn has(&self, datum: &Datum<'_>) -> bool {
        datum.number().is_some_and(|number| self.has_number(number))
            || self.others.iter().any(|other| datum.compares(Comparison::Equal, other))
    }

    fn has_number(&self, number: Number) -> bool {
        let within = |low: Number, high: Number| {
            low.compare(number).is_some_and(Ordering::is_le)
                && number.compare(high).is_some_and(Ordering::is_le)
        };
        let found = match number.integer() {
            Some(int) => {
                let place = self.integers.partition_point(|(low, _)| *low <= int);
                place > 0 && int <= self.integers[place - 1].1
            }
            None => self.integers.iter().any(|(low, high)| {
                let ends = (Number::from_integer(*low), Number::from_integer(*high));
                matches!(ends, (Some(low), Some(high)) if within(low, high))
            }),
        };
        found || self.ranges.iter().any(|(low, high)| within(*low, *high))
    }
}

/// The kinds of single values, which are also all that NBT can contain anywhere.
pub(super) const SCALARS: Kinds = Kinds::of(&[
    Kind::Bool,
    Kind::Int,
    Kind::Float,
    Kind::Text,
    Kind::Name,
    Kind::Uuid,
    Kind::Bytes,
    Kind::Nbt,
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_part_at_any_place_and_the_empty_part_everywhere() {
        for (all, part, found) in [
            ("hello", "", true),
            ("", "", true),
            ("", "a", false),
            ("hello", "lo", true),
            ("hello", "hello", true),
            ("hello", "lo!", false),
            ("aaab", "aab", true),
        ] {
            let contains = Datum::string(all.to_owned()).contains(&Datum::string(part.to_owned()));
            assert_eq!(contains, found, "{all} {part}");
        }
    }

    #[test]
    fn compares_without_rounding_and_decimals_at_the_precision_of_the_field() {
        use Number::{Decimal, Double, Int, Single, Unsigned};
        use Ordering::{Equal, Greater, Less};
        for (a, b, order) in [
            (Int(i64::MAX), Unsigned(u64::MAX), Some(Less)),
            (Int(-1), Unsigned(u64::MAX), Some(Less)),
            (Int(i64::MAX), Decimal(i64::MAX as f64), Some(Less)),
            (Int(9_007_199_254_740_993), Double(9_007_199_254_740_992.0), Some(Greater)),
            (Int(2), Decimal(1.5), Some(Greater)),
            (Int(1), Decimal(1.5), Some(Less)),
            (Int(-1), Decimal(-1.5), Some(Greater)),
            (Int(-2), Decimal(-1.5), Some(Less)),
            (Int(0), Double(-0.0), Some(Equal)),
            (Int(3), Double(3.0), Some(Equal)),
            (Int(1), Double(f64::INFINITY), Some(Less)),
            (Int(1), Double(f64::NAN), None),
            (Single(0.1), Decimal(0.1), Some(Equal)),
            (Single(0.1), Double(0.1), Some(Greater)),
            (Double(0.1), Decimal(0.1), Some(Equal)),
            (Single(f32::NAN), Decimal(0.1), None),
        ] {
            assert_eq!(a.compare(b), order, "{a:?} {b:?}");
            assert_eq!(b.compare(a), order.map(Ordering::reverse), "{b:?} {a:?}");
        }
    }

    #[test]
    fn computes_exactly_and_overflow_is_absent() {
        use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
        use Number::{Decimal, Int, Single, Unsigned};
        for (a, operator, b, result) in [
            (Int(i64::MAX), Add, Int(1), Some("9223372036854775808")),
            (Unsigned(u64::MAX), Add, Int(1), None),
            (Int(i64::MIN), Subtract, Int(1), None),
            (Unsigned(u64::MAX), Multiply, Unsigned(u64::MAX), None),
            (Int(-7), Divide, Int(2), Some("-3")),
            (Int(-7), Remainder, Int(2), Some("-1")),
            (Int(1), Divide, Int(0), None),
            (Int(1), Remainder, Int(0), None),
            (Int(1), Divide, Decimal(4.0), Some("0.25")),
            (Single(0.5), Multiply, Int(3), Some("1.5")),
        ] {
            let text = a.compute(operator, b).map(Number::to_text);
            assert_eq!(text.as_deref(), result, "{a:?} {operator:?} {b:?}");
        }
        assert_eq!(Int(i64::MIN).negate().unwrap().to_text(), "9223372036854775808");
        assert_eq!(Int(i64::MIN).abs().to_text(), "9223372036854775808");
        assert!(Unsigned(u64::MAX).negate().is_none());
    }
}
