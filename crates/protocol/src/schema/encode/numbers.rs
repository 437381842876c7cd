//! Numbers of all forms: integers, flags, names that stand for numbers, lengths.

use super::super::given::{Encoded, Inside as _, fault, field, int, invalid};
use super::super::number::write_int;
use super::super::scope::{FieldValue, FrameMark};
use super::super::types::{Bits, Count, Names, Type, TypeId};
use super::super::{EncodeCause, Name, Value};
use super::Encode;
use crate::wire::{write_varint, write_varlong};

impl<'a> Encode<'a, '_> {
    pub(super) fn bitfield(
        &mut self,
        id: TypeId,
        bits: &'a [Bits],
        fields: &'a [(Name, Value)],
        inside: bool,
    ) -> Encoded<FieldValue<'a>> {
        let mut raw = 0u64;
        let mut total = 0;
        for it in bits {
            let value = int(field(fields, &it.name)).inside(&it.name)?;
            let (low, high) = if it.signed {
                (-1i128 << (it.size - 1), (1i128 << (it.size - 1)) - 1)
            } else {
                (0, (1i128 << it.size) - 1)
            };
            // A field of 64 unsigned bits is decoded as a signed number.
            let low = if it.size == 64 { i128::from(i64::MIN) } else { low };
            if !(low..=high).contains(&i128::from(value)) {
                let cause = EncodeCause::Range { number: value.into(), low, high };
                return Err(fault(cause).inside(&it.name));
            }
            let mask = u64::MAX >> (64 - it.size);
            raw = if it.size == 64 { 0 } else { raw << it.size } | (value.cast_unsigned() & mask);
            total += it.size;
            if let Some(symbol) = it.symbol.filter(|_| inside) {
                self.scope.see(symbol, FieldValue::Int(value), 0);
            }
        }
        let bytes = raw.to_be_bytes();
        self.out.extend_from_slice(&bytes[8 - total as usize / 8..]);
        Ok(FieldValue::Bits(raw, id))
    }

    pub(super) fn mapped(
        &mut self,
        base: TypeId,
        names: &'a Names,
        value: &'a Value,
    ) -> Encoded<FieldValue<'a>> {
        let Value::Text(name) = value else {
            let seen = self.integer(base, value)?;
            // What depends on it sees the name, as in a packet that is decoded.
            return Ok(match seen {
                FieldValue::Int(number) => {
                    names.name(number).map_or(seen, |it| FieldValue::Name(it))
                }
                seen => seen,
            });
        };
        let Some(number) = names.number(name) else {
            let known = names.iter().map(|(_, name)| Name::clone(name)).collect();
            let name = Name::clone(name);
            return Err(fault(EncodeCause::UnknownName { name, known }));
        };
        self.number(base, number.into())?;
        Ok(FieldValue::Name(name))
    }

    pub(super) fn count(
        &mut self,
        count: &'a Count,
        number: usize,
        mark: FrameMark,
    ) -> Encoded<()> {
        match count {
            Count::Fixed(fixed) if *fixed == number => Ok(()),
            Count::Fixed(fixed) => {
                Err(fault(EncodeCause::Length { length: number, fixed: *fixed }))
            }
            Count::Prefix(prefix) => self.number(*prefix, (number as i64).into()),
            Count::Field(path) => match self.scope.find(path, mark, self.types) {
                FieldValue::Int(known) if known == number as i64 => Ok(()),
                _ => Err(invalid(format!("length {number} differs from `{}`", path.text))),
            },
        }
    }

    pub(super) fn short_buffer(&mut self, bytes: &[u8], unsigned: bool) -> Encoded<()> {
        let limit = if unsigned { u16::MAX } else { i16::MAX.cast_unsigned() };
        let length = u16::try_from(bytes.len()).ok().filter(|length| *length <= limit);
        let length = length.ok_or_else(|| invalid(format!("longer than {limit} bytes")))?;
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn integer(&mut self, id: TypeId, value: &Value) -> Encoded<FieldValue<'a>> {
        if let Value::Unsigned(large) = value {
            self.number(id, (*large).into())?;
            return Ok(FieldValue::Absent);
        }
        let int = int(value)?;
        self.number(id, int.into())?;
        Ok(FieldValue::Int(int))
    }

    /// Writes a number as an integer of this type; holders count with a VarInt.
    pub(super) fn number(&mut self, id: TypeId, number: i128) -> Encoded<()> {
        let within = |low: i128, high: i128| match (low..=high).contains(&number) {
            true => Ok(()),
            false => Err(fault(EncodeCause::Range { number, low, high })),
        };
        match &self.types[id.0 as usize] {
            ty @ Type::Int(int) => {
                let (low, high) = ty.range().into_inner();
                within(low, high)?;
                write_int(self.out, *int, number as u64);
            }
            Type::VarLong => {
                within(i64::MIN.into(), i64::MAX.into())?;
                write_varlong(self.out, number as i64);
            }
            _ => {
                within(i32::MIN.into(), i32::MAX.into())?;
                write_varint(self.out, number as i32);
            }
        }
        Ok(())
    }

    /// Writes the bits of flags, ignoring the sign of their type.
    #[inline]
    pub(super) fn raw_number(&mut self, id: TypeId, raw: u64) {
        match &self.types[id.0 as usize] {
            Type::Int(int) => write_int(self.out, *int, raw),
            Type::VarLong => write_varlong(self.out, raw.cast_signed()),
            _ => write_varint(self.out, raw as u32 as i32),
        }
    }
}
