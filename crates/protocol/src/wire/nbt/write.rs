use bytes::Bytes;

use super::{Compound, List, MAX_TEXT, Nbt, Tag, TagType};

impl Nbt {
    /// Appends the document: the type of its root, the root's name if it has one, and the payload.
    ///
    /// A document from [`Nbt::read`] is written as the bytes that were read. A tree built in memory
    /// may hold what NBT cannot express: names and strings are truncated at 65,535 bytes, and a
    /// list with items of several types is written as bytes that do not read back.
    ///
    /// # Panics
    /// If a list or array has more than `i32::MAX` elements.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.root.tag_type().id());
        if let Some(name) = &self.name {
            write_text(out, name);
        }
        self.root.write(out);
    }

    /// Appends an absent document: a single `0x00`.
    pub fn write_absent(out: &mut Vec<u8>) {
        out.push(TagType::End.id());
    }
}

impl Tag {
    /// Appends the payload of the tag.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Byte(value) => out.extend(value.to_be_bytes()),
            Self::Short(value) => out.extend(value.to_be_bytes()),
            Self::Int(value) => out.extend(value.to_be_bytes()),
            Self::Long(value) => out.extend(value.to_be_bytes()),
            Self::Float(value) => out.extend(value.to_be_bytes()),
            Self::Double(value) => out.extend(value.to_be_bytes()),
            Self::ByteArray(bytes) => {
                write_count(out, bytes.len());
                out.extend_from_slice(bytes);
            }
            Self::Text(text) => write_text(out, text),
            Self::List(list) => list.write(out),
            Self::Compound(compound) => compound.write(out),
            Self::IntArray(ints) => {
                write_count(out, ints.len());
                out.reserve(4 * ints.len());
                for int in ints {
                    out.extend_from_slice(&int.to_be_bytes());
                }
            }
            Self::LongArray(longs) => {
                write_count(out, longs.len());
                out.reserve(8 * longs.len());
                for long in longs {
                    out.extend_from_slice(&long.to_be_bytes());
                }
            }
        }
    }
}

impl List {
    fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(self.items.iter().all(|item| item.tag_type() == self.element));
        out.push(self.element.id());
        if self.items.is_empty() {
            out.extend(self.empty_count.to_be_bytes());
            return;
        }
        write_count(out, self.items.len());
        for item in &self.items {
            item.write(out);
        }
    }
}

impl Compound {
    fn write(&self, out: &mut Vec<u8>) {
        for (name, tag) in &self.entries {
            out.push(tag.tag_type().id());
            write_text(out, name);
            tag.write(out);
        }
        out.push(TagType::End.id());
    }
}

fn write_count(out: &mut Vec<u8>, count: usize) {
    let count = i32::try_from(count).expect("NBT counts with an int");
    out.extend(count.to_be_bytes());
}

fn write_text(out: &mut Vec<u8>, text: &Bytes) {
    let text = &text[..text.len().min(MAX_TEXT)];
    out.extend((text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}
