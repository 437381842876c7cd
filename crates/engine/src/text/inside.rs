//! Prints what is inside fields that are compressed or hold NBT.

use std::fmt::Write as _;
use std::iter::repeat_n;
use std::ops::Range;

use bytes::Bytes;

use super::escape::{Escaped, Quoted};
use super::paint::{Color, Paint};
use super::plural::count;
use super::scalar::ByteSize;
use mitmcraft_protocol::codec::Inflater;
use mitmcraft_protocol::meaning::FieldTracker;
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
    let tags = count(tags(&nbt.root) as u64, "tag");
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

/// Appends one line per tag, indented by `depth` levels, with the names that `tracker` knows.
pub(super) fn write_nbt(
    out: &mut String,
    nbt: &Nbt,
    depth: usize,
    paint: Paint,
    tracker: &FieldTracker,
) {
    let mut tree = NbtTree { out, paint, tracker, list: None };
    let name = nbt.name.as_ref().filter(|name| !name.is_empty());
    match (&nbt.root, name) {
        (Tag::Compound(compound), None) => {
            for (name, tag) in &compound.entries {
                tree.write_tag(&text(name), tag, depth);
            }
        }
        (root, name) => {
            let name = name.map_or_else(|| "(root)".to_owned(), text);
            tree.write_tag(&name, root, depth);
        }
    }
}

/// Writes NBT as a tree.
struct NbtTree<'o> {
    out: &'o mut String,
    paint: Paint,
    tracker: &'o FieldTracker,
    /// The name of the innermost list that has one.
    list: Option<String>,
}

impl NbtTree<'_> {
    fn write_tag(&mut self, name: &str, tag: &Tag, depth: usize) {
        self.out.extend(repeat_n("    ", depth));
        let label = format!("{} ({}):", Escaped(name), tag.tag_type().name());
        self.paint.text(self.out, Color::Dim, &label);
        if let Some(number) = tag.as_int() {
            let _ = write!(self.out, " {number}");
            if let Some(meaning) = self.tracker.tag(self.list.as_deref(), name, number) {
                let _ = write!(self.out, " ({})", Escaped(meaning));
            }
            self.out.push('\n');
            return;
        }
        // Writing to a string does not fail.
        let _ = match tag {
            Tag::Byte(_) | Tag::Short(_) | Tag::Int(_) | Tag::Long(_) => Ok(()),
            Tag::Float(value) => writeln!(self.out, " {value:?}"),
            Tag::Double(value) => writeln!(self.out, " {value:?}"),
            Tag::Text(value) => writeln!(self.out, " {}", Quoted(&text(value), usize::MAX)),
            Tag::ByteArray(bytes) => {
                let signed: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
                writeln!(self.out, " {signed:?}")
            }
            Tag::IntArray(ints) => writeln!(self.out, " {ints:?}"),
            Tag::LongArray(longs) => writeln!(self.out, " {longs:?}"),
            Tag::List(list) => {
                let _ = writeln!(self.out, " {} of {}", list.items.len(), list.element.name());
                let outer = self.list.replace(name.to_owned());
                for (index, item) in list.items.iter().enumerate() {
                    self.write_tag(&format!("[{index}]"), item, depth + 1);
                }
                self.list = outer;
                Ok(())
            }
            Tag::Compound(compound) => {
                self.out.push('\n');
                for (name, tag) in &compound.entries {
                    self.write_tag(&text(name), tag, depth + 1);
                }
                Ok(())
            }
        };
    }
}

/// Returns the range of each tag in a document as it is written, in the order of the lines of [`write_nbt`]: its type,
/// its name, unless it is an element of a list, and its content.
pub(super) fn nbt_spans(nbt: &Nbt) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let start = 1 + nbt.name.as_ref().map_or(0, |name| 2 + name.len());
    match (&nbt.root, nbt.name.as_ref().filter(|name| !name.is_empty())) {
        (Tag::Compound(_), None) => {
            add_spans(&mut spans, &nbt.root, start);
        }
        (root, _) => {
            spans.push(0..0);
            let end = add_spans(&mut spans, root, start);
            spans[0] = 0..end;
        }
    }
    spans
}

/// Adds the ranges of the tags in `tag`, whose content begins at `at`. Returns where that ends.
fn add_spans(spans: &mut Vec<Range<usize>>, tag: &Tag, at: usize) -> usize {
    let mut add = |tag: &Tag, start: usize, at: usize| {
        let place = spans.len();
        spans.push(0..0);
        let end = add_spans(spans, tag, at);
        spans[place] = start..end;
        end
    };
    match tag {
        Tag::Byte(_) => at + 1,
        Tag::Short(_) => at + 2,
        Tag::Int(_) | Tag::Float(_) => at + 4,
        Tag::Long(_) | Tag::Double(_) => at + 8,
        Tag::Text(text) => at + 2 + text.len(),
        Tag::ByteArray(bytes) => at + 4 + bytes.len(),
        Tag::IntArray(ints) => at + 4 + 4 * ints.len(),
        Tag::LongArray(longs) => at + 4 + 8 * longs.len(),
        Tag::List(list) => list.items.iter().fold(at + 5, |at, item| add(item, at, at)),
        Tag::Compound(compound) => {
            let entries = compound.entries.iter();
            1 + entries.fold(at, |at, (name, tag)| add(tag, at, at + 3 + name.len()))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::wire::Reader;

    #[test]
    fn the_range_of_a_tag_has_its_type_name_and_content() {
        let json = serde_json::json!({ "type": "compound", "name": "", "value": {
            "byte": { "type": "byte", "value": 1 },
            "text": { "type": "string", "value": "é!" },
            "list": { "type": "list", "value": { "type": "compound", "value": [
                { "a": { "type": "intArray", "value": [1, 2] } },
                { "b": { "type": "long", "value": 7 } },
            ] } },
            "empty": { "type": "list", "value": { "type": "end", "value": [] } },
            "bytes": { "type": "byteArray", "value": [1, 2, 3] },
            "last": { "type": "double", "value": 0.5 },
        } });
        for name in [None, Some(""), Some("root")] {
            let mut nbt = Nbt::from_json(&json).unwrap();
            nbt.name = name.map(|name| Bytes::copy_from_slice(name.as_bytes()));
            let (mut bytes, mut lines) = (Vec::new(), String::new());
            nbt.write(&mut bytes);
            write_nbt(&mut lines, &nbt, 0, Paint(false), &FieldTracker::default());
            let spans = nbt_spans(&nbt);
            assert_eq!(spans.len(), lines.lines().count(), "{lines}");
            for (line, span) in lines.lines().zip(spans) {
                let line = line.trim_start();
                let bytes = &bytes[span];
                if line.starts_with('[') {
                    // An element, a compound of one entry: that and its end.
                    assert!(bytes.ends_with(&[0]) && bytes[3..].len() > 4, "{line} {bytes:x?}");
                    continue;
                }
                let (name, _) = line.split_once(" (").unwrap();
                // The tag alone is a document.
                let read = Nbt::read(&mut Reader::new(bytes), true).unwrap().unwrap();
                assert_eq!(read.name.as_ref().map(text).unwrap(), name, "{line}");
            }
        }
    }
}
