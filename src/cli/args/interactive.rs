use anyhow::{anyhow, bail};
use clap::Args;
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::link::Breakpoint;
use mitmcraft_protocol::schema::Catalog;

use crate::cli::terminal_interface::TerminalInterface;

/// `--tui` and `--intercept`, which let a person control the sessions.
#[derive(Debug, Args)]
pub(crate) struct Interactive {
    /// Browse the packets and control the sessions in this terminal; `?` lists the keys
    #[arg(long)]
    tui: bool,

    /// From the start, hold packets that match until you forward, edit or drop them (needs `--tui`,
    /// `--web` or `--control`)
    #[arg(long, value_name = "EXPR")]
    intercept: Option<String>,
}

impl Interactive {
    /// Returns whether the terminal shows the interface.
    pub(crate) fn tui(&self) -> bool {
        self.tui
    }

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

    /// Compiles the condition on packets to hold.
    ///
    /// # Errors
    /// If it is not an expression.
    pub(crate) fn breakpoint(&self, catalog: &Catalog) -> anyhow::Result<Option<Breakpoint>> {
        let Some(text) = &self.intercept else { return Ok(None) };
        match Expr::parse(text, catalog) {
            Ok((condition, _)) => Ok(Some(Breakpoint { condition, overtaken: false })),
            Err(error) => Err(anyhow!("`--intercept`: {}", error.render(text))),
        }
    }
}
