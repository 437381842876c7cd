//! Lines of expressions: a condition, the series of the timeline, and the colours of packets.

use super::{App, Purpose};
use crate::view::{Chart, Highlight, HighlightError, Highlights};
use mitmcraft_engine::lang::{Expr, ExprError, split};

impl App {
    /// Returns the condition that a line is; `None` if it is empty.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    pub(super) fn condition_of(&self, text: &str) -> Result<Option<Expr>, (usize, String)> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let parsed = Expr::parse(text, &self.catalog);
        parsed.map(|(expr, _)| Some(expr)).map_err(|error| placed(0, error))
    }

    /// Asks what the timeline is to count.
    pub(super) fn ask_series(&mut self) {
        let texts = self.series.iter().map(Expr::text);
        let text = texts.collect::<Vec<_>>().join("; ");
        self.ask(Purpose::Series, text);
    }

    /// Returns the series that a line names.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    pub(super) fn series_of(&self, text: &str) -> Result<Vec<Expr>, (usize, String)> {
        let parts = parts(text);
        if let Some((at, _)) = parts.get(Chart::MAX) {
            return Err((*at, format!("there can be at most {} series", Chart::MAX)));
        }
        let parsed = parts.into_iter().map(|(at, part)| match Expr::parse(part, &self.catalog) {
            Ok((expr, _)) => Ok(expr),
            Err(error) => Err(placed(at, error)),
        });
        parsed.collect()
    }

    /// Asks in which colours packets are to be.
    pub(super) fn ask_colors(&mut self) {
        if !self.colored {
            "colours are switched off by an option, NO_COLOR or the terminal"
                .clone_into(&mut self.status);
            return;
        }
        let texts =
            self.highlights.iter().map(|it| format!("{}: {}", it.color.name(), it.condition));
        let text = texts.collect::<Vec<_>>().join("; ");
        self.ask(Purpose::Colors, text);
    }

    /// Returns the colours that a line names, the first of which has precedence.
    ///
    /// # Errors
    /// The place that is wrong, and why.
    pub(super) fn colors_of(&self, text: &str) -> Result<Highlights, (usize, String)> {
        let parsed = parts(text).into_iter().map(|(at, part)| {
            Highlight::parse(part, &self.catalog).map_err(|error| match error {
                HighlightError::Condition(error) => {
                    let condition = part.split_once(':').map_or(part, |(_, it)| it.trim_start());
                    placed(at + part.len() - condition.len(), error)
                }
                error => (at, error.to_string()),
            })
        });
        let all = parsed.collect::<Result<_, _>>()?;
        Highlights::new(all, &self.catalog).map_err(|(_, error)| placed(0, error))
    }

    /// Keeps the colours for all screens and later runs, and says so.
    pub(super) fn save_colors(&mut self) {
        let Some(colors) = &self.colors else { return };
        self.status = match (colors.save(&self.highlights), colors.path()) {
            (Err(error), _) => format!("until this ends: {error}"),
            (Ok(()), Some(path)) => format!("kept in `{}`", path.display()),
            (Ok(()), None) => "until this ends: an option or the configuration sets colours".into(),
        };
    }
}

/// Returns where in a line the mistake of a part is that begins at `at`, and what it is.
pub(super) fn placed(at: usize, error: ExprError) -> (usize, String) {
    let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    (at + error.span.start, format!("{}{hint}", error.message))
}

/// Returns the parts of a line between its semicolons, with their places.
fn parts(text: &str) -> Vec<(usize, &str)> {
    split(text, ';').filter(|(_, part)| !part.is_empty()).collect()
}
