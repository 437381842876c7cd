//! What is typed beside what is set elsewhere: flags, then `MITMCRAFT_*` variables, then a file in
//! TOML, then defaults.
//!
//! All of it is derived from the clap command: an option that a verb has can be set. What the
//! variables and the file say is put into the command line as if it had been typed, so that it is
//! read and checked once, in one place.

mod environment;
mod file;
mod given;
mod held;
mod lenient;
mod setting;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use environment::Environment;
use file::File;
use given::{Given, Origin};
pub(super) use held::Held;
use lenient::Lenient;
use setting::Setting;

/// All that can be set, and what sets it beside the command line.
#[derive(Debug)]
pub(super) struct Settings {
    command: Command,
    line: Lenient,
    all: Vec<Setting>,
    environment: Environment,
    file: File,
}

/// A command line: the verb, and for each of its options what it is set to.
struct Read {
    /// As in `replay server`.
    verb: Vec<String>,
    /// By the place of the setting in the list of all; what nothing sets is not there.
    given: Vec<(usize, Given)>,
}

impl Settings {
    /// Reads what holds beside the command line, for which `--config` counts.
    ///
    /// # Errors
    /// When the configuration file cannot be read or has faults.
    pub(super) fn load(
        mut command: Command,
        words: &[OsString],
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> anyhow::Result<Self> {
        command.build();
        let (all, line) = (Setting::all(&command), Lenient::new(&command));
        let environment = Environment::new(variables, &all);
        let named = line.read(words).and_then(|matches| matches.get_one("config").cloned());
        let named: Option<PathBuf> = named.or_else(|| environment.file().map(PathBuf::from));
        let path = named.clone().or_else(File::default_path);
        let file = match path.filter(|path| named.is_some() || path.exists()) {
            Some(path) => File::read(&path, &all, &line)?,
            None => File::default(),
        };
        Ok(Self { command, line, all, environment, file })
    }

    /// The command line with what the variables and the file set beside it.
    ///
    /// # Errors
    /// When a variable has a value that its option cannot have.
    pub(super) fn complete(&self, mut words: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
        let Some(read) = self.read(&words)? else { return self.complete_help(words) };
        let Some(place) = self.place(&words, &read.verb) else { return Ok(words) };
        let mut behind = Vec::new();
        for (setting, given) in read.given {
            if given.origin != Origin::Flag {
                let (front, back) = self.all[setting].words(&given.values);
                words.splice(place..place, front);
                behind.extend(back);
            }
        }
        if !behind.is_empty() {
            words.push("--".into());
            words.append(&mut behind);
        }
        Ok(words)
    }

    /// What each option holds, for the verb of a command line; without a verb for all of them.
    ///
    /// # Errors
    /// When a variable has a value that its option cannot have.
    pub(super) fn held(&self, words: &[OsString]) -> anyhow::Result<Vec<Held<'_>>> {
        let read = self.read(words)?;
        let verb = read.as_ref().map(|read| read.verb.as_slice()).unwrap_or_default();
        let concerned =
            |setting: &Setting| verb.is_empty() || setting.verb.is_empty() || setting.verb == verb;
        let mut held = Vec::new();
        for (place, setting) in self.all.iter().enumerate().filter(|(_, it)| concerned(it)) {
            let read = read.as_ref().filter(|_| !verb.is_empty() || setting.verb.is_empty());
            let given = match read {
                Some(read) => read.given.iter().find(|it| it.0 == place).map(|it| it.1.clone()),
                None => self.elsewhere(place)?,
            };
            held.push(Held::new(setting, given));
        }
        Ok(held)
    }

