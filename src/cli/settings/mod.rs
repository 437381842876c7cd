//! Settings of options: flags, then `MITMCRAFT_*` variables, then a TOML file, then defaults.
//!
//! All of it is derived from the clap command: every option of a verb can be set. The values of
//! variables and file are added to the command line as if they had been typed, so that clap parses
//! and checks everything in one place.

mod command_line;
mod completion;
mod effective;
mod environment;
mod file;
mod idle;
mod setting;
#[cfg(test)]
mod tests;
mod value;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Command, ValueEnum};

pub(super) use command_line::CommandLine;
pub(super) use effective::EffectiveSetting;
use environment::Environment;
use file::File;
use setting::Setting;
use value::{Origin, SettingValue};

/// Everything that can be set, with the values of command line, variables and file.
#[derive(Debug)]
pub(super) struct Settings {
    line: CommandLine,
    all: Vec<Setting>,
    environment: Environment,
    file: File,
}

impl Settings {
    /// Reads the configuration file, which `line` or a variable may name.
    ///
    /// # Errors
    /// If the configuration file cannot be read or has faults.
    pub(super) fn load(
        line: CommandLine,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> anyhow::Result<Self> {
        let all = Setting::all(line.command());
        let environment = Environment::new(variables, &all);
        let named = line.config().or_else(|| environment.file().map(PathBuf::from));
        let required = named.is_some() && !line.writes_config();
        let path = named.or_else(File::default_path);
        let file = match path.filter(|path| required || path.exists()) {
            Some(path) => File::read(&path, &all, &line)?,
            None => File::default(),
        };
        Ok(Self { line, all, environment, file })
    }

    /// Returns the command line with the values of variables and file.
    ///
    /// # Errors
    /// If a variable has a value that its option cannot have.
    pub(super) fn complete(&self) -> anyhow::Result<Vec<OsString>> {
        let mut words = self.line.words().to_vec();
        let escape = words.iter().position(|word| word == "--");
        let (mut global, mut own, mut positional) = (Vec::new(), Vec::new(), Vec::new());
        for (place, value) in self.values()? {
            let setting = &self.all[place];
            if value.origin != Origin::Flag {
                let (flags, arguments) = setting.words(&value.values);
                if setting.verb.is_empty() { &mut global } else { &mut own }.extend(flags);
                positional.extend(arguments);
            }
        }
        if escape.is_none() && !positional.is_empty() {
            own.push("--".into());
        }
        let end = escape.unwrap_or(words.len());
        words.splice(end..end, own);
        words.extend(positional);
        words.splice(1..1, global);
        Ok(words)
    }

    /// Returns the effective value of each option of the verb on the command line, or of all verbs if
    /// there is none.
    ///
    /// # Errors
    /// If a variable has a value that its option cannot have.
    pub(super) fn effective(&self) -> anyhow::Result<Vec<EffectiveSetting<'_>>> {
        let verb = self.line.verb();
        let mut values = self.values()?;
        let mut effective = Vec::new();
        for (place, setting) in self.all.iter().enumerate() {
            if !verb.is_empty() && !setting.is_of(verb) {
                continue;
            }
            let value = match values.iter().position(|(it, _)| *it == place) {
                Some(found) => Some(values.swap_remove(found).1),
                None if verb.is_empty() => self.set_elsewhere(place)?,
                None => None,
            };
            effective.push(EffectiveSetting::new(setting, value));
        }
        Ok(effective)
    }

