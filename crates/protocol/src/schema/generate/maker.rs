use super::choices::Choices;
use super::wish::Wish;
use super::{Made, Shapes};
use crate::schema::Name;
use crate::schema::number::write_int;
use crate::schema::scope::{FieldValue as Part, bit_part, bit_value};
use crate::schema::types::{Bits, Count, Field, Names, Path, Switch, Symbol, Type, TypeId};
use crate::wire::{Encoding, write_varint, write_varlong};

/// Generates one packet.
pub(super) struct Maker<'a, 'c> {
    shapes: &'a Shapes<'a>,
    pub(super) choices: Choices<'c>,
    /// Fields of the surrounding containers, innermost last.
    frames: Vec<Vec<(Symbol, FieldValue)>>,
    depth: usize,
    /// Whether a value may be one that the version does not have.
    strays: bool,
    pub(super) made: Made,
}

/// The field that a path refers to.
#[derive(Clone)]
enum FieldValue {
    Absent,
    Bool(bool),
    Int(i64),
    Text(Name),
    /// The name of a mapped number.
    Name(Name),
    Bits(u64, TypeId),
}

impl<'a, 'c> Maker<'a, 'c> {
    pub(super) fn new(shapes: &'a Shapes<'a>, choices: Choices<'c>) -> Self {
        let made = Made { bytes: Vec::new(), open: false, unknown: None };
        Self { shapes, choices, frames: Vec::new(), depth: 0, strays: false, made }
    }

    /// Lets values be some that the version does not have, although the layout depends on them.
    #[cfg(test)]
    pub(super) fn straying(self) -> Self {
        Self { strays: true, ..self }
    }

    pub(super) fn run(mut self, root: TypeId) -> Made {
        self.value(root, false, &[]);
        self.made
    }

    fn value(&mut self, id: TypeId, inside: bool, wishes: &[Wish]) -> FieldValue {
        self.depth += 1;
        let known = self.typed(id, inside, wishes);
        self.depth -= 1;
        known
    }

    fn typed(&mut self, id: TypeId, inside: bool, wishes: &[Wish]) -> FieldValue {
        match self.shapes.get(id) {
            Type::Void => {}
            Type::Bool => {
                let odd = self.choices.chance(16);
                let byte = if odd { self.choices.byte() } else { self.choices.byte() & 1 };
                self.made.bytes.push(byte);
                return FieldValue::Bool(byte != 0);
            }
            Type::Int(_)
            | Type::VarInt
            | Type::VarLong
            | Type::CountFor { .. }
            | Type::RestLength { .. } => {
                return self.integer(id, wishes);
            }
            Type::F32 => self.fill(4),
            Type::F64 => self.fill(8),
            Type::Uuid => self.fill(16),
            Type::Text { count, encoding } => return self.text(count, *encoding, wishes),
            Type::Terminated(_) => {
                for _ in 0..self.size() {
                    self.made.bytes.push(self.choices.byte().max(1));
                }
                self.made.bytes.push(0);
            }
            Type::Buffer(count) => {
                let length = self.count(count);
                self.fill(length);
            }
            Type::Sized { count, .. } if self.choices.chance(16) => {
                let length = self.count(count);
                self.fill(length);
            }
            Type::Sized { count, of } => self.sized(count, *of),
            Type::Rest | Type::RestText | Type::RestTexts => {
                self.made.open = true;
                let length = self.size();
                self.fill(length);
            }
            Type::Between(marks) => {
                self.made.open = true;
                self.made.bytes.extend_from_slice(&marks.starts);
                for _ in 0..self.size() {
                    self.made.bytes.push(b'a' + self.choices.byte() % 26);
                }
                if let Some(end) = marks.ends.first().filter(|_| marks.closed) {
                    self.made.bytes.extend_from_slice(end);
                }
            }
            Type::Container(fields) => self.container(id, fields),
            Type::Switch(switch) => {
                let case = self.case(switch);
                return self.value(case.unwrap_or(switch.default), inside, wishes);
            }
            Type::Array { count, element } => {
                for _ in 0..self.count(count) {
                    self.value(*element, false, &[]);
                }
            }
            Type::Option(some) => {
                if self.frugal() || !self.choices.chance(150) {
                    self.made.bytes.push(0);
                    return FieldValue::Absent;
                }
                let byte = if self.choices.chance(16) { self.choices.byte().max(1) } else { 1 };
                self.made.bytes.push(byte);
                return self.value(*some, inside, wishes);
            }
            Type::IfMore { exactly: Some(_), otherwise: Some(otherwise), .. } => {
                return self.value(*otherwise, inside, wishes);
            }
            // Only descriptions before 1.7 contain it; golden files cover those.
            Type::IfMore { .. } | Type::TextForms(_) => {}
            Type::Bitfield(bits) => {
                let total: u32 = bits.iter().map(|it| it.size).sum();
                let start = self.made.bytes.len();
                self.fill(total as usize / 8);
                let bytes = &self.made.bytes[start..];
                let raw = bytes.iter().fold(0u64, |raw, byte| raw << 8 | u64::from(*byte));
                if inside {
                    self.see_bits(bits, raw, total);
                }
                return FieldValue::Bits(raw, id);
            }
            Type::Flags { base, .. } => {
                let FieldValue::Int(raw) = self.integer(*base, wishes) else {
                    return FieldValue::Absent;
                };
                return FieldValue::Bits(raw.cast_unsigned(), id);
            }
            Type::Mapper { base, names } => return self.mapped(*base, names, wishes),
            Type::Nbt { named } => self.nbt(*named),
            Type::CompressedNbt { .. } => self.compressed_nbt(),
            Type::Metadata { end, element } => self.metadata(*end, *element),
            Type::TopBit(element) => self.top_bit(*element),
            Type::Holder { inline, .. } => {
                let inline_cost = self.shapes.height(inline.ty);
                if (self.frugal() && inline_cost > 0) || !self.choices.chance(150) {
                    let reference = 1 + self.choices.below(200) as i64;
                    self.varint(reference as i32);
                } else {
                    self.varint(0);
                    self.value(inline.ty, false, &[]);
                }
            }
            Type::HolderSet { base, entries } => {
                if self.choices.chance(100) {
                    self.varint(0);
                    self.value(base.ty, false, &[]);
                } else {
                    let count = self.size().min(3);
                    self.varint(count as i32 + 1);
                    for _ in 0..count {
                        self.value(entries.ty, false, &[]);
                    }
                }
            }
            Type::Vec3 => {
                let mut bytes = [0; 6];
                bytes.fill_with(|| self.choices.byte());
                let whole = if bytes[0] == 0 { &bytes[..1] } else { &bytes[..] };
                self.made.bytes.extend_from_slice(whole);
                if bytes[0] & 4 != 0 {
                    let scale = self.choices.int(32);
                    self.varint(scale as i32);
                }
            }
        }
        FieldValue::Absent
    }

