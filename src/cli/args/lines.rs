use std::str::FromStr;

use clap::Args;
use mitmcraft_engine::text::TimeForm;

use super::{Choice, one_of};

/// Options for printing packets, shared by every verb that prints them.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Lines {
    /// Print each packet's number in its session
    #[arg(long)]
    pub(crate) number: bool,

    /// Form of the printed times
    #[arg(long, value_name = "FORM", default_value = "absolute", value_parser = one_of(TIMES))]
    pub(crate) time: TimeForm,

    /// Cut lines to N columns; `none` disables cutting [default: the terminal's width, or `none` if
    /// stdout is not a terminal]
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<Width>,

    /// With `-Y`, also print when sessions open, change their state and close
    #[arg(long)]
    pub(crate) events: bool,
}

/// The forms of times.
const TIMES: &[Choice<TimeForm>] = &[
    ("absolute", "Time of day", TimeForm::Absolute),
    ("date", "Date and time of day", TimeForm::Date),
    ("relative", "Seconds since the session began", TimeForm::Relative),
    ("delta", "Seconds since the previous line", TimeForm::Delta),
];

/// The greatest width of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// This many columns.
    Columns(usize),
    /// No limit.
    Unlimited,
}

impl FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("none", _) => Ok(Self::Unlimited),
            (_, Ok(columns)) if columns > 0 => Ok(Self::Columns(columns)),
            _ => Err(format!("invalid width `{text}`: expected a number of columns, or `none`")),
        }
    }
}
