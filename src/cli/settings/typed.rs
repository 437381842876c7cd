use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::parser::{RawValues, ValueSource};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::setting::{Setting, Value};

/// A command line, parsed as far as possible: what is missing may be set elsewhere.
pub(super) struct Typed {
    /// The verb, such as `proxy` or `replay.server`; empty if there is none.
    pub(super) verb: String,
    /// The options of the verb.
    matches: ArgMatches,
}

impl Typed {
    /// Parses `words`, the first of which is the program's name.
    pub(super) fn new(command: Command, words: &[OsString]) -> Self {
        // Help is an option like others: the rest of the line still says when to use colour.
        let flag = |name, short| {
            Arg::new(name).short(short).long(name).global(true).action(ArgAction::SetTrue)
        };
        let lenient = tolerant(command)
            .disable_help_flag(true)
            .disable_version_flag(true)
            .args([flag("help", 'h'), flag("version", 'V')]);
        let mut matches = lenient.try_get_matches_from(words).unwrap_or_default();
        let mut verb = Vec::new();
        while let Some((name, own)) = matches.remove_subcommand() {
            verb.push(name);
            matches = own;
        }
        Self { verb: verb.join("."), matches }
    }

    /// Returns the words of an option of the verb or of all verbs, or `None` if it was not typed.
    pub(super) fn words(&self, id: &str) -> Option<RawValues<'_>> {
        let words = self.matches.try_get_raw(id).ok()??;
        (self.matches.value_source(id)? == ValueSource::CommandLine).then_some(words)
    }

    /// Returns the value of an option of the verb or of all verbs, if it was typed.
    pub(super) fn value(&self, setting: &Setting) -> Option<Value> {
        let words = self.words(setting.arg.get_id().as_str())?;
        let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
        Some(Value { words, origin: "flag".to_owned() })
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
