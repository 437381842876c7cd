use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Serialize;

use super::protocol::cut;
use crate::store::Details;

/// The fields and bytes of two packets side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The fields of the first packet in its order, then those that only the second has; at most
    /// [`MAX`](Self::MAX).
    pub fields: Vec<ComparedField>,
    /// In each packet, the bytes between those that both have at the beginning and at the end.
    pub differing: [Range<usize>; 2],
}

/// A field of two packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "ComparedValues"))]
pub struct ComparedField {
    /// Its path: `items[3].itemCount`.
    pub path: String,
    /// The number of containers and lists around it.
    pub depth: usize,
    /// Its value in the first packet, if that has it.
    pub a: Option<String>,
    /// Its value in the second packet, if that has it.
    pub b: Option<String>,
    /// `true` if both packets have it with this value.
    pub same: bool,
}

impl Comparison {
    /// Most fields of a comparison.
    pub const MAX: usize = 2000;

    /// Compares two packets.
    #[must_use]
    pub fn new(one: &Details, other: &Details) -> Self {
        let values = [values(one), values(other)];
        let mut seen = HashSet::new();
        // Tags of NBT have no path.
        let lines = one.fields.iter().chain(&other.fields).filter(|line| !line.path.is_empty());
        let lines = lines.filter(|line| seen.insert(&line.path)).take(Self::MAX);
        let fields = lines.map(|line| {
            let [a, b] = values.each_ref().map(|it| it.get(&*line.path).copied());
            let (path, depth, same) = (line.path.clone(), line.depth, a == b);
            ComparedField { path, depth, a: a.map(cut), b: b.map(cut), same }
        });
        Self { fields: fields.collect(), differing: differing(&one.bytes, &other.bytes) }
    }
}

fn differing(one: &[u8], other: &[u8]) -> [Range<usize>; 2] {
    let same = |(one, other): &(&u8, &u8)| one == other;
    let least = one.len().min(other.len());
    let start = one.iter().zip(other).take_while(same).count();
    let ends = one.iter().rev().zip(other.iter().rev()).take(least - start);
    let end = ends.take_while(same).count();
    [start..one.len() - end, start..other.len() - end]
}

/// Returns the values of a packet's fields by their paths.
fn values(details: &Details) -> HashMap<&str, &str> {
    let mut values = HashMap::new();
    for line in &details.fields {
        values.entry(&*line.path).or_insert(&*line.value);
    }
    values
}
