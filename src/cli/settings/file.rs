use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use mitmcraft::proxy::read_source;
use mitmcraft_engine::filter::{Severity, SourceFault};
use mitmcraft_engine::lang::closest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::setting::{Kind, Setting};
use super::value::{Origin, SettingValue};

/// A configuration file: a key for each option of all verbs, and a table for each verb.
#[derive(Debug, Default)]
pub(super) struct File {
    /// `None` if there is no file.
    pub(super) path: Option<PathBuf>,
    pub(super) text: String,
    /// By index of the setting.
    pub(super) values: BTreeMap<usize, SettingValue>,
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
    pub(super) fn read(path: &Path, settings: &[Setting]) -> anyhow::Result<Self> {
        let text = read_source(path)
            .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
        Self::parse(path, text, settings)
    }

    /// Parses the text of the file at `path`.
    ///
    /// # Errors
    /// With all its faults.
    pub(super) fn parse(path: &Path, text: String, settings: &[Setting]) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let (values, faults) = (BTreeMap::new(), Vec::new());
        let mut parser = Parser { name: &name, text: &text, settings, values, faults };
        let (document, errors) = DeTable::parse_recoverable(&text);
        // After a syntax error, keys may be in other tables than they were meant for.
        if errors.is_empty() {
            parser.table(&[], document.get_ref());
        }
        for error in errors {
            parser.fault(error.span().unwrap_or(0..0), error.message().to_owned(), None);
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
}

type Key<'a, 't> = &'a Spanned<DeString<'t>>;
type Item<'a, 't> = &'a Spanned<DeValue<'t>>;

struct Parser<'a> {
    /// The name of the file.
    name: &'a str,
    text: &'a str,
    settings: &'a [Setting],
    /// The values found so far, by index of the setting.
    values: BTreeMap<usize, SettingValue>,
    faults: Vec<SourceFault>,
}

impl Parser<'_> {
    fn table(&mut self, verb: &[String], table: &DeTable<'_>) {
        for (key, item) in table {
            let name = key.get_ref().replace('_', "-");
            let own = |setting: &Setting| setting.verb == verb && setting.key == name;
            let below = [verb, std::slice::from_ref(&name)].concat();
            if let Some(setting) = self.settings.iter().position(own) {
                self.option(setting, key, item);
            } else if !self.settings.iter().any(|setting| setting.verb.starts_with(&below)) {
                self.unknown(verb, key);
            } else if let Some(table) = item.get_ref().as_table() {
                self.table(&below, table);
            } else {
                self.wrong(key, item, "a table");
            }
        }
    }

    fn option(&mut self, place: usize, key: Key<'_, '_>, item: Item<'_, '_>) {
        let setting = &self.settings[place];
        let read = match (setting.kind, item.get_ref()) {
            (Kind::Many, DeValue::Array(items)) => {
                items.iter().map(|item| scalar(setting, item)).collect()
            }
            _ => scalar(setting, item).map(|value| vec![value]),
        };
        let values = match read {
            Ok(values) => values,
            Err((wanted, item)) => return self.wrong(key, item, wanted),
        };
        if let Err((why, hint)) = setting.check(&values) {
            return self.fault(item.span(), format!("`{}`: {why}", key.get_ref()), hint);
        }
        let line = self.text[..key.span().start].matches('\n').count() + 1;
        let origin = Origin::File(self.name.to_owned(), line);
        if self.values.insert(place, SettingValue { values, origin }).is_some() {
            self.fault(key.span(), format!("`{}` is set twice", setting.key), None);
        }
    }

    fn wrong(&mut self, key: Key<'_, '_>, item: Item<'_, '_>, wanted: &str) {
        let found = item.get_ref().type_str();
        let message = format!("`{}` must be {wanted}, not {found}", key.get_ref());
        self.fault(item.span(), message, None);
    }

    fn unknown(&mut self, verb: &[String], key: Key<'_, '_>) {
        let name = key.get_ref().replace('_', "-");
        let elsewhere = self.settings.iter().find(|setting| setting.key == name);
        // The keys of the table, and the tables below it.
        let known = self.settings.iter().filter_map(|setting| {
            let below = setting.verb.strip_prefix(verb)?;
            Some(below.first().unwrap_or(&setting.key).as_str())
        });
        let hint = match (closest(&name, known), elsewhere) {
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

/// Returns a value as a word of a command line; otherwise what the value must be.
fn scalar<'a, 't>(
    setting: &Setting,
    item: Item<'a, 't>,
) -> Result<String, (&'static str, Item<'a, 't>)> {
    let wanted = match (setting.kind, item.get_ref()) {
        (Kind::Flag, DeValue::Boolean(is)) => return Ok(is.to_string()),
        (Kind::Flag, _) => "true or false",
        (Kind::Count, DeValue::Integer(count)) if count.as_str().parse::<u8>().is_ok() => {
            return Ok(count.as_str().to_owned());
        }
        (Kind::Count, _) => "a small count",
        (_, DeValue::Integer(int)) if !setting.is_text() => {
            let value = i64::from_str_radix(int.as_str(), int.radix());
            return Ok(value.map_or_else(|_| int.as_str().to_owned(), |it| it.to_string()));
        }
        _ if setting.is_integer() => "an integer",
        (_, DeValue::String(text)) => return Ok(text.to_string()),
        (_, DeValue::Float(float)) if !setting.is_text() => return Ok(float.as_str().to_owned()),
        _ if setting.is_text() => "text",
        _ => "text or a number",
    };
    Err((wanted, item))
}
