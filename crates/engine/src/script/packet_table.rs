use std::sync::Arc;

use mlua::{
    Error, Lua, LuaString, MetaMethod, MultiValue, UserData, UserDataMethods, Value as LuaValue,
};

use super::convert::{Read, Writer, copy, value_of};
use super::draft::{Draft, DraftError, Part};
use super::host::{Host, host_mut};
use super::host_error::HostError;
use super::place;
use super::session_table::find;
use super::work::{CALL, VALUE, charge, too_long};
use crate::filter::{Delay, EditError};
use crate::lang::amount::Period;
use crate::lang::shape_at;
use mitmcraft_protocol::packet::PathStep;
use mitmcraft_protocol::schema::{Shape, Value};

/// The packet of a callback.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketTable {
    /// The call that it belongs to.
    pub(super) call: u64,
}

/// A part of a packet that has parts itself, or the fields of the packet.
#[derive(Debug, Clone)]
pub(super) struct PartTable {
    pub(super) call: u64,
    pub(super) steps: Vec<PathStep>,
}

/// What every packet has: `packet.pkt`.
#[derive(Debug, Clone, Copy)]
struct Properties {
    call: u64,
}

impl UserData for PacketTable {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("drop", |lua, this, ()| {
            with_draft(lua, this.call, |host| {
                host.draft(this.call)?.is_dropped = true;
                Ok(())
            })
        });
        methods.add_method("replace", |lua, this, arguments: MultiValue| {
            replace(lua, *this, arguments)
        });
        methods.add_method("delay", |lua, this, (by, reorder): (String, Option<bool>)| {
            with_draft(lua, this.call, |host| {
                let by = by.parse::<Period>()?.0;
                let before = host.effects.delay.map_or(std::time::Duration::ZERO, |it| it.by);
                let reorder = reorder.unwrap_or(false);
                host.effects.delay = Some(Delay { by: before + by, reorder });
                Ok(())
            })
        });
        methods.add_method("comment", |lua, this, text: LuaString| {
            let text = text.to_string_lossy();
            with_draft(lua, this.call, |host| {
                host.has_room(text.len())?;
                host.effects.notes.comments.push(text);
                Ok(())
            })
        });
        methods.add_method("tag", |lua, this, text: LuaString| {
            let text = text.to_string_lossy();
            with_draft(lua, this.call, |host| {
                host.has_room(text.len())?;
                host.effects.notes.tags.push(text);
                Ok(())
            })
        });
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: LuaValue| {
            match key.as_string().map(LuaString::as_bytes).as_deref() {
                Some(b"pkt") => {
                    let properties = Properties { call: this.call };
                    Ok(LuaValue::UserData(lua.create_userdata(properties)?))
                }
                Some(b"fields") => {
                    let fields = PartTable::whole(this.call);
                    Ok(LuaValue::UserData(lua.create_userdata(fields)?))
                }
                _ => read(lua, this.call, &[], &key),
            }
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, this, (key, value): (LuaValue, LuaValue)| {
                write(lua, this.call, &[], &key, &value)
            },
        );
        methods.add_meta_method(MetaMethod::Pairs, |lua, this, ()| pairs(lua, this.call, &[]));
        methods.add_meta_method(MetaMethod::ToString, |lua, this, ()| {
            with_draft(lua, this.call, |host| {
                let draft = host.draft(this.call)?;
                draft.encode().map_err(|error| error.cause)?;
                let packet = draft.packet();
                let mut out =
                    packet.kind().map(|it| it.name().to_string()).unwrap_or_default().into_bytes();
                out.push(b' ');
                // What does not decode ends the text.
                let _ = packet.write_json(&mut out);
                draft.work += 2 * out.len();
                Ok(String::from_utf8_lossy(&out).into_owned())
            })
        });
    }
}

impl UserData for PartTable {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: LuaValue| {
            read(lua, this.call, &this.steps, &key)
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, this, (key, value): (LuaValue, LuaValue)| {
                write(lua, this.call, &this.steps, &key, &value)
            },
        );
        methods.add_meta_method(MetaMethod::Len, |lua, this, ()| {
            with_part(lua, this.call, &this.steps, |part| part.map_or(0, Part::len) as i64)
        });
        methods
            .add_meta_method(MetaMethod::Pairs, |lua, this, ()| pairs(lua, this.call, &this.steps));
        methods.add_meta_method(MetaMethod::ToString, |lua, this, ()| {
            let text = with_part(lua, this.call, &this.steps, |part| match part {
                Some(Part::Value(value)) => json(value),
                Some(Part::Tag(tag)) => format!("{tag:?}"),
                None => "nil".to_owned(),
            })?;
            charge(lua, 2 * text.len())?;
            Ok(text)
        });
    }
}

