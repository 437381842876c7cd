use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use mitmcraft::lang::closest;

use super::setting::Setting;

/// The command line without its demands: reads what is there, for what is missing may still come
/// from elsewhere.
#[derive(Debug)]
pub(super) struct Lenient {
    command: Command,
}

impl Lenient {
    pub(super) fn new(command: &Command) -> Self {
        Self { command: undemanding(command.clone()) }
    }

    /// What can be understood of a command line. None: help or the version are asked for.
    pub(super) fn read(&self, words: &[OsString]) -> Option<ArgMatches> {
        let command = forgiving(self.command.clone());
        command.try_get_matches_from(words).ok()
    }

    /// Whether an option can have these values.
    ///
    /// # Errors
    /// Why not, and what to do about it.
    pub(super) fn check(
        &self,
        setting: &Setting,
        values: &[String],
    ) -> Result<(), (String, Option<String>)> {
        let mut words: Vec<OsString> = vec![self.command.get_name().into()];
        words.extend(setting.verb.iter().map(OsString::from));
        let (front, back) = setting.words(values);
        words.extend(front.into_iter().chain(["--".into()]).chain(back));
        let Err(error) = self.command.clone().try_get_matches_from(words) else { return Ok(()) };
        let value = match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(value)) => value.clone(),
            _ => values.join(", "),
        };
        match error.kind() {
            ErrorKind::ValueValidation => {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                // Most say themselves which value it is.
                let named = why.contains(&format!("`{value}`"));
                Err((if named { why } else { format!("`{value}`: {why}") }, None))
            }
            ErrorKind::InvalidValue => {
                let known = match error.get(ContextKind::ValidValue) {
                    Some(ContextValue::Strings(known)) => known.as_slice(),
                    _ => &[],
                };
                let hint = match closest(&value, known.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("known are {}", known.join(", ")),
                };
                Err((format!("cannot be `{value}`"), Some(hint)))
            }
            // What else is wrong is so because the rest of the line is missing.
            _ => Ok(()),
        }
    }
}

fn undemanding(command: Command) -> Command {
    command.mut_args(|arg| arg.required(false)).mut_subcommands(undemanding)
}

fn forgiving(command: Command) -> Command {
    command.ignore_errors(true).mut_subcommands(forgiving)
}
