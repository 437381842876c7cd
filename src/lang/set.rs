use std::cmp::Ordering;

use super::node::{Comparison, Item};
use super::number::Number;
use super::val::Val;

/// What stands behind `in`, ready to be searched.
#[derive(Debug, Clone)]
pub(super) struct Set {
    /// Integers and ranges of them, both ends included, sorted and apart from each other.
    integers: Box<[(i128, i128)]>,
    /// Ranges of other numbers.
    ranges: Box<[(Number, Number)]>,
    others: Box<[Val<'static>]>,
}

impl Set {
    pub(super) fn new(items: &[Item]) -> Self {
        let (mut integers, mut ranges, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            let low = Val::from(&item.low);
            let high = item.high.as_ref().map_or_else(|| low.clone(), Val::from);
            match (low, high) {
                (Val::Number(low), Val::Number(high)) => match (low.integer(), high.integer()) {
                    (Some(low), Some(high)) => integers.push((low, high)),
                    _ => ranges.push((low, high)),
                },
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

    pub(super) fn has(&self, val: &Val<'_>) -> bool {
        val.number().is_some_and(|number| self.has_number(number))
            || self.others.iter().any(|other| val.compares(Comparison::Equal, other))
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
