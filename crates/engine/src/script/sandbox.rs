use mlua::chunk::ChunkMode;
use mlua::{Error, HookTriggers, Lua, LuaOptions, StdLib, Table, Value as LuaValue, VmState};

use super::host::{Host, Work};
use super::work::{charge, too_long};
use super::{globals, place, string_functions};
use mitmcraft_protocol::codec::{MemoryBudget, Reservation};

/// A Lua state without files, processes, network, native code and bytecode, whose memory and
/// instructions are bounded.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) lua: Lua,
    pub(super) work: Work,
    memory: Reservation,
}

impl Sandbox {
    /// Creates a state with the functions of scripts, whose memory counts against `budget`.
    pub(super) fn new(host: Host, budget: Option<&MemoryBudget>) -> Result<Self, Error> {
        let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE | StdLib::UTF8;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let seed = host.context.as_ref().map_or(0, |context| context.session);
        let work = host.work.clone();
        lua.set_app_data(host);
        let all = lua.globals();
        for name in ["collectgarbage", "dofile", "load", "loadfile", "require", "warn"] {
            all.set(name, LuaValue::Nil)?;
        }
        string_functions::install(&lua, &all.get::<Table>("string")?)?;
        let charge = lua.create_function(|lua, work: usize| charge(lua, work))?;
        let shown = lua.create_function(place::shown)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
        prelude.set_mode(ChunkMode::Text).call::<()>((charge, shown))?;
        // Reproducible, like the random numbers of rules.
        let math = all.get::<Table>("math")?;
        math.get::<mlua::Function>("randomseed")?.call::<()>(seed as i64)?;
        globals::install(&lua)?;
        let counted = work.clone();
        let triggers = HookTriggers::new().every_nth_instruction(SLICE);
        lua.set_hook(triggers, move |lua, _| {
            // An instruction takes no longer than copying all memory.
            match counted.spend(SLICE as usize * (1 + lua.used_memory() / COPIED)) {
                true => Err(too_long(lua)),
                false => Ok(VmState::Continue),
            }
        })?;
        let memory = budget.map(MemoryBudget::reservation).unwrap_or_default();
        let mut sandbox = Self { lua, work, memory };
        sandbox.count_memory();
        Ok(sandbox)
    }

    /// Runs a text as a script.
    pub(super) fn run(&self, file: &str, text: &str) -> Result<(), Error> {
        let chunk = self.lua.load(text).set_name(format!("@{file}"));
        chunk.set_mode(ChunkMode::Text).exec()
    }

    /// Gives the next call the memory that it may use: that which is counted for the state already, and what the
    /// budget has left for scripts. Half of the budget is never theirs.
    pub(super) fn grant(&self) {
        let limit = self.memory.budget().map_or(MAX_MEMORY, |budget| {
            let left = (budget.limit() / 2).saturating_sub(budget.used());
            let most = (self.memory.counted() + left) / Reservation::FREE * Reservation::FREE;
            most.clamp(Reservation::FREE, MAX_MEMORY)
        });
        // It fails only if the state has an allocator of its own.
        let _ = self.lua.set_memory_limit(limit);
    }

    /// Counts what the state uses now.
    pub(super) fn count_memory(&mut self) {
        let _ = self.lua.set_memory_limit(0);
        self.memory.resize(self.lua.used_memory());
    }
}

/// Instructions between two looks at what a call has spent.
const SLICE: u32 = 1000;

/// Bytes of a state for which each instruction counts as one more.
const COPIED: usize = 8 << 10;

/// Bytes that a state may use at most.
const MAX_MEMORY: usize = 8 << 20;
