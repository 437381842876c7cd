//! Values of packets in Lua, and back.

use bytes::Bytes;
use mlua::{Error, Lua, LuaString, Table, Value as LuaValue};

use super::draft::{self, Part};
use super::host_error::HostError;
use super::packet_table::PartTable;
use super::work::{VALUE, charge};
use crate::filter::{Var, scalar};
use mitmcraft_protocol::schema::{Kind, Shape, Value, format_uuid};
use mitmcraft_protocol::wire::{Nbt, Tag};

/// A part of a packet as Lua has it.
#[derive(Debug)]
pub(super) enum Read {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Bytes(Bytes),
    Text(String),
    Ints(Vec<i64>),
    /// A list, container or compound, whose parts are read when they are asked for.
    Parts,
}

impl From<Part<'_>> for Read {
    fn from(part: Part<'_>) -> Self {
        match part {
            Part::Value(value) => match value.plain() {
                Value::Absent | Value::Exact(_) => Self::Nil,
                Value::Bool(bool) => Self::Bool(*bool),
                Value::Int(int) => Self::Int(*int),
                // As Lua has unsigned integers: `%u`, `math.ult`.
                Value::Unsigned(int) => Self::Int(*int as i64),
                Value::Float32(float) => Self::Float((*float).into()),
                Value::Float64(float) => Self::Float(*float),
                Value::Text(text) => Self::Text(text.to_string()),
                Value::Uuid(uuid) => Self::Text(format_uuid(*uuid)),
                Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
                Value::Nbt(nbt) => Part::Tag(&nbt.root).into(),
                Value::List(_) | Value::Map(_) => Self::Parts,
            },
            Part::Tag(tag) => match tag {
                Tag::Byte(int) => Self::Int((*int).into()),
                Tag::Short(int) => Self::Int((*int).into()),
                Tag::Int(int) => Self::Int((*int).into()),
                Tag::Long(int) => Self::Int(*int),
                Tag::Float(float) => Self::Float((*float).into()),
                Tag::Double(float) => Self::Float(*float),
                Tag::ByteArray(bytes) => Self::Bytes(bytes.clone()),
                Tag::Text(bytes) => Self::Text(draft::text(bytes)),
                Tag::IntArray(items) => Self::Ints(items.iter().map(|it| i64::from(*it)).collect()),
                Tag::LongArray(items) => Self::Ints(items.clone()),
                Tag::List(_) | Tag::Compound(_) => Self::Parts,
            },
        }
    }
}

impl Read {
    /// Returns the value for Lua; `parts` is that of one with parts.
    pub(super) fn into_lua(
        self,
        lua: &Lua,
        parts: impl FnOnce() -> PartTable,
    ) -> Result<LuaValue, Error> {
        match &self {
            Self::Bytes(bytes) => charge(lua, bytes.len() / 16)?,
            Self::Text(text) => charge(lua, text.len() / 16)?,
            Self::Ints(items) => charge(lua, items.len())?,
            _ => {}
        }
        Ok(match self {
            Self::Nil => LuaValue::Nil,
            Self::Bool(bool) => LuaValue::Boolean(bool),
            Self::Int(int) => LuaValue::Integer(int),
            Self::Float(float) => LuaValue::Number(float),
            Self::Bytes(bytes) => LuaValue::String(lua.create_string(&bytes)?),
            Self::Text(text) => LuaValue::String(lua.create_string(text)?),
            Self::Ints(items) => LuaValue::Table(lua.create_sequence_from(items)?),
            Self::Parts => LuaValue::UserData(lua.create_userdata(parts())?),
        })
    }
}

/// Returns a copy of a part of a packet as plain tables.
pub(super) fn copy(lua: &Lua, part: Part<'_>) -> Result<LuaValue, Error> {
    charge(lua, VALUE)?;
    let read = Read::from(part);
    let Read::Parts = read else { return read.into_lua(lua, || PartTable::whole(0)) };
    let table = lua.create_table()?;
    let put = |key: LuaValue, part: Part<'_>| table.raw_set(key, copy(lua, part)?);
    let text = |name: &str| lua.create_string(name).map(LuaValue::String);
    match part {
        Part::Value(value) => match value.plain() {
            Value::List(items) => {
                for (number, item) in (1..).zip(items) {
                    put(LuaValue::Integer(number), Part::Value(item))?;
                }
            }
            Value::Map(fields) => {
                for (name, field) in fields {
                    put(text(name)?, Part::Value(field))?;
                }
            }
            Value::Nbt(nbt) => return copy(lua, Part::Tag(&nbt.root)),
            _ => {}
        },
        Part::Tag(Tag::List(list)) => {
            for (number, item) in (1..).zip(&list.items) {
                put(LuaValue::Integer(number), Part::Tag(item))?;
            }
        }
        Part::Tag(Tag::Compound(compound)) => {
            for (name, tag) in &compound.entries {
                put(text(&draft::text(name))?, Part::Tag(tag))?;
            }
        }
        Part::Tag(_) => {}
    }
    Ok(LuaValue::Table(table))
}

/// Returns a part of a packet as a value without loss.
pub(super) fn value_of(part: Part<'_>) -> Value {
    match part {
        Part::Value(value) => value.clone(),
        Part::Tag(tag) => {
            let scalar = scalar(tag).filter(|it| !matches!(it, Value::Bytes(_)));
            let nbt = || Value::Nbt(Box::new(Nbt { name: None, root: tag.clone() }));
            scalar.unwrap_or_else(nbt)
        }
    }
}

/// Converts values of Lua to those of packets; `left` bounds how many.
pub(super) struct Writer<'l> {
    lua: &'l Lua,
    left: usize,
    /// Bytes of texts so far.
    bytes: usize,
}

