use anyhow::anyhow;
use clap::Args;
use mitmcraft::proxy::ColorStore;
use mitmcraft::view::{Highlight, HighlightError, Highlights};
use mitmcraft_protocol::schema::Catalog;

use crate::cli::exit::Rendered;
use crate::cli::output::Output;
use crate::cli::settings::default_file;

/// `--highlight`: the colours of packets on the screens.
#[derive(Debug, Args)]
pub(crate) struct HighlightOptions {
    /// Show packets that match an expression in a colour, on the page and in the terminal (repeatable;
    /// the first that matches counts), as in `--highlight 'red: pkt.error'`. Colours are red, orange,
    /// yellow, green, blue, purple and gray; `none` shows no packet in a colour [default: those that
    /// were saved on the page or in the terminal, or errors, dropped, changed, held, chat]
    #[arg(long, value_name = "COLORED-EXPR")]
    highlight: Vec<String>,
}

impl HighlightOptions {
    /// Returns the colours that the options set, or else those that people have saved.
    ///
    /// # Errors
    /// If one of the options is wrong.
    pub(crate) fn store(&self, catalog: &Catalog, output: &Output) -> anyhow::Result<ColorStore> {
        if let Some(highlights) = self.compile(catalog)? {
            return Ok(ColorStore::new(highlights));
        }
        let Some(path) = default_file() else {
            return Ok(ColorStore::new(Highlights::usual(catalog)));
        };
        let (store, faults) = ColorStore::open(path.with_file_name("colors.json"), catalog);
        faults.iter().for_each(|fault| output.warning(&fault.to_string()));
        Ok(store)
    }

    /// Compiles the colours; `None` if there are none.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub(crate) fn compile(&self, catalog: &Catalog) -> anyhow::Result<Option<Highlights>> {
        if self.highlight.is_empty() {
            return Ok(None);
        }
        let wanted = self.highlight.iter().filter(|text| *text != "none");
        let parsed = wanted.map(|text| {
            Highlight::parse(text, catalog).map_err(|error| match error {
                HighlightError::Condition(error) => {
                    let condition = text.split_once(':').map_or(&**text, |(_, it)| it.trim());
                    Rendered(format!("`--highlight`: {}", error.render(condition))).into()
                }
                error => anyhow!("`--highlight {text}`: {error}"),
            })
        });
        let all: Vec<Highlight> = parsed.collect::<Result<_, _>>()?;
        let compiled = Highlights::new(all, catalog);
        compiled.map(Some).map_err(|(_, error)| anyhow!("`--highlight`: {error}"))
    }
}
