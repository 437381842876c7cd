use std::ops::ControlFlow;

use super::number::{Number, read_int};
use super::scope::{FieldValue, FrameMark, Scope, bit_value};
use super::stop::{Stop, fault};
use super::types::{Bits, Count, Field, Path, Type, TypeId};
use super::vec3;
use super::{DecodeCause, DecodeError, Flow, Leaf, Name, Scalar, Visitor};
use crate::wire::{Nbt, Reader, WireError};

mod length;
mod sized;
mod text;

/// A single pass over a packet that reads it by the type tree and reports each part to the visitor.
pub(super) struct Walk<'a, 'v, V: ?Sized> {
    types: &'a [Type],
    /// Lower bound of each type's size in bytes.
    sizes: &'a [u32],
    reader: Reader<'a>,
    scope: Scope<'a>,
    /// Levels of nesting that are still allowed.
    depth: usize,
    /// Elements of zero size that are still allowed.
    empty: usize,
    /// Fields of containers that are still allowed.
    fields: usize,
    /// Offset of a byte whose bit 7 belongs to a list and not to the value.
    mask_at: Option<usize>,
    /// `true` if other packets may follow in the same bytes, so that their number says nothing.
    in_stream: bool,
    /// `true` within a value that has its length in front of it.
    in_sized: bool,
    visitor: &'v mut V,
}

type Walked<T> = Result<T, Stop>;

impl<'a, 'v, V: Visitor + ?Sized> Walk<'a, 'v, V> {
    pub(super) fn new(
        types: &'a [Type],
        sizes: &'a [u32],
        reader: Reader<'a>,
        visitor: &'v mut V,
    ) -> Self {
        Self {
            types,
            sizes,
            reader,
            scope: Scope::new(),
            depth: MAX_DEPTH,
            empty: MAX_EMPTY_ELEMENTS,
            fields: max_fields(reader.left()),
            mask_at: None,
            in_stream: false,
            in_sized: false,
            visitor,
        }
    }

    /// Walks a packet that others may follow.
    pub(super) fn in_stream(self) -> Self {
        Self { in_stream: true, ..self }
    }

    /// Walks the root and returns the offset after it.
    pub(super) fn run(mut self, root: TypeId) -> Walked<usize> {
        self.value(root, FrameMark::default(), false)?;
        Ok(self.reader.position())
    }

