use bytes::Bytes;

use super::{Compound, List, MAX_COUNT, MAX_DEPTH, Nbt, Tag, TagType};
use crate::wire::{Reader, WireError};

impl Nbt {
    /// Reads one document. `named` tells whether its root has a name. Returns `None` for an absent
    /// document, a single `0x00`. The bytes are copied once and shared by all names and strings.
    ///
    /// # Errors
    /// [`WireError::Incomplete`] if the input ends early, [`WireError::TagType`] for a tag type
    /// above 12, [`WireError::Length`] for a negative array length or a list of type `end` with
    /// items, [`WireError::Depth`] if more than 512 compounds and lists are nested. The reader then
    /// stays where it was.
    pub fn read(reader: &mut Reader<'_>, named: bool) -> Result<Option<Self>, WireError> {
        let start = reader.position();
        Self::skip(reader, named)?;
        let source = Bytes::copy_from_slice(reader.since(start));
        let mut builder = Builder { reader: Reader::new(&source), source: &source };
        let kind = builder.tag_type()?;
        if kind == TagType::End {
            return Ok(None);
        }
        let name = if named { Some(builder.text()?) } else { None };
        Ok(Some(Self { name, root: builder.tag(kind)? }))
    }

    /// Finds the end of one document without allocating.
    ///
    /// # Errors
    /// The errors of [`Nbt::read`].
    pub fn skip(reader: &mut Reader<'_>, named: bool) -> Result<(), WireError> {
        let mut ahead = *reader;
        let kind = TagType::new(ahead.u8()?)?;
        if named && kind != TagType::End {
            take_text(&mut ahead)?;
        }
        skip_payload(&mut ahead, kind, 0)?;
        *reader = ahead;
        Ok(())
    }
}

/// Skips the payload of a tag inside `depth` compounds and lists.
///
/// Every level puts a frame of this function and one of `skip_list` or `skip_compound` on the
/// stack, in unoptimised builds too; code that needs stack space is therefore in separate
/// functions.
fn skip_payload(reader: &mut Reader<'_>, kind: TagType, depth: usize) -> Result<(), WireError> {
    match kind {
        TagType::List => skip_list(reader, depth),
        TagType::Compound => skip_compound(reader, depth),
        _ => skip_leaf(reader, kind),
    }
}

fn skip_list(reader: &mut Reader<'_>, depth: usize) -> Result<(), WireError> {
    check_depth(depth)?;
    let ListHead { element, items, .. } = ListHead::read(reader)?;
    if let Some(size) = element.fixed_size() {
        return reader.take(items.saturating_mul(size)).map(drop);
    }
    for _ in 0..items {
        skip_payload(reader, element, depth + 1)?;
    }
    Ok(())
}

fn skip_compound(reader: &mut Reader<'_>, depth: usize) -> Result<(), WireError> {
    check_depth(depth)?;
    while let Some(kind) = skip_name(reader)? {
        skip_payload(reader, kind, depth + 1)?;
    }
    Ok(())
}

/// Skips the type and name of a tag; returns `None` at the end of the compound.
fn skip_name(reader: &mut Reader<'_>) -> Result<Option<TagType>, WireError> {
    let kind = TagType::new(reader.u8()?)?;
    if kind == TagType::End {
        return Ok(None);
    }
    take_text(reader)?;
    Ok(Some(kind))
}

fn skip_leaf(reader: &mut Reader<'_>, kind: TagType) -> Result<(), WireError> {
    match kind {
        TagType::ByteArray => take_array(reader, 1)?,
        TagType::IntArray => take_array(reader, 4)?,
        TagType::LongArray => take_array(reader, 8)?,
        TagType::Text => take_text(reader)?,
        _ => reader.take(kind.min_size())?,
    };
    Ok(())
}

fn check_depth(around: usize) -> Result<(), WireError> {
    if around >= MAX_DEPTH { Err(WireError::Depth(MAX_DEPTH)) } else { Ok(()) }
}

/// Builds the tree from bytes that [`Nbt::skip`] has validated: depth needs no check, and no count
/// exceeds the bytes that follow it.
struct Builder<'a> {
    reader: Reader<'a>,
    /// The bytes that `reader` reads.
    source: &'a Bytes,
}

