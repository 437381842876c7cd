use std::sync::Arc;

/// A message of a filter to the person who runs the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The session's number.
    pub session: u64,
    /// The file that the message comes from.
    pub file: Arc<str>,
    /// The text.
    pub text: String,
    /// `true` if it is about an error.
    pub is_error: bool,
}