    /// Walks one value. `inside` is true if its fields are merged into the surrounding container.
    fn value(&mut self, id: TypeId, mark: FrameMark, inside: bool) -> Walked<FieldValue<'a>> {
        let at = self.reader.position();
        if self.depth == 0 {
            return Err(fault(at, DecodeCause::Depth(MAX_DEPTH)));
        }
        self.depth -= 1;
        let seen = self.typed(id, mark, inside, at)?;
        self.depth += 1;
        Ok(seen)
    }

    fn typed(
        &mut self,
        id: TypeId,
        mark: FrameMark,
        inside: bool,
        at: usize,
    ) -> Walked<FieldValue<'a>> {
        let types = self.types;
        match &types[id.0 as usize] {
            Type::Void => {
                if !inside {
                    self.leaf(Scalar::Absent, at, true)?;
                }
                return Ok(FieldValue::Absent);
            }
            Type::Bool => {
                let byte = self.read(at, Reader::u8)?;
                self.leaf(Scalar::Bool(byte != 0), at, byte <= 1)?;
                return Ok(FieldValue::Bool(byte != 0));
            }
            Type::Int(_) | Type::VarInt | Type::VarLong => {
                let (number, canonical) = self.integer(id, at)?;
                self.leaf(number.scalar(), at, canonical)?;
                return Ok(number.seen());
            }
            Type::F32 => {
                let float = f32::from_be_bytes(self.read(at, Reader::array)?);
                self.leaf(Scalar::Float32(float), at, true)?;
            }
            Type::F64 => {
                let float = f64::from_be_bytes(self.read(at, Reader::array)?);
                self.leaf(Scalar::Float64(float), at, true)?;
            }
            Type::Uuid => {
                let uuid = u128::from_be_bytes(self.read(at, Reader::array)?);
                self.leaf(Scalar::Uuid(uuid), at, true)?;
            }
            Type::Text { count, encoding } => return self.text(count, *encoding, mark, at),
            Type::Terminated(encoding) => return self.terminated(*encoding, at),
            Type::Buffer(count) => {
                let (count, canonical) = match self.forge_length(count) {
                    Some(length) => (length, false),
                    None => self.count(count, 1, mark, at)?,
                };
                let bytes = self.read(at, |reader| reader.take(count))?;
                self.leaf(Scalar::Bytes(bytes), at, canonical)?;
            }
            Type::Sized { count, of } => self.sized(count, *of, mark, at)?,
            Type::Rest => {
                let bytes = self.reader.take_rest();
                self.leaf(Scalar::Bytes(bytes), at, true)?;
            }
            Type::RestText => return self.rest_text(at),
            Type::Between(marks) => return self.between(marks, at),
            Type::RestTexts => self.rest_texts(at)?,
            Type::Container(fields) => self.container(fields, mark, inside, at)?,
            Type::Switch(switch) => {
                let value = self.scope.find(&switch.on, mark, types);
                let case = switch.case(value);
                let case = case.ok_or_else(|| self.unknown(&switch.on, value, mark, at))?;
                return self.value(case, mark, inside);
            }
            Type::Array { count, element } => self.array(count, *element, mark, at)?,
            Type::Option(some) => return self.option(*some, mark, at),
            Type::IfMore { some, starts, exactly, otherwise } => {
                let rest = self.reader.rest();
                if *exactly == Some(rest.len()) && !self.in_stream {
                    let (number, _) = self.integer(*some, at)?;
                    self.leaf(number.scalar(), at, false)?;
                    return Ok(number.seen());
                }
                if exactly.is_none() && !rest.is_empty() && rest.starts_with(starts) {
                    return self.value(*some, mark, inside);
                }
                if let Some(otherwise) = otherwise {
                    return self.value(*otherwise, mark, inside);
                }
                if !inside {
                    self.leaf(Scalar::Absent, at, true)?;
                }
            }
            Type::Bitfield(bits) => return self.bitfield(id, bits, inside, at),
            Type::Flags { base, flags } => return self.flags(id, *base, flags, at),
            Type::Mapper { base, names } => {
                let (number, canonical) = self.integer(*base, at)?;
                let Number::Int(int) = number else {
                    self.leaf(number.scalar(), at, canonical)?;
                    return Ok(number.seen());
                };
                let Some(name) = names.name(int) else {
                    self.leaf(number.scalar(), at, canonical)?;
                    return Ok(number.seen());
                };
                self.leaf(Scalar::Name(name, int), at, canonical)?;
                return Ok(FieldValue::Name(name));
            }
            Type::TextForms(forms) => self.text_forms(forms, mark, inside, at)?,
            Type::CountFor { base, .. } | Type::RestLength { base } => {
                let (number, canonical) = self.integer(*base, at)?;
                self.leaf(number.scalar(), at, canonical)?;
                return Ok(number.seen());
            }
            Type::Nbt { named } => {
                self.read(at, |reader| Nbt::skip(reader, *named))?;
                let bytes = self.reader.since(at);
                let scalar = match bytes {
                    [0] => Scalar::Absent,
                    _ => Scalar::Nbt { bytes, named: *named },
                };
                self.leaf(scalar, at, true)?;
            }
            Type::CompressedNbt { unsigned } => {
                let length = self.read(at, Reader::u16)?;
                let length =
                    if *unsigned { i32::from(length) } else { length.cast_signed().into() };
                let scalar = match usize::try_from(length) {
                    Ok(length) => {
                        Scalar::CompressedNbt(self.read(at, |reader| reader.take(length))?)
                    }
                    Err(_) => Scalar::Absent,
                };
                self.leaf(scalar, at, length == -1)?;
            }
            Type::Metadata { end, element } => self.metadata(*end, *element, mark, at)?,
            Type::TopBit(element) => self.top_bit(*element, mark, at)?,
            Type::Holder { base, inline } => {
                let number = self.holder_number(at)?;
                self.open_map(at)?;
                match number {
                    Some(reference) => {
                        self.member(base)?;
                        self.leaf(Scalar::Int(reference), at, true)?;
                    }
                    None => self.named(&inline.name, inline.ty, mark)?,
                }
                self.close()?;
            }
            Type::HolderSet { base, entries } => {
                let number = self.holder_number(at)?;
                self.open_map(at)?;
                match number {
                    None => self.named(&base.name, base.ty, mark)?,
                    Some(count) => {
                        self.member(&entries.name)?;
                        let count = self.checked(count, entries.ty, at)?;
                        self.elements(count, entries.ty, mark, at)?;
                    }
                }
                self.close()?;
            }
            Type::Vec3 => self.vec3(at)?,
        }
        Ok(FieldValue::Absent)
    }

    fn container(
        &mut self,
        fields: &'a [Field],
        outer: FrameMark,
        inside: bool,
        at: usize,
    ) -> Walked<()> {
        let Some(left) = self.fields.checked_sub(fields.len()) else {
            return Err(fault(at, DecodeCause::Fields));
        };
        self.fields = left;
        let mark = self.scope.open(outer);
        if !inside {
            self.open_map(at)?;
        }
        for field in fields {
            let at = self.reader.position();
            let seen = match &field.name {
                None => self.value(field.ty, mark, true).map_err(Stop::outside)?,
                Some(name) => {
                    self.member(name)?;
                    let seen = self.value(field.ty, mark, false);
                    seen.map_err(|stop| stop.inside(name).outside())?
                }
            };
            if let Some(symbol) = field.symbol {
                self.scope.see(symbol, seen, at);
            }
        }
        if !inside {
            self.close()?;
        }
        self.scope.close(mark);
        Ok(())
    }

    fn named(&mut self, name: &'a Name, ty: TypeId, mark: FrameMark) -> Walked<()> {
        self.member(name)?;
        self.value(ty, mark, false).map_err(|stop| stop.inside(name))?;
        Ok(())
    }

    fn array(
        &mut self,
        count: &'a Count,
        element: TypeId,
        mark: FrameMark,
        at: usize,
    ) -> Walked<()> {
        let size = self.sizes[element.0 as usize] as usize;
        let (count, canonical) = self.count(count, size, mark, at)?;
        if !canonical {
            let wire = self.reader.since(at);
            self.visitor.prefix(at, wire);
        }
        self.elements(count, element, mark, at)
    }

    fn elements(
        &mut self,
        count: usize,
        element: TypeId,
        mark: FrameMark,
        at: usize,
    ) -> Walked<()> {
        if let Some(bytes) = self.bytes(count, element)
            && let Some(flow) = self.visitor.byte_list(at, bytes)
        {
            let start = self.reader.position();
            self.read(start, |reader| reader.take(count))?;
            return go(flow);
        }
        go(self.visitor.open_list(at, Some(count)))?;
        for index in 0..count {
            self.element(index, element, mark)?;
        }
        self.close()
    }

    /// Returns the next `count` elements of a list if each is one byte and all are there.
    fn bytes(&self, count: usize, element: TypeId) -> Option<&'a [u8]> {
        let is_byte = matches!(&self.types[element.0 as usize], Type::Int(int) if int.bytes == 1);
        let shared = self.mask_at == Some(self.reader.position());
        let plain = is_byte && !shared && self.depth > 0;
        self.reader.rest().get(..count).filter(|_| plain)
    }

    fn element(&mut self, index: usize, element: TypeId, mark: FrameMark) -> Walked<()> {
        self.value(element, mark, false).map_err(|stop| stop.inside(format_args!("[{index}]")))?;
        Ok(())
    }

    fn option(&mut self, some: TypeId, mark: FrameMark, at: usize) -> Walked<FieldValue<'a>> {
        let byte = self.read(at, Reader::u8)?;
        if byte == 0 {
            self.leaf(Scalar::Absent, at, true)?;
            return Ok(FieldValue::Absent);
        }
        let wire = self.reader.since(at);
        self.visitor.prefix(at, wire);
        self.value(some, mark, false)
    }

    fn bitfield(
        &mut self,
        id: TypeId,
        bits: &'a [Bits],
        inside: bool,
        at: usize,
    ) -> Walked<FieldValue<'a>> {
        let total: u32 = bits.iter().map(|it| it.size).sum();
        let bytes = self.read(at, |reader| reader.take(total as usize / 8))?;
        let raw = bytes.iter().fold(0u64, |raw, byte| raw << 8 | u64::from(*byte));
        let mut left = total;
        if !inside {
            self.open_map(at)?;
        }
        for it in bits {
            left -= it.size;
            let value = bit_value(raw, left, it.size, it.signed);
            self.member(&it.name)?;
            self.leaf(Scalar::Int(value), at, true)?;
            if let Some(symbol) = it.symbol.filter(|_| inside) {
                self.scope.see(symbol, FieldValue::Int(value), at);
            }
        }
        if !inside {
            self.close()?;
        }
        Ok(FieldValue::Bits(raw, id))
    }

    fn flags(
        &mut self,
        id: TypeId,
        base: TypeId,
        flags: &'a [(Name, u64)],
        at: usize,
    ) -> Walked<FieldValue<'a>> {
        let (number, canonical) = self.integer(base, at)?;
        if !canonical {
            let wire = self.reader.since(at);
            self.visitor.prefix(at, wire);
        }
        let raw = number.raw();
        let mut rest = raw & self.width(base);
        self.open_map(at)?;
        for (name, mask) in flags {
            let set = raw & mask == *mask;
            if set {
                rest &= !mask;
            }
            self.member(name)?;
            self.leaf(Scalar::Bool(set), at, true)?;
        }
        if rest != 0 {
            self.member(&super::rest_name())?;
            self.leaf(Number::from_raw(rest).scalar(), at, true)?;
        }
        self.close()?;
        Ok(FieldValue::Bits(raw, id))
    }

    /// Returns the bits that the number of some flags has.
    fn width(&self, base: TypeId) -> u64 {
        match &self.types[base.0 as usize] {
            Type::Int(int) => u64::MAX >> (64 - 8 * u32::from(int.bytes)),
            Type::VarInt => u64::from(u32::MAX),
            _ => u64::MAX,
        }
    }

    fn metadata(&mut self, end: u8, element: TypeId, mark: FrameMark, at: usize) -> Walked<()> {
        go(self.visitor.open_list(at, None))?;
        for index in 0.. {
            if self.reader.peek() == Some(end) {
                break;
            }
            let before = self.reader.position();
            self.element(index, element, mark)?;
            if self.reader.position() == before {
                // The element was empty: only the end of the input can follow.
                self.read(before, Reader::u8)?;
            }
        }
        self.read(at, Reader::u8)?;
        self.close()
    }

    fn top_bit(&mut self, element: TypeId, mark: FrameMark, at: usize) -> Walked<()> {
        go(self.visitor.open_list(at, None))?;
        for index in 0.. {
            let start = self.reader.position();
            let first = self.read(start, |reader| reader.clone().u8())?;
            self.mask_at = Some(start);
            self.element(index, element, mark)?;
            if first & 0x80 == 0 {
                break;
            }
        }
        self.mask_at = None;
        self.close()
    }

    /// Reads the VarInt n of a holder; returns n-1, or `None` for 0.
    fn holder_number(&mut self, at: usize) -> Walked<Option<i64>> {
        let read = self.read(at, Reader::varint)?;
        let wire = self.reader.since(at);
        if !read.is_canonical(wire) {
            self.visitor.prefix(at, wire);
        }
        Ok((read.value != 0).then(|| i64::from(read.value) - 1))
    }

    fn vec3(&mut self, at: usize) -> Walked<()> {
        let vector = self.read(at, vec3::read)?;
        let wire = self.reader.since(at);
        if !vec3::is_canonical(vector, wire) {
            self.visitor.prefix(at, wire);
        }
        self.open_map(at)?;
        for (name, part) in vec3::names().iter().zip(vector) {
            self.member(name)?;
            self.leaf(Scalar::Float64(part), at, true)?;
        }
        self.close()
    }

    /// Returns the error of a value without a layout for what follows, at the field that has it.
    #[cold]
    fn unknown(&self, on: &Path, value: FieldValue<'_>, mark: FrameMark, at: usize) -> Stop {
        let cause = match value {
            FieldValue::Text(text) => {
                let text = String::from_utf8_lossy(text);
                let end = text.char_indices().nth(MAX_SHOWN).map_or(text.len(), |(end, _)| end);
                DecodeCause::UnknownName(text[..end].into())
            }
            FieldValue::Int(int) => DecodeCause::UnknownNumber(int),
            // Known without a case.
            _ => DecodeCause::UnknownName("".into()),
        };
        let at = self.scope.place(on, mark).unwrap_or(at);
        let path = on.text.trim_start_matches("../").replace('/', ".");
        Stop::Unknown(Box::new(DecodeError { at, path, cause }), on.up)
    }

    fn integer(&mut self, id: TypeId, at: usize) -> Walked<(Number, bool)> {
        match &self.types[id.0 as usize] {
            Type::Int(int) => {
                let first = if self.mask_at == Some(at) { 0x7f } else { 0xff };
                Ok((self.read(at, |reader| read_int(reader, *int, first))?, true))
            }
            Type::VarLong => {
                let read = self.read(at, Reader::varlong)?;
                Ok((Number::Int(read.value), read.is_canonical(self.reader.since(at))))
            }
            _ => {
                let read = self.read(at, Reader::varint)?;
                Ok((Number::Int(read.value.into()), read.is_canonical(self.reader.since(at))))
            }
        }
    }

    fn read<T>(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Walked<T> {
        read(&mut self.reader).map_err(|error| fault(at, error.into()))
    }

    fn leaf(&mut self, value: Scalar<'a>, at: usize, canonical: bool) -> Walked<()> {
        go(self.visitor.leaf(&Leaf { value, wire: self.reader.since(at), at, canonical }))
    }

    fn member(&mut self, name: &Name) -> Walked<()> {
        go(self.visitor.field(name))
    }

    fn open_map(&mut self, at: usize) -> Walked<()> {
        go(self.visitor.open_map(at))
    }

    fn close(&mut self) -> Walked<()> {
        go(self.visitor.close(self.reader.position()))
    }
}

fn go(flow: Flow) -> Walked<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Stop::Done),
    }
}

/// Deepest nesting of type nodes. The deepest real packets (recipes of recipes, items in items)
/// stay below a hundred; the stack of a worker thread has room for this many.
const MAX_DEPTH: usize = 400;

/// Elements of zero size in a packet, which the bytes on the wire do not bound: lists of lists
/// whose lengths are elsewhere (recipes of 1.13 to 1.21.1). Real packets have a few thousand.
const MAX_EMPTY_ELEMENTS: usize = 1 << 16;

/// Characters of an unknown name that an error has. No name of the game is as long.
const MAX_SHOWN: usize = 100;

/// Returns the limit of the fields in a packet whose fields take up `bytes` bytes. Containers of
/// containers can have more fields than a packet has bytes, and in a description written by hand
/// more than any computer can read. Real packets stay below ten per byte.
pub(super) fn max_fields(bytes: usize) -> usize {
    FREE_FIELDS.saturating_add(bytes.saturating_mul(32))
}

/// Fields that any packet may have, however small. A description is rejected if all values of a
/// packet have more.
pub(super) const FREE_FIELDS: usize = 1 << 16;
