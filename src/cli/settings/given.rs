use std::fmt;

/// The value of an option, as the command line would have it, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) values: Vec<String>,
    pub(super) origin: Origin,
}

/// Where a value comes from; the first that has one wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Flag,
    /// The environment variable.
    Variable(String),
    /// The configuration file and its line.
    File(String, usize),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::File(path, line) => write!(f, "{path}:{line}"),
            Self::Default => f.write_str("default"),
        }
    }
}
