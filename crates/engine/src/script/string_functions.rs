//! The functions of `string` that could run for long: bounded, since no hook interrupts them.

use std::fmt::Display;

use memchr::memmem;
use mlua::{Error, Function, Lua, LuaString, MultiValue, Table, Value as LuaValue, Variadic};

use super::pattern::{Captured, MAX_STEPS, Matcher};
use super::place::fail;
use super::work::{CALL, VALUE, charge};

/// Replaces the functions in the table `string`.
pub(super) fn install(lua: &Lua, string: &Table) -> Result<(), Error> {
    string.set("dump", LuaValue::Nil)?;
    string.set("rep", lua.create_function(rep)?)?;
    let find = |lua: &Lua, arguments| search(lua, arguments, true);
    string.set("find", lua.create_function(find)?)?;
    let found =
        |lua: &Lua, (source, pattern, from)| search(lua, (source, pattern, from, None), false);
    string.set("match", lua.create_function(found)?)?;
    string.set("gmatch", lua.create_function(gmatch)?)?;
    string.set("gsub", lua.create_function(gsub)?)
}

fn rep(
    lua: &Lua,
    (text, count, separator): (LuaString, i64, Option<LuaString>),
) -> Result<LuaString, Error> {
    let text = text.as_bytes();
    let separator = separator.as_ref().map(LuaString::as_bytes);
    let separator: &[u8] = separator.as_deref().unwrap_or_default();
    let count = usize::try_from(count).unwrap_or(0);
    let size = (text.len() + separator.len()).checked_mul(count);
    if size.is_none_or(|size| size > MAX_TEXT) || count > MAX_TEXT {
        return Err(fail(lua, format!("the text would be longer than {MAX_TEXT} bytes")));
    }
    charge(lua, CALL + count + size.unwrap_or(0) / COPIED)?;
    let mut out = Vec::with_capacity(size.unwrap_or(0));
    for number in 0..count {
        if number > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(&text);
    }
    lua.create_string(out)
}

type Search = (LuaString, LuaString, Option<i64>, Option<bool>);

fn search(
    lua: &Lua,
    (source, pattern, from, plain): Search,
    find: bool,
) -> Result<MultiValue, Error> {
    let (source, pattern) = (source.as_bytes(), pattern.as_bytes());
    let mut values = MultiValue::new();
    let Some(start) = start(from, source.len()) else {
        values.push_back(LuaValue::Nil);
        return Ok(values);
    };
    charge(lua, CALL + (source.len() - start + pattern.len()) / COPIED)?;
    let special = pattern.iter().any(|char| b"^$*+?.([%-".contains(char));
    if find && (plain == Some(true) || !special) {
        match memmem::find(&source[start..], &pattern) {
            Some(at) => {
                let first = start + at;
                values.push_back(integer(first + 1));
                values.push_back(integer(first + pattern.len()));
            }
            None => values.push_back(LuaValue::Nil),
        }
        return Ok(values);
    }
    let mut steps = MAX_STEPS;
    let anchored = pattern.first() == Some(&b'^');
    let mut matcher = Matcher::new(&source, &pattern[usize::from(anchored)..], &mut steps);
    let mut found = Ok(None);
    for at in start..=source.len() {
        found = matcher.match_at(at).map(|end| Some((at, end?)));
        if anchored || !matches!(found, Ok(None)) {
            break;
        }
    }
    charge_steps(lua, &matcher)?;
    match found.map_err(|why| fail(lua, why))? {
        Some((at, end)) => {
            if find {
                values.push_back(integer(at + 1));
                values.push_back(integer(end));
            }
            values.extend(captures(lua, &matcher, !find, at, end)?);
        }
        None => values.push_back(LuaValue::Nil),
    }
    Ok(values)
}

fn gmatch(lua: &Lua, (text, pattern): (LuaString, LuaString)) -> Result<Function, Error> {
    let (mut at, mut last) = (0, None);
    lua.create_function_mut(move |lua, _: Variadic<LuaValue>| {
        let (source, pattern) = (text.as_bytes(), pattern.as_bytes());
        let mut steps = MAX_STEPS;
        let mut matcher = Matcher::new(&source, &pattern, &mut steps);
        while at <= source.len() {
            let start = at;
            match matcher.match_at(start).map_err(|why| unmatched(lua, &matcher, why))? {
                Some(end) if last != Some(end) => {
                    at = end;
                    last = Some(end);
                    let values = captures(lua, &matcher, true, start, end)?;
                    charge_steps(lua, &matcher)?;
                    return Ok(values);
                }
                _ => at += 1,
            }
        }
        charge_steps(lua, &matcher)?;
        Ok(MultiValue::from_iter([LuaValue::Nil]))
    })
}

type Replace = (LuaString, LuaString, LuaValue, Option<i64>);

