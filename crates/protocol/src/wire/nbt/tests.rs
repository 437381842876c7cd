use std::{collections::HashMap, thread};

use bytes::Bytes;
use fastnbt::Value;
use hex_literal::hex;
use proptest::{collection::vec, prelude::*};

use super::{
    Compound, Nbt, Tag, TagType,
    samples::{ALL_TYPES, Content, HELLO_WORLD, compounds, documents, tags},
};
use crate::wire::{Reader, WireError};

fn read(bytes: &[u8], named: bool) -> Result<Option<Nbt>, WireError> {
    Nbt::read(&mut Reader::new(bytes), named)
}

fn written(nbt: &Nbt) -> Vec<u8> {
    let mut out = Vec::new();
    nbt.write(&mut out);
    out
}

fn root(bytes: &[u8]) -> Compound {
    match read(bytes, true).unwrap().unwrap().root {
        Tag::Compound(compound) => compound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_hello_world() {
    let nbt = Nbt {
        name: Some(Bytes::from_static(b"hello world")),
        root: Tag::Compound(Compound {
            entries: vec![(Bytes::from_static(b"name"), Tag::text("Bananrama"))],
        }),
    };
    assert_eq!(written(&nbt), HELLO_WORLD);
    assert_eq!(read(&HELLO_WORLD, true), Ok(Some(nbt)));
}

#[test]
fn reads_and_writes_every_type() {
    let compound = root(&ALL_TYPES);
    assert_eq!(compound.get("byte"), Some(&Tag::Byte(-128)));
    assert_eq!(compound.get("short"), Some(&Tag::Short(32767)));
    assert_eq!(compound.get("int"), Some(&Tag::Int(i32::MIN)));
    assert_eq!(compound.get("long"), Some(&Tag::Long(i64::MAX)));
    assert_eq!(compound.get("float"), Some(&Tag::Float(0.498_231_47)));
    assert_eq!(compound.get("double"), Some(&Tag::Double(0.493_128_713_218_231_5)));
    assert_eq!(compound.get("bytes"), Some(&Tag::ByteArray(Bytes::from_static(&hex!("007f80")))));
    assert_eq!(compound.get("string"), Some(&Tag::text("HELLO \u{c5}\u{c4}\u{d6}!")));
    assert_eq!(compound.get("ints"), Some(&Tag::IntArray(vec![1, -1])));
    assert_eq!(compound.get("lngs"), Some(&Tag::LongArray(vec![i64::MIN])));
    let Some(Tag::List(lists)) = compound.get("lists") else { panic!() };
    let Tag::List(strings) = &lists.items[1] else { panic!() };
    assert_eq!((strings.element, strings.items.len()), (TagType::Text, 0));
    assert_eq!(written(&read(&ALL_TYPES, true).unwrap().unwrap()), ALL_TYPES);
}

#[test]
fn anonymous_roots_have_no_name_and_may_be_of_any_type() {
    let string = hex!("08 0002 6869");
    let nbt = Nbt { name: None, root: Tag::text("hi") };
    assert_eq!(written(&nbt), string);
    assert_eq!(read(&string, false), Ok(Some(nbt)));
}

#[test]
fn a_single_end_is_an_absent_document() {
    for named in [true, false] {
        let mut reader = Reader::new(&[0, 1]);
        assert_eq!(Nbt::read(&mut reader, named), Ok(None));
        assert_eq!(reader.position(), 1);
    }
    let mut out = Vec::new();
    Nbt::write_absent(&mut out);
    assert_eq!(out, [0]);
}

#[test]
fn keeps_what_other_readers_normalise() {
    let bytes = hex!(
        "0a 0001 ff"
        "05 0001 80 7f800001"
        "05 0001 80 ffc12345"
        "06 0000 7ff0000000000001"
        "08 0001 61 0004 f09f9880"
        "09 0001 62 0a ffffffff"
        "09 0001 63 00 80000000"
        "00"
    );
    assert_eq!(written(&read(&bytes, true).unwrap().unwrap()), bytes);
}

#[test]
fn every_truncation_is_incomplete_and_consumes_nothing() {
    for bytes in [&HELLO_WORLD[..], &ALL_TYPES] {
        for end in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..end]);
            assert!(Nbt::read(&mut reader, true).unwrap_err().is_incomplete(), "{end}");
            assert!(Nbt::skip(&mut reader, true).unwrap_err().is_incomplete(), "{end}");
            assert_eq!(reader.position(), 0);
        }
    }
}

