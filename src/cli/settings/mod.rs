//! Settings of options: flags, then `MITMCRAFT_*` variables, then a TOML file, then defaults.
//!
//! All of it is derived from the clap command: every option of a verb can be set. The values of
//! variables and file are added to the command line as if they had been typed, so that clap parses
//! and checks everything in one place. The line is therefore parsed twice, first leniently: which
//! values are added depends on the verb and on the options that were typed.
//!
//! It is 930 lines; ripgrep's configuration file takes 176, because it is a list of flags. A third of
//! them is the file (tables, types, all faults with their places and what was meant), a sixth the file
//! that `config --write` completes, and the rest variables, origins and which option overrides which.

mod command_line;
mod completion;
mod effective;
mod environment;
mod file;
mod needs;
mod setting;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;

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
    /// The file that `line` or a variable names, else the one of the user's folder.
    path: Option<PathBuf>,
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
        let all = Setting::all(&line.command);
        let environment = Environment::new(variables, &all);
        let named = line.config().or_else(|| environment.file().map(PathBuf::from));
        let required = named.is_some() && !line.writes_config();
        let path = named.or_else(File::default_path);
        let file = match path.as_ref().filter(|path| required || path.exists()) {
            Some(path) => File::read(path, &all)?,
            None => File::default(),
        };
        Ok(Self { line, all, environment, file, path })
    }

    /// Returns the command line with the values of variables and file.
    ///
    /// # Errors
    /// If a variable has a value that its option cannot have.
    pub(super) fn complete(&self) -> anyhow::Result<Vec<OsString>> {
        let mut words = self.line.words.clone();
        let escape = words.iter().position(|word| word == "--");
        let (mut global, mut own, mut positional) = (Vec::new(), Vec::new(), Vec::new());
        for (place, value) in self.values(|it| it.is_of(&self.line.verb))? {
            let setting = &self.all[place];
            let to = match setting.arg.is_positional() {
                _ if value.origin == Origin::Flag => continue,
                true => &mut positional,
                false if setting.verb.is_empty() => &mut global,
                false => &mut own,
            };
            to.extend(setting.words(&value.values));
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
        let verb = &self.line.verb;
        let own = |setting: &Setting| verb.is_empty() || setting.is_of(verb);
        let mut values = self.values(own)?;
        let settings = self.all.iter().enumerate().filter(|(_, setting)| own(setting));
        Ok(settings.map(|(at, it)| EffectiveSetting::new(it, values.remove(&at))).collect())
    }

    /// Creates the configuration file, or adds a comment to it for each setting that it does not
    /// mention. What it sets stays as it is.
    ///
    /// # Errors
    /// If there is no place for the file, or it cannot be written.
    pub(super) fn write_file(&self) -> anyhow::Result<&Path> {
        let path = self.path.as_deref();
        let path = path.context("no configuration folder is known: name a file with --config")?;
        let missing = (0..self.all.len()).filter(|place| !self.file.values.contains_key(place));
        let missing = missing.map(|place| EffectiveSetting::new(&self.all[place], None));
        let text = completion::completed(&self.file.text, &missing.collect::<Vec<_>>());
        let set = |file: &File| {
            let values = file.values.iter().map(|(place, value)| (*place, value.values.clone()));
            values.collect::<Vec<_>>()
        };
        let completed = File::parse(path, text, &self.all);
        let Some(completed) = completed.ok().filter(|it| set(it) == set(&self.file)) else {
            bail!(
                "cannot complete {}: write each verb as a table such as `[proxy]`",
                path.display()
            );
        };
        replace(path, &completed.text)
            .with_context(|| format!("cannot write the configuration file {}", path.display()))?;
        Ok(path)
    }

    /// Returns the value of an option of all verbs, also if the command line is wrong or asks for
    /// help.
    pub(super) fn global<T: ValueEnum + Default>(&self, id: &str) -> T {
        let values = self.values(|it| it.verb.is_empty() && it.id() == id).unwrap_or_default();
        let value = values.values().next().and_then(|value| value.values.first());
        value.and_then(|value| T::from_str(value, true).ok()).unwrap_or_default()
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
    pub(super) fn unknown_variables(&self) -> impl Iterator<Item = String> {
        self.environment.unknown()
    }

    /// Returns what is set of the options for which `own` holds, by their indices.
    fn values(
        &self,
        own: impl Fn(&Setting) -> bool,
    ) -> anyhow::Result<BTreeMap<usize, SettingValue>> {
        let mut values = BTreeMap::new();
        // A flag overrides what conflicts with it elsewhere, and a variable overrides the file.
        for source in [Self::typed, Self::variable, Self::in_file] {
            let before: Vec<usize> = values.keys().copied().collect();
            for (place, setting) in self.all.iter().enumerate().filter(|(_, it)| own(it)) {
                let overrides = |it: &usize| *it == place || self.all[*it].conflicts(setting);
                if let Some(value) = source(self, place)?
                    && !before.iter().any(overrides)
                {
                    values.insert(place, value);
                }
            }
        }
        Ok(values)
    }

    fn typed(&self, place: usize) -> anyhow::Result<Option<SettingValue>> {
        Ok(self.line.typed(&self.all[place]))
    }

    fn variable(&self, place: usize) -> anyhow::Result<Option<SettingValue>> {
        self.environment.value(&self.all[place])
    }

    fn in_file(&self, place: usize) -> anyhow::Result<Option<SettingValue>> {
        Ok(self.file.values.get(&place).cloned())
    }
}

/// Writes a file, which may be a link, and its folder. It is complete at every moment.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = target.with_extension(format!("toml.{}", std::process::id()));
    let written = fs::write(&beside, text).and_then(|()| match fs::metadata(&target) {
        Ok(old) => fs::set_permissions(&beside, old.permissions()),
        Err(_) => Ok(()),
    });
    written.and_then(|()| fs::rename(&beside, &target)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
