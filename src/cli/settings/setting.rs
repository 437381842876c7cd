use std::any::TypeId;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ContextKind;
use clap::{Arg, ArgAction, Command, Id};
use mitmcraft_engine::text::{Escaped, toml_string};

/// An option of a verb, or of all verbs, that can be set by flag, variable and file.
pub(super) struct Setting {
    /// Its place in the file, `proxy.listen`: table and flag without dashes.
    pub(super) name: String,
    pub(super) arg: Arg,
    /// The options of the verb that it declares to exclude.
    excludes: Vec<Id>,
}

/// The values of settings, by their indices.
pub(super) type Values = BTreeMap<usize, Value>;

/// The value of an option.
pub(super) struct Value {
    /// The option's arguments as they would be typed; `true` for a switch, the number of repetitions for a
    /// counted one.
    pub(super) words: Vec<String>,
    /// Where it comes from, for the user.
    pub(super) origin: String,
}

impl Setting {
    /// Returns all settings of a command that was built, and of its verbs, in the order of their help.
    pub(super) fn all(command: &Command) -> Vec<Self> {
        let mut found = Vec::new();
        collect(command, "", &mut found);
        found
    }

    /// Returns the verb, such as `proxy` or `replay.server`; empty for options of all verbs.
    pub(super) fn verb(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(verb, _)| verb)
    }

    /// Returns its name in the table of the verb.
    pub(super) fn key(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(_, key)| key)
    }

    /// Returns the variables that set it, in order of precedence: that of this verb alone first.
    pub(super) fn variables(&self) -> Vec<String> {
        // Two underscores after a verb: `--proxy-protocol` of all is not `--protocol` of `proxy`.
        let name = |name: &str| {
            let name = name.replace('.', "__").replace('-', "_");
            format!("{PREFIX}{}", name.to_uppercase())
        };
        let mut names = vec![name(&self.name), name(self.key())];
        names.dedup();
        names.extend(self.arg.get_env().map(|name| name.to_string_lossy().into_owned()));
        names
    }

    /// Returns whether it is an option of this verb, or of all verbs; always if there is no verb.
    pub(super) fn is_of(&self, verb: &str) -> bool {
        verb.is_empty() || [verb, ""].contains(&self.verb())
    }

    /// Returns whether its value must not be printed.
    pub(super) fn is_secret(&self) -> bool {
        ["token", "secret", "password", "seed"].iter().any(|word| self.key().contains(word))
    }

    /// Returns the types that its values have in the file, and what they are called.
    pub(super) fn types(&self) -> (&'static [&'static str], &'static str) {
        let own = self.arg.get_value_parser().type_id();
        let integers = [
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<i64>(),
            TypeId::of::<usize>(),
        ];
        let texts = [TypeId::of::<String>(), TypeId::of::<PathBuf>()];
        match self.arg.get_action() {
            ArgAction::SetTrue => (&["boolean"], "true or false"),
            ArgAction::Count => (&["integer"], "a count such as 1"),
            _ if integers.iter().any(|it| own == *it) => (&["integer"], "an integer"),
            // A number never stands for text.
            _ if texts.iter().any(|it| own == *it) => (&["string"], "text"),
            _ => (&["string", "integer", "float"], "text or a number"),
        }
    }

    /// Returns whether its value replaces that of `other`: clap refuses both on one command line.
    pub(super) fn overrides(&self, other: &Self) -> bool {
        let excludes = |one: &Self, other: &Self| one.excludes.contains(other.arg.get_id());
        self.verb() == other.verb() && (excludes(self, other) || excludes(other, self))
    }

    /// Returns `value` as words of a command line. Those of positional arguments stand at its end.
    pub(super) fn words(&self, value: &Value) -> Vec<OsString> {
        let flag = format!("--{}", self.key());
        let words = value.words.iter();
        match self.arg.get_action() {
            _ if self.arg.is_positional() => words.map(OsString::from).collect(),
            ArgAction::SetTrue | ArgAction::Count => {
                let times = |word: &String| match word.as_str() {
                    "true" => 1,
                    count => count.parse().unwrap_or(0),
                };
                vec![flag.into(); words.map(times).sum()]
            }
            _ => words.map(|word| format!("{flag}={word}").into()).collect(),
        }
    }

    /// Returns its line of the file, with its default if it has no value; a comment if there is no
    /// default either, or the value is secret.
    pub(super) fn line(&self, value: Option<&Value>) -> String {
        let key = self.key();
        let words = value.map_or_else(|| self.default(), |value| value.words.clone());
        // A path in a comment may have a line break.
        let origin = Escaped(value.map_or("default", |value| &value.origin));
        if value.is_none() && words.is_empty() {
            return format!("# {key} is not set");
        }
        if self.is_secret() {
            return format!("# {key} is set and not shown  # {origin}");
        }
        let is_text = self.types().0.contains(&"string");
        let toml = |word: &String| if is_text { toml_string(word) } else { word.clone() };
        let words = words.iter().map(toml).collect::<Vec<_>>().join(", ");
        match self.arg.get_action() {
            ArgAction::Append => format!("{key} = [{words}]  # {origin}"),
            _ => format!("{key} = {words}  # {origin}"),
        }
    }

    /// Returns the line of its default as a comment.
    pub(super) fn comment(&self) -> String {
        let line = self.line(None);
        line.strip_suffix("  # default").map_or_else(|| line.clone(), |line| format!("# {line}"))
    }

    /// Returns its value if it is not set; empty if there is none.
    pub(super) fn default(&self) -> Vec<String> {
        let values = self.arg.get_default_values().iter();
        values.map(|value| value.to_string_lossy().into()).collect()
    }

    /// Checks that the option can have this value, which clap does in a command of its own: the
    /// command line has no place for the fault of a file.
    ///
    /// # Errors
    /// Why it cannot, and a hint.
    pub(super) fn check(&self, value: &str) -> Result<(), (String, Option<String>)> {
        let option = Arg::new("it")
            .action(ArgAction::Append)
            .long("it")
            .value_parser(self.arg.get_value_parser().clone())
            .value_delimiter(self.arg.get_value_delimiter());
        let command = Command::new("").no_binary_name(true).arg(option);
        let Err(error) = command.try_get_matches_from([format!("--it={value}")]) else {
            return Ok(());
        };
        let said = |kind| error.get(kind).map(ToString::to_string).filter(|it| !it.is_empty());
        let value = said(ContextKind::InvalidValue).unwrap_or_else(|| value.to_owned());
        if let Some(why) = error.source() {
            let why = why.to_string();
            // Most messages contain the value.
            let named = why.contains(&format!("`{value}`"));
            return Err((if named { why } else { format!("`{value}`: {why}") }, None));
        }
        let meant = said(ContextKind::SuggestedValue).map(|it| format!("did you mean `{it}`?"));
        let known = said(ContextKind::ValidValue).map(|it| format!("known values: {it}"));
        Err((format!("cannot be `{value}`"), meant.or(known)))
    }
}

/// Collects all options, and the positional arguments worth setting in a file.
fn collect(command: &Command, table: &str, found: &mut Vec<Setting>) {
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let settable = !arg.is_positional() || id == "upstream";
        let own = table.is_empty() == arg.is_global_set() && !arg.is_hide_set();
        if own && settable && !["help", "version", "config", "write_file"].contains(&id) {
            let name = format!("{table}{}", arg.get_long().unwrap_or(id));
            let excluded = command.get_arg_conflicts_with(arg);
            let excludes = excluded.into_iter().map(|arg| arg.get_id().clone()).collect();
            found.push(Setting { name, arg: arg.clone(), excludes });
        }
    }
    for verb in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        collect(verb, &format!("{table}{}.", verb.get_name()), found);
    }
}

/// The prefix of our variables.
pub(super) const PREFIX: &str = "MITMCRAFT_";
