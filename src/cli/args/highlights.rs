use anyhow::anyhow;
use clap::Args;
use mitmcraft::view::{Highlight, HighlightError, Highlights};
use mitmcraft_protocol::schema::Catalog;

/// `--highlight`: the colours of packets on the screens.
#[derive(Debug, Args)]
pub(crate) struct HighlightOptions {
    /// Show packets that match an expression in a colour, on the page and in the terminal (repeatable;
    /// the first that matches counts), as in `--highlight 'red: pkt.error'`. Colours are red, orange,
    /// yellow, green, blue, purple and gray; `none` shows no packet in a colour [default: errors,
    /// dropped, changed, held, chat]
    #[arg(long, value_name = "COLOR: EXPR")]
    highlight: Vec<String>,
}

impl HighlightOptions {
    /// Compiles the colours.
    ///
    /// # Errors
    /// If one of them is wrong.
    pub(crate) fn compile(&self, catalog: &Catalog) -> anyhow::Result<Highlights> {
        if self.highlight.is_empty() {
            return Ok(Highlights::usual(catalog));
        }
        let wanted = self.highlight.iter().filter(|text| *text != "none");
        let parsed = wanted.map(|text| {
            Highlight::parse(text, catalog).map_err(|error| match error {
                HighlightError::Condition(error) => {
                    let condition = text.split_once(':').map_or(&**text, |(_, it)| it.trim());
                    anyhow!("`--highlight`: {}", error.render(condition))
                }
                error => anyhow!("`--highlight {text}`: {error}"),
            })
        });
        let all: Vec<Highlight> = parsed.collect::<Result<_, _>>()?;
        Highlights::new(all, catalog).map_err(|(_, error)| anyhow!("`--highlight`: {error}"))
    }
}