    /// Creates the configuration file, or adds a comment to it for each setting that it does not
    /// mention. What it sets stays as it is.
    ///
    /// # Errors
    /// If there is no place for the file, or it cannot be written.
    pub(super) fn write_file(&self) -> anyhow::Result<PathBuf> {
        let named = self.line.config().or_else(|| self.environment.file().map(PathBuf::from));
        let path = named.or_else(File::default_path);
        let path = path.context("no configuration folder is known: name a file with --config")?;
        let missing = (0..self.all.len()).filter(|place| self.file.value(*place).is_none());
        let missing = missing.map(|place| EffectiveSetting::new(&self.all[place], None));
        let text = completion::completed(&self.file.text, missing);
        if text == self.file.text {
            return Ok(path);
        }
        let completed = File::parse(&path, text.clone(), &self.all, &self.line);
        if !completed.is_ok_and(|completed| completed.sets_the_same(&self.file)) {
            bail!(
                "cannot complete {}: write each verb as a table such as `[proxy]`",
                path.display()
            );
        }
        let written = || format!("cannot write the configuration file {}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(written)?;
        }
        // The file may be a link; it is complete at every moment.
        let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let beside = target.with_extension(format!("toml.{}", std::process::id()));
        fs::write(&beside, text)
            .and_then(|()| match fs::metadata(&target) {
                Ok(old) => fs::set_permissions(&beside, old.permissions()),
                Err(_) => Ok(()),
            })
            .and_then(|()| fs::rename(&beside, &target))
            .inspect_err(|_| {
                let _ = fs::remove_file(&beside);
            })
            .with_context(written)?;
        Ok(path)
    }

    /// Returns the value of an option of all verbs, also if the command line is wrong or asks for
    /// help.
    pub(super) fn global<T: ValueEnum + Default>(&self, id: &str) -> T {
        let elsewhere = || {
            let is_it = |it: &Setting| it.verb.is_empty() && it.id == id;
            let value = self.set_elsewhere(self.all.iter().position(is_it)?).ok()??;
            T::from_str(value.values.first()?, true).ok()
        };
        self.line.global(id).or_else(elsewhere).unwrap_or_default()
    }

    /// Returns the configuration file that was read, if any.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.path.as_deref()
    }

    /// Returns the configuration file that is read if none is named.
    pub(super) fn default_file() -> Option<PathBuf> {
        File::default_path()
    }

    /// Returns a warning for each variable with our prefix that sets nothing.
    pub(super) fn unknown_variables(&self) -> Vec<String> {
        self.environment.unknown(&self.all)
    }

    /// Returns the values set for the verb on the command line, by index of the setting.
    fn values(&self) -> anyhow::Result<Vec<(usize, SettingValue)>> {
        let verb = self.line.verb();
        let of_verb: Vec<usize> =
            (0..self.all.len()).filter(|place| self.all[*place].is_of(verb)).collect();
        let typed = |place: &usize| Some((*place, self.line.typed(&self.all[*place])?));
        let mut values: Vec<(usize, SettingValue)> = of_verb.iter().filter_map(typed).collect();
        // A flag overrides what conflicts with it elsewhere, and a variable overrides the file.
        for from_file in [false, true] {
            let before: Vec<usize> = values.iter().map(|(place, _)| *place).collect();
            for place in &of_verb {
                let found = if from_file {
                    self.file.value(*place).cloned()
                } else {
                    self.environment.value(&self.all[*place], &self.line)?
                };
                let overridden = |it: &usize| it == place || self.conflict(*it, *place);
                if let Some(value) = found.filter(|_| !before.iter().any(overridden)) {
                    values.push((*place, value));
                }
            }
        }
        Ok(values)
    }

    /// Returns the value that a variable or the file sets.
    fn set_elsewhere(&self, place: usize) -> anyhow::Result<Option<SettingValue>> {
        let variable = self.environment.value(&self.all[place], &self.line)?;
        Ok(variable.or_else(|| self.file.value(place).cloned()))
    }

    /// Returns whether clap refuses both options on one command line.
    fn conflict(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.all[one], &self.all[other]);
        if one.verb != other.verb {
            return false;
        }
        let subcommand = |command, verb: &String| Command::find_subcommand(command, verb);
        let Some(command) = one.verb.iter().try_fold(self.line.command(), subcommand) else {
            return false;
        };
        let excludes = |one: &Setting, other: &Setting| {
            let arg = command.get_arguments().find(|arg| arg.get_id() == one.id.as_str());
            let conflicts = arg.map(|arg| command.get_arg_conflicts_with(arg)).unwrap_or_default();
            conflicts.iter().any(|arg| arg.get_id() == other.id.as_str())
        };
        one.id != other.id && (excludes(one, other) || excludes(other, one))
    }
}
