use std::fmt;

/// The value of an option, as words of a command line, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingValue {
    pub(super) values: Vec<String>,
    pub(super) origin: Origin,
}

/// Where a value comes from; earlier variants override later ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Flag,
    /// The environment variable of this name.
    Variable(String),
    /// The configuration file of this name, and the line, from 1.
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
