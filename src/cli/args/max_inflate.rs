use clap::Args;
use mitmcraft_engine::capture::InflationBudget;
use mitmcraft_engine::lang::amount::Size;

/// The option that bounds what packets inflate to where they are recorded.
#[derive(Debug, Args)]
pub(crate) struct MaxInflate {
    /// Limit on the inflated size of a session's compressed packets in the log, in bytes per
    /// second. Packets beyond it are recorded compressed, with a remark; a proxy forwards them as usual
    #[arg(long, value_name = "SIZE", default_value_t = Size(InflationBudget::DEFAULT as u64))]
    max_inflate: Size,
}

impl MaxInflate {
    /// Returns the limit.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.max_inflate.0).unwrap_or(usize::MAX)
    }
}
