use serde::{Deserialize, Serialize};

use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::{Expr, ExprError};
use mitmcraft_protocol::schema::Catalog;

/// The colours of packets in lists: that of the first expression that a packet matches.
#[derive(Debug, Clone, Default)]
pub struct Highlights(Vec<(Highlight, Expr)>);

/// A colour, and the packets that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Highlight {
    /// The colour.
    pub color: HighlightColor,
    /// An expression.
    #[serde(rename = "where")]
    pub condition: String,
}

/// A colour of packets. Interfaces choose shades that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
#[expect(missing_docs, reason = "the colours are those of their names")]
pub enum HighlightColor {
    Red,
    Orange,
    Yellow,
    Green,
    Blue,
    Purple,
    Gray,
}

/// The reason why a text is not a [`Highlight`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HighlightError {
    /// There is no colour.
    #[error("expected a colour and an expression, as in `red: pkt.error`")]
    Form,
    /// The colour is not known.
    #[error("no colour `{0}`: there are red, orange, yellow, green, blue, purple and gray")]
    Color(String),
    /// The expression is wrong.
    #[error("{}", .0.message)]
    Condition(ExprError),
}

impl Highlights {
    /// Compiles colours, the first of which has precedence.
    ///
    /// # Errors
    /// The index of the first expression that is wrong, and why.
    pub fn new(all: Vec<Highlight>, catalog: &Catalog) -> Result<Self, (usize, ExprError)> {
        let compiled = all.into_iter().enumerate().map(|(index, highlight)| {
            match Expr::parse(&highlight.condition, catalog) {
                Ok((expr, _)) => Ok((highlight, expr)),
                Err(error) => Err((index, error)),
            }
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }

    /// Creates the colours for those who have chosen none: what is wrong, what the proxy or a person changed, what was
    /// held, and what people say.
    #[must_use]
    pub fn usual(catalog: &Catalog) -> Self {
        let all = USUAL.map(|(color, condition)| Highlight { color, condition: condition.into() });
        Self::new(all.into(), catalog).unwrap_or_default()
    }

    /// Returns the colour of a packet.
    #[must_use]
    pub fn of(&self, record: &Record) -> Option<HighlightColor> {
        self.0.iter().find(|(_, expr)| expr.matches(record)).map(|(it, _)| it.color)
    }

    /// Iterates over the colours.
    pub fn iter(&self) -> impl Iterator<Item = &Highlight> {
        self.0.iter().map(|(highlight, _)| highlight)
    }
}

impl Highlight {
    /// Reads `red: pkt.error`.
    ///
    /// # Errors
    /// [`HighlightError`] if it is not a colour, a colon and an expression.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, HighlightError> {
        let (color, condition) = text.split_once(':').ok_or(HighlightError::Form)?;
        let (color, condition) = (color.trim(), condition.trim().to_owned());
        let known = HighlightColor::ALL.into_iter().find(|it| it.name() == color);
        let color = known.ok_or_else(|| HighlightError::Color(color.to_owned()))?;
        Expr::parse(&condition, catalog).map_err(HighlightError::Condition)?;
        Ok(Self { color, condition })
    }
}

impl HighlightColor {
    /// All colours.
    pub const ALL: [Self; 7] =
        [Self::Red, Self::Orange, Self::Yellow, Self::Green, Self::Blue, Self::Purple, Self::Gray];

    /// The name of the colour.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Orange => "orange",
            Self::Yellow => "yellow",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Purple => "purple",
            Self::Gray => "gray",
        }
    }
}

const USUAL: [(HighlightColor, &str); 5] = [
    (HighlightColor::Red, "pkt.error or pkt.diagnostic"),
    (HighlightColor::Gray, "pkt.verdict == \"drop\""),
    (HighlightColor::Purple, "pkt.verdict != \"pass\""),
    (HighlightColor::Orange, "pkt.comment contains \"held for\""),
    (HighlightColor::Green, "role.chat or role.command"),
];
