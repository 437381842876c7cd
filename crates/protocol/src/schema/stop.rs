use std::fmt::Display;

use super::error::put_before;
use super::{DecodeCause, DecodeError};

/// The reason for ending a walk early.
pub(super) enum Stop {
    /// The visitor needs no more.
    Done,
    Fault(Box<DecodeError>),
    /// A value that the version does not have, found where its layout is needed. The error is that of an
    /// earlier field, whose container is so many containers further out.
    Unknown(Box<DecodeError>, u8),
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

    /// Leaves the container in which the error occurred.
    #[cold]
    #[inline(never)]
    pub(super) fn outside(self) -> Self {
        match self {
            Self::Unknown(fault, 0) => Self::Fault(fault),
            Self::Unknown(fault, further) => Self::Unknown(fault, further - 1),
            stop => stop,
        }
    }
}

pub(super) fn fault(at: usize, cause: DecodeCause) -> Stop {
    Stop::Fault(Box::new(DecodeError::new(at, cause)))
}
