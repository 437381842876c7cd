/// A column of the list, before the packet's name and fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    pub(super) fn name(self) -> &'static str {
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
        }
    }

    /// Reads names with spaces between them, as [`text`](Self::text) writes them.
    ///
    /// # Errors
    /// The place of a word that names no column, and what there is.
    pub(super) fn parse(text: &str) -> Result<Vec<Self>, (usize, String)> {
        let mut columns = Vec::new();
        for word in text.split_whitespace() {
            let found = Self::ALL.into_iter().find(|column| column.name() == word);
            let at = word.as_ptr().addr() - text.as_ptr().addr();
            let known = || format!("no such column; there are {}", Self::text(&Self::ALL));
            columns.push(found.ok_or_else(|| (at, known()))?);
        }
        Ok(columns)
    }

    /// Returns the names of columns.
    pub(super) fn text(columns: &[Self]) -> String {
        columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(" ")
    }

    /// Puts a text into the column.
    pub(super) fn padded(self, text: &str) -> String {
        match self {
            Self::Number => format!("{text:>7} "),
            Self::Time => format!("{text:>12} "),
            Self::Session | Self::Id => format!("{text:>4} "),
            Self::Direction => format!("{text:<1} "),
            Self::State => format!("{:<6} ", text.get(..6).unwrap_or(text)),
            Self::Size | Self::Wire => format!("{text:>6} "),
            Self::Verdict => format!("{text:<7} "),
        }
    }
}
