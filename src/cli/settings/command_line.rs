use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueEnum};

use super::setting::{Kind, Setting};
use super::value::{Origin, SettingValue};

/// A command line, parsed as far as possible: what is missing may be set elsewhere.
#[derive(Debug)]
pub(in crate::cli) struct CommandLine {
    /// The words as they were typed.
    pub(super) words: Vec<OsString>,
    /// The command with all its verbs.
    pub(super) command: Command,
    /// The verb, such as `proxy` or `replay`, `server`; empty if there is none.
    pub(super) verb: Vec<String>,
    /// The options of the verb.
    matches: ArgMatches,
}

impl CommandLine {
    /// Parses `words`, the first of which is the program's name.
    pub(in crate::cli) fn new(mut command: Command, words: Vec<OsString>) -> Self {
        // Help is an option like others: the rest of the line still says when to use colour.
        let flag = |name, short| {
            Arg::new(name).short(short).long(name).global(true).action(ArgAction::SetTrue)
        };
        let lenient = tolerant(command.clone())
            .disable_help_flag(true)
            .disable_version_flag(true)
            .args([flag("help", 'h'), flag("version", 'V')]);
        command.build();
        let mut matches = lenient.try_get_matches_from(&words).unwrap_or_default();
        let mut verb = Vec::new();
        while let Some((name, own)) = matches.remove_subcommand() {
            verb.push(name);
            matches = own;
        }
        Self { words, command, verb, matches }
    }

    /// Returns the configuration file that `--config` names.
    pub(super) fn config(&self) -> Option<PathBuf> {
        self.raw("config").map(PathBuf::from)
    }

    /// Returns whether the configuration file is to be written, and need not exist.
    pub(super) fn writes_config(&self) -> bool {
        self.verb == ["config"] && self.matches.get_flag("write_file")
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
        let id = setting.id();
        if !setting.is_of(&self.verb) || self.matches.value_source(id)? != ValueSource::CommandLine
        {
            return None;
        }
        let values = match setting.kind {
            Kind::Count => vec![self.matches.get_count(id).to_string()],
            Kind::Flag => vec!["true".to_owned()],
            Kind::One | Kind::Many => {
                let raw = self.matches.get_raw(id).into_iter().flatten();
                raw.map(|value| value.to_string_lossy().into_owned()).collect()
            }
        };
        Some(SettingValue { values, origin: Origin::Flag })
    }
}

/// Makes a command parse on after an error. Values are not checked, since clap ignores everything after
/// an invalid one.
fn tolerant(command: Command) -> Command {
    let unchecked = |arg: Arg| {
        let takes_values = arg.get_action().takes_values();
        if takes_values { arg.value_parser(ValueParser::os_string()) } else { arg }
    };
    command.ignore_errors(true).mut_args(unchecked).mut_subcommands(tolerant)
}
