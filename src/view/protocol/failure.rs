use serde::Serialize;

use super::units;
use crate::control::ControlError;
use mitmcraft_engine::lang::ExprError;
use mitmcraft_engine::link::CommandError;

/// Why a request was not carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Failure {
    /// The reason.
    pub message: String,
    /// Advice on fixing it.
    pub hint: Option<String>,
    /// The offset at which the wrong part of an expression begins, in UTF-16 code units.
    pub start: Option<usize>,
    /// The offset at which it ends.
    pub end: Option<usize>,
    /// The path of the field of a packet that is wrong: `items[3].itemCount`.
    pub path: Option<String>,
}

impl Failure {
    /// Creates a failure with a reason.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Says what is wrong with an expression, and where in `text`.
    #[must_use]
    pub fn of_expression(error: &ExprError, text: &str) -> Self {
        Self {
            hint: error.hint.clone(),
            start: Some(units(text, error.span.start)),
            end: Some(units(text, error.span.end)),
            ..Self::new(&*error.message)
        }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        let path = match error {
            ControlError::Refused(CommandError::Encode { path, .. }) => {
                Some(path).filter(|path| !path.is_empty())
            }
            _ => None,
        };
        Self { path, ..Self::new(message) }
    }
}
