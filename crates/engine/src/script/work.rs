//! The budget of work for a script. Functions of the host are charged as instructions of Lua.

use std::time::Duration;

use mlua::{Error, Lua};

use super::host::host;
use super::place;
use mitmcraft_protocol::packet::Timestamp;

/// Adds the work of a function that no instruction count interrupts.
///
/// # Errors
/// If the calls have had their share.
pub(super) fn charge(lua: &Lua, instructions: usize) -> Result<(), Error> {
    let is_over = host(lua)?.work.spend(instructions);
    if is_over { Err(too_long(lua)) } else { Ok(()) }
}

/// Returns the error of a call that has taken too long, with the line of the script that is running.
pub(super) fn too_long(lua: &Lua) -> Error {
    place::fail(lua, "ran for too long: an endless loop?")
}

/// The work of a session's script for what came at once.
#[derive(Debug, Default)]
pub(super) struct Turn {
    at: Timestamp,
    work: u64,
}

impl Turn {
    /// Counts the work of what happened at `at`. Returns `false` if others would wait for too long.
    pub(super) fn count(&mut self, at: Timestamp, work: u64) -> bool {
        if self.at != at {
            *self = Self { at, work: 0 };
        }
        self.work += work;
        self.work <= SLOW
    }
}

/// The work of a session's script, second by second. Packets that cost little add to its share, so that many of
/// them are no reason to do without a script.
#[derive(Debug, Default)]
pub(super) struct Second {
    since: Timestamp,
    work: u64,
    share: u64,
}

impl Second {
    /// Counts the work of what happened at `at`. Returns `false` if the script has had its share of the second.
    pub(super) fn count(&mut self, at: Timestamp, work: u64) -> bool {
        if at.since(self.since) >= Duration::from_secs(1) || self.share == 0 {
            *self = Self { since: at, work: 0, share: MAX_IN_SECOND };
        }
        self.work += work;
        self.share += CHEAP;
        self.work <= self.share
    }
}

/// Work that all calls for a packet, an event or a moment may do together, which takes about 0.1 s.
pub(super) const MAX_WORK: u64 = 10_000_000;

/// Work that the calls for the end of a session may do: all sessions may end at once.
pub(super) const MAX_AT_CLOSE: u64 = 500_000;

/// Work for what came at once from which on a script is slow: about 1 ms.
const SLOW: u64 = 100_000;

/// Work of a call that fails, whose error says where: about 30 µs.
pub(super) const FAILURE: usize = 3000;

/// Work that is expected of a packet: about 50 µs.
const CHEAP: u64 = 5000;

/// Work of a session's script in a second, which takes about as long.
const MAX_IN_SECOND: u64 = 100_000_000;

/// Work of a function of the host, whatever it does.
pub(super) const CALL: usize = 100;

/// Work for a value that a function of the host makes, reads or moves.
pub(super) const VALUE: usize = 20;
