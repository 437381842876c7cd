//! The functions of scripts.

use std::sync::Arc;

use mlua::{
    Error, Function, Lua, LuaString, MetaMethod, MultiValue, UserData, UserDataMethods,
    Value as LuaValue,
};

use super::convert::{of_var, to_var};
use super::host::{Registered, host, host_mut};
use super::packet_table::{PacketTable, PartTable};
use super::place::{self, fail};
use super::session_table::VARS;
use super::timer::{MAX_TIMERS, Timer};
use super::work::{CALL, charge};
use crate::filter::{SHORTEST_TIMER, SessionEvent, Var, shortened};
use crate::lang::amount::Period;
use mitmcraft_protocol::packet::{plain_nbt, plain_text};
use mitmcraft_protocol::schema::Value;

/// Sets the global functions of a state.
pub(super) fn install(lua: &Lua) -> Result<(), Error> {
    let all = lua.globals();
    let on = |lua: &Lua, (when, call): (String, Function)| {
        register(lua, |registered, line| registered.packets.push((when, line, call)))
    };
    all.set("on", lua.create_function(on)?)?;
    let events = [SessionEvent::Open, SessionEvent::State, SessionEvent::Close];
    for (name, event) in ["on_open", "on_state", "on_close"].into_iter().zip(events) {
        let on = move |lua: &Lua, call: Function| {
            register(lua, |registered, line| registered.events.push((event, line, call)))
        };
        all.set(name, lua.create_function(on)?)?;
    }
    for (name, repeats) in [("every", true), ("after", false)] {
        let start =
            move |lua: &Lua, (time, call): (String, Function)| timer(lua, &time, call, repeats);
        all.set(name, lua.create_function(start)?)?;
    }
    let tostring: Function = all.get("tostring")?;
    let log = move |lua: &Lua, values| log(lua, &tostring, values);
    let log = lua.create_function(log)?;
    all.set("log", &log)?;
    all.set("print", log)?;
    all.set("text", lua.create_function(text)?)?;
    let copy = |lua: &Lua, value: LuaValue| match part(&value) {
        Some(part) => part.copy(lua),
        None => Ok(value),
    };
    all.set("copy", lua.create_function(copy)?)?;
    let run = lua.create_table()?;
    run.set("vars", RunVars)?;
    all.set("run", run)?;
    lua.set_named_registry_value(VARS, lua.create_table()?)
}

fn register(lua: &Lua, add: impl FnOnce(&mut Registered, usize)) -> Result<(), Error> {
    let file = Arc::clone(&host(lua)?.file);
    let line = place::line(lua, &file).unwrap_or(1);
    charge(lua, CALL)?;
    let mut host = host_mut(lua)?;
    if let Some(registered) = &mut host.loading {
        if registered.count() < MAX_CALLBACKS {
            add(registered, line);
            return Ok(());
        }
        drop(host);
        return Err(fail(lua, format!("more than {MAX_CALLBACKS} callbacks")));
    }
    drop(host);
    Err(fail(lua, "callbacks are registered while the script is loaded, not in another callback"))
}

/// A timer, to be stopped.
struct TimerTable(u64);

impl UserData for TimerTable {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("stop", |lua, this, ()| {
            charge(lua, CALL)?;
            host_mut(lua)?.stopped.push(this.0);
            Ok(())
        });
    }
}

fn timer(lua: &Lua, time: &str, function: Function, repeats: bool) -> Result<TimerTable, Error> {
    let time = Period::positive(time).map_err(|error| fail(lua, error))?.0;
    if repeats && time < SHORTEST_TIMER {
        return Err(fail(lua, format!("`{time:?}` is too short: at least {SHORTEST_TIMER:?}")));
    }
    let file = Arc::clone(&host(lua)?.file);
    let line = place::line(lua, &file).unwrap_or(1);
    charge(lua, CALL)?;
    let mut host = host_mut(lua)?;
    if host.timers.len() >= MAX_TIMERS {
        drop(host);
        return Err(fail(lua, format!("more than {MAX_TIMERS} timers")));
    }
    host.last_timer += 1;
    let number = host.last_timer;
    let (due, every) = (host.at.plus(time), repeats.then_some(time));
    host.timers.push(Timer { number, due, every, function, line });
    Ok(TimerTable(number))
}

