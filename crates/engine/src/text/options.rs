use std::fmt;

use mitmcraft_protocol::packet::Timestamp;

/// Options for printing entries.
pub struct LineOptions {
    /// The level of detail of packets.
    pub verbosity: Verbosity,
    /// `true` if colours are used. They carry no meaning that the text does not.
    pub color: bool,
    /// `true` if the number of each packet in its session is shown.
    pub number: bool,
    /// The form of times.
    pub time: TimeForm,
    /// The number of columns to which a packet's or an event's only line is cut; `None` cuts nothing.
    pub width: Option<usize>,
    /// The time of the line before, for [`TimeForm::Delta`].
    pub previous: Option<Timestamp>,
    /// Returns the offset of local time from UTC at a moment, in seconds east of UTC.
    pub offset: Box<dyn Fn(Timestamp) -> i32 + Send + Sync>,
}

/// The level of detail of a printed packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verbosity {
    /// One line with the main fields.
    #[default]
    Main,
    /// One line, and all fields below it.
    All,
    /// All fields, and all bytes in hex.
    Hex,
}

/// The form of the time at which a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeForm {
    /// The time of day.
    #[default]
    Absolute,
    /// The date and the time of day.
    Date,
    /// The seconds since the session began.
    Relative,
    /// The seconds since the line before.
    Delta,
}

impl Default for LineOptions {
    /// One line per packet, without colours, in UTC.
    fn default() -> Self {
        Self {
            verbosity: Verbosity::Main,
            color: false,
            number: false,
            time: TimeForm::Absolute,
            width: None,
            previous: None,
            offset: Box::new(|_| 0),
        }
    }
}

impl fmt::Debug for LineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineOptions")
            .field("verbosity", &self.verbosity)
            .field("color", &self.color)
            .field("number", &self.number)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}
