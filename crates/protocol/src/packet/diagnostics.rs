use super::Diagnostic;

/// A set of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Diagnostics(u32);

impl Diagnostics {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Adds a diagnostic.
    pub fn insert(&mut self, diagnostic: Diagnostic) {
        self.0 |= 1 << diagnostic as u32;
    }

    /// Returns whether the set has a diagnostic.
    #[must_use]
    pub fn has(self, diagnostic: Diagnostic) -> bool {
        self.0 >> diagnostic as u32 & 1 == 1
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Iterates over the diagnostics, in the order of [`Diagnostic::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Diagnostic> {
        Diagnostic::ALL.into_iter().filter(move |it| self.has(*it))
    }

    /// Returns the diagnostics of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set as a number for captures: a bit for each of [`Diagnostic::ALL`].
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the set with this number, without bits that stand for no diagnostic.
    pub fn of_bits(bits: u32) -> Self {
        Self(bits & (u32::MAX >> (u32::BITS as usize - Diagnostic::ALL.len())))
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(all: I) -> Self {
        let mut set = Self::NONE;
        all.into_iter().for_each(|it| set.insert(it));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_every_diagnostic_and_comes_back_from_its_number() {
        for (place, diagnostic) in Diagnostic::ALL.into_iter().enumerate() {
            assert_eq!(diagnostic as usize, place);
            assert_eq!(diagnostic.name().parse(), Ok(diagnostic));
            let set = Diagnostics::from_iter([diagnostic]);
            assert!(set.has(diagnostic) && !set.is_empty());
            assert_eq!(set.iter().collect::<Vec<_>>(), [diagnostic]);
            assert_eq!(Diagnostics::of_bits(set.bits()), set);
        }
        let all = Diagnostics::from_iter(Diagnostic::ALL);
        assert_eq!(all.iter().count(), Diagnostic::ALL.len());
        assert_eq!(Diagnostics::of_bits(u32::MAX), all);
        assert!("chat-too-short".parse::<Diagnostic>().is_err());
    }
}
