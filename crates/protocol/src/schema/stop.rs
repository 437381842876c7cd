use std::fmt::Display;

use super::error::put_before;
use super::{DecodeCause, DecodeError};

/// The reason for ending a walk early.
pub(super) enum Stop {
    /// The visitor needs no more.
    Done,
    Fault(Box<DecodeError>),
}

impl Stop {
    /// Adds a step to the path of the error. Kept out of the way of what can be decoded.
    #[cold]
    #[inline(never)]
    pub(super) fn inside(mut self, step: impl Display) -> Self {
        if let Self::Fault(fault) = &mut self {
            put_before(&mut fault.path, step);
        }
        self
    }
}

pub(super) fn fault(at: usize, cause: DecodeCause) -> Stop {
    Stop::Fault(Box::new(DecodeError::new(at, cause)))
}
