//! NBT for tests.

use std::collections::HashSet;

use bytes::Bytes;
use hex_literal::hex;
use proptest::{collection::vec, prelude::*};

use super::{Compound, List, Nbt, Tag, TagType};

/// `hello_world.nbt` of the first NBT specification.
pub(super) const HELLO_WORLD: [u8; 33] = hex!(
    "0a 000b 68656c6c6f20776f726c64"
    "08 0004 6e616d65 0009 42616e616e72616d61"
    "00"
);

/// Every type of tag below an empty root name, with lists of lists and of compounds.
pub(super) const ALL_TYPES: [u8; 261] = hex!(
    "0a 0000"
    "01 0004 62797465 80"
    "02 0005 73686f7274 7fff"
    "03 0003 696e74 80000000"
    "04 0004 6c6f6e67 7fffffffffffffff"
    "05 0005 666c6f6174 3eff1832"
    "06 0006 646f75626c65 3fdf8f6bbbff6a5e"
    "07 0005 6279746573 00000003 007f80"
    "08 0006 737472696e67 000d 48454c4c4f20c385c384c39621"
    "09 0004 656e6473 00 00000000"
    "09 0005 6c6f6e6773 04 00000002 000000000000000b ffffffffffffffff"
    "09 0005 6c69737473 09 00000002 01 00000001 05 08 00000000"
    "09 0009 636f6d706f756e6473 0a 00000002 01 0001 61 01 00 00"
    "0a 0008 636f6d706f756e64 0a 0003 656767 00 00"
    "0b 0004 696e7473 00000002 00000001 ffffffff"
    "0c 0004 6c6e6773 00000001 8000000000000000"
    "00"
);

/// The content of a generated tree.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    /// Arbitrary bytes.
    Any,
    /// Content that `fastnbt` supports: valid text, no NaN, unique keys, no negative counts.
    Plain,
}

pub(super) fn documents(content: Content) -> impl Strategy<Value = Nbt> {
    (proptest::option::of(texts(content)), tags(content))
        .prop_map(|(name, root)| Nbt { name, root })
}

pub(super) fn tags(content: Content) -> BoxedStrategy<Tag> {
    let leaf = leaves(content);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(list),
            compounds(content, inner).prop_map(Tag::Compound),
        ]
    })
    .boxed()
}

pub(super) fn compounds(
    content: Content,
    inner: impl Strategy<Value = Tag>,
) -> impl Strategy<Value = Compound> {
    let keys = if content == Content::Any { texts(content) } else { texts(Content::Plain) };
    vec((keys, inner), 0..6).prop_map(move |mut entries| {
        if content != Content::Any {
            let mut seen = HashSet::new();
            entries.retain(|(key, _)| seen.insert(key.clone()));
        }
        Compound { entries }
    })
}

/// A list of those tags that have the type of the first.
fn list(mut items: Vec<Tag>) -> Tag {
    let element = items.first().map_or(TagType::End, Tag::tag_type);
    items.retain(|item| item.tag_type() == element);
    Tag::List(List::new(element, items))
}

fn leaves(content: Content) -> impl Strategy<Value = Tag> {
    let counts = if content == Content::Plain { 0..1 } else { -3..1 };
    let empty = (0..13u8, counts).prop_map(|(id, empty_count)| {
        let element = TagType::new(id).unwrap();
        Tag::List(List { empty_count, ..List::new(element, Vec::new()) })
    });
    prop_oneof![
        any::<i8>().prop_map(Tag::Byte),
        any::<i16>().prop_map(Tag::Short),
        any::<i32>().prop_map(Tag::Int),
        any::<i64>().prop_map(Tag::Long),
        any::<u32>().prop_map(move |bits| Tag::Float(float(content, f32::from_bits(bits)))),
        any::<u64>().prop_map(move |bits| Tag::Double(double(content, f64::from_bits(bits)))),
        vec(any::<u8>(), 0..9).prop_map(|bytes| Tag::ByteArray(bytes.into())),
        texts(content).prop_map(Tag::Text),
        empty,
        vec(any::<i32>(), 0..5).prop_map(Tag::IntArray),
        vec(any::<i64>(), 0..5).prop_map(Tag::LongArray),
    ]
}

fn float(content: Content, value: f32) -> f32 {
    match content {
        Content::Plain if value.is_nan() => f32::INFINITY,
        _ => value,
    }
}

fn double(content: Content, value: f64) -> f64 {
    match content {
        Content::Plain if value.is_nan() => f64::INFINITY,
        _ => value,
    }
}

fn texts(content: Content) -> BoxedStrategy<Bytes> {
    let text = "[a-c]{0,2}|\\PC{0,4}|[\0\"\\\\\n\u{1f600}]{1,3}".prop_map(|text| {
        let Tag::Text(raw) = Tag::text(&text) else { unreachable!() };
        raw
    });
    if content == Content::Plain {
        return text.boxed();
    }
    prop_oneof![text, vec(any::<u8>(), 0..6).prop_map(Bytes::from)].boxed()
}
