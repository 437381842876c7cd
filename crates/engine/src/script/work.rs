use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mlua::{Error, Lua};

use super::host::host;
use super::place;

/// The work of the present call so far, in instructions of Lua. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Work(Arc<AtomicU64>);

impl Work {
    /// Begins a call, which has all of its share.
    pub(super) fn begin(&self) {
        self.0.store(0, Relaxed);
    }

    /// Adds work that takes as long as so many instructions. Returns whether the call has had its share.
    pub(super) fn spend(&self, instructions: usize) -> bool {
        self.0.fetch_add(instructions as u64, Relaxed);
        self.0.load(Relaxed) > MAX_WORK
    }
}

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

/// Work that a call may do, which takes about 0.1 s.
const MAX_WORK: u64 = 10_000_000;

/// Work of a function of the host, whatever it does.
pub(super) const CALL: usize = 100;

/// Work for a value that a function of the host makes, reads or moves.
pub(super) const VALUE: usize = 20;
