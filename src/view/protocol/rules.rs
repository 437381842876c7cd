use serde::Serialize;

/// A filter file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuleFile {
    /// Its path.
    pub path: String,
    /// Its text; `None` if it cannot be read, or is not there yet.
    pub text: Option<String>,
    /// Why it cannot be read; `None` also for a file that is created when it is saved for the first time.
    pub error: Option<String>,
}