    /// The configuration file that is read, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.path.as_deref()
    }

    /// Where the configuration file is when nobody says where.
    pub(super) fn default_file() -> Option<PathBuf> {
        File::default_path()
    }

    /// Variables that look like ours and set nothing, as a user reads it.
    pub(super) fn unknown_variables(&self) -> Vec<String> {
        self.environment.unknown(&self.all)
    }

    /// The same where help is asked for: what all verbs have, such as colour, holds for it too.
    fn complete_help(&self, mut words: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
        for (place, setting) in self.all.iter().enumerate().filter(|it| it.1.verb.is_empty()) {
            let flag = format!("--{}", setting.key);
            let typed = words.iter().any(|word| word.to_string_lossy().starts_with(&flag));
            if let Some(given) = self.elsewhere(place)?.filter(|_| !typed) {
                words.splice(1..1, setting.words(&given.values).0);
            }
        }
        Ok(words)
    }

    /// None: help or the version are asked for.
    fn read(&self, words: &[OsString]) -> anyhow::Result<Option<Read>> {
        let Some(matches) = self.line.read(words) else { return Ok(None) };
        let mut verb = Vec::new();
        let mut own = &matches;
        while let Some((name, below)) = own.subcommand() {
            verb.push(name.to_owned());
            own = below;
        }
        let mut given: Vec<(usize, Given)> = Vec::new();
        let concerned: Vec<usize> = (0..self.all.len())
            .filter(|place| self.all[*place].verb.is_empty() || self.all[*place].verb == verb)
            .collect();
        for place in &concerned {
            given.extend(typed(&self.all[*place], own).map(|given| (*place, given)));
        }
        // What is typed beats what contradicts it elsewhere, and a variable beats the file.
        for of_file in [false, true] {
            let before: Vec<usize> = given.iter().map(|(place, _)| *place).collect();
            for place in &concerned {
                let found = match of_file {
                    false => self.environment.given(&self.all[*place], &self.line)?,
                    true => self.file.given(*place).cloned(),
                };
                let beaten = before.iter().any(|it| it == place || self.conflict(*it, *place));
                given.extend(found.filter(|_| !beaten).map(|given| (*place, given)));
            }
        }
        Ok(Some(Read { verb, given }))
    }

    /// What the variables or the file set an option to.
    fn elsewhere(&self, place: usize) -> anyhow::Result<Option<Given>> {
        let variable = self.environment.given(&self.all[place], &self.line)?;
        Ok(variable.or_else(|| self.file.given(place).cloned()))
    }

    /// Whether clap refuses the two side by side.
    fn conflict(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.all[one], &self.all[other]);
        if one.verb != other.verb {
            return false;
        }
        let below = |command, verb: &String| Command::find_subcommand(command, verb);
        let Some(command) = one.verb.iter().try_fold(&self.command, below) else { return false };
        let excludes = |one: &Setting, other: &Setting| {
            let arg = command.get_arguments().find(|arg| arg.get_id() == one.id.as_str());
            let conflicts = arg.map(|arg| command.get_arg_conflicts_with(arg)).unwrap_or_default();
            conflicts.iter().any(|arg| arg.get_id() == other.id.as_str())
        };
        let apart = command.get_groups().any(|group| {
            let within = |id: &str| group.get_args().any(|it| it == id);
            !group.clone().is_multiple() && within(&one.id) && within(&other.id)
        });
        one.id != other.id && (apart || excludes(one, other) || excludes(other, one))
    }

    /// Where the own words of a verb begin.
    fn place(&self, words: &[OsString], verb: &[String]) -> Option<usize> {
        let mut at = 1;
        let mut names = verb.iter().peekable();
        while let Some(name) = names.peek() {
            let word = words.get(at)?.to_string_lossy();
            let global = |arg: &clap::Arg| {
                arg.get_action().takes_values() && arg.get_long() == word.strip_prefix("--")
            };
            if word == name.as_str() {
                names.next();
            } else if word.starts_with("--") && self.command.get_arguments().any(global) {
                at += 1;
            }
            at += 1;
        }
        Some(at)
    }
}

/// What an option has on the command line.
fn typed(setting: &Setting, matches: &ArgMatches) -> Option<Given> {
    if matches.value_source(&setting.id)? != ValueSource::CommandLine {
        return None;
    }
    let values = match setting.kind {
        setting::Kind::Count => vec![matches.get_count(&setting.id).to_string()],
        setting::Kind::Flag => vec!["true".to_owned()],
        _ => {
            let raw = matches.get_raw(&setting.id).into_iter().flatten();
            raw.map(|value| value.to_string_lossy().into_owned()).collect()
        }
    };
    Some(Given { values, origin: Origin::Flag })
}
