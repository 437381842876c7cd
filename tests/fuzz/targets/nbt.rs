//! NBT: binary and JSON, in both directions.

use bytes::Bytes as Shared;
use mitmcraft_protocol::wire::{Compound, List, Nbt, Reader, Tag, TagType};
use serde_json::Value as Json;

use super::Features;
use super::bytes::Bytes;

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let mut input = Bytes(input);
    let options = input.u8();
    let named = options & 1 != 0;
    let bytes = input.rest();
    if options & 2 != 0 {
        json(bytes, &mut features)
    } else {
        binary(bytes, named, &mut features)
    }
    features
}

fn binary(bytes: &[u8], named: bool, features: &mut Features) {
    let mut reader = Reader::new(bytes);
    let mut skipper = Reader::new(bytes);
    let skipped = Nbt::skip(&mut skipper, named);
    let nbt = match Nbt::read(&mut reader, named) {
        Ok(nbt) => nbt,
        Err(error) => {
            assert_eq!(skipped, Err(error.clone()), "skipping stops where reading does");
            return features.see(std::mem::discriminant(&error));
        }
    };
    assert_eq!((skipped, skipper.position()), (Ok(()), reader.position()));
    let consumed = &bytes[..reader.position()];
    let Some(nbt) = nbt else {
        assert_eq!(consumed, [0]);
        return;
    };
    see(&nbt.root, features);
    let mut written = Vec::new();
    nbt.write(&mut written);
    assert_eq!(written, consumed, "{nbt:?}");
    if let Some(back) = through_json(&nbt) {
        let mut again = Vec::new();
        back.write(&mut again);
        assert_eq!(again, written, "{nbt:?}");
    }
}

fn json(bytes: &[u8], features: &mut Features) {
    let Ok(json) = serde_json::from_slice::<Json>(bytes) else { return features.see("no JSON") };
    let nbt = match Nbt::from_json(&json) {
        Ok(nbt) => nbt,
        Err(error) => return features.see(std::mem::discriminant(&error)),
    };
    see(&nbt.root, features);
    let mut written = Vec::new();
    nbt.write(&mut written);
    let mut reader = Reader::new(&written);
    let read = Nbt::read(&mut reader, nbt.name.is_some()).unwrap().unwrap();
    assert!(reader.is_empty());
    let mut again = Vec::new();
    read.write(&mut again);
    assert_eq!(again, written, "{json}");
    if let Some(back) = through_json(&nbt) {
        again.clear();
        back.write(&mut again);
        assert_eq!(again, written, "{json}");
    }
}

/// Writes JSON and reads it; `None` if it is too deep for the JSON parser.
fn through_json(nbt: &Nbt) -> Option<Nbt> {
    let mut text = Vec::new();
    nbt.write_json(&mut text);
    let json: Json = match serde_json::from_slice(&text) {
        Ok(json) => json,
        Err(error) if error.to_string().contains("recursion limit") => return None,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&text)),
    };
    let back = Nbt::from_json(&json);
    Some(back.unwrap_or_else(|error| panic!("{error}: {json}")))
}

fn see(tag: &Tag, features: &mut Features) {
    features.see(tag.tag_type().id());
    match tag {
        Tag::List(list) => {
            features.see((list.element.id(), list.items.len().min(2)));
            list.items.iter().take(4).for_each(|item| see(item, features));
        }
        Tag::Compound(compound) => {
            compound.entries.iter().take(8).for_each(|(_, tag)| see(tag, features));
        }
        Tag::Text(text) => features.see(str::from_utf8(text).is_ok()),
        _ => {}
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let text = |text: &'static str| Shared::from_static(text.as_bytes());
    let all = Compound {
        entries: vec![
            (text("byte"), Tag::Byte(-1)),
            (text("short"), Tag::Short(300)),
            (text("int"), Tag::Int(-70_000)),
            (text("long"), Tag::Long(i64::MIN)),
            (text("float"), Tag::Float(1.5)),
            (text("double"), Tag::Double(f64::INFINITY)),
            (text("bytes"), Tag::ByteArray(Shared::from_static(b"\x00\xff"))),
            (text("text"), Tag::text("a\u{1f600}\0")),
            (text("ints"), Tag::IntArray(vec![1, -1])),
            (text("longs"), Tag::LongArray(vec![i64::MAX])),
            (text("list"), Tag::List(List::new(TagType::Int, vec![Tag::Int(1), Tag::Int(2)]))),
            (text("empty"), Tag::List(List::new(TagType::End, Vec::new()))),
            (
                text("lists"),
                Tag::List(List::new(
                    TagType::List,
                    vec![Tag::List(List::new(TagType::Byte, vec![Tag::Byte(1)]))],
                )),
            ),
            (
                text("compounds"),
                Tag::List(List::new(TagType::Compound, vec![Tag::Compound(Compound::default())])),
            ),
        ],
    };
    let mut seeds = vec![vec![0, 0], vec![1, 0], [&[0][..], &[9; 600]].concat()];
    for (options, name) in [(0, None), (1, Some(text("root")))] {
        let mut roots: Vec<Tag> = all.entries.iter().map(|(_, tag)| tag.clone()).collect();
        roots.push(Tag::Compound(all.clone()));
        for root in roots {
            let nbt = Nbt { name: name.clone(), root };
            let mut bytes = vec![options];
            nbt.write(&mut bytes);
            seeds.push(bytes);
            let mut bytes = vec![options | 2];
            nbt.write_json(&mut bytes);
            seeds.push(bytes);
        }
    }
    for depth in [3, 40, 511, 512, 600] {
        let ends = vec![0; depth + 1];
        seeds.push([&[0, 10][..], &[10, 0, 1, b'a'].repeat(depth), &ends].concat());
    }
    seeds
}

pub const WORDS: &[&str] = &[
    "\"type\"",
    "\"value\"",
    "\"name\"",
    "\"count\"",
    "\"base64\"",
    "\"compound\"",
    "\"list\"",
    "\"end\"",
    "\"byteArray\"",
    "\"NaN\"",
    "\"Infinity\"",
    "\u{7f}\u{c0}\u{0}",
    "[]",
    "{}",
];
