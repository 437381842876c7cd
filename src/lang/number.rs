use std::cmp::Ordering;

use super::node::Arithmetic;
use crate::schema::Value;

/// A number as an expression computes with it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Int(i64),
    /// Beyond [`i64::MAX`].
    Unsigned(u64),
    /// A 32-bit float of a packet.
    Single(f32),
    Double(f64),
    /// A float as the user wrote it, which has the precision of what it is compared with.
    Decimal(f64),
}

impl Number {
    /// How it compares: integers exactly, a 32-bit float with a decimal at 32 bits; none for NaN.
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

    /// What an operator makes of two numbers; none where nothing fits.
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

    /// None when it has no negative.
    pub(super) fn negate(self) -> Option<Self> {
        match self {
            Self::Single(float) => Some(Self::Single(-float)),
            Self::Double(float) => Some(Self::Double(-float)),
            Self::Decimal(float) => Some(Self::Decimal(-float)),
            Self::Int(_) | Self::Unsigned(_) => Self::from_integer(-self.integer()?),
        }
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

    /// As it reads when it is put into text.
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

    fn float(self) -> f64 {
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
    // No 64-bit integer is as large; what is smaller has an exact integer part.
    if float.abs() >= BEYOND {
        return 0.0.partial_cmp(&float);
    }
    let whole = float.trunc();
    Some(int.cmp(&(whole as i128)).then_with(|| whole.total_cmp(&float)))
}

/// 2^65
const BEYOND: f64 = 36_893_488_147_419_103_232.0;

#[cfg(test)]
mod tests {
    use super::*;

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
    fn computes_exactly_and_gives_nothing_where_nothing_fits() {
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
