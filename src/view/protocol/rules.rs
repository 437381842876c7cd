use serde::Serialize;

/// A filter file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleFile {
    /// Its path.
    pub path: String,
    /// Its text; `None` if it cannot be read.
    pub text: Option<String>,
    /// Why it cannot be read.
    pub error: Option<String>,
}
