//! What a call may do: functions of the host count as instructions of Lua.

use mlua::{Error, Lua};

use super::host::host;
use super::place;

/// Adds the work of a function that no instruction count interrupts.
///
/// # Errors
/// If the call has had its share.
pub(super) fn charge(lua: &Lua, instructions: usize) -> Result<(), Error> {
    let is_over = host(lua)?.work.spend(instructions);
    if is_over { Err(too_long(lua)) } else { Ok(()) }
}

/// Returns the error of a call that has taken too long, with the line of the script that is running.
pub(super) fn too_long(lua: &Lua) -> Error {
    place::fail(lua, "ran for too long: an endless loop?")
}

/// Work of a function of the host, whatever it does.
pub(super) const CALL: usize = 100;

/// Work for a value that a function of the host makes, reads or moves.
pub(super) const VALUE: usize = 20;