    fn container(&mut self, id: TypeId, fields: &'a [Field]) {
        self.frames.push(Vec::new());
        for (place, field) in fields.iter().enumerate() {
            let wishes = self.shapes.wishes(id, place, fields);
            let known = self.value(field.ty, field.name.is_none(), &wishes);
            if let Some(symbol) = field.symbol {
                self.see(symbol, known);
            }
        }
        self.frames.pop();
    }

    fn see(&mut self, symbol: Symbol, known: FieldValue) {
        if let Some(frame) = self.frames.last_mut() {
            frame.push((symbol, known));
        }
    }

    fn see_bits(&mut self, bits: &[Bits], raw: u64, total: u32) {
        let mut left = total;
        for it in bits {
            left -= it.size;
            if let Some(symbol) = it.symbol {
                self.see(symbol, FieldValue::Int(bit_value(raw, left, it.size, it.signed)));
            }
        }
    }

    fn find(&self, path: &Path) -> FieldValue {
        let frame = self.frames.len().checked_sub(1 + usize::from(path.up));
        let frame = frame.map_or(&[][..], |frame| &self.frames[frame]);
        let Some((_, known)) = frame.iter().rev().find(|(symbol, _)| *symbol == path.symbol) else {
            self.shapes.lost.borrow_mut().insert(path.text.to_string());
            return FieldValue::Absent;
        };
        let (FieldValue::Bits(raw, ty), Some(part)) = (known, &path.part) else {
            return known.clone();
        };
        match bit_part(self.shapes.get(*ty), *raw, part) {
            Part::Bool(bool) => FieldValue::Bool(bool),
            Part::Int(int) => FieldValue::Int(int),
            _ => FieldValue::Absent,
        }
    }

