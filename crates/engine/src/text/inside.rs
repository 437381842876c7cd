//! Prints what is inside fields that are compressed or hold NBT.

use std::fmt::Write as _;

use bytes::Bytes;

use super::escape::{Escaped, Quoted};
use super::paint::{Color, Paint};
use super::scalar::ByteSize;
use mitmcraft_protocol::codec::Inflater;
use mitmcraft_protocol::schema::{Name, Scalar};
use mitmcraft_protocol::wire::{Encoding, Nbt, Tag};

/// Inflates a field whose name says that it is compressed, as that of chunks up to 1.7. Returns `None`
/// for any other field, or if the field is not valid zlib.
pub(super) fn inflated(scalar: &Scalar<'_>, name: Option<&Name>) -> Option<Bytes> {
    let Scalar::Bytes(bytes) = *scalar else { return None };
    let compressed = name.is_some_and(|name| name.starts_with("compressed"));
    let whole = |inflater: &mut Inflater| inflater.whole(bytes, MAX_INFLATED).ok();
    if compressed { Inflater::with(whole) } else { None }
}

/// Appends the size of an NBT tree and its number of tags.
pub(super) fn write_nbt_summary(out: &mut String, scalar: &Scalar<'_>, nbt: &Nbt, width: usize) {
    let tags = match tags(&nbt.root) {
        1 => "1 tag".to_owned(),
        tags => format!("{tags} tags"),
    };
    let mut plain = Vec::new();
    nbt.write(&mut plain);
    let size = ByteSize(plain.len() as u64);
    // Writing to a string does not fail.
    let _ = match scalar {
        Scalar::CompressedNbt(_) => {
            write!(out, "[NBT in gzip, {}: {size} inflated, {tags}]", ByteSize(width as u64))
        }
        _ => write!(out, "[NBT, {size}, {tags}]"),
    };
}

/// Appends one line per tag, indented by `depth` levels.
pub(super) fn write_nbt(out: &mut String, nbt: &Nbt, depth: usize, paint: Paint) {
    let name = nbt.name.as_ref().filter(|name| !name.is_empty());
    match (&nbt.root, name) {
        (Tag::Compound(compound), None) => {
            for (name, tag) in &compound.entries {
                write_tag(out, &text(name), tag, depth, paint);
            }
        }
        (root, name) => {
            let name = name.map_or_else(|| "(root)".to_owned(), text);
            write_tag(out, &name, root, depth, paint);
        }
    }
}

fn write_tag(out: &mut String, name: &str, tag: &Tag, depth: usize, paint: Paint) {
    for _ in 0..depth {
        out.push_str("    ");
    }
    let label = format!("{} ({}):", Escaped(name), tag.tag_type().name());
    paint.text(out, Color::Dim, &label);
    let _ = match tag {
        Tag::Byte(value) => writeln!(out, " {value}"),
        Tag::Short(value) => writeln!(out, " {value}"),
        Tag::Int(value) => writeln!(out, " {value}"),
        Tag::Long(value) => writeln!(out, " {value}"),
        Tag::Float(value) => writeln!(out, " {value:?}"),
        Tag::Double(value) => writeln!(out, " {value:?}"),
        Tag::Text(value) => writeln!(out, " {}", Quoted(&text(value), usize::MAX)),
        Tag::ByteArray(bytes) => {
            let signed: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
            writeln!(out, " {signed:?}")
        }
        Tag::IntArray(ints) => writeln!(out, " {ints:?}"),
        Tag::LongArray(longs) => writeln!(out, " {longs:?}"),
        Tag::List(list) => {
            let _ = writeln!(out, " {} of {}", list.items.len(), list.element.name());
            for (index, item) in list.items.iter().enumerate() {
                write_tag(out, &format!("[{index}]"), item, depth + 1, paint);
            }
            Ok(())
        }
        Tag::Compound(compound) => {
            out.push('\n');
            for (name, tag) in &compound.entries {
                write_tag(out, &text(name), tag, depth + 1, paint);
            }
            Ok(())
        }
    };
}

fn text(bytes: &Bytes) -> String {
    Encoding::ModifiedUtf8.decode_lossy(bytes).into_owned()
}

/// Counts a tag and all tags in it.
fn tags(tag: &Tag) -> usize {
    1 + match tag {
        Tag::List(list) => list.items.iter().map(tags).sum(),
        Tag::Compound(compound) => compound.entries.iter().map(|(_, tag)| tags(tag)).sum(),
        _ => 0,
    }
}

/// Greatest number of bytes to inflate, more than any chunk has.
const MAX_INFLATED: usize = 64 << 20;
