use super::plan::Plan;
use super::test::Test;

/// What is certain of the packets of one type before one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// None of them matches.
    Never,
    /// All of them match.
    Always,
    /// It depends.
    Depends {
        /// On what is in the body, perhaps; else on its size, its time, the session.
        body: bool,
    },
}

impl Plan {
    pub(super) fn outlook(&self) -> Outlook {
        match self.test {
            Test::Constant(false) => Outlook::Never,
            Test::Constant(true) => Outlook::Always,
            _ => Outlook::Depends { body: self.body },
        }
    }
}
