use std::borrow::Cow;

use super::given::{
    ABSENT, Encoded, Inside as _, buffer, fault, field, flags_number, float, int, invalid, list,
    map, nbt, needs_one_of, one_of, text, uuid, wanted,
};
use super::scope::{FieldValue, FrameMark, Scope};
use super::text_forms::TextForms;
use super::types::{Count, Field, Int, Named, Type, TypeId, has_field, merges};
use super::walk::max_fields;
use super::{EncodeCause, Exact, Name, Value, vec3};
use crate::wire::{Nbt, VarLong};

mod numbers;

/// A single pass over a value that writes it according to the type tree.
pub(super) struct Encode<'a, 'o> {
    types: &'a [Type],
    scope: Scope<'a>,
    depth: usize,
    /// Fields of containers so far.
    fields: usize,
    out: &'o mut Vec<u8>,
    /// Offset and type of each number that counts the bytes after it, which is known only at the
    /// end.
    rest_lengths: Vec<(usize, TypeId)>,
}

/// The surroundings of a value while it is written.
#[derive(Clone, Copy)]
struct Enclosing<'a> {
    /// Fields of the innermost container.
    fields: &'a [(Name, Value)],
    /// `true` if the value's own fields are among `fields`.
    inside: bool,
}

impl Enclosing<'_> {
    const NOTHING: Self = Self { fields: &[], inside: false };
}

impl<'a, 'o> Encode<'a, 'o> {
    pub(super) fn new(types: &'a [Type], out: &'o mut Vec<u8>) -> Self {
        let scope = Scope::new();
        Self { types, scope, depth: MAX_DEPTH, fields: 0, out, rest_lengths: Vec::new() }
    }

    pub(super) fn run(mut self, root: TypeId, value: &'a Value) -> Encoded<()> {
        self.value(root, value, FrameMark::default(), Enclosing::NOTHING)?;
        for (at, base) in std::mem::take(&mut self.rest_lengths) {
            // The number was written as 0; write it again, now that it is known.
            let tail = self.out.split_off(at);
            let size = self.number(base, 0).map(|()| self.out.len() - at)?;
            self.out.truncate(at);
            self.number(base, (tail.len() - size) as i128)?;
            self.out.extend_from_slice(&tail[size..]);
        }
        Ok(())
    }

