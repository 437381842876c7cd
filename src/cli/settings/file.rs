use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ArgAction;
use mitmcraft::proxy::read_source;
use mitmcraft_engine::filter::{Severity, SourceFault};
use mitmcraft_engine::lang::closest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::setting::{Setting, Value, Values};
use crate::cli::exit::Rendered;

/// Returns the configuration file that is read if none is named.
pub(in crate::cli) fn default_file() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.config_dir().join("mitmcraft").join("config.toml"))
}

/// Returns the values of a file that must exist.
///
/// # Errors
/// If it cannot be read, or with all its faults.
pub(super) fn read(path: &Path, settings: &[Setting]) -> anyhow::Result<Values> {
    let text = read_source(path)
        .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
    parse(path, &text, settings)
}

/// Parses the text of the configuration file at `path`: a key for each option of all verbs, and a table
/// for each verb.
///
/// # Errors
/// An error that lists every fault in the file, with its line and column.
pub(super) fn parse(path: &Path, text: &str, settings: &[Setting]) -> anyhow::Result<Values> {
    let file = path.display().to_string();
    let mut parser = Parser { file, text, settings, values: Values::new(), faults: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    // After a syntax error, keys may be in other tables than they were meant for.
    if errors.is_empty() {
        parser.table("", document.get_ref());
    }
    for error in errors {
        parser.fault(error.span().unwrap_or(0..0), error.message().to_owned(), None);
    }
    let Parser { file, values, mut faults, .. } = parser;
    if faults.is_empty() {
        return Ok(values);
    }
    faults.sort_by_key(|fault| (fault.line, fault.column));
    let faults: Vec<String> = faults.iter().map(|fault| fault.render(&file)).collect();
    Err(Rendered(format!("the configuration file has faults\n{}", faults.join("\n"))).into())
}

type Key<'a, 't> = &'a Spanned<DeString<'t>>;
type Item<'a, 't> = &'a Spanned<DeValue<'t>>;

struct Parser<'a> {
    /// The name of the file.
    file: String,
    text: &'a str,
    settings: &'a [Setting],
    values: Values,
    faults: Vec<SourceFault>,
}

impl Parser<'_> {
    /// Reads a table. `prefix` stands before its keys in the names of settings.
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, item) in table {
            let name = format!("{prefix}{}", key.get_ref().replace('_', "-"));
            let below = format!("{name}.");
            if let Some(place) = self.settings.iter().position(|it| it.name == name) {
                self.option(place, key, item);
            } else if !self.settings.iter().any(|setting| setting.name.starts_with(&below)) {
                self.unknown(prefix, key);
            } else if let Some(table) = item.get_ref().as_table() {
                self.table(&below, table);
            } else {
                self.wrong(key, item, "a table");
            }
        }
    }

    fn option(&mut self, place: usize, key: Key<'_, '_>, item: Item<'_, '_>) {
        let setting = &self.settings[place];
        let items = match (setting.arg.get_action(), item.get_ref()) {
            (ArgAction::Append, DeValue::Array(items)) => items.iter().collect(),
            _ => vec![item],
        };
        let (types, wanted) = setting.types();
        let mut words = Vec::new();
        for item in items {
            let word = word(item.get_ref()).filter(|word| {
                let counts = matches!(setting.arg.get_action(), ArgAction::Count);
                let valid = !counts || word.parse::<u8>().is_ok();
                valid && types.contains(&item.get_ref().type_str())
            });
            let Some(word) = word else { return self.wrong(key, item, wanted) };
            if let Err((why, hint)) = setting.check(&word) {
                return self.fault(item.span(), format!("`{}`: {why}", key.get_ref()), hint);
            }
            words.push(word);
        }
        let line = self.text[..key.span().start].matches('\n').count() + 1;
        let value = Value { words, origin: format!("{}:{line}", self.file) };
        if self.values.insert(place, value).is_some() {
            self.fault(key.span(), format!("`{}` is set twice", setting.key()), None);
        }
    }

    fn wrong(&mut self, key: Key<'_, '_>, item: Item<'_, '_>, wanted: &str) {
        let found = item.get_ref().type_str();
        let message = format!("`{}` must be {wanted}, not {found}", key.get_ref());
        self.fault(item.span(), message, None);
    }

    fn unknown(&mut self, prefix: &str, key: Key<'_, '_>) {
        let name = key.get_ref().replace('_', "-");
        // The keys of the table, and the tables below it.
        let known =
            self.settings.iter().filter_map(|it| it.name.strip_prefix(prefix)?.split('.').next());
        let elsewhere = self.settings.iter().find(|setting| setting.key() == name);
        let hint = match (closest(&name, known), elsewhere.map(Setting::verb)) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, Some("")) => "it belongs above all tables".to_owned(),
            (None, Some(verb)) => format!("it belongs in `[{verb}]`"),
            (None, None) => "`mitmcraft config` lists all keys".to_owned(),
        };
        self.fault(key.span(), format!("unknown key `{}`", key.get_ref()), Some(hint));
    }

    fn fault(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        self.faults.push(SourceFault::at(self.text, span, Severity::Error, message, hint));
    }
}

/// Returns a value as a word of a command line.
fn word(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Boolean(is) => Some(is.to_string()),
        DeValue::Integer(int) => {
            let value = i64::from_str_radix(int.as_str(), int.radix());
            Some(value.map_or_else(|_| int.as_str().to_owned(), |it| it.to_string()))
        }
        DeValue::Float(float) => Some(float.as_str().to_owned()),
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}
