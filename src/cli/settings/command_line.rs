use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueEnum};
use mitmcraft::lang::closest;

use super::setting::{Kind, Setting};
use super::value::{Origin, SettingValue};

/// A command line, parsed as far as possible: what is missing may be set elsewhere.
#[derive(Debug)]
pub(in crate::cli) struct CommandLine {
    words: Vec<OsString>,
    command: Command,
    /// `command` without required arguments; help is an option like others.
    partial: Command,
    /// The verb, such as `proxy` or `replay`, `server`; empty if there is none.
    verb: Vec<String>,
    /// The options of the verb.
    matches: ArgMatches,
}

impl CommandLine {
    /// Parses `words`, the first of which is the program's name.
    pub(in crate::cli) fn new(mut command: Command, words: Vec<OsString>) -> Self {
        let partial = optional(command.clone())
            .disable_help_flag(true)
            .disable_version_flag(true)
            .arg(flag("help", 'h'))
            .arg(flag("version", 'V'));
        command.build();
        let matches = tolerant(partial.clone()).try_get_matches_from(&words);
        let mut matches = matches.unwrap_or_default();
        let mut verb = Vec::new();
        while let Some((name, own)) = matches.remove_subcommand() {
            verb.push(name);
            matches = own;
        }
        Self { words, command, partial, verb, matches }
    }

    /// The words as they were typed.
    pub(super) fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The command with all its verbs.
    pub(super) fn command(&self) -> &Command {
        &self.command
    }

    /// The verb and its subverb, if any.
    pub(super) fn verb(&self) -> &[String] {
        &self.verb
    }

    /// Returns the configuration file that `--config` names.
    pub(super) fn config(&self) -> Option<PathBuf> {
        self.raw("config").map(PathBuf::from)
    }

    /// Returns whether the configuration file is to be written, and need not exist.
    pub(super) fn writes_config(&self) -> bool {
        let write = || self.matches.try_get_one::<bool>("write_file").ok().flatten();
        self.verb == ["config"] && write().is_some_and(|write| *write)
    }

    /// Returns the value of an option of all verbs, if it was typed and is valid.
    pub(in crate::cli) fn global<T: ValueEnum>(&self, id: &str) -> Option<T> {
        let typed = self.matches.value_source(id) == Some(ValueSource::CommandLine);
        let value = self.raw(id).filter(|_| typed)?;
        T::from_str(value.to_str()?, true).ok()
    }

    fn raw(&self, id: &str) -> Option<&OsStr> {
        self.matches.try_get_raw(id).ok()??.next_back()
    }

    /// Returns the value of an option of the verb, if it was typed.
    pub(super) fn typed(&self, setting: &Setting) -> Option<SettingValue> {
        if self.matches.value_source(&setting.id)? != ValueSource::CommandLine {
            return None;
        }
        let values = match setting.kind {
            Kind::Count => vec![self.matches.get_count(&setting.id).to_string()],
            Kind::Flag => vec!["true".to_owned()],
            _ => {
                let raw = self.matches.get_raw(&setting.id).into_iter().flatten();
                raw.map(|value| value.to_string_lossy().into_owned()).collect()
            }
        };
        Some(SettingValue { values, origin: Origin::Flag })
    }

    /// Checks that an option can have these values.
    ///
    /// # Errors
    /// Why it cannot, and a hint.
    pub(super) fn check(
        &self,
        setting: &Setting,
        values: &[String],
    ) -> Result<(), (String, Option<String>)> {
        let mut words: Vec<OsString> = vec![self.partial.get_name().into()];
        words.extend(setting.verb.iter().map(OsString::from));
        let (flags, arguments) = setting.words(values);
        words.extend(flags.into_iter().chain(["--".into()]).chain(arguments));
        let Err(error) = self.partial.clone().try_get_matches_from(words) else { return Ok(()) };
        let value = match error.get(ContextKind::InvalidValue) {
            Some(ContextValue::String(value)) => value.clone(),
            _ => values.join(", "),
        };
        match error.kind() {
            ErrorKind::ValueValidation => {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                // Most messages contain the value.
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
                    None => format!("known values: {}", known.join(", ")),
                };
                Err((format!("cannot be `{value}`"), Some(hint)))
            }
            // Other errors are due to the missing rest of the command line.
            _ => Ok(()),
        }
    }
}

fn flag(name: &'static str, short: char) -> Arg {
    Arg::new(name).short(short).long(name).global(true).action(ArgAction::SetTrue)
}

fn optional(command: Command) -> Command {
    command.mut_args(|arg| arg.required(false)).mut_subcommands(optional)
}

/// Makes a command parse on after an error. Values are not checked, since clap ignores everything after
/// an invalid one.
fn tolerant(command: Command) -> Command {
    let unchecked = |arg: Arg| {
        if arg.get_action().takes_values() {
            arg.value_parser(ValueParser::os_string())
        } else {
            arg
        }
    };
    command.ignore_errors(true).mut_args(unchecked).mut_subcommands(tolerant)
}
