use std::fmt;

use super::setting::{Form, Kind, Setting};
use super::value::{Origin, SettingValue};

/// An option with its effective value.
#[derive(Debug)]
pub(in crate::cli) struct EffectiveSetting<'s> {
    setting: &'s Setting,
    /// `None` if it is not set and has no default.
    value: Option<SettingValue>,
}

impl<'s> EffectiveSetting<'s> {
    pub(super) fn new(setting: &'s Setting, value: Option<SettingValue>) -> Self {
        let default = || {
            let values = setting.default.clone();
            (!values.is_empty()).then_some(SettingValue { values, origin: Origin::Default })
        };
        Self { setting, value: value.or_else(default) }
    }

    /// Returns the table of the configuration file that contains it; empty for options of all verbs.
    pub(in crate::cli) fn table(&self) -> String {
        self.setting.verb.join(".")
    }

    /// Returns its name in the configuration file.
    pub(super) fn key(&self) -> &str {
        &self.setting.key
    }

    /// Returns a comment with the value, for a configuration file that does not set it.
    pub(super) fn comment(&self) -> String {
        let line = self.to_string();
        match line.strip_suffix("  # default") {
            Some(line) => format!("# {line}"),
            None => line,
        }
    }
}

impl fmt::Display for EffectiveSetting<'_> {
    /// Writes a line of the configuration file; a comment if it is not set, or is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.setting.key;
        let Some(SettingValue { values, origin }) = &self.value else {
            return write!(f, "# {key} is not set");
        };
        if self.setting.is_secret() {
            return write!(f, "# {key} is set and not shown  # {origin}");
        }
        let to_toml = |value: &String| match (self.setting.kind, self.setting.form) {
            (Kind::Flag | Kind::Count, _) | (_, Form::Integer) => value.clone(),
            _ => quoted(value),
        };
        let values: Vec<String> = values.iter().map(to_toml).collect();
        match (self.setting.kind, values.as_slice()) {
            (Kind::Many, _) => write!(f, "{key} = [{}]  # {origin}", values.join(", ")),
            (_, [value]) => write!(f, "{key} = {value}  # {origin}"),
            (_, _) => write!(f, "# {key} is not set"),
        }
    }
}

/// Returns a basic string of TOML, which is a JSON string except that DEL must be escaped.
fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string().replace('\u{7f}', "\\u007f")
}
