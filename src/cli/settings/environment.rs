use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context as _, anyhow};
use mitmcraft::lang::closest;

use super::command_line::CommandLine;
use super::setting::{Kind, PREFIX, Setting};
use super::value::{Origin, SettingValue};

/// Environment variables that set options.
#[derive(Debug, Default)]
pub(super) struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// Keeps the variables that set an option or have our prefix; an empty one sets nothing.
    pub(super) fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        settings: &[Setting],
    ) -> Self {
        let known: Vec<String> = settings.iter().flat_map(Setting::variables).collect();
        let ours = variables.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let ours = name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('_'));
            let ours = ours || known.contains(&name);
            (ours && !value.is_empty()).then_some((name, value))
        });
        Self { variables: ours.collect() }
    }

    /// Returns the configuration file that a variable names.
    pub(super) fn file(&self) -> Option<&OsString> {
        self.variables.get(FILE)
    }

    /// Returns the value that a variable sets.
    ///
    /// # Errors
    /// If the option cannot have this value.
    pub(super) fn value(
        &self,
        setting: &Setting,
        line: &CommandLine,
    ) -> anyhow::Result<Option<SettingValue>> {
        let found = setting.variables().into_iter().find_map(|name| {
            let value = self.variables.get(&name)?;
            Some((name, value))
        });
        let Some((name, value)) = found else { return Ok(None) };
        let value = value.to_str().with_context(|| format!("{name} is not valid UTF-8"))?;
        let values = values(setting, value).map_err(|why| anyhow!("{name}: {why}"))?;
        if let Err((why, hint)) = line.check(setting, &values) {
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            // A secret must not be printed.
            let why = if setting.is_secret() { "invalid value".to_owned() } else { why };
            return Err(anyhow!("{name}: {why}{hint}"));
        }
        Ok(Some(SettingValue { values, origin: Origin::Variable(name) }))
    }

    /// Returns a warning for each variable with our prefix that sets nothing, with a suggestion.
    pub(super) fn unknown(&self, settings: &[Setting]) -> Vec<String> {
        let mut known: Vec<String> = settings.iter().flat_map(Setting::variables).collect();
        known.extend([FILE, STATE_DIR, ACCESS_TOKEN].map(str::to_owned));
        let unknown = self.variables.keys().filter(|name| !known.contains(name));
        unknown
            .map(|name| match closest(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("{name} sets nothing: did you mean {meant}?"),
                None => format!("{name} sets nothing: `mitmcraft config` lists what can be set"),
            })
            .collect()
    }
}

fn values(setting: &Setting, value: &str) -> Result<Vec<String>, String> {
    match setting.kind {
        Kind::Flag => match value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(vec!["true".to_owned()]),
            "0" | "false" | "no" | "off" => Ok(vec!["false".to_owned()]),
            _ => Err(format!("`{value}` is neither `true` nor `false`")),
        },
        Kind::Count => match value.parse::<u8>() {
            Ok(count) => Ok(vec![count.to_string()]),
            Err(_) => Err(format!("`{value}` is not a count such as `2`")),
        },
        Kind::One => Ok(vec![value.to_owned()]),
        Kind::Many => Ok(value.split(',').map(|part| part.trim().to_owned()).collect()),
    }
}

const FILE: &str = "MITMCRAFT_CONFIG";

/// Folder of the account file. It is no option: it applies to every verb.
const STATE_DIR: &str = "MITMCRAFT_STATE_DIR";

/// An access token. It is no option: others can read command lines.
const ACCESS_TOKEN: &str = "MITMCRAFT_ACCESS_TOKEN";
