use crate::schema::{Catalog, Family, Protocol};

/// A version of a family, whose annotations and names are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) family: Family,
    pub(crate) number: i32,
}

impl Version {
    pub(crate) fn of(protocol: &Protocol) -> Self {
        Self { family: protocol.family(), number: protocol.version() }
    }

    /// Returns the place among all versions, as [`place`](Self::place) gives it for a number: a
    /// snapshot since 1.16.4 stands between two releases.
    pub(crate) fn comparable(self) -> i32 {
        match self.number {
            Catalog::FIRST_SNAPSHOT.. => Self::place(BEFORE_SNAPSHOT) + 1,
            number => Self::place(number),
        }
    }

    /// Returns the place of a release among all versions, with room for a snapshot after it.
    pub(crate) fn place(number: i32) -> i32 {
        number.saturating_mul(2)
    }
}

/// The release before 21w07a, the only snapshot of a range of its own that has a table.
const BEFORE_SNAPSHOT: i32 = 754;