impl UserData for Properties {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: String| {
            let read = with_draft(lua, this.call, |host| {
                let packet = host.draft(this.call)?.packet();
                let (context, name) =
                    (packet.context(), packet.kind().map(|it| it.name().to_string()));
                let int = |int: usize| Read::Int(int as i64);
                Ok(match key.as_str() {
                    "name" => name.map_or(Read::Nil, Read::Text),
                    "id" => packet.id().map_or(Read::Nil, |id| Read::Int(id.into())),
                    "dir" => Read::Text(packet.direction().name().to_owned()),
                    "state" => Read::Text(packet.state().name().to_owned()),
                    "size" => int(packet.size()),
                    "wire" => int(packet.wire_size()),
                    "n" => Read::Int(packet.seq() as i64),
                    "time" => Read::Float(packet.at().since(context.opened).as_secs_f64()),
                    "origin" => Read::Text(packet.origin().name().to_owned()),
                    "protocol" => Read::Int(context.protocol.version().into()),
                    "version" => Read::Text(context.protocol.name().to_owned()),
                    "body" => packet.body().map_or(Read::Nil, Read::Bytes),
                    "error" => packet.error().map_or(Read::Nil, |it| Read::Text(it.to_string())),
                    other => return Err(HostError::NoProperty(other.to_owned())),
                })
            })?;
            read.into_lua(lua, || PartTable::whole(0))
        });
    }
}

impl PartTable {
    /// Returns the fields of the packet of a call.
    pub(super) fn whole(call: u64) -> Self {
        Self { call, steps: Vec::new() }
    }

    /// Returns the part as a value without loss, and how many bytes that has at most.
    pub(super) fn value(&self, lua: &Lua) -> Result<(Value, usize), HostError> {
        let mut host = host_mut(lua)?;
        let draft = host.draft(self.call)?;
        let part = draft.part(&self.steps).map_err(|error| error.cause)?;
        let value = part.map_or(Value::Absent, value_of);
        let size = draft.packet().size();
        draft.work += size;
        Ok((value, size))
    }

    /// Returns the part as plain tables, which may be kept.
    pub(super) fn copy(&self, lua: &Lua) -> Result<LuaValue, Error> {
        let (value, size) = self.value(lua).map_err(|why| place::fail(lua, why))?;
        charge(lua, size)?;
        copy(lua, Part::Value(&value))
    }
}

fn read(lua: &Lua, call: u64, steps: &[PathStep], key: &LuaValue) -> Result<LuaValue, Error> {
    let Some(step) = step(key) else { return Ok(LuaValue::Nil) };
    let mut path = Vec::with_capacity(steps.len() + 1);
    path.extend_from_slice(steps);
    path.push(step);
    let read = with_part(lua, call, &path, |part| part.map_or(Read::Nil, Read::from))?;
    read.into_lua(lua, || PartTable { call, steps: path })
}

fn write(
    lua: &Lua,
    call: u64,
    steps: &[PathStep],
    key: &LuaValue,
    value: &LuaValue,
) -> Result<(), Error> {
    let Some(mut step) = step(key) else {
        return Err(place::fail(lua, format!("a packet has no field {}", key.type_name())));
    };
    if let PathStep::Index(index) = &step {
        let length = with_part(lua, call, steps, |part| part.map_or(0, Part::len))?;
        if usize::try_from(*index) == Ok(length) {
            step = PathStep::Append;
        }
    }
    let mut path = steps.to_vec();
    path.push(step);
    let place = with_draft(lua, call, |host| {
        let packet = host.draft(call)?.packet();
        let protocol = Arc::clone(&packet.context().protocol);
        let kind = packet.kind().ok_or(EditError::UnknownType)?;
        let place = protocol.place(kind);
        Ok((protocol, place, Arc::clone(&host.file)))
    })?;
    let (protocol, number, file) = place;
    let (new, size) = match value {
        LuaValue::Nil => (None, 0),
        value => {
            let kind = &protocol.packets()[usize::from(number)];
            let shape = shape_at(Shape::of(&protocol, kind), &path);
            let mut writer = Writer::new(lua);
            let new = writer.value(value, shape.as_ref(), 0);
            charge(lua, writer.size())?;
            (Some(new.map_err(|why| place::fail(lua, why))?), writer.size())
        }
    };
    let line = place::line(lua, &file);
    with_packet(lua, call, |draft| draft.set(&path, new, size, line))
}