    fn case(&mut self, switch: &Switch) -> Option<TypeId> {
        let found = self.find(&switch.on);
        let case = switch.case(match &found {
            FieldValue::Int(int) => Part::Int(*int),
            FieldValue::Text(text) => Part::Text(text.as_bytes()),
            FieldValue::Name(name) => Part::Name(name),
            FieldValue::Bool(bool) => Part::Bool(*bool),
            FieldValue::Bits(raw, _) => Part::Int(raw.cast_signed()),
            FieldValue::Absent => Part::Absent,
        });
        if case.is_none() && self.made.unknown.is_none() {
            let value = match found {
                FieldValue::Text(text) => format!("`{text}`"),
                FieldValue::Bits(raw, _) => raw.cast_signed().to_string(),
                FieldValue::Int(int) => int.to_string(),
                _ => String::new(),
            };
            self.made.unknown = Some((self.made.bytes.len(), value));
        }
        case
    }

    /// Writes a length if it is encoded here, and returns it.
    fn count(&mut self, count: &Count) -> usize {
        match count {
            Count::Fixed(fixed) => *fixed,
            Count::Prefix(prefix) => {
                let size = self.size();
                self.number(*prefix, size as i64);
                size
            }
            Count::Field(path) => match self.find(path) {
                FieldValue::Int(int) => usize::try_from(int).expect("counts are wished for"),
                _ => 0,
            },
        }
    }

    /// Writes a value behind its length; one without a layout is bytes.
    fn sized(&mut self, count: &Count, of: TypeId) {
        let (start, open) = (self.made.bytes.len(), self.made.open);
        let unknown = self.made.unknown.take();
        self.value(of, false, &[]);
        let bytes = self.made.bytes.split_off(start);
        (self.made.open, self.made.unknown) = (open, unknown);
        if let Count::Prefix(prefix) = count {
            self.number(*prefix, bytes.len() as i64);
        }
        self.made.bytes.extend_from_slice(&bytes);
    }

    fn text(&mut self, count: &Count, encoding: Encoding, wishes: &[Wish]) -> FieldValue {
        let texts = wishes.iter().filter_map(|wish| match wish {
            Wish::Text(text, _) => Some(text),
            _ => None,
        });
        let texts: Vec<&Name> = texts.collect();
        let mut bytes = Vec::new();
        let is_known = self.is_closed(wishes) || self.choices.chance(200);
        if !texts.is_empty() && is_known {
            bytes.extend_from_slice(texts[self.choices.below(texts.len())].as_bytes());
        } else if let Count::Prefix(_) = count {
            let odd = self.choices.chance(16);
            for _ in 0..self.size() {
                let byte = self.choices.byte();
                match (odd, byte) {
                    (true, _) => bytes.push(byte),
                    (false, 0xf0..) => bytes.extend_from_slice("\u{e9}\u{1f600}".as_bytes()),
                    (false, _) => bytes.push(byte & 0x7f),
                }
            }
        }
        if encoding.unit() == 2 {
            bytes = bytes.iter().flat_map(|byte| [0, *byte]).collect();
        }
        match count {
            Count::Prefix(prefix) => {
                self.number(*prefix, (bytes.len() / encoding.unit()) as i64);
            }
            other => bytes = vec![b'x'; self.count(other) * encoding.unit()],
        }
        self.made.bytes.extend_from_slice(&bytes);
        match encoding.unit() {
            1 => FieldValue::Text(String::from_utf8_lossy(&bytes).into()),
            _ => FieldValue::Absent,
        }
    }

    /// Writes an integer, preferring the values in its wish.
    fn integer(&mut self, id: TypeId, wishes: &[Wish]) -> FieldValue {
        let base = match self.shapes.get(id) {
            Type::CountFor { base, .. } | Type::RestLength { base } => *base,
            _ => id,
        };
        let range = self.range(base);
        if wishes.iter().any(|wish| matches!(wish, Wish::Count)) {
            let count = self.size().min(3);
            self.number(base, count as i64);
            return FieldValue::Int(count as i64);
        }
        let ints = wishes.iter().filter_map(|wish| match wish {
            Wish::Int(int, cost) if range.contains(&i128::from(*int)) => Some((*int, *cost)),
            _ => None,
        });
        let mut ints: Vec<(i64, u32)> = ints.collect();
        let is_known = self.is_closed(wishes) || self.frugal() || self.choices.chance(200);
        let value = if ints.is_empty() || !is_known {
            self.choices.int(range.end().ilog2() + 1)
        } else {
            self.cheapest(&mut ints);
            ints[self.choices.below(ints.len())].0
        };
        let value = if range.contains(&i128::from(value)) { value } else { value & 0x7f };
        self.number(base, value);
        FieldValue::Int(value)
    }

