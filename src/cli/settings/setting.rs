use std::any::TypeId;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, Id};

/// An option of a verb, or of all verbs, that can be set by flag, variable and file.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The verb, such as `proxy` or `replay`, `server`; empty for options of all verbs.
    pub(super) verb: Vec<String>,
    /// Its name in the file: the flag without dashes.
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) arg: Arg,
    /// The options of the verb that it declares to exclude.
    excludes: Vec<Id>,
}

/// How often an option can be given, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is given or not.
    Flag,
    /// It can be given several times, which are counted.
    Count,
    /// It has one value.
    One,
    /// It has a list of values.
    Many,
}

impl Setting {
    /// Returns all settings of a command and its verbs, in the order of their help.
    pub(super) fn all(command: &Command) -> Vec<Self> {
        let of_all = options(command).filter(|arg| arg.is_global_set());
        let mut found = of_all.map(|arg| Self::of(command, &[], arg)).collect();
        collect(command, &[], &mut found);
        found
    }

    fn of(command: &Command, verb: &[String], arg: &Arg) -> Self {
        let kind = match arg.get_action() {
            ArgAction::SetTrue | ArgAction::SetFalse => Kind::Flag,
            ArgAction::Count => Kind::Count,
            ArgAction::Append => Kind::Many,
            _ => Kind::One,
        };
        let key = arg.get_long().map_or_else(|| arg.get_id().to_string(), str::to_owned);
        let excluded = command.get_arg_conflicts_with(arg);
        let excludes = excluded.into_iter().map(|arg| arg.get_id().clone()).collect();
        Self { verb: verb.to_vec(), key, kind, arg: arg.clone(), excludes }
    }

    /// Its id in clap.
    pub(super) fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// Returns its value if it is not set; empty if there is none.
    pub(super) fn default(&self) -> Vec<String> {
        match self.kind {
            Kind::Flag => vec!["false".to_owned()],
            Kind::Count => vec!["0".to_owned()],
            _ => {
                let values = self.arg.get_default_values().iter();
                values.map(|value| value.to_string_lossy().into()).collect()
            }
        }
    }

    /// Returns the variables that set it, in order of precedence: that of this verb alone first.
    pub(super) fn variables(&self) -> Vec<String> {
        // Two underscores after a verb: `--proxy-protocol` of all is not `--protocol` of `proxy`.
        let name = |verb: &[String]| {
            let words = [verb, std::slice::from_ref(&self.key)].concat().join("__");
            format!("{PREFIX}_{}", words.replace('-', "_").to_uppercase())
        };
        let mut names = vec![name(&self.verb), name(&[])];
        names.dedup();
        names.extend(self.arg.get_env().map(|name| name.to_string_lossy().into_owned()));
        names
    }

    /// Returns whether it applies to `verb`: it is an option of this verb, or of all verbs.
    pub(super) fn is_of(&self, verb: &[String]) -> bool {
        self.verb.is_empty() || self.verb == verb
    }

    /// Returns whether its value must not be printed.
    pub(super) fn is_secret(&self) -> bool {
        ["token", "secret", "password", "seed"].iter().any(|word| self.key.contains(word))
    }

    /// Returns whether its values are integers.
    pub(super) fn is_integer(&self) -> bool {
        self.has_type(&[
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<i32>(),
            TypeId::of::<u64>(),
            TypeId::of::<i64>(),
            TypeId::of::<usize>(),
        ])
    }

    /// Returns whether its values are text that a number never stands for.
    pub(super) fn is_text(&self) -> bool {
        self.has_type(&[TypeId::of::<String>(), TypeId::of::<PathBuf>()])
    }

    fn has_type(&self, types: &[TypeId]) -> bool {
        let own = self.arg.get_value_parser().type_id();
        types.iter().any(|it| own == *it)
    }

    /// Returns whether clap refuses both options on one command line.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let excludes = |one: &Self, other: &Self| one.excludes.contains(other.arg.get_id());
        self.verb == other.verb && (excludes(self, other) || excludes(other, self))
    }

    /// Returns `values` as words of a command line. Those of positional arguments stand at its end.
    pub(super) fn words(&self, values: &[String]) -> Vec<OsString> {
        let flag = format!("--{}", self.key);
        let first = values.first().map(String::as_str).unwrap_or_default();
        match self.kind {
            _ if self.arg.is_positional() => values.iter().map(OsString::from).collect(),
            Kind::Flag => vec![flag.into(); usize::from(first == "true")],
            Kind::Count => vec![flag.into(); first.parse().unwrap_or(0)],
            Kind::One | Kind::Many => {
                values.iter().map(|value| format!("{flag}={value}").into()).collect()
            }
        }
    }

    /// Checks that the option can have these values, which clap does in a command of its own: the
    /// command line has no place for the fault of a file.
    ///
    /// # Errors
    /// Why it cannot, and a hint.
    pub(super) fn check(&self, values: &[String]) -> Result<(), (String, Option<String>)> {
        if matches!(self.kind, Kind::Flag | Kind::Count) {
            return Ok(());
        }
        let parser = self.arg.get_value_parser().clone();
        let mut option = Arg::new("it").action(ArgAction::Append).long("it").value_parser(parser);
        if let Some(delimiter) = self.arg.get_value_delimiter() {
            option = option.value_delimiter(delimiter);
        }
        let words = values.iter().map(|value| format!("--it={value}"));
        let parsed = Command::new("").no_binary_name(true).arg(option).try_get_matches_from(words);
        let Err(error) = parsed else { return Ok(()) };
        let said = |kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
            _ => None,
        };
        let value = said(ContextKind::InvalidValue).unwrap_or_else(|| values.join(", "));
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

fn collect(command: &Command, verb: &[String], found: &mut Vec<Setting>) {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let verb = [verb, &[below.get_name().to_owned()]].concat();
        let own = options(below).filter(|arg| !arg.is_global_set());
        found.extend(own.map(|arg| Setting::of(below, &verb, arg)));
        collect(below, &verb, found);
    }
}

/// Returns all options, and the positional arguments worth setting in a file.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        let id = arg.get_id().as_str();
        let stays = !arg.is_positional() || id == "upstream";
        stays && !arg.is_hide_set() && !["help", "version", "config", "write_file"].contains(&id)
    })
}

/// The prefix of our variables.
pub(super) const PREFIX: &str = "MITMCRAFT";
