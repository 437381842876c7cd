use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mitmcraft::filter::{Severity, SourceFault};
use mitmcraft::lang::closest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::command_line::CommandLine;
use super::setting::{Form, Kind, Setting};
use super::value::{Origin, SettingValue};

/// A configuration file: a key for each option of all verbs, and a table for each verb.
#[derive(Debug, Default)]
pub(super) struct File {
    /// `None` if there is no file.
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
    /// The values, by index of the setting.
    values: Vec<(usize, SettingValue)>,
}

impl File {
    /// Returns the file that is read if none is named.
    pub(super) fn default_path() -> Option<PathBuf> {
        Some(directories::BaseDirs::new()?.config_dir().join("mitmcraft").join("config.toml"))
    }

    /// Reads a file that must exist.
    ///
    /// # Errors
    /// If it cannot be read, or with all its faults.
    pub(super) fn read(
        path: &Path,
        settings: &[Setting],
        line: &CommandLine,
    ) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
        Self::parse(path, text, settings, line)
    }

    /// Parses the text of the file at `path`.
    ///
    /// # Errors
    /// With all its faults.
    pub(super) fn parse(
        path: &Path,
        text: String,
        settings: &[Setting],
        line: &CommandLine,
    ) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let (document, errors) = DeTable::parse_recoverable(&text);
        let (values, faults) = (Vec::new(), Vec::new());
        let mut parser = Parser { name: &name, text: &text, settings, line, values, faults };
        if errors.is_empty() {
            parser.table(&[], document.get_ref());
        } else {
            // After a syntax error, keys may be in other tables than they were meant for.
            for error in errors {
                parser.fault(error.span().unwrap_or(0..0), error.message().to_owned(), None);
            }
        }
        let Parser { values, mut faults, .. } = parser;
        if faults.is_empty() {
            drop(document);
            return Ok(Self { path: Some(path.to_owned()), text, values });
        }
        faults.sort_by_key(|fault| (fault.line, fault.column));
        let faults: Vec<String> = faults.iter().map(|fault| fault.render(&name)).collect();
        bail!("the configuration file has faults\n{}", faults.join("\n"))
    }

    /// Returns the value of a setting, by its index.
    pub(super) fn value(&self, setting: usize) -> Option<&SettingValue> {
        self.values.iter().find(|(place, _)| *place == setting).map(|(_, value)| value)
    }

    /// Returns whether the file sets the same as another one.
    pub(super) fn sets_the_same(&self, other: &Self) -> bool {
        let values = |file: &Self| {
            let values = file.values.iter().map(|(place, value)| (*place, value.values.clone()));
            values.collect::<BTreeMap<_, _>>()
        };
        values(self) == values(other)
    }
}

type Key<'a, 't> = &'a Spanned<DeString<'t>>;
type Item<'a, 't> = &'a Spanned<DeValue<'t>>;

struct Parser<'a> {
    /// The name of the file.
    name: &'a str,
    text: &'a str,
    settings: &'a [Setting],
    line: &'a CommandLine,
    /// The values found so far, by index of the setting.
    values: Vec<(usize, SettingValue)>,
    faults: Vec<SourceFault>,
}

impl Parser<'_> {
    fn table(&mut self, verb: &[String], table: &DeTable<'_>) {
        for (key, item) in table {
            let name = key.get_ref().replace('_', "-");
            let own = |setting: &Setting| setting.verb == verb && setting.key == name;
            if let Some(setting) = self.settings.iter().position(own) {
                self.option(setting, key, item);
                continue;
            }
            let mut below = verb.to_vec();
            below.push(name);
            if !self.settings.iter().any(|setting| setting.verb.starts_with(&below)) {
                self.unknown(verb, key);
                continue;
            }
            match item.get_ref().as_table() {
                Some(table) => self.table(&below, table),
                None => self.wrong(key, item, "a table"),
            }
        }
    }

    fn option(&mut self, place: usize, key: Key<'_, '_>, item: Item<'_, '_>) {
        let setting = &self.settings[place];
        let values = match (setting.kind, item.get_ref()) {
            (Kind::Flag, DeValue::Boolean(is)) => vec![is.to_string()],
            (Kind::Flag, _) => return self.wrong(key, item, "true or false"),
            (Kind::Count, DeValue::Integer(count)) => match count.as_str().parse::<u8>() {
                Ok(count) => vec![count.to_string()],
                Err(_) => return self.wrong(key, item, "a small count"),
            },
            (Kind::Count, _) => return self.wrong(key, item, "an integer"),
            (Kind::Many, DeValue::Array(items)) => {
                let values: Option<Vec<String>> =
                    items.iter().map(|item| self.scalar(setting, key, item)).collect();
                let Some(values) = values else { return };
                values
            }
            (Kind::One | Kind::Many, _) => match self.scalar(setting, key, item) {
                Some(value) => vec![value],
                None => return,
            },
        };
        if let Err((why, hint)) = self.line.check(setting, &values) {
            return self.fault(item.span(), format!("`{}`: {why}", key.get_ref()), hint);
        }
        if self.values.iter().any(|(found, _)| *found == place) {
            return self.fault(key.span(), format!("`{}` is set twice", setting.key), None);
        }
        let line = self.text[..key.span().start].matches('\n').count() + 1;
        let origin = Origin::File(self.name.to_owned(), line);
        self.values.push((place, SettingValue { values, origin }));
    }

    fn scalar(
        &mut self,
        setting: &Setting,
        key: Key<'_, '_>,
        item: Item<'_, '_>,
    ) -> Option<String> {
        let wanted = match (item.get_ref(), setting.form) {
            (DeValue::String(text), Form::Text | Form::Either) => return Some(text.to_string()),
            (DeValue::Integer(int), Form::Integer | Form::Either) => {
                let value = i64::from_str_radix(int.as_str(), int.radix());
                return Some(value.map_or_else(|_| int.as_str().to_owned(), |it| it.to_string()));
            }
            (DeValue::Float(float), Form::Either) => return Some(float.as_str().to_owned()),
            (_, Form::Integer) => "an integer",
            (_, Form::Text) => "text",
            (_, Form::Either) => "text or a number",
        };
        self.wrong(key, item, wanted);
        None
    }

    fn wrong(&mut self, key: Key<'_, '_>, item: Item<'_, '_>, wanted: &str) {
        let found = match item.get_ref() {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a bool",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` must be {wanted}, not {found}", key.get_ref());
        self.fault(item.span(), message, None);
    }

    fn unknown(&mut self, verb: &[String], key: Key<'_, '_>) {
        let name = key.get_ref().replace('_', "-");
        let elsewhere = self.settings.iter().find(|setting| setting.key == name);
        let known: Vec<&str> = self.settings.iter().filter_map(|it| name_in(it, verb)).collect();
        let hint = match (closest(&name, known.iter().copied()), elsewhere) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, Some(setting)) if setting.verb.is_empty() => {
                "it belongs above all tables".to_owned()
            }
            (None, Some(setting)) => format!("it belongs in `[{}]`", setting.verb.join(".")),
            (None, None) => "`mitmcraft config` lists all keys".to_owned(),
        };
        self.fault(key.span(), format!("unknown key `{}`", key.get_ref()), Some(hint));
    }

    fn fault(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        self.faults.push(SourceFault::at(self.text, span, Severity::Error, message, hint));
    }
}

/// Returns the name that leads to an option in the table of `verb`: its key, or that of its table.
fn name_in<'s>(setting: &'s Setting, verb: &[String]) -> Option<&'s str> {
    let below = setting.verb.strip_prefix(verb)?;
    Some(below.first().map_or(&setting.key, String::as_str))
}