/// `packet:replace{..}` or `packet:replace("name", {..})`.
fn replace(lua: &Lua, this: PacketTable, arguments: MultiValue) -> Result<(), Error> {
    let mut arguments = arguments.into_iter();
    let (name, fields) = match (arguments.next(), arguments.next()) {
        (Some(LuaValue::String(name)), Some(fields)) => (Some(name.to_string_lossy()), fields),
        (Some(fields), None) => (None, fields),
        _ => return Err(place::fail(lua, "expected `packet:replace{..}`")),
    };
    let (protocol, state, direction, own) = with_draft(lua, this.call, |host| {
        let packet = host.draft(this.call)?.packet();
        let protocol = Arc::clone(&packet.context().protocol);
        let own = packet.kind().map(|kind| protocol.place(kind));
        Ok((protocol, packet.state(), packet.direction(), own))
    })?;
    let kind = match &name {
        Some(name) => find(lua, &protocol, state, direction, name)?,
        None => {
            let own = own.ok_or_else(|| place::fail(lua, EditError::UnknownType))?;
            &protocol.packets()[usize::from(own)]
        }
    };
    let shape = Some(Shape::of(&protocol, kind));
    let mut writer = Writer::new(lua);
    let value = writer.value(&fields, shape.as_ref(), 0);
    charge(lua, writer.size())?;
    let value = value.map_err(|why| place::fail(lua, why))?;
    with_draft(lua, this.call, |host| Ok(host.draft(this.call)?.replace(kind, value)?))
}

/// Returns an iterator over the fields or elements.
fn pairs(
    lua: &Lua,
    call: u64,
    steps: &[PathStep],
) -> Result<(mlua::Function, LuaValue, LuaValue), Error> {
    let (names, length) = with_part(lua, call, steps, |part| {
        part.map_or((Vec::new(), 0), |part| (part.names(), part.len()))
    })?;
    charge(lua, VALUE * names.len())?;
    let count = names.len().max(length);
    // The iterator may be kept: what it has is in the memory of the script.
    let names = lua.create_sequence_from(names)?;
    let steps = steps.to_vec();
    let mut at = 0;
    let next = lua.create_function_mut(move |lua, _: MultiValue| {
        if at >= count {
            return Ok((LuaValue::Nil, LuaValue::Nil));
        }
        at += 1;
        let key = match names.raw_get(at)? {
            LuaValue::Nil => LuaValue::Integer(at as i64),
            name => name,
        };
        let value = read(lua, call, &steps, &key)?;
        Ok((key, value))
    })?;
    Ok((next, LuaValue::Nil, LuaValue::Nil))
}

/// Returns the step that a key means: elements count from 1, and from the end with -1.
fn step(key: &LuaValue) -> Option<PathStep> {
    match key {
        LuaValue::String(name) => Some(PathStep::Name(name.to_string_lossy().as_str().into())),
        LuaValue::Integer(index) if *index > 0 => Some(PathStep::Index(index - 1)),
        LuaValue::Integer(index) if *index < 0 => Some(PathStep::Index(*index)),
        _ => None,
    }
}

fn json(value: &Value) -> String {
    match value.plain() {
        Value::Nbt(nbt) => {
            let mut out = Vec::new();
            nbt.write_json(&mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        value => value.to_json().to_string(),
    }
}

/// Reads a part of the packet of a call.
fn with_part<T>(
    lua: &Lua,
    call: u64,
    steps: &[PathStep],
    read: impl FnOnce(Option<Part<'_>>) -> T,
) -> Result<T, Error> {
    with_packet(lua, call, |draft| draft.part(steps).map(read))
}

/// Acts on the packet of a call, and charges what that takes.
fn with_packet<T>(
    lua: &Lua,
    call: u64,
    act: impl FnOnce(&mut Draft) -> Result<T, DraftError>,
) -> Result<T, Error> {
    let done = with_host(lua, |host| act(host.draft(call)?))?;
    done.map_err(|DraftError { line, cause }| place::fail_at(lua, line, cause))
}

/// Acts on the packet of a call and its effects.
fn with_draft<T>(
    lua: &Lua,
    call: u64,
    act: impl FnOnce(&mut Host) -> Result<T, HostError>,
) -> Result<T, Error> {
    let done = with_host(lua, |host| match host.draft(call) {
        Ok(_) => act(host),
        Err(why) => Err(why),
    })?;
    done.map_err(|why| place::fail(lua, why))
}

/// Acts on the data of a state, and charges what that takes.
fn with_host<T>(lua: &Lua, act: impl FnOnce(&mut Host) -> T) -> Result<T, Error> {
    let (done, is_over) = {
        let mut host = host_mut(lua)?;
        let done = act(&mut host);
        let work = host.draft.as_mut().map_or(0, |draft| std::mem::take(&mut draft.work));
        (done, host.work.spend(CALL + work))
    };
    if is_over { Err(too_long(lua)) } else { Ok(done) }
}
