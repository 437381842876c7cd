use super::{DecodeCause, DecodeError, Name};

/// The reason for ending a walk early.
pub(super) enum Stop {
    /// The visitor needs no more.
    Done,
    Fault(Box<DecodeFault>),
}

/// An error and the path to it, innermost part first.
pub(super) struct DecodeFault {
    at: usize,
    cause: DecodeCause,
    path: Vec<Step>,
}

pub(super) enum Step {
    Field(Name),
    Index(usize),
}

impl Stop {
    /// Adds a step to the path of the error. Kept out of the way of what can be decoded.
    #[cold]
    #[inline(never)]
    pub(super) fn inside(mut self, step: impl FnOnce() -> Step) -> Self {
        if let Self::Fault(fault) = &mut self {
            fault.path.push(step());
        }
        self
    }
}

impl From<DecodeFault> for DecodeError {
    fn from(fault: DecodeFault) -> Self {
        let mut path = String::new();
        for step in fault.path.iter().rev() {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        Self { at: fault.at, path, cause: fault.cause }
    }
}

pub(super) fn fault(at: usize, cause: DecodeCause) -> Stop {
    Stop::Fault(Box::new(DecodeFault { at, cause, path: Vec::new() }))
}
