//! The kinds of values that comparisons, operators and functions take.

use super::ast::{Arithmetic, Comparison, Function};
use super::datum::SCALARS;
use mitmcraft_protocol::schema::{Kind, Kinds};

/// Returns whether any kind on the left can be compared with any on the right.
pub(super) fn fit_compares(comparison: Comparison, left: Kinds, right: Kinds) -> bool {
    left.iter().any(|kind| partners(comparison, kind).meets(right))
}

fn partners(comparison: Comparison, kind: Kind) -> Kinds {
    use Kind::{Bool, Bytes, Float, Int, Name, Nbt, Text, Uuid};
    let orders = comparison.orders();
    match kind {
        Int | Float => NUMBERS,
        Name if orders => Kinds::of(&[Int, Float]),
        Name => Kinds::of(&[Text, Name, Int, Float]),
        Text if orders => Text.into(),
        Text => Kinds::of(&[Text, Name, Uuid, Bytes, Nbt]),
        Bytes if orders => Bytes.into(),
        Bytes => Kinds::of(&[Bytes, Text]),
        Nbt if !orders => Text.into(),
        Bool if !orders => Bool.into(),
        Uuid if !orders => Kinds::of(&[Uuid, Text]),
        _ => Kinds::NONE,
    }
}

/// Returns whether any kind on the left can contain any on the right.
pub(super) fn fit_contains(left: Kinds, right: Kinds) -> bool {
    let texts = left.meets(TEXTS) && right.meets(TEXTS);
    texts || (left.has(Kind::Bytes) && right.meets(SEARCHABLE))
}

/// Returns the kinds of an operator's result; empty when the operands do not fit.
pub(super) fn fit_computes(operator: Arithmetic, left: Kinds, right: Kinds) -> Kinds {
    let mut result = Kinds::NONE;
    if left.meets(NUMBERS) && right.meets(NUMBERS) {
        let int = Kinds::of(&[Kind::Int, Kind::Name]);
        let ints = left.without(int).is_empty() && right.without(int).is_empty();
        result = if ints { Kind::Int.into() } else { Kinds::of(&[Kind::Int, Kind::Float]) };
    }
    let text = Kinds::of(&[Kind::Text, Kind::Name, Kind::Nbt]);
    let printed = SCALARS.without(Kind::Bytes.into());
    let joins =
        (left.meets(text) && right.meets(printed)) || (right.meets(text) && left.meets(printed));
    let plain = left.has(Kind::Text) || right.has(Kind::Text) || result.is_empty();
    if operator == Arithmetic::Add && joins && plain {
        result = result | Kind::Text.into();
    }
    result
}

/// Returns the kinds that a function takes and those of its result.
pub(super) fn fit_call(function: Function) -> (Kinds, Kinds) {
    use Kind::{Bytes, Float, Int, List, Name, Nbt, Text};
    match function {
        Function::Len => (Kinds::of(&[Text, Name, Bytes, List, Nbt]), Int.into()),
        Function::Lower | Function::Upper => (Kinds::of(&[Text, Name, Nbt]), Text.into()),
        Function::Abs => (NUMBERS, Kinds::of(&[Int, Float])),
        Function::Hex => (Kinds::of(&[Bytes, Int]), Text.into()),
        Function::Text => (Kinds::of(&[Text, Name, Nbt]), Text.into()),
    }
}

pub(super) const NUMBERS: Kinds = Kinds::of(&[Kind::Int, Kind::Float, Kind::Name]);
pub(super) const TEXTS: Kinds = Kinds::of(&[Kind::Text, Kind::Name, Kind::Uuid, Kind::Nbt]);
pub(super) const SEARCHABLE: Kinds =
    Kinds::of(&[Kind::Text, Kind::Name, Kind::Uuid, Kind::Bytes, Kind::Nbt]);