fn gsub(
    lua: &Lua,
    (source, pattern, replacement, limit): Replace,
) -> Result<(LuaString, i64), Error> {
    charge(lua, CALL + source.as_bytes().len() / COPIED)?;
    let (source, pattern) = (source.as_bytes().to_vec(), pattern.as_bytes().to_vec());
    let anchored = pattern.first() == Some(&b'^');
    let mut steps = MAX_STEPS;
    let mut matcher = Matcher::new(&source, &pattern[usize::from(anchored)..], &mut steps);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(0));
    let (mut out, mut at, mut count, mut last) = (Vec::new(), 0, 0, None);
    while count < limit {
        match matcher.match_at(at).map_err(|why| unmatched(lua, &matcher, why))? {
            Some(end) if last != Some(end) => {
                count += 1;
                replace(lua, &replacement, &mut matcher, (at, end), &source, &mut out)?;
                at = end;
                last = Some(end);
            }
            _ if at < source.len() => {
                out.push(source[at]);
                at += 1;
            }
            _ => break,
        }
        if out.len() > MAX_TEXT {
            let why = format!("the text would be longer than {MAX_TEXT} bytes");
            return Err(unmatched(lua, &matcher, why));
        }
        if anchored {
            break;
        }
    }
    out.extend_from_slice(source.get(at..).unwrap_or_default());
    charge_steps(lua, &matcher)?;
    Ok((lua.create_string(out)?, count as i64))
}

/// Appends what replaces a match.
fn replace(
    lua: &Lua,
    replacement: &LuaValue,
    matcher: &mut Matcher<'_>,
    (start, end): (usize, usize),
    source: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    matcher.take(VALUE).map_err(|why| unmatched(lua, matcher, why))?;
    let value = match replacement {
        LuaValue::Table(table) => table.get(captured(lua, matcher, 0, start, end)?)?,
        LuaValue::Function(function) => {
            function.call::<LuaValue>(captures(lua, matcher, true, start, end)?)?
        }
        LuaValue::String(_) | LuaValue::Integer(_) | LuaValue::Number(_) => {
            let text = lua.coerce_string(replacement.clone())?;
            let text = text.as_ref().map(LuaString::as_bytes);
            let text = text.as_deref().unwrap_or_default();
            matcher.take(text.len()).map_err(|why| unmatched(lua, matcher, why))?;
            let mut chars = text.iter();
            while let Some(&char) = chars.next() {
                if char != b'%' {
                    out.push(char);
                    continue;
                }
                match chars.next() {
                    Some(b'%') => out.push(b'%'),
                    Some(b'0') => out.extend_from_slice(&source[start..end]),
                    Some(digit) if digit.is_ascii_digit() => {
                        let number = usize::from(digit - b'1');
                        match matcher.capture(number, start, end).map_err(|it| fail(lua, it))? {
                            Captured::Bytes(bytes) => out.extend_from_slice(bytes),
                            Captured::Position(at) => out.extend(at.to_string().bytes()),
                        }
                    }
                    _ => return Err(fail(lua, "invalid use of '%' in replacement string")),
                }
            }
            return Ok(());
        }
        other => {
            let message = format!("cannot replace by a value of type {}", other.type_name());
            return Err(fail(lua, message));
        }
    };
    match value {
        LuaValue::Nil | LuaValue::Boolean(false) => out.extend_from_slice(&source[start..end]),
        LuaValue::String(_) | LuaValue::Integer(_) | LuaValue::Number(_) => {
            if let Some(text) = lua.coerce_string(value)? {
                out.extend_from_slice(&text.as_bytes());
            }
        }
        other => {
            let message = format!("invalid replacement value (a {})", other.type_name());
            return Err(fail(lua, message));
        }
    }
    Ok(())
}

fn captures(
    lua: &Lua,
    matcher: &Matcher<'_>,
    whole: bool,
    start: usize,
    end: usize,
) -> Result<MultiValue, Error> {
    (0..matcher.count(whole)).map(|number| captured(lua, matcher, number, start, end)).collect()
}

fn captured(
    lua: &Lua,
    matcher: &Matcher<'_>,
    number: usize,
    start: usize,
    end: usize,
) -> Result<LuaValue, Error> {
    match matcher.capture(number, start, end).map_err(|why| fail(lua, why))? {
        Captured::Bytes(bytes) => lua.create_string(bytes).map(LuaValue::String),
        Captured::Position(at) => Ok(integer(at)),
    }
}

/// Returns the offset that an index means, as `string.find` takes it.
fn start(from: Option<i64>, length: usize) -> Option<usize> {
    let from = from.unwrap_or(1);
    let start = match usize::try_from(from) {
        Ok(from) => from.saturating_sub(1),
        Err(_) => length.saturating_sub(usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    (start <= length).then_some(start)
}

fn integer(number: usize) -> LuaValue {
    LuaValue::Integer(number as i64)
}

/// Charges the steps that a matcher has taken.
fn charge_steps(lua: &Lua, matcher: &Matcher<'_>) -> Result<(), Error> {
    let steps = usize::try_from(MAX_STEPS - matcher.left()).unwrap_or(usize::MAX);
    charge(lua, steps.saturating_add(CALL))
}

/// Charges the steps of a match that failed, and returns its error.
fn unmatched(lua: &Lua, matcher: &Matcher<'_>, why: impl Display) -> Error {
    charge_steps(lua, matcher).err().unwrap_or_else(|| fail(lua, why))
}

/// Bytes that are copied or compared in the time of an instruction.
const COPIED: usize = 16;

/// The longest text that a function makes of a shorter one.
const MAX_TEXT: usize = 1 << 20;