impl<'l> Writer<'l> {
    pub(super) fn new(lua: &'l Lua) -> Self {
        Self { lua, left: MAX_VALUES, bytes: 0 }
    }

    /// Returns the bytes that the values so far take in memory, roughly, which is also their work.
    pub(super) fn size(&self) -> usize {
        VALUE * (MAX_VALUES - self.left) + self.bytes
    }

    /// Converts a value for a field of that shape, if one is known.
    pub(super) fn value(
        &mut self,
        value: &LuaValue,
        shape: Option<&Shape<'_>>,
        depth: usize,
    ) -> Result<Value, HostError> {
        self.left = self.left.checked_sub(1).ok_or(HostError::TooManyValues)?;
        let kinds = shape.map(Shape::kinds);
        let has = |kind| kinds.is_some_and(|kinds| kinds.has(kind));
        Ok(match value {
            LuaValue::Nil => Value::Absent,
            LuaValue::Boolean(bool) => Value::Bool(*bool),
            LuaValue::Integer(int) => {
                let refused = |value| shape.is_some_and(|shape| shape.refuses(value).is_some());
                let (signed, unsigned) = (Value::Int(*int), Value::Unsigned(*int as u64));
                if *int < 0 && refused(&signed) && !refused(&unsigned) {
                    unsigned
                } else if has(Kind::Float) && !has(Kind::Int) {
                    Value::Float64(*int as f64)
                } else {
                    signed
                }
            }
            LuaValue::Number(float) => {
                let is_whole = float.fract() == 0.0 && float.abs() < EXACT;
                match has(Kind::Int) && !has(Kind::Float) && is_whole {
                    true => Value::Int(*float as i64),
                    false => Value::Float64(*float),
                }
            }
            LuaValue::String(text) => {
                self.bytes += text.as_bytes().len();
                string(text, has(Kind::Bytes) && !has(Kind::Text))
            }
            LuaValue::Table(_) if depth >= MAX_DEPTH => {
                return Err(HostError::TooDeep);
            }
            LuaValue::Table(table) => self.table(table, shape, depth + 1)?,
            LuaValue::UserData(data) => {
                let part = data.borrow::<PartTable>();
                let part = part.map_err(|_| HostError::Foreign)?;
                let (value, bytes) = part.value(self.lua)?;
                self.bytes += bytes;
                value
            }
            other => return Err(HostError::NoValue(other.type_name())),
        })
    }

    fn table(
        &mut self,
        table: &Table,
        shape: Option<&Shape<'_>>,
        depth: usize,
    ) -> Result<Value, HostError> {
        let length = table.raw_len();
        let is_empty = table.is_empty();
        let lists = shape.is_some_and(|shape| {
            let kinds = shape.kinds();
            kinds.has(Kind::List) && !kinds.has(Kind::Map)
        });
        if length > 0 || is_empty && lists {
            let element = shape.and_then(Shape::element);
            let mut items = Vec::new();
            for number in 1..=length {
                let item = table.raw_get(number)?;
                items.push(self.value(&item, element.as_ref(), depth)?);
            }
            return Ok(Value::List(items));
        }
        let mut fields = Vec::new();
        for pair in table.pairs::<LuaValue, LuaValue>() {
            let (name, value) = pair?;
            let LuaValue::String(name) = name else {
                return Err(HostError::Key);
            };
            let name = name.to_string_lossy();
            let field = shape.and_then(|shape| shape.field(&name));
            let value = self.value(&value, field.as_ref(), depth)?;
            fields.push((name.as_str().into(), value));
        }
        // The order in Lua is another one in each run.
        fields.sort_by(|(one, _): &(mitmcraft_protocol::schema::Name, Value), (other, _)| {
            one.cmp(other)
        });
        Ok(Value::Map(fields))
    }
}

fn string(text: &LuaString, wants_bytes: bool) -> Value {
    let bytes = text.as_bytes();
    match std::str::from_utf8(&bytes) {
        Ok(text) if !wants_bytes => Value::from(text),
        _ => Value::Bytes(Bytes::copy_from_slice(&bytes)),
    }
}

/// Converts a value that outlives the state. Returns `None` for functions and the like.
pub(super) fn to_var(value: &LuaValue, depth: usize) -> Option<Var> {
    Some(match value {
        LuaValue::Boolean(bool) => Var::Bool(*bool),
        LuaValue::Integer(int) => Var::Int(*int),
        LuaValue::Number(float) => Var::Float(*float),
        LuaValue::String(text) => Var::Text(text.as_bytes().to_vec()),
        LuaValue::Table(table) if depth > 0 => {
            let pairs = table.pairs::<LuaValue, LuaValue>().filter_map(Result::ok);
            Var::Table(
                pairs
                    .filter_map(|(key, value)| Some((to_var(&key, 0)?, to_var(&value, depth - 1)?)))
                    .collect(),
            )
        }
        _ => return None,
    })
}

/// Converts a value that was kept.
pub(super) fn of_var(lua: &Lua, var: &Var) -> Result<LuaValue, Error> {
    Ok(match var {
        Var::Bool(bool) => LuaValue::Boolean(*bool),
        Var::Int(int) => LuaValue::Integer(*int),
        Var::Float(float) => LuaValue::Number(*float),
        Var::Text(text) => LuaValue::String(lua.create_string(text)?),
        Var::Table(pairs) => {
            let table = lua.create_table()?;
            for (key, value) in pairs {
                table.raw_set(of_var(lua, key)?, of_var(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

/// Depth of tables that become values, or are kept.
pub(super) const MAX_DEPTH: usize = 32;

/// Values of a table that becomes a packet.
const MAX_VALUES: usize = 200_000;

/// Below this, every whole float is an integer.
const EXACT: f64 = 9_007_199_254_740_992.0;
