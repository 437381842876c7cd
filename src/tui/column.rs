use mitmcraft_engine::capture::Record;
use mitmcraft_engine::lang::Vocabulary;
use mitmcraft_engine::text::{self, Escaped, field_text};
use mitmcraft_protocol::schema::Catalog;

/// A column of the list, before the packet's name and fields.
#[derive(Debug, Clone)]
pub(super) enum Column {
    Number,
    Time,
    Session,
    Direction,
    State,
    Id,
    Size,
    Wire,
    Verdict,
    /// A value of the filter language.
    Value(Box<text::Column>),
}

/// Columns with the same name are the same.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Column {
    pub(super) const ALL: [Self; 9] = [
        Self::Number,
        Self::Time,
        Self::Session,
        Self::Direction,
        Self::State,
        Self::Id,
        Self::Size,
        Self::Wire,
        Self::Verdict,
    ];

    /// The columns at the beginning.
    pub(super) const USUAL: [Self; 6] =
        [Self::Number, Self::Time, Self::Session, Self::Direction, Self::State, Self::Size];

    /// Those for which a narrow terminal has room.
    pub(super) const NARROW: [Self; 3] = [Self::Number, Self::Time, Self::Direction];

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Number => "number",
            Self::Time => "time",
            Self::Session => "session",
            Self::Direction => "direction",
            Self::State => "state",
            Self::Id => "id",
            Self::Size => "size",
            Self::Wire => "wire",
            Self::Verdict => "verdict",
            Self::Value(column) => column.name(),
        }
    }

    /// Returns the value of a packet in a column of the filter language.
    pub(super) fn value(&self, record: Option<&Record>) -> String {
        let Self::Value(column) = self else { return String::new() };
        let value = record.and_then(|record| column.value(record));
        value.map_or_else(String::new, |value| {
            let text: String = field_text(&value).chars().take(WIDTH).collect();
            Escaped(text).to_string()
        })
    }

    /// Reads names with spaces between them, as [`text`](Self::text) writes them: of columns, or of values of the
    /// filter language.
    ///
    /// # Errors
    /// The place of a word that names no column, and what there is.
    pub(super) fn parse(text: &str, catalog: &Catalog) -> Result<Vec<Self>, (usize, String)> {
        let mut columns = Vec::new();
        let mut vocabulary = None;
        for word in text.split_whitespace() {
            let found = Self::ALL.into_iter().find(|column| column.name() == word);
            let at = word.as_ptr().addr() - text.as_ptr().addr();
            let column = match found {
                Some(column) => column,
                None => {
                    let vocabulary = vocabulary.get_or_insert_with(|| Vocabulary::new(catalog));
                    let value = text::Column::parse(word, vocabulary).map_err(|error| {
                        let known = Self::text(&Self::ALL);
                        (at, format!("no such column: {}; there are {known}", error.message))
                    })?;
                    Self::Value(Box::new(value))
                }
            };
            columns.push(column);
        }
        Ok(columns)
    }

    /// Returns the names of columns.
    pub(super) fn text(columns: &[Self]) -> String {
        columns.iter().map(Self::name).collect::<Vec<_>>().join(" ")
    }

    /// Puts a text into the column.
    pub(super) fn padded(&self, text: &str) -> String {
        match self {
            Self::Number => format!("{text:>7} "),
            Self::Time => format!("{text:>12} "),
            Self::Session | Self::Id => format!("{text:>4} "),
            Self::Direction => format!("{text:<1} "),
            Self::State => format!("{:<6} ", text.get(..6).unwrap_or(text)),
            Self::Size | Self::Wire => format!("{text:>6} "),
            Self::Verdict => format!("{text:<7} "),
            Self::Value(_) => {
                let text: String = text.chars().take(WIDTH).collect();
                format!("{text:<WIDTH$} ")
            }
        }
    }
}

/// Characters of a column of the filter language.
const WIDTH: usize = 14;
