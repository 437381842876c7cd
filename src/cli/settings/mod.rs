//! Settings of options: flags, then `MITMCRAFT_*` variables, then a TOML file, then defaults.
//!
//! All of it is derived from the clap command: every option of a verb can be set. The values of
//! variables and file are added to the command line as if they had been typed, so that clap parses
//! and checks everything in one place. The line is therefore parsed twice, first leniently: which
//! values are added depends on the verb and on the options that were typed.
//!
//! ripgrep's configuration file takes 176 lines, because it is a list of flags. What is beyond it here:
//! tables and types in the file, with every fault reported at its place; variables; where each value comes
//! from; a file that `config --write` creates; and options that override or need others.

mod environment;
mod file;
mod needs;
mod setting;
#[cfg(test)]
mod tests;
mod typed;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use anyhow::{Context as _, anyhow, bail};
use clap::{Command, ValueEnum};

use environment::{CONFIG, Variables};
pub(super) use file::default_file;
use setting::{Setting, Value, Values};
use typed::Typed;

/// Everything that can be set, with the values of command line, variables and file.
pub(super) struct Settings {
    all: Vec<Setting>,
    /// The command line as it was typed.
    words: Vec<OsString>,
    /// Its verb, such as `proxy` or `replay.server`; empty if there is none.
    verb: String,
    /// `true` if it asks for help or the version, or has no verb: settings do not matter, nor their faults.
    is_question: bool,
    /// The values of the verb's options and of those of all verbs; of all options if there is no verb.
    typed: Values,
    variables: Values,
    /// The values of the configuration file.
    in_file: Values,
    /// The configuration file: the named one, else the one of the user's folder.
    pub(super) path: Option<PathBuf>,
    /// Why the file cannot be used, or a variable not.
    fault: Option<anyhow::Error>,
    /// A warning for each variable with our prefix that sets nothing.
    pub(super) unknown_variables: Vec<String>,
}

