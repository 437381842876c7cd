//! Filters in Lua.
//!
//! A [`Script`] is the text of a file with its callbacks, whose expressions are compiled once and shared
//! by all sessions. Each session has its own Lua state (`sandbox`), in which the file is run once
//! and its callbacks are called (`lua_filter`). What the callbacks use is in one place,
//! `Host`: the packet being judged, the effects, the session. Packets are decoded when a
//! field is read (`packet_table`), and encoded when a callback has returned (`draft`).
//!
//! Nothing that a script does ends a session or stops a run: its memory is bounded per session and by the budget
//! of the run, its instructions per packet and per second (`work`), and library functions that no hook interrupts
//! are replaced by bounded ones (`pattern`, `prelude.lua`). The packet of a callback that fails is forwarded as it
//! came.

mod check;
mod convert;
mod draft;
mod globals;
mod host;
mod host_error;
mod lua_filter;
mod mentions;
mod packet_table;
mod pattern;
mod place;
mod run;
mod sandbox;
#[allow(clippy::module_inception, reason = "the type `Script` has a file like every other")]
mod script;
mod session_table;
mod string_functions;
mod timer;
mod tokens;
mod types;
mod work;

#[cfg(test)]
mod tests;

pub use check::CheckedScript;
pub use script::Script;
pub use types::lua_types;
