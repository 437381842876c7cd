use clap::Args;
use mitmcraft_engine::lang::amount::Size;
use mitmcraft_protocol::codec::MemoryBudget;

use crate::cli::output::Output;
use crate::cli::plural::count;

/// `--max-memory`, the ceiling of what grows with traffic.
#[derive(Debug, Clone, Args)]
pub(crate) struct Memory {
    /// Upper limit of the memory for packets. Data beyond it is forwarded in pieces, or left out
    /// with a message, and not decoded
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = Size(MemoryBudget::DEFAULT as u64),
        value_parser = Size::room
    )]
    max_memory: Size,
}

/// The parts of the ceiling.
pub(crate) struct Shares {
    pub(crate) sessions: MemoryBudget,
    pub(crate) queue: usize,
    pub(crate) recorder: usize,
}

impl Memory {
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.max_memory.0).unwrap_or(usize::MAX)
    }

    /// Returns the budget of sessions, the bytes of their entries that may wait to be written, an eighth of
    /// the ceiling, and those of the entries that a recorder keeps, a quarter.
    pub(crate) fn shares(&self, has_recorder: bool) -> Shares {
        let queue = self.bytes() / 8;
        let recorder = if has_recorder { self.bytes() / 4 } else { 0 };
        let sessions = MemoryBudget::new(self.bytes() - queue - recorder);
        Shares { sessions, queue, recorder }
    }

    pub(crate) fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(self.bytes())
    }

    /// Warns if the ceiling was reached.
    pub(crate) fn report(&self, budget: &MemoryBudget, output: &Output) {
        if budget.streamed() > 0 {
            output.warning(&format!(
                "the memory ceiling of {} was reached: {} passed through in pieces, not decoded \
                 (`--max-memory` raises it)",
                self.max_memory,
                count(budget.streamed(), "packet")
            ));
        }
    }
}