    fn mapped(&mut self, base: TypeId, names: &Names, wishes: &[Wish]) -> FieldValue {
        let range = self.range(base);
        let wished = wishes.iter().filter_map(|wish| match wish {
            Wish::Text(name, cost) => names.number(name).map(|number| (number, *cost)),
            Wish::Int(int, cost) => Some((*int, *cost)),
            Wish::Count | Wish::Closed => None,
        });
        let mut numbers: Vec<(i64, u32)> = wished.collect();
        if numbers.is_empty() || (!self.frugal() && self.choices.chance(60)) {
            numbers = names.iter().map(|(number, _)| (*number, 0)).collect();
            if !self.is_closed(wishes) {
                numbers.push((self.choices.int(7), 0));
            }
        }
        numbers.retain(|(number, _)| range.contains(&i128::from(*number)));
        self.cheapest(&mut numbers);
        let number = numbers[self.choices.below(numbers.len())].0;
        self.number(base, number);
        names.name(number).map_or(FieldValue::Int(number), |name| FieldValue::Name(name.clone()))
    }

    /// Returns whether a value has to be one of the wishes, so that what follows has a layout.
    fn is_closed(&mut self, wishes: &[Wish]) -> bool {
        let is_closed = wishes.iter().any(|wish| matches!(wish, Wish::Closed));
        // Where the test asks for it, at most one value in a packet is left open.
        is_closed && !(self.strays && self.made.unknown.is_none() && self.choices.chance(200))
    }

    /// Keeps only the smallest cases once the generation should end.
    fn cheapest(&self, options: &mut Vec<(i64, u32)>) {
        if self.frugal()
            && let Some(least) = options.iter().map(|(_, cost)| *cost).min()
        {
            options.retain(|(_, cost)| *cost == least);
        }
    }

    /// Writes a number of that type, sometimes in a longer form than necessary.
    fn number(&mut self, id: TypeId, number: i64) {
        match self.shapes.get(id) {
            Type::Int(int) => write_int(&mut self.made.bytes, *int, number.cast_unsigned()),
            Type::VarLong => {
                let start = self.made.bytes.len();
                write_varlong(&mut self.made.bytes, number);
                self.lengthen(start, 10);
            }
            _ => self.varint(number as i32),
        }
    }

    fn varint(&mut self, number: i32) {
        let start = self.made.bytes.len();
        write_varint(&mut self.made.bytes, number);
        self.lengthen(start, 5);
    }

    fn lengthen(&mut self, start: usize, most: usize) {
        if !self.choices.chance(12) {
            return;
        }
        let bytes = &mut self.made.bytes;
        let length = bytes.len() - start;
        let Some(last) = bytes.last_mut() else { return };
        if length == most {
            // The bits above the type's.
            *last |= if most == 5 { 0x70 } else { 0x7e };
            return;
        }
        *last |= 0x80;
        for _ in 0..self.choices.below(most - length) {
            bytes.push(0x80);
        }
        bytes.push(0);
    }

    /// Returns the numbers that an integer can have, without those that do not fit an `Int`.
    fn range(&self, id: TypeId) -> std::ops::RangeInclusive<i128> {
        let (low, high) = self.shapes.get(id).range().into_inner();
        low..=high.min(i64::MAX.into())
    }

    fn metadata(&mut self, end: u8, element: TypeId) {
        for _ in 0..self.size().min(4) {
            let start = self.made.bytes.len();
            self.value(element, false, &[]);
            if self.made.bytes.get(start).is_none_or(|first| *first == end) {
                self.made.bytes.truncate(start);
                self.made.unknown.take_if(|(at, _)| *at >= start);
            }
        }
        self.made.bytes.push(end);
    }

    fn top_bit(&mut self, element: TypeId) {
        let last = self.size().min(3);
        for index in 0..=last {
            let start = self.made.bytes.len();
            self.value(element, false, &[]);
            let first = &mut self.made.bytes[start];
            *first = if index < last { *first | 0x80 } else { *first & 0x7f };
        }
    }

    pub(super) fn fill(&mut self, count: usize) {
        self.made.bytes.extend((0..count).map(|_| self.choices.byte()));
    }

    /// Returns the number of elements of a list, or of bytes of a buffer.
    pub(super) fn size(&mut self) -> usize {
        if self.frugal() { 0 } else { self.choices.below(5) }
    }

    /// Returns `true` if the generation should end.
    pub(super) fn frugal(&self) -> bool {
        self.choices.are_used_up() || self.depth > DEEP || self.made.bytes.len() > LONG
    }
}

/// Depth from which all further choices are minimal.
const DEEP: usize = 24;

/// Number of bytes from which all further choices are minimal.
const LONG: usize = 400;
