use std::fmt;

use super::setting::{Kind, Setting};
use super::value::{Origin, SettingValue};

/// An option with its effective value.
#[derive(Debug)]
pub(in crate::cli) struct EffectiveSetting<'s> {
    pub(super) setting: &'s Setting,
    /// It has no values if it is not set and has no default.
    value: SettingValue,
}

impl<'s> EffectiveSetting<'s> {
    pub(super) fn new(setting: &'s Setting, value: Option<SettingValue>) -> Self {
        let default = || SettingValue { values: setting.default(), origin: Origin::Default };
        Self { setting, value: value.unwrap_or_else(default) }
    }

    /// Returns the table of the configuration file that contains it; empty for options of all verbs.
    pub(in crate::cli) fn table(&self) -> String {
        self.setting.verb.join(".")
    }
}

impl fmt::Display for EffectiveSetting<'_> {
    /// Writes a line of the configuration file; a comment if it is not set, or is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (setting, key) = (self.setting, &self.setting.key);
        let SettingValue { values, origin } = &self.value;
        if values.is_empty() && *origin == Origin::Default {
            return write!(f, "# {key} is not set");
        }
        if setting.is_secret() {
            return write!(f, "# {key} is set and not shown  # {origin}");
        }
        let bare = matches!(setting.kind, Kind::Flag | Kind::Count) || setting.is_integer();
        let to_toml = |value: &String| if bare { value.clone() } else { quoted(value) };
        let values = values.iter().map(to_toml).collect::<Vec<_>>().join(", ");
        match setting.kind {
            Kind::Many => write!(f, "{key} = [{values}]  # {origin}"),
            _ => write!(f, "{key} = {values}  # {origin}"),
        }
    }
}

/// Returns a basic string of TOML, which is a JSON string except that DEL must be escaped.
fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string().replace('\u{7f}', "\\u007f")
}