fn log(lua: &Lua, tostring: &Function, values: MultiValue) -> Result<(), Error> {
    let mut text = String::new();
    for (number, value) in values.into_iter().enumerate() {
        if number > 0 {
            text.push(' ');
        }
        let shown: LuaString = tostring.call(value)?;
        for part in shown.as_bytes().utf8_chunks() {
            text.push_str(part.valid());
            part.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        }
        charge(lua, CALL + shown.as_bytes().len())?;
    }
    host_mut(lua)?.say(shortened(text, MAX_MESSAGE), false);
    Ok(())
}

/// Returns the text that a player reads of a chat component.
fn text(lua: &Lua, value: LuaValue) -> Result<LuaValue, Error> {
    let text = match &value {
        LuaValue::String(text) => {
            charge(lua, CALL + 4 * text.as_bytes().len())?;
            plain_text(&text.to_string_lossy())
        }
        other => {
            let Some(part) = part(other) else { return Ok(value) };
            let (value, size) = part.value(lua).map_err(|why| fail(lua, why))?;
            charge(lua, CALL + 4 * size)?;
            match value {
                Value::Nbt(nbt) => plain_nbt(&nbt.root),
                value => plain_text(&value.to_json().to_string()),
            }
        }
    };
    Ok(LuaValue::String(lua.create_string(text)?))
}

fn part(value: &LuaValue) -> Option<PartTable> {
    let data = value.as_userdata()?;
    if let Ok(packet) = data.borrow::<PacketTable>() {
        return Some(PartTable::whole(packet.call));
    }
    data.borrow::<PartTable>().ok().map(|part| part.clone())
}

/// The variables that all sessions share: `run.vars`.
struct RunVars;

impl UserData for RunVars {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, _, name: String| {
            charge(lua, CALL)?;
            let var = host(lua)?.run.get(&name);
            var.map_or(Ok(LuaValue::Nil), |var| of_var(lua, &var))
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, _, (name, value): (String, LuaValue)| {
                charge(lua, CALL)?;
                let var = match &value {
                    LuaValue::Nil => None,
                    value => Some(to_var(value, 0).ok_or_else(|| {
                        fail(lua, "a variable of the run is a number, a string or a boolean")
                    })?),
                };
                if matches!(&var, Some(Var::Text(text)) if text.len() > MAX_VAR) {
                    return Err(fail(lua, format!("the string is longer than {MAX_VAR} bytes")));
                }
                let run = host(lua)?.run.clone();
                match run.set(&name, var) {
                    true => Ok(()),
                    false => Err(fail(lua, "the variables of the run are too large")),
                }
            },
        );
        methods.add_meta_method(MetaMethod::Pairs, |lua, _, ()| {
            let run = host(lua)?.run.clone();
            let next =
                lua.create_function(move |lua, (_, after): (LuaValue, Option<LuaString>)| {
                    let after = after.map(|after| after.to_string_lossy());
                    let Some(name) = run.next(after.as_deref()) else {
                        return Ok((LuaValue::Nil, LuaValue::Nil));
                    };
                    let value =
                        run.get(&name).map_or(Ok(LuaValue::Nil), |var| of_var(lua, &var))?;
                    Ok((LuaValue::String(lua.create_string(name)?), value))
                })?;
            Ok((next, LuaValue::Nil, LuaValue::Nil))
        });
    }
}

/// Most callbacks of a script.
const MAX_CALLBACKS: usize = 1000;

/// Longest message in bytes.
const MAX_MESSAGE: usize = 4096;

/// Longest string among the variables of a run, in bytes.
const MAX_VAR: usize = 64 << 10;
