use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context as _, bail};
use clap::ArgAction;
use mitmcraft_engine::lang::closest;

use super::setting::{PREFIX, Setting, Value};

/// Environment variables by their names. An empty one sets nothing.
pub(super) type Variables = BTreeMap<String, OsString>;

/// Returns the value of an option that a variable sets.
///
/// # Errors
/// If the option cannot have it.
pub(super) fn value(variables: &Variables, setting: &Setting) -> anyhow::Result<Option<Value>> {
    let set = setting.variables().into_iter().find_map(|name| variables.get_key_value(&name));
    let Some((name, text)) = set else { return Ok(None) };
    let text = text.to_str().with_context(|| format!("{name} is not valid UTF-8"))?;
    let words = match setting.arg.get_action() {
        ArgAction::SetTrue => match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => vec!["true".to_owned()],
            "0" | "false" | "no" | "off" => vec!["false".to_owned()],
            _ => bail!("{name}: `{text}` is neither `true` nor `false`"),
        },
        ArgAction::Count if text.parse::<u8>().is_err() => {
            bail!("{name}: `{text}` is not a count such as `2`")
        }
        ArgAction::Append => text.split(',').map(|part| part.trim().to_owned()).collect(),
        _ => vec![text.to_owned()],
    };
    for word in &words {
        match setting.check(word) {
            Ok(()) => {}
            // A secret must not be printed.
            Err(_) if setting.is_secret() => bail!("{name}: invalid value"),
            Err((why, Some(hint))) => bail!("{name}: {why}; {hint}"),
            Err((why, None)) => bail!("{name}: {why}"),
        }
    }
    Ok(Some(Value { words, origin: format!("env {name}") }))
}

/// Returns a warning for each variable with our prefix that sets nothing, with a suggestion.
pub(super) fn unknown(variables: &Variables, settings: &[Setting]) -> Vec<String> {
    let known = settings.iter().flat_map(Setting::variables);
    let known: Vec<String> = known.chain(OTHERS.map(str::to_owned)).collect();
    let ours = variables.keys().filter(|name| name.starts_with(PREFIX));
    let unknown = ours.filter(|name| !known.contains(name));
    let warnings = unknown.map(|name| match closest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("{name} sets nothing: did you mean {meant}?"),
        None => format!("{name} sets nothing: `mitmcraft config` lists what can be set"),
    });
    warnings.collect()
}

/// Variables that are no options: the configuration file; the folder of the account file, which applies
/// to every verb; an access token, since others can read command lines.
const OTHERS: [&str; 3] = [CONFIG, "MITMCRAFT_STATE_DIR", "MITMCRAFT_ACCESS_TOKEN"];
pub(super) const CONFIG: &str = "MITMCRAFT_CONFIG";
