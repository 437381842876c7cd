use std::fmt;

use super::{MAX_DEPTH, NbtJsonError};

/// A position in a JSON document, linked to its parent.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
    /// Number of compounds and lists from the root to here, this one included.
    depth: usize,
}

impl<'a> Place<'a> {
    pub(super) fn root() -> Self {
        Self { parent: None, step: Step::Root, depth: 0 }
    }

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key), depth: self.depth }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index), depth: self.depth }
    }

    /// Returns this position, counted as inside the compound or list that it holds.
    pub(super) fn deeper(&self) -> Result<Self, NbtJsonError> {
        if self.depth >= MAX_DEPTH {
            return Err(NbtJsonError::Depth { path: self.path(), limit: MAX_DEPTH });
        }
        Ok(Self { depth: self.depth + 1, ..*self })
    }

    pub(super) fn path(&self) -> String {
        self.to_string()
    }

    pub(super) fn expected(&self, expected: &'static str) -> NbtJsonError {
        NbtJsonError::Kind { path: self.path(), expected }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => f.write_str("$"),
            Step::Key(key) => write!(f, ".{key}"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}