// Functions are small because every level puts a frame of `tag` and one of `list` or `compound` on
// the stack, in unoptimised builds too.
impl Builder<'_> {
    fn tag(&mut self, kind: TagType) -> Result<Tag, WireError> {
        match kind {
            TagType::List => self.list(),
            TagType::Compound => self.compound(),
            _ => self.leaf(kind),
        }
    }

    fn list(&mut self) -> Result<Tag, WireError> {
        let ListHead { element, items: count, empty_count } = ListHead::read(&mut self.reader)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(self.tag(element)?);
        }
        Ok(Tag::List(List { element, items, empty_count }))
    }

    fn compound(&mut self) -> Result<Tag, WireError> {
        let mut entries = Vec::new();
        loop {
            let kind = self.tag_type()?;
            if kind == TagType::End {
                return Ok(Tag::Compound(Compound { entries }));
            }
            entries.push((self.text()?, self.tag(kind)?));
        }
    }

    fn leaf(&mut self, kind: TagType) -> Result<Tag, WireError> {
        let reader = &mut self.reader;
        Ok(match kind {
            TagType::Byte => Tag::Byte(reader.array().map(i8::from_be_bytes)?),
            TagType::Short => Tag::Short(reader.array().map(i16::from_be_bytes)?),
            TagType::Int => Tag::Int(reader.i32()?),
            TagType::Long => Tag::Long(reader.i64()?),
            TagType::Float => Tag::Float(reader.array().map(f32::from_be_bytes)?),
            TagType::Double => Tag::Double(reader.array().map(f64::from_be_bytes)?),
            TagType::ByteArray => {
                let bytes = take_array(reader, 1)?;
                Tag::ByteArray(self.source.slice_ref(bytes))
            }
            TagType::Text => Tag::Text(self.text()?),
            TagType::IntArray => {
                let (ints, _) = take_array(reader, 4)?.as_chunks();
                Tag::IntArray(ints.iter().copied().map(i32::from_be_bytes).collect())
            }
            TagType::LongArray => {
                let (longs, _) = take_array(reader, 8)?.as_chunks();
                Tag::LongArray(longs.iter().copied().map(i64::from_be_bytes).collect())
            }
            TagType::End | TagType::List | TagType::Compound => {
                return Err(WireError::TagType(kind.id()));
            }
        })
    }

    fn tag_type(&mut self) -> Result<TagType, WireError> {
        TagType::new(self.reader.u8()?)
    }

    fn text(&mut self) -> Result<Bytes, WireError> {
        take_text(&mut self.reader).map(|text| self.source.slice_ref(text))
    }
}

/// The element type and count in front of the items of a list.
struct ListHead {
    element: TagType,
    /// Number of items that follow. The remaining input holds at least their shortest forms.
    items: usize,
    /// The count on the wire if it is not positive, else 0.
    empty_count: i32,
}

impl ListHead {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let element = TagType::new(reader.u8()?)?;
        let count = reader.i32()?;
        let items = usize::try_from(count).unwrap_or(0);
        if element == TagType::End && items > 0 {
            return Err(WireError::Length {
                what: "length of an NBT list of ends",
                length: count.into(),
                limit: 0,
            });
        }
        let (needed, left) = (items.saturating_mul(element.min_size()), reader.left());
        if needed > left {
            return Err(WireError::Incomplete { needed, left });
        }
        Ok(Self { element, items, empty_count: count.min(0) })
    }
}

/// Consumes the length and elements of an array with `size` bytes per element; returns the
/// elements.
fn take_array<'a>(reader: &mut Reader<'a>, size: usize) -> Result<&'a [u8], WireError> {
    let length = reader.i32()?;
    let count = usize::try_from(length).map_err(|_| WireError::Length {
        what: "NBT array length",
        length: length.into(),
        limit: MAX_COUNT,
    })?;
    reader.take(count.saturating_mul(size))
}

/// Consumes the length and bytes of a name or string; returns the bytes.
fn take_text<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    let length = reader.u16()?;
    reader.take(length.into())
}