    fn value(
        &mut self,
        id: TypeId,
        value: &'a Value,
        mark: FrameMark,
        enclosing: Enclosing<'a>,
    ) -> Encoded<FieldValue<'a>> {
        self.depth =
            self.depth.checked_sub(1).ok_or_else(|| fault(EncodeCause::Depth(MAX_DEPTH)))?;
        let seen = self.typed(id, value, mark, enclosing)?;
        self.depth += 1;
        Ok(seen)
    }

    fn typed(
        &mut self,
        id: TypeId,
        value: &'a Value,
        mark: FrameMark,
        enclosing: Enclosing<'a>,
    ) -> Encoded<FieldValue<'a>> {
        let types = self.types;
        let ty = &types[id.0 as usize];
        if let Value::Exact(exact) = value
            && let Some(seen) = self.exact(id, exact, mark, enclosing)?
        {
            return Ok(seen);
        }
        let (given, value) = (value, value.plain());
        match ty {
            Type::Void => match value {
                Value::Absent => {}
                // A packet without fields may be given an empty map.
                Value::Map(fields) if fields.is_empty() => {}
                _ if enclosing.inside => {}
                _ => return Err(fault(EncodeCause::UnknownField)),
            },
            Type::Bool => {
                let Value::Bool(bool) = value else { return Err(wanted("true or false", value)) };
                self.out.push(u8::from(*bool));
                return Ok(FieldValue::Bool(*bool));
            }
            Type::Int(_) | Type::VarInt | Type::VarLong => return self.integer(id, value),
            Type::F32 => {
                let float = float(value)?;
                let float = if let Value::Float32(exact) = value { *exact } else { float as f32 };
                self.out.extend_from_slice(&float.to_be_bytes());
            }
            Type::F64 => self.out.extend_from_slice(&float(value)?.to_be_bytes()),
            Type::Uuid => self.out.extend_from_slice(&uuid(value)?.to_be_bytes()),
            Type::Text { count, encoding } => {
                let text = text(value)?;
                let bytes = encoding.encode(text);
                self.count(count, bytes.len() / encoding.unit(), mark)?;
                self.out.extend_from_slice(&bytes);
                return Ok(FieldValue::Text(text.as_bytes()));
            }
            Type::Terminated(encoding) => {
                let text = text(value)?;
                let bytes = encoding.encode(text);
                if bytes.contains(&0) {
                    return Err(invalid("text contains NUL"));
                }
                self.out.extend_from_slice(&bytes);
                self.out.push(0);
                return Ok(FieldValue::Text(text.as_bytes()));
            }
            Type::Buffer(count) => {
                let bytes = buffer(value)?;
                self.count(count, bytes.len(), mark)?;
                self.out.extend_from_slice(&bytes);
            }
            Type::Sized { count, of } => self.sized(count, *of, given, mark)?,
            Type::Rest => self.out.extend_from_slice(&buffer(value)?),
            Type::RestText => {
                let text = text(value)?;
                self.out.extend_from_slice(text.as_bytes());
                return Ok(FieldValue::Text(text.as_bytes()));
            }
            Type::Between(marks) => {
                let text = text(value)?;
                if let (_, Some(end)) = marks.split(text.as_bytes()) {
                    let end = String::from_utf8_lossy(end);
                    return Err(invalid(format!("text contains {end:?}, which ends it")));
                }
                self.out.extend_from_slice(&marks.starts);
                self.out.extend_from_slice(text.as_bytes());
                if let Some(end) = marks.ends.first().filter(|_| marks.closed) {
                    self.out.extend_from_slice(end);
                }
                return Ok(FieldValue::Text(text.as_bytes()));
            }
            Type::RestTexts => self.rest_texts(list(value)?)?,
            Type::Container(fields) => self.container(fields, value, mark, enclosing.inside)?,
            Type::Switch(switch) => {
                let on = &switch.on;
                let case = switch.case(self.scope.find(on, mark, types));
                let unknown = || {
                    let known = switch.ints.first().map(|(number, _)| *number);
                    fault(EncodeCause::NoLayout { on: on.text.clone(), known })
                };
                return self.value(case.ok_or_else(unknown)?, given, mark, enclosing);
            }
            Type::Array { count, element } if self.takes_bytes(*element, value) => {
                let bytes = buffer(value)?;
                self.count(count, bytes.len(), mark)?;
                self.out.extend_from_slice(&bytes);
            }
            Type::Array { count, element } => {
                let items = list(value)?;
                self.count(count, items.len(), mark)?;
                self.elements(items, *element, mark)?;
            }
            Type::Option(some) => {
                if matches!(value, Value::Absent) {
                    self.out.push(0);
                    return Ok(FieldValue::Absent);
                }
                self.out.push(1);
                return self.value(*some, value, mark, enclosing);
            }
            Type::IfMore { exactly: Some(_), otherwise: Some(otherwise), .. } => {
                return self.value(*otherwise, given, mark, enclosing);
            }
            Type::IfMore { some, starts, otherwise, .. } => {
                let present = if enclosing.inside {
                    self.anonymous_given(*some, enclosing.fields)
                } else {
                    !matches!(value, Value::Absent)
                };
                if !present {
                    return match otherwise {
                        Some(otherwise) => self.value(*otherwise, value, mark, enclosing),
                        None => Ok(FieldValue::Absent),
                    };
                }
                let start = self.out.len();
                let seen = self.value(*some, given, mark, enclosing)?;
                if self.out[start..].starts_with(starts) {
                    return Ok(seen);
                }
                self.out.truncate(start);
                return match otherwise {
                    Some(otherwise) => self.value(*otherwise, given, mark, enclosing),
                    None => Err(invalid("does not start with the bytes that mark it as present")),
                };
            }
            Type::Bitfield(bits) => {
                return self.bitfield(id, bits, map(value)?, enclosing.inside);
            }
            Type::Flags { base, flags } => {
                let raw = flags_number(flags, map(value)?)?;
                self.raw_number(*base, raw);
                return Ok(FieldValue::Bits(raw, id));
            }
            Type::Mapper { base, names } => return self.mapped(*base, names, value),
            Type::TextForms(forms) => {
                let given = if enclosing.inside { enclosing.fields } else { map(value)? };
                return self.text_forms(forms, given, mark);
            }
            Type::RestLength { base } => match value {
                Value::Absent => {
                    self.rest_lengths.push((self.out.len(), *base));
                    self.number(*base, 0)?;
                }
                value => return self.integer(*base, value),
            },
            Type::CountFor { base, array } => {
                let counted = enclosing.fields.iter().find(|(name, _)| name == array);
                let counted = match counted.map(|(_, value)| value.plain()) {
                    Some(Value::List(items)) => items.len() as i64,
                    Some(Value::Bytes(bytes)) => bytes.len() as i64,
                    Some(text @ Value::Text(_)) => buffer(text)?.len() as i64,
                    _ => return self.integer(*base, value),
                };
                self.number(*base, counted.into())?;
                return Ok(FieldValue::Int(counted));
            }
            Type::Nbt { named } => match nbt(value)? {
                None => Nbt::write_absent(self.out),
                Some(nbt) if nbt.name.is_some() == *named => nbt.write(self.out),
                Some(_) => return Err(fault(EncodeCause::RootName { named: *named })),
            },
            Type::CompressedNbt { unsigned } => match value {
                // Content that was not NBT: bytes, or base64 in captures.
                Value::Bytes(_) | Value::Text(_) => {
                    self.short_buffer(&buffer(value)?, *unsigned)?
                }
                value => match nbt(value)? {
                    Some(nbt) => self.short_buffer(&super::gzip::write_nbt(&nbt), *unsigned)?,
                    None if *unsigned => self.short_buffer(&[], true)?,
                    None => self.out.extend_from_slice(&(-1i16).to_be_bytes()),
                },
            },
            Type::Metadata { end, element } => {
                self.elements(list(value)?, *element, mark)?;
                self.out.push(*end);
            }
            Type::TopBit(element) => self.top_bit(list(value)?, *element, mark)?,
            Type::Holder { base, inline } => {
                let held = one_of(map(value)?, base, &inline.name);
                // JSON omits absent fields.
                let absent = self.may_be_absent(inline.ty).then_some((&inline.name, ABSENT));
                let (name, held) =
                    held.or(absent).ok_or_else(|| needs_one_of(base, &inline.name))?;
                if name == base {
                    let reference = int(held).inside(base)?.checked_add(1);
                    let reference = reference.ok_or_else(|| invalid("too large")).inside(base)?;
                    self.number(id, reference.into()).inside(base)?;
                } else {
                    self.out.push(0);
                    self.named(inline, held, mark)?;
                }
            }
            Type::HolderSet { base, entries } => {
                let held = one_of(map(value)?, &base.name, &entries.name);
                let (name, held) = held.ok_or_else(|| needs_one_of(&base.name, &entries.name))?;
                if *name == base.name {
                    self.out.push(0);
                    self.named(base, held, mark)?;
                } else if self.takes_bytes(entries.ty, held) {
                    let bytes = buffer(held)?;
                    self.number(id, (bytes.len() as i64 + 1).into())?;
                    self.out.extend_from_slice(&bytes);
                } else {
                    let items = list(held).inside(name)?;
                    self.number(id, (items.len() as i64 + 1).into())?;
                    self.elements(items, entries.ty, mark).inside(name)?;
                }
            }
            Type::Vec3 => {
                let fields = map(value)?;
                let mut vector = [0.0; 3];
                for (part, name) in vector.iter_mut().zip(vec3::names()) {
                    *part = float(field(fields, name)).inside(name)?;
                }
                vec3::write(vector, self.out);
            }
        }
        Ok(FieldValue::Absent)
    }

    /// Writes a value behind its length in bytes. What was no such value is bytes, or base64 in captures.
    fn sized(
        &mut self,
        count: &'a Count,
        of: TypeId,
        value: &'a Value,
        mark: FrameMark,
    ) -> Encoded<()> {
        let start = self.out.len();
        let (frame, depth) = (self.scope.open(mark), self.depth);
        let written = match value.plain() {
            Value::Bytes(_) => Err(wanted("a value", value)),
            _ => self.value(of, value, mark, Enclosing::NOTHING).map(drop),
        };
        self.scope.close(frame);
        self.depth = depth;
        let bytes = match (written, value.plain()) {
            (Ok(()), _) => self.out.split_off(start),
            (Err(_), plain @ (Value::Bytes(_) | Value::Text(_))) => {
                self.out.truncate(start);
                buffer(plain)?.into_owned()
            }
            (Err(fault), _) => return Err(fault),
        };
        self.count(count, bytes.len(), mark)?;
        self.out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Writes the texts that fill the rest of a packet, separated by NUL.
    fn rest_texts(&mut self, items: &[Value]) -> Encoded<()> {
        for (index, item) in items.iter().enumerate() {
            if let Value::Exact(exact) = item {
                self.out.extend_from_slice(&exact.wire);
                continue;
            }
            let step = format_args!("[{index}]");
            let text = text(item).inside(step)?;
            if text.contains('\0') {
                return Err(invalid("text contains NUL").inside(step));
            }
            self.out.extend_from_slice(text.as_bytes());
            if index + 1 < items.len() || text.is_empty() {
                self.out.push(0);
            }
        }
        Ok(())
    }

    /// Writes a value with its original bytes, if its type has a form for that and the value still
    /// matches them.
    fn exact(
        &mut self,
        id: TypeId,
        exact: &'a Exact,
        mark: FrameMark,
        enclosing: Enclosing<'a>,
    ) -> Encoded<Option<FieldValue<'a>>> {
        let types = self.types;
        match &types[id.0 as usize] {
            Type::Void | Type::Switch(_) | Type::Container(_) | Type::IfMore { .. } => {
                return Ok(None);
            }
            Type::Option(some) => {
                self.out.extend_from_slice(&exact.wire);
                return self.value(*some, &exact.value, mark, enclosing).map(Some);
            }
            Type::Array { count: Count::Prefix(_), .. }
            | Type::Sized { count: Count::Prefix(_), .. }
            | Type::Holder { .. }
            | Type::HolderSet { .. }
            | Type::Flags { .. } => {
                // All of these start with a number: write the usual encoding, then substitute the
                // original one.
                let start = self.out.len();
                let seen = self.typed(id, &exact.value, mark, enclosing)?;
                let usual = VarLong::read(&self.out[start..]);
                if let (Ok(usual), Ok(odd)) = (usual, VarLong::read(&exact.wire))
                    && usual.value as i32 == odd.value as i32
                {
                    let end = start + usual.length;
                    self.out.splice(start..end, exact.wire.iter().copied());
                }
                return Ok(Some(seen));
            }
            _ => {}
        }
        self.out.extend_from_slice(&exact.wire);
        Ok(Some(match exact.value.plain() {
            Value::Bool(bool) => FieldValue::Bool(*bool),
            Value::Int(int) => FieldValue::Int(*int),
            // A mapped number in an unusual form.
            Value::Text(name) if matches!(types[id.0 as usize], Type::Mapper { .. }) => {
                FieldValue::Name(name)
            }
            Value::Text(text) => FieldValue::Text(text.as_bytes()),
            _ => FieldValue::Absent,
        }))
    }

    fn container(
        &mut self,
        fields: &'a [Field],
        value: &'a Value,
        outer: FrameMark,
        inside: bool,
    ) -> Encoded<()> {
        let given = match value {
            Value::Absent => &[][..],
            value => map(value)?,
        };
        let types = self.types;
        // They mostly come in order, as those of a decoded packet.
        let mut in_order = fields.iter();
        let mut known = |name: &Name| {
            in_order.next().is_some_and(|it| it.name.as_ref() == Some(name))
                || has_field(types, fields, &mut |known| known == name)
        };
        if !inside && let Some((name, _)) = given.iter().find(|(name, _)| !known(name)) {
            return Err(fault(EncodeCause::UnknownField).inside(name));
        }
        self.fields += fields.len();
        if self.fields > max_fields(self.out.len()) {
            return Err(fault(EncodeCause::Fields));
        }
        let mark = self.scope.open(outer);
        for (index, field) in fields.iter().enumerate() {
            let seen = match &field.name {
                // An anonymous part finds its fields among those of the container.
                None => {
                    self.value(field.ty, value, mark, Enclosing { fields: given, inside: true })?
                }
                Some(name) => {
                    let value = match given.get(index) {
                        Some((key, value)) if key == name => value,
                        _ => self::field(given, name),
                    };
                    let enclosing = Enclosing { fields: given, inside: false };
                    self.value(field.ty, value, mark, enclosing).inside(name)?
                }
            };
            if let Some(symbol) = field.symbol {
                self.scope.see(symbol, seen, 0);
            }
        }
        self.scope.close(mark);
        Ok(())
    }

    fn text_forms(
        &mut self,
        forms: &'a TextForms,
        given: &'a [(Name, Value)],
        mark: FrameMark,
    ) -> Encoded<FieldValue<'a>> {
        let whole = field(given, &forms.whole);
        if let Value::Exact(exact) = whole {
            self.out.extend_from_slice(&exact.wire);
            return Ok(FieldValue::Absent);
        }
        let whole = match whole {
            Value::Absent => Cow::Owned(forms.join(given)?),
            whole => Cow::Borrowed(text(whole).inside(&forms.whole)?),
        };
        let bytes = forms.encoding.encode(&whole);
        let units = bytes.len() / forms.encoding.unit();
        self.count(&forms.count, units, mark).inside(&forms.whole)?;
        self.out.extend_from_slice(&bytes);
        Ok(FieldValue::Absent)
    }

    /// Returns whether a field of the anonymous part is present.
    fn anonymous_given(&self, id: TypeId, fields: &[(Name, Value)]) -> bool {
        let mut given = fields.iter().filter(|(_, value)| !matches!(value, Value::Absent));
        given.any(|(name, _)| merges(self.types, id, &mut |known| known == name))
    }

    fn named(&mut self, part: &'a Named, value: &'a Value, mark: FrameMark) -> Encoded<()> {
        self.value(part.ty, value, mark, Enclosing::NOTHING).inside(&part.name).map(drop)
    }

    fn element(
        &mut self,
        index: usize,
        item: &'a Value,
        element: TypeId,
        mark: FrameMark,
    ) -> Encoded<()> {
        let step = format_args!("[{index}]");
        self.value(element, item, mark, Enclosing::NOTHING).inside(step).map(drop)
    }

    fn elements(&mut self, items: &'a [Value], element: TypeId, mark: FrameMark) -> Encoded<()> {
        for (index, item) in items.iter().enumerate() {
            self.element(index, item, element, mark)?;
        }
        Ok(())
    }

    fn top_bit(&mut self, items: &'a [Value], element: TypeId, mark: FrameMark) -> Encoded<()> {
        if items.is_empty() {
            return Err(fault(EncodeCause::Empty));
        }
        for (index, item) in items.iter().enumerate() {
            let start = self.out.len();
            self.element(index, item, element, mark)?;
            match self.out.get_mut(start) {
                Some(first) if index + 1 < items.len() => *first |= 0x80,
                Some(first) => *first &= 0x7f,
                None => return Err(invalid("an element of zero size")),
            }
        }
        Ok(())
    }

    /// Returns whether `value` is the elements of a list as bytes: captures have lists of single
    /// bytes as base64.
    fn takes_bytes(&self, element: TypeId, value: &Value) -> bool {
        matches!(self.types[element.0 as usize], Type::Int(Int { bytes: 1, .. }))
            && matches!(value.plain(), Value::Bytes(_) | Value::Text(_))
    }

    fn may_be_absent(&self, id: TypeId) -> bool {
        let ty = &self.types[id.0 as usize];
        matches!(ty, Type::Void | Type::Option(_) | Type::Nbt { .. } | Type::CompressedNbt { .. })
    }
}

/// Deepest nesting of types, the same as for decoding.
const MAX_DEPTH: usize = 400;
