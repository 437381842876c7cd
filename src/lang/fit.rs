//! Which kinds of values an operator or a function takes.

use super::node::{Arithmetic, Comparison, Function};
use crate::schema::{Kind, Kinds};

pub(super) const NUMBERS: Kinds = Kinds::of(&[Kind::Int, Kind::Float, Kind::Name]);
pub(super) const TEXTS: Kinds = Kinds::of(&[Kind::Text, Kind::Name, Kind::Uuid, Kind::Nbt]);
pub(super) const SEARCHABLE: Kinds =
    Kinds::of(&[Kind::Text, Kind::Name, Kind::Uuid, Kind::Bytes, Kind::Nbt]);
/// What a single value can be, and what can be anywhere in NBT.
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

/// Whether something of one side can be compared with something of the other.
pub(super) fn compares(comparison: Comparison, left: Kinds, right: Kinds) -> bool {
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

/// Whether something of one side can contain something of the other.
pub(super) fn contains(left: Kinds, right: Kinds) -> bool {
    let texts = left.meets(TEXTS) && right.meets(TEXTS);
    texts || (left.has(Kind::Bytes) && right.meets(SEARCHABLE))
}

/// What an operator makes of two sides; the empty set when nothing.
pub(super) fn computes(operator: Arithmetic, left: Kinds, right: Kinds) -> Kinds {
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

/// What a function takes, and what it gives.
pub(super) fn call(function: Function) -> (Kinds, Kinds) {
    use Kind::{Bytes, Float, Int, List, Name, Nbt, Text};
    match function {
        Function::Len => (Kinds::of(&[Text, Name, Bytes, List, Nbt]), Int.into()),
        Function::Lower | Function::Upper => (Kinds::of(&[Text, Name, Nbt]), Text.into()),
        Function::Abs => (NUMBERS, Kinds::of(&[Int, Float])),
        Function::Text => (Kinds::of(&[Text, Name, Nbt]), Text.into()),
    }
}
