use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mlua::{Error, HookTriggers, Lua, LuaOptions, StdLib, Table, Value as LuaValue, VmState};

use mlua::chunk::ChunkMode;

use super::host::{Host, host};
use super::{globals, place, string_functions};
use mitmcraft_protocol::codec::{MemoryBudget, Reservation};

/// A Lua state without files, processes, network, native code and bytecode, whose memory and
/// instructions are bounded.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) lua: Lua,
    /// What the present call has spent.
    spent: Arc<AtomicU64>,
    memory: Reservation,
}

impl Sandbox {
    /// Creates a state with the functions of scripts, whose memory counts against `budget`.
    pub(super) fn new(host: Host, budget: Option<&MemoryBudget>) -> Result<Self, Error> {
        let libraries = StdLib::MATH | StdLib::STRING | StdLib::TABLE | StdLib::UTF8;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        let seed = host.context.as_ref().map_or(0, |context| context.session);
        lua.set_app_data(host);
        let spent = Arc::new(AtomicU64::new(0));
        let all = lua.globals();
        for name in ["collectgarbage", "dofile", "load", "loadfile", "require", "warn"] {
            all.set(name, LuaValue::Nil)?;
        }
        string_functions::install(&lua, &all.get::<Table>("string")?)?;
        let counted = Arc::clone(&spent);
        let exhausted = lua.create_function(move |lua, ()| {
            let over = counted.load(Relaxed) > MAX_SPENT;
            over.then(|| too_long(lua)).transpose()
        })?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("=prelude");
        prelude.set_mode(ChunkMode::Text).call::<()>(exhausted)?;
        // Reproducible, like the random numbers of rules.
        let math = all.get::<Table>("math")?;
        math.get::<mlua::Function>("randomseed")?.call::<()>(seed as i64)?;
        globals::install(&lua)?;
        let counted = Arc::clone(&spent);
        let triggers = HookTriggers::new().every_nth_instruction(SLICE);
        lua.set_hook(triggers, move |lua, _| {
            // An instruction costs no more than the memory that it can copy.
            let cost = 1 + lua.used_memory() as u64 / MEMORY_COST;
            if counted.fetch_add(cost, Relaxed) + cost <= MAX_SPENT {
                return Ok(VmState::Continue);
            }
            Err(Error::RuntimeError(too_long(lua)?))
        })?;
        let memory = budget.map(MemoryBudget::reservation).unwrap_or_default();
        let mut sandbox = Self { lua, spent, memory };
        sandbox.count_memory();
        Ok(sandbox)
    }

    /// Gives the next call its share of instructions and memory.
    pub(super) fn begin(&self) {
        self.spent.store(0, Relaxed);
        let used = self.lua.used_memory();
        let left = self
            .memory
            .budget()
            .map_or(usize::MAX, |budget| budget.limit().saturating_sub(budget.used()));
        let limit = MAX_MEMORY.min(used.saturating_add(left)).max(used + FREE);
        // It fails only if the state has an allocator of its own.
        let _ = self.lua.set_memory_limit(limit);
    }

    /// Counts what the state uses now.
    pub(super) fn count_memory(&mut self) {
        let _ = self.lua.set_memory_limit(0);
        self.memory.resize(self.lua.used_memory());
    }
}

fn too_long(lua: &Lua) -> Result<String, Error> {
    let file = Arc::clone(&host(lua)?.file);
    let line = (0..16).find_map(|level| {
        lua.inspect_stack(level, |debug| {
            let source = debug.source();
            let ours = source.source.is_some_and(|it| it.strip_prefix('@') == Some(&*file));
            debug.current_line().filter(|_| ours)
        })?
    });
    let text = "ran for too long: an endless loop?";
    Ok(match line {
        Some(line) => format!("{file}:{line}: {text}"),
        None => place::error(lua, &file, text).to_string(),
    })
}

/// Instructions between two looks at what a call has spent.
const SLICE: u32 = 1000;

/// Slices that a call may take, of instructions that copy little: some 10 million instructions, which take
/// about 0.1 s.
const MAX_SPENT: u64 = 10_000;

/// Bytes of a state for which a slice costs one more.
const MEMORY_COST: u64 = 8 << 10;

/// Bytes that a state may use at most.
const MAX_MEMORY: usize = 8 << 20;

/// Bytes that a call may use whatever the budget says, so that it can at least fail with an error.
const FREE: usize = 64 << 10;
