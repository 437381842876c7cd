use anyhow::bail;
use clap::Args;
use mitmcraft_engine::link::Breakpoint;
use mitmcraft_protocol::schema::Catalog;

use super::compile;
use crate::cli::output::Output;
use crate::cli::terminal_interface::TerminalInterface;

/// `--tui` and `--intercept`, which let a person control the sessions.
#[derive(Debug, Args)]
pub(crate) struct Interactive {
    /// Browse the packets and control the sessions in this terminal; `?` lists the keys
    #[arg(long)]
    pub(crate) tui: bool,

    /// From the start, hold packets that match until you forward, edit or drop them (needs `--tui`,
    /// `--web` or `--control`)
    #[arg(long, value_name = "EXPR")]
    intercept: Option<String>,
}

impl Interactive {
    /// Checks that the interface can be shown. `elsewhere` says that there is also a page or one for
    /// programs, `on_stdout` that stdout carries a capture.
    ///
    /// # Errors
    /// If it cannot, or if there is none for `--intercept`.
    pub(crate) fn check(&self, elsewhere: bool, on_stdout: bool) -> anyhow::Result<()> {
        if self.intercept.is_some() && !self.tui && !elsewhere {
            bail!(
                "`--intercept` needs `--tui`, `--web` or `--control`: without an interface, nobody could forward \
                 what is held"
            );
        }
        if self.tui && on_stdout {
            bail!("`--tui` cannot be used with `-w -`: stdout is the terminal");
        }
        if self.tui
            && let Some(why) = TerminalInterface::obstacle()
        {
            bail!("`--tui` needs a terminal, and {why}");
        }
        Ok(())
    }

    /// Compiles the condition on packets to hold, and prints its warnings.
    ///
    /// # Errors
    /// If it is not an expression.
    pub(crate) fn breakpoint(
        &self,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<Option<Breakpoint>> {
        let condition = compile(self.intercept.as_deref(), "--intercept", catalog, output)?;
        Ok(condition.map(|condition| Breakpoint { condition, overtaken: false }))
    }
}
