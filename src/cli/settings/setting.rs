use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

/// An option of a verb, or of all verbs, that can be set by flag, variable and file.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The verb, such as `proxy` or `replay`, `server`; empty for options of all verbs.
    pub(super) verb: Vec<String>,
    /// Its id in clap.
    pub(super) id: String,
    /// Its name in the file: the flag without dashes.
    pub(super) key: String,
    pub(super) kind: Kind,
    pub(super) form: Form,
    /// `true` if it is a positional argument.
    positional: bool,
    /// A variable without our prefix that sets it too.
    variable: Option<String>,
    /// Its value if it is not set; empty if there is none.
    pub(super) default: Vec<String>,
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

/// How the file writes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Integer,
    Text,
    /// Text or a number: a size, a duration.
    Either,
}

impl Setting {
    /// Returns all settings of a command and its verbs, in the order of their help.
    pub(super) fn all(command: &Command) -> Vec<Self> {
        let mut found: Vec<Self> = options(command)
            .filter(|arg| arg.is_global_set())
            .map(|arg| Self::of(&[], arg))
            .collect();
        collect(command, &mut Vec::new(), &mut found);
        found
    }

    fn of(verb: &[String], arg: &Arg) -> Self {
        let kind = match arg.get_action() {
            ArgAction::SetTrue | ArgAction::SetFalse => Kind::Flag,
            ArgAction::Count => Kind::Count,
            ArgAction::Append => Kind::Many,
            _ => Kind::One,
        };
        let type_id = arg.get_value_parser().type_id();
        let is = |types: &[TypeId]| types.iter().any(|it| type_id == *it);
        let form = if is(&integers()) {
            Form::Integer
        } else if is(&texts()) || !arg.get_possible_values().is_empty() {
            Form::Text
        } else {
            Form::Either
        };
        let default = match kind {
            Kind::Flag => vec!["false".to_owned()],
            Kind::Count => vec!["0".to_owned()],
            _ => arg.get_default_values().iter().map(|it| it.to_string_lossy().into()).collect(),
        };
        let key = arg.get_long().map_or_else(|| arg.get_id().to_string(), str::to_owned);
        let (id, positional) = (arg.get_id().to_string(), arg.is_positional());
        let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
        Self { verb: verb.to_vec(), id, key, kind, form, positional, variable, default }
    }

    /// Returns the variables that set it, in order of precedence: that of this verb alone first.
    pub(super) fn variables(&self) -> Vec<String> {
        // Two underscores after a verb: `--proxy-protocol` of all is not `--protocol` of `proxy`.
        let name = |words: &[&str]| {
            format!("{PREFIX}_{}", words.join("__").replace('-', "_").to_uppercase())
        };
        let mut words: Vec<&str> = self.verb.iter().map(String::as_str).collect();
        words.push(&self.key);
        let mut names = vec![name(&words)];
        if !self.verb.is_empty() {
            names.push(name(&[&self.key]));
        }
        names.extend(self.variable.clone());
        names
    }

    /// Returns whether it applies to `verb`: it is an option of this verb, or of all verbs.
    pub(super) fn is_of(&self, verb: &[String]) -> bool {
        self.verb.is_empty() || self.verb == verb
    }

    /// Returns whether its value must not be printed.
    pub(super) fn is_secret(&self) -> bool {
        ["token", "secret", "password"].iter().any(|word| self.key.contains(word))
    }

    /// Returns `values` as words of a command line: flags, and positional arguments.
    pub(super) fn words(&self, values: &[String]) -> (Vec<OsString>, Vec<OsString>) {
        let flag = format!("--{}", self.key);
        let first = values.first().map(String::as_str);
        match self.kind {
            _ if self.positional => (Vec::new(), values.iter().map(OsString::from).collect()),
            Kind::Flag if first == Some("true") => (vec![flag.into()], Vec::new()),
            Kind::Flag => (Vec::new(), Vec::new()),
            Kind::Count => {
                let count = first.and_then(|count| count.parse().ok()).unwrap_or(0);
                (vec![flag.into(); count], Vec::new())
            }
            Kind::One | Kind::Many => {
                let words = values.iter().map(|value| format!("{flag}={value}").into());
                (words.collect(), Vec::new())
            }
        }
    }
}

fn collect(command: &Command, verb: &mut Vec<String>, found: &mut Vec<Setting>) {
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        verb.push(below.get_name().to_owned());
        let own = options(below).filter(|arg| !arg.is_global_set());
        found.extend(own.map(|arg| Setting::of(verb, arg)));
        collect(below, verb, found);
        verb.pop();
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

fn integers() -> [TypeId; 7] {
    [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i32>(),
        TypeId::of::<i64>(),
    ]
}

fn texts() -> [TypeId; 3] {
    [TypeId::of::<String>(), TypeId::of::<PathBuf>(), TypeId::of::<OsString>()]
}

/// The prefix of our variables.
pub(super) const PREFIX: &str = "MITMCRAFT";
