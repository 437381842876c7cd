//! `proxy`: a plan in which everything is checked, what it acquires, and how it is served.

mod arguments;
mod browsing;
mod plan;
mod ready;

pub(super) use arguments::Arguments;
use plan::Plan;

use super::exit::Done;
use super::output::Output;

/// Checks, acquires and serves, in this order: a start that fails must leave existing captures as they
/// are.
pub(super) fn run(arguments: Arguments, output: &Output) -> anyhow::Result<Done> {
    let plan = Plan::check(arguments, output)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(async { plan.acquire(output).await?.serve(output).await });
    // Do not wait for DNS lookups that are still running.
    runtime.shutdown_background();
    ended
}
