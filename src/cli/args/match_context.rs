use clap::Args;

/// `-A`, `-B` and `-C`: lines around those that match, as in `grep`.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MatchContext {
    /// With `-Y`, also show N lines after each packet that matches
    #[arg(short = 'A', long, value_name = "N", requires = "condition")]
    after_context: Option<usize>,

    /// With `-Y`, also show N lines before each packet that matches
    #[arg(short = 'B', long, value_name = "N", requires = "condition")]
    before_context: Option<usize>,

    /// With `-Y`, also show N lines before and after each packet that matches
    #[arg(short = 'C', long, value_name = "N", requires = "condition")]
    context: Option<usize>,
}

impl MatchContext {
    /// Returns the number of lines before and after a match.
    pub(crate) fn lines(&self) -> (usize, usize) {
        let lines = |one: Option<usize>| one.or(self.context).unwrap_or(0);
        (lines(self.before_context), lines(self.after_context))
    }
}