impl Settings {
    /// Reads the configuration file, which the command line or a variable may name. `words` begin with
    /// the program's name.
    pub(super) fn load(
        mut command: Command,
        words: Vec<OsString>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let line = Typed::new(command.clone(), &words);
        command.build();
        let all = Setting::all(&command);
        let set = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let set = set.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let environment: Variables = set.collect();
        let named = line.words("config").and_then(|mut words| words.next_back());
        let named = named.or_else(|| Some(environment.get(CONFIG)?));
        // A file that is to be written need not exist.
        let required = named.is_some() && line.words("write_file").is_none();
        let path = named.map(PathBuf::from).or_else(default_file);
        let mut fault = None;
        let read = match path.as_ref().filter(|path| required || path.exists()) {
            Some(path) => file::read(path, &all),
            None => Ok(Values::new()),
        };
        let in_file = read.map_err(|error| fault = Some(error)).unwrap_or_default();
        let (mut typed, mut variables) = (Values::new(), Values::new());
        for (place, setting) in all.iter().enumerate().filter(|(_, it)| it.is_of(&line.verb)) {
            typed.extend(line.value(setting).map(|value| (place, value)));
            match environment::value(&environment, setting) {
                Ok(value) => variables.extend(value.map(|value| (place, value))),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        let unknown_variables = environment::unknown(&environment, &all);
        let asks = |id| line.words(id).is_some();
        let is_question = line.verb.is_empty() || asks("help") || asks("version");
        let verb = line.verb;
        Self {
            all,
            words,
            verb,
            is_question,
            typed,
            variables,
            in_file,
            path,
            fault,
            unknown_variables,
        }
    }

    /// Returns the command line with the values of variables and file.
    ///
    /// # Errors
    /// If the file cannot be read or has faults, or a variable has a value that its option cannot have.
    pub(super) fn complete(&self) -> anyhow::Result<Vec<OsString>> {
        let escape = self.words.iter().position(|word| word == "--");
        let (typed, escaped) = self.words.split_at(escape.unwrap_or(self.words.len()));
        let (Some((program, typed)), false) = (typed.split_first(), self.is_question) else {
            return Ok(self.words.clone());
        };
        self.check()?;
        let (mut global, mut own, mut positional) = (Vec::new(), Vec::new(), Vec::new());
        for (place, setting) in self.own() {
            let to = match setting.arg.is_positional() {
                _ if self.typed.contains_key(&place) => continue,
                true => &mut positional,
                false if setting.verb().is_empty() => &mut global,
                false => &mut own,
            };
            to.extend(self.value(place).into_iter().flat_map(|value| setting.words(value)));
        }
        if escape.is_none() && !positional.is_empty() {
            own.push("--".into());
        }
        Ok([from_ref(program), &global, typed, &own, escaped, &positional].concat())
    }

    /// Returns the effective value of each option of the verb on the command line, or of all verbs if
    /// there is none, in the format of the configuration file.
    ///
    /// # Errors
    /// As for [`complete`](Self::complete).
    pub(super) fn effective(&self) -> anyhow::Result<String> {
        self.check()?;
        Ok(tables(self.own(), |place, setting| setting.line(self.value(place))))
    }

    /// Creates the configuration file and its folder, with a comment for each setting.
    ///
    /// # Errors
    /// If there is no place for the file, it exists, or it cannot be written.
    pub(super) fn create_file(&self) -> anyhow::Result<&Path> {
        let path = self.path.as_deref();
        let path = path.context("no configuration folder is known: name a file with --config")?;
        let text = tables(self.all.iter().enumerate(), |_, setting| setting.comment());
        let failed = || format!("cannot write the configuration file {}", path.display());
        path.parent().map_or(Ok(()), fs::create_dir_all).with_context(failed)?;
        let created = File::create_new(path);
        if created.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            bail!(
                "the configuration file {} exists already, and was not changed (`mitmcraft config` \
                 prints the lines of all settings: copy those that you need)",
                path.display()
            );
        }
        created.and_then(|mut file| file.write_all(text.as_bytes())).with_context(failed)?;
        Ok(path)
    }

    /// Returns the value of an option of all verbs, also if the command line or the file is wrong or the
    /// line asks for help.
    pub(super) fn global<T: ValueEnum + Default>(&self, name: &str) -> T {
        let place = self.all.iter().position(|setting| setting.name == name);
        let word = place.and_then(|place| self.value(place)?.words.first());
        word.and_then(|word| T::from_str(word, true).ok()).unwrap_or_default()
    }

    /// Returns the options of the verb and of all verbs, with their indices.
    fn own(&self) -> impl Iterator<Item = (usize, &Setting)> {
        self.all.iter().enumerate().filter(|(_, setting)| setting.is_of(&self.verb))
    }

    fn check(&self) -> anyhow::Result<()> {
        self.fault.as_ref().map_or(Ok(()), |fault| Err(anyhow!("{fault:#}")))
    }

    /// Returns the value of an option, if it is set.
    fn value(&self, place: usize) -> Option<&Value> {
        let sources = [&self.typed, &self.variables, &self.in_file];
        let source = sources.iter().position(|source| source.contains_key(&place))?;
        // A flag overrides what conflicts with it elsewhere, and a variable overrides the file, unless it
        // is overridden itself.
        let overrides =
            |it: &usize| self.all[*it].overrides(&self.all[place]) && self.value(*it).is_some();
        let is_overridden = sources[..source].iter().any(|before| before.keys().any(overrides));
        sources[source].get(&place).filter(|_| !is_overridden)
    }
}

/// Returns the text of a file with a line for each of `settings`, which come with their indices, in the tables
/// of their verbs.
fn tables<'a>(
    settings: impl Iterator<Item = (usize, &'a Setting)>,
    line: impl Fn(usize, &Setting) -> String,
) -> String {
    let (mut text, mut table) = (String::new(), "");
    for (place, setting) in settings {
        if setting.verb() != table {
            table = setting.verb();
            text.push_str(&format!("\n[{table}]\n"));
        }
        text.push_str(&line(place, setting));
        text.push('\n');
    }
    text
}
