use std::fmt;

use crate::packet::Timestamp;

/// How entries are printed.
pub struct LineOptions {
    /// How much of a packet is shown.
    pub verbosity: Verbosity,
    /// Whether in colour. Colour says nothing that the text does not.
    pub color: bool,
    /// Seconds east of UTC at a moment, for the time of day.
    pub offset: Box<dyn Fn(Timestamp) -> i32 + Send + Sync>,
}

/// How much of a packet is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verbosity {
    /// One line with the fields in short.
    #[default]
    Main,
    /// A line and all fields below it.
    All,
    /// All fields, and all bytes in hex.
    Hex,
}

impl Default for LineOptions {
    /// One line without colour, in UTC.
    fn default() -> Self {
        Self { verbosity: Verbosity::Main, color: false, offset: Box::new(|_| 0) }
    }
}

impl fmt::Debug for LineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineOptions")
            .field("verbosity", &self.verbosity)
            .field("color", &self.color)
            .finish_non_exhaustive()
    }
}
