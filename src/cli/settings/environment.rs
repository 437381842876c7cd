use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context as _, bail};
use mitmcraft_engine::lang::closest;

use super::setting::{Kind, PREFIX, Setting};
use super::value::{Origin, SettingValue};

/// Environment variables that set options.
#[derive(Debug)]
pub(super) struct Environment {
    variables: BTreeMap<String, OsString>,
    /// Names of variables that mean something.
    known: Vec<String>,
}

impl Environment {
    /// Keeps the variables that set an option or have our prefix; an empty one sets nothing.
    pub(super) fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        settings: &[Setting],
    ) -> Self {
        let known = settings.iter().flat_map(Setting::variables);
        let known: Vec<String> = known.chain(OTHERS.map(str::to_owned)).collect();
        let ours = variables.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let ours = name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('_'));
            ((ours || known.contains(&name)) && !value.is_empty()).then_some((name, value))
        });
        Self { variables: ours.collect(), known }
    }

    /// Returns the configuration file that a variable names.
    pub(super) fn file(&self) -> Option<&OsString> {
        self.variables.get(OTHERS[0])
    }

    /// Returns the value that a variable sets.
    ///
    /// # Errors
    /// If the option cannot have this value.
    pub(super) fn value(&self, setting: &Setting) -> anyhow::Result<Option<SettingValue>> {
        let found = |name: String| self.variables.get(&name).map(|value| (name, value));
        let Some((name, value)) = setting.variables().into_iter().find_map(found) else {
            return Ok(None);
        };
        let value = value.to_str().with_context(|| format!("{name} is not valid UTF-8"))?;
        let values = match setting.kind {
            Kind::Flag => match value.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => vec!["true".to_owned()],
                "0" | "false" | "no" | "off" => vec!["false".to_owned()],
                _ => bail!("{name}: `{value}` is neither `true` nor `false`"),
            },
            Kind::Count => match value.parse::<u8>() {
                Ok(count) => vec![count.to_string()],
                Err(_) => bail!("{name}: `{value}` is not a count such as `2`"),
            },
            Kind::One => vec![value.to_owned()],
            Kind::Many => value.split(',').map(|part| part.trim().to_owned()).collect(),
        };
        match setting.check(&values) {
            Ok(()) => Ok(Some(SettingValue { values, origin: Origin::Variable(name) })),
            // A secret must not be printed.
            Err(_) if setting.is_secret() => bail!("{name}: invalid value"),
            Err((why, Some(hint))) => bail!("{name}: {why}; {hint}"),
            Err((why, None)) => bail!("{name}: {why}"),
        }
    }

    /// Returns a warning for each variable with our prefix that sets nothing, with a suggestion.
    pub(super) fn unknown(&self) -> impl Iterator<Item = String> {
        let unknown = self.variables.keys().filter(|name| !self.known.contains(name));
        unknown.map(|name| match closest(name, self.known.iter().map(String::as_str)) {
            Some(meant) => format!("{name} sets nothing: did you mean {meant}?"),
            None => format!("{name} sets nothing: `mitmcraft config` lists what can be set"),
        })
    }
}

/// Variables that are no options: the configuration file; the folder of the account file, which applies
/// to every verb; an access token, since others can read command lines.
const OTHERS: [&str; 3] = ["MITMCRAFT_CONFIG", "MITMCRAFT_STATE_DIR", "MITMCRAFT_ACCESS_TOKEN"];
