use std::fmt;

use super::given::{Given, Origin};
use super::setting::{Form, Kind, Setting};

/// An option with what it is set to, and where.
#[derive(Debug)]
pub(in crate::cli) struct Held<'s> {
    setting: &'s Setting,
    /// None: nothing sets it, and it has no default.
    given: Option<Given>,
}

impl<'s> Held<'s> {
    pub(super) fn new(setting: &'s Setting, given: Option<Given>) -> Self {
        let default = || {
            let values = setting.default.clone();
            (!values.is_empty()).then_some(Given { values, origin: Origin::Default })
        };
        Self { setting, given: given.or_else(default) }
    }

    /// The table of the file that it belongs into; empty for what all verbs have.
    pub(in crate::cli) fn table(&self) -> String {
        self.setting.verb.join(".")
    }
}

/// As a line of the file: what nothing sets, and a secret, as a comment.
impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.setting.key;
        let Some(Given { values, origin }) = &self.given else {
            return write!(f, "# {key} is not set");
        };
        if self.setting.is_secret() {
            return write!(f, "# {key} is set and not shown  # {origin}");
        }
        let value = |value: &String| match (self.setting.kind, self.setting.form) {
            (Kind::Flag | Kind::Count, _) | (_, Form::Integer) => value.clone(),
            _ => text(value),
        };
        let values: Vec<String> = values.iter().map(value).collect();
        match (self.setting.kind, values.as_slice()) {
            (Kind::Many, _) => write!(f, "{key} = [{}]  # {origin}", values.join(", ")),
            (_, [value]) => write!(f, "{key} = {value}  # {origin}"),
            (_, _) => write!(f, "# {key} is not set"),
        }
    }
}

/// A basic string of TOML: one of JSON, but for a character that TOML wants escaped too.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string().replace('\u{7f}', "\\u007f")
}