#[test]
fn absurd_counts_are_rejected_before_allocation() {
    for kind in 1..=12 {
        let list = [9, kind, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert!(read(&list, false).unwrap_err().is_incomplete(), "{kind}");
    }
    for kind in [7, 11, 12] {
        assert!(read(&[kind, 0x7f, 0xff, 0xff, 0xff, 0], false).unwrap_err().is_incomplete());
        let negative = read(&[kind, 0xff, 0xff, 0xff, 0xff], false).unwrap_err();
        assert!(matches!(negative, WireError::Length { length: -1, .. }), "{negative}");
    }
    let ends = read(&hex!("09 00 00000001"), false).unwrap_err();
    assert!(matches!(ends, WireError::Length { length: 1, limit: 0, .. }), "{ends}");
    assert_eq!(read(&hex!("0d"), false), Err(WireError::TagType(13)));
    assert_eq!(read(&hex!("09 ff 00000000"), false), Err(WireError::TagType(255)));
}

/// Nests `levels` compounds, each the only tag of its parent.
fn nested_compounds(levels: usize) -> Vec<u8> {
    [vec![0x0a], hex!("0a 0000").repeat(levels - 1), vec![0; levels]].concat()
}

/// Nests `levels` lists, each the only item of its parent.
fn nested_lists(levels: usize) -> Vec<u8> {
    [&[9][..], &hex!("09 00000001").repeat(levels - 1), &hex!("00 00000000")].concat()
}

#[test]
fn the_deepest_trees_fit_a_small_stack_and_deeper_ones_are_rejected() {
    let test = || {
        for nested in [nested_compounds, nested_lists] {
            let bytes = nested(512);
            let nbt = read(&bytes, false).unwrap().unwrap();
            assert_eq!(written(&nbt), bytes);
            assert_eq!(nbt.clone(), nbt);
            nbt.write_json(&mut Vec::new());
            assert_eq!(read(&nested(513), false), Err(WireError::Depth(512)));
            assert_eq!(read(&nested(100_000), false), Err(WireError::Depth(512)));
        }
    };
    thread::Builder::new().stack_size(1 << 20).spawn(test).unwrap().join().unwrap();
}

/// Converts a tree of `fastnbt`.
fn oracle(tag: &Tag) -> Value {
    let text = |raw: &Bytes| simd_cesu8::mutf8::decode(raw).unwrap().into_owned();
    match tag {
        Tag::Byte(value) => Value::Byte(*value),
        Tag::Short(value) => Value::Short(*value),
        Tag::Int(value) => Value::Int(*value),
        Tag::Long(value) => Value::Long(*value),
        Tag::Float(value) => Value::Float(*value),
        Tag::Double(value) => Value::Double(*value),
        Tag::ByteArray(bytes) => Value::ByteArray(fastnbt::ByteArray::new(
            bytes.iter().map(|byte| byte.cast_signed()).collect(),
        )),
        Tag::Text(raw) => Value::String(text(raw)),
        Tag::List(list) => Value::List(list.items.iter().map(oracle).collect()),
        Tag::Compound(compound) => Value::Compound(
            compound.entries.iter().map(|(key, tag)| (text(key), oracle(tag))).collect(),
        ),
        Tag::IntArray(ints) => Value::IntArray(fastnbt::IntArray::new(ints.clone())),
        Tag::LongArray(longs) => Value::LongArray(fastnbt::LongArray::new(longs.clone())),
    }
}

proptest! {
    #[test]
    fn every_tree_round_trips_and_skip_ends_where_read_ends(nbt in documents(Content::Any), rest: u8) {
        let named = nbt.name.is_some();
        let mut bytes = written(&nbt);
        let end = bytes.len();
        bytes.push(rest);
        let mut reader = Reader::new(&bytes);
        let back = Nbt::read(&mut reader, named).unwrap().unwrap();
        prop_assert_eq!(reader.position(), end);
        prop_assert_eq!(written(&back), &bytes[..end]);
        let mut skipper = Reader::new(&bytes);
        Nbt::skip(&mut skipper, named).unwrap();
        prop_assert_eq!(skipper.position(), end);
        for cut in 0..end {
            prop_assert!(read(&bytes[..cut], named).unwrap_err().is_incomplete());
        }
    }

    #[test]
    fn any_bytes_read_and_skip_alike(
        bytes in vec(prop_oneof![3 => Just(0), 3 => 0..14u8, 1 => any::<u8>()], 0..80),
        named: bool,
    ) {
        let (mut reader, mut skipper) = (Reader::new(&bytes), Reader::new(&bytes));
        let read = Nbt::read(&mut reader, named);
        let skipped = Nbt::skip(&mut skipper, named);
        prop_assert_eq!(reader.position(), skipper.position());
        prop_assert_eq!(read.as_ref().err(), skipped.as_ref().err());
        match read {
            Ok(Some(nbt)) => prop_assert_eq!(written(&nbt), reader.since(0)),
            Ok(None) => prop_assert_eq!(reader.since(0), &[0][..]),
            Err(_) => prop_assert_eq!(reader.position(), 0),
        }
    }

    #[test]
    fn fastnbt_reads_what_is_written(root in compounds(Content::Plain, tags(Content::Plain))) {
        let root = Tag::Compound(root);
        let named = written(&Nbt { name: Some(Bytes::new()), root: root.clone() });
        prop_assert_eq!(fastnbt::from_bytes::<Value>(&named).unwrap(), oracle(&root));
        let network = written(&Nbt { name: None, root: root.clone() });
        let options = fastnbt::DeOpts::network_nbt();
        let read: HashMap<String, Value> = fastnbt::from_bytes_with_opts(&network, options).unwrap();
        prop_assert_eq!(Value::Compound(read), oracle(&root));
    }

    #[test]
    fn reads_what_fastnbt_writes(root in compounds(Content::Plain, tags(Content::Plain))) {
        let value = oracle(&Tag::Compound(root));
        let bytes = fastnbt::to_bytes(&value).unwrap();
        let nbt = read(&bytes, true).unwrap().unwrap();
        prop_assert_eq!(oracle(&nbt.root), value);
        prop_assert_eq!(written(&nbt), bytes);
    }
}
