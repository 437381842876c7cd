//! The parts of the screen and the forms of times between which a person switches.

/// The part of the interface that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Packets,
    Sessions,
    Held,
    Conversation,
    Statistics,
    Timeline,
    Sent,
    Comparison,
    Explanation,
    Help,
}

/// The form in which times are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeMode {
    /// Seconds since the session began.
    Relative,
    /// Seconds since the row before.
    Delta,
    /// Date and time.
    Absolute,
}

impl TimeMode {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Relative => Self::Delta,
            Self::Delta => Self::Absolute,
            Self::Absolute => Self::Relative,
        }
    }
}
