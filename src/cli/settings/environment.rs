use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context as _, anyhow};
use mitmcraft::lang::closest;

use super::given::{Given, Origin};
use super::lenient::Lenient;
use super::setting::{Kind, PREFIX, Setting};

/// The variables that set options.
#[derive(Debug, Default)]
pub(super) struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// Of these, those that set something, and others with our prefix; an empty one sets nothing.
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

    /// The configuration file that it names.
    pub(super) fn file(&self) -> Option<&OsString> {
        self.variables.get(FILE)
    }

    /// What it sets an option to.
    ///
    /// # Errors
    /// When the option cannot have that value.
    pub(super) fn given(&self, setting: &Setting, line: &Lenient) -> anyhow::Result<Option<Given>> {
        let found = setting.variables().into_iter().find_map(|name| {
            let value = self.variables.get(&name)?;
            Some((name, value))
        });
        let Some((name, value)) = found else { return Ok(None) };
        let value = value.to_str().with_context(|| format!("{name} is no UTF-8"))?;
        let values = values(setting, value).map_err(|why| anyhow!("{name}: {why}"))?;
        if let Err((why, hint)) = line.check(setting, &values) {
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            // A secret is not to be printed, wherever it stands.
            let why = if setting.is_secret() { "not usable".to_owned() } else { why };
            return Err(anyhow!("{name}: {why}{hint}"));
        }
        Ok(Some(Given { values, origin: Origin::Variable(name) }))
    }

    /// Variables with our prefix that set nothing, with what was probably meant.
    pub(super) fn unknown(&self, settings: &[Setting]) -> Vec<String> {
        let mut known: Vec<String> = settings.iter().flat_map(Setting::variables).collect();
        known.extend([FILE, STATE_DIR, ACCESS_TOKEN].map(str::to_owned));
        let unknown = self.variables.keys().filter(|name| !known.contains(name));
        unknown
            .map(|name| match closest(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("{name} sets nothing: did you mean {meant}?"),
                None => format!("{name} sets nothing: `mitmcraft config` prints what can be set"),
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
            Err(_) => Err(format!("`{value}` is no count such as `2`")),
        },
        Kind::One => Ok(vec![value.to_owned()]),
        Kind::Many => Ok(value.split(',').map(|part| part.trim().to_owned()).collect()),
    }
}

const FILE: &str = "MITMCRAFT_CONFIG";

/// Where accounts are kept: no option, for it is the same for every verb.
const STATE_DIR: &str = "MITMCRAFT_STATE_DIR";

/// A token: no option, for everybody sees what is typed.
const ACCESS_TOKEN: &str = "MITMCRAFT_ACCESS_TOKEN";
