use std::fmt::Display;
use std::sync::Arc;

use mlua::{
    Error, Lua, LuaString, MetaMethod, Table, UserData, UserDataMethods, Value as LuaValue,
};

use super::convert::{Read, Writer};
use super::host::{host, host_mut};
use super::packet_table::PartTable;
use super::place;
use super::work::{CALL, charge};
use crate::filter::{Injection, build, named, shortened};
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, Shape, State};

/// The session of a script: `session`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionTable;

impl UserData for SessionTable {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method(
            "send",
            |lua, _, (to, name, fields, options): (String, String, Option<LuaValue>, Option<Table>)| {
                let before = match options {
                    Some(options) => options.get::<Option<bool>>("before")?.unwrap_or(false),
                    None => false,
                };
                send(lua, &to, &name, fields, before)
            },
        );
        methods.add_method("kick", |lua, _, reason: Option<LuaString>| {
            charge(lua, CALL)?;
            let reason = reason.map(|reason| shortened(reason.to_string_lossy(), MAX_REASON));
            let reason = reason.unwrap_or_else(|| "Disconnected".to_owned());
            host_mut(lua)?.effects.close = Some(reason);
            Ok(())
        });
        methods.add_meta_method(MetaMethod::Index, |lua, _, key: String| {
            if key == "vars" {
                return lua.named_registry_value::<LuaValue>(VARS);
            }
            let read = property(lua, &key)?;
            read.into_lua(lua, || PartTable::whole(0))
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, _, (key, _): (String, LuaValue)| -> Result<(), Error> {
                let why = format!("`session.{key}` cannot be set; use `session.vars.{key}`");
                Err(place::fail(lua, why))
            },
        );
    }
}

fn property(lua: &Lua, key: &str) -> Result<Read, Error> {
    charge(lua, CALL)?;
    let host = host(lua)?;
    let text = |text: String| Read::Text(text);
    let Some(context) = &host.context else {
        drop(host);
        return Err(place::fail(lua, "there is no session while the script is loaded"));
    };
    let read = match key {
        "id" => Read::Int(context.session as i64),
        "player" => context.player.clone().map_or(Read::Nil, text),
        "client" => text(context.client.to_string()),
        "server" => context.server.map_or(Read::Nil, |it| text(it.to_string())),
        "upstream" => text(context.upstream.clone()),
        "protocol" => Read::Int(context.protocol.version().into()),
        "version" => text(context.protocol.name().to_owned()),
        "state" => text(host.states.clientbound.name().to_owned()),
        "time" => Read::Float(host.at.since(context.opened).as_secs_f64()),
        _ => {
            drop(host);
            return Err(place::fail(lua, format!("a session has no property `{key}`")));
        }
    };
    Ok(read)
}

fn send(
    lua: &Lua,
    to: &str,
    name: &str,
    fields: Option<LuaValue>,
    before: bool,
) -> Result<(), Error> {
    let fail = |why: &dyn Display| place::fail(lua, why);
    charge(lua, CALL)?;
    let direction = match to {
        "client" => Direction::Clientbound,
        "server" => Direction::Serverbound,
        other => return Err(fail(&format!("`{other}`: expected `client` or `server`"))),
    };
    let (context, state, actor) = {
        let host = host(lua)?;
        (host.context.clone(), host.states[direction], host.actor.clone())
    };
    let Some(context) = context else {
        return Err(fail(&"there is no session while the script is loaded"));
    };
    let protocol = Arc::clone(&context.protocol);
    let kind = find(lua, &protocol, state, direction, name)?;
    let shape = Some(Shape::of(&protocol, kind));
    let mut writer = Writer::new(lua);
    let fields = match fields {
        Some(LuaValue::Nil) | None => LuaValue::Table(lua.create_table()?),
        Some(fields) => fields,
    };
    let value = writer.value(&fields, shape.as_ref(), 0);
    charge(lua, 2 * writer.size())?;
    let value = value.map_err(|why| fail(&why))?;
    let body = build(&protocol, kind, value).map_err(|why| fail(&why))?;
    charge(lua, body.len())?;
    let mut host = host_mut(lua)?;
    let sent = host.effects.sends.iter().map(|sent| sent.body.len()).sum::<usize>();
    if sent + body.len() > MAX_SENT {
        drop(host);
        return Err(fail(&format!(
            "the packets sent in one call are larger than {MAX_SENT} bytes"
        )));
    }
    if host.effects.sends.len() >= MAX_SENDS {
        drop(host);
        return Err(fail(&format!("more than {MAX_SENDS} packets sent in one call")));
    }
    let rule = Some(actor);
    host.effects.sends.push(Injection { direction, before, body: body.into(), framed: true, rule });
    Ok(())
}

/// Returns the packet of that name, and charges the search for a similar one if there is none.
pub(super) fn find<'p>(
    lua: &Lua,
    protocol: &'p Protocol,
    state: State,
    direction: Direction,
    name: &str,
) -> Result<&'p PacketType, Error> {
    named(protocol, state, direction, name).map_err(|why| {
        let search = charge(lua, SEARCH + name.len() * SEARCH / 100);
        search.err().unwrap_or_else(|| place::fail(lua, why))
    })
}

/// Work of the search for a name that is similar to a short one.
const SEARCH: usize = 10_000;

/// The name of `session.vars` in the registry of a state.
pub(super) const VARS: &str = "session.vars";

/// Bytes of the reason of a kick.
const MAX_REASON: usize = 32 << 10;

/// Most packets that one call sends.
const MAX_SENDS: usize = 1000;

/// Bytes of the packets that one call sends.
const MAX_SENT: usize = 8 << 20;
