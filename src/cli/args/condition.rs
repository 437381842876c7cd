use clap::Args;
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::schema::Catalog;

use crate::cli::exit::Rendered;
use crate::cli::output::{Level, Output};

/// `-Y`, which selects packets.
#[derive(Debug, Args)]
pub(crate) struct Condition {
    /// Select only packets that match this expression
    #[arg(short = 'Y', long = "where", value_name = "EXPR")]
    condition: Option<String>,
}

impl Condition {
    /// Returns whether the option was given.
    pub(crate) fn is_set(&self) -> bool {
        self.condition.is_some()
    }

    /// Compiles the expression for the versions of `catalog` and prints its warnings. `None` if the
    /// option was not given.
    pub(crate) fn compile(
        &self,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<Option<Expr>> {
        compile(self.condition.as_deref(), "--where", catalog, output)
    }
}

/// Compiles the expression that `option` was given, if any, and prints its warnings.
pub(crate) fn compile(
    text: Option<&str>,
    option: &str,
    catalog: &Catalog,
    output: &Output,
) -> anyhow::Result<Option<Expr>> {
    let Some(text) = text else { return Ok(None) };
    match Expr::parse(text, catalog) {
        Ok((expr, warnings)) => {
            for warning in warnings {
                let text = format!("`{option}`: {}", warning.render(text));
                output.message_lines(Level::Warning, &text);
            }
            Ok(Some(expr))
        }
        Err(error) => Err(Rendered(format!("`{option}`: {}", error.render(text))).into()),
    }
}
