use std::io::{self, BufWriter, IsTerminal as _, Write};

use anyhow::bail;
use clap::Args;
use mitmcraft_engine::capture::{Entry, Record, Sink};
use mitmcraft_engine::lang::{Vocabulary, split};
use mitmcraft_engine::text::{Column, Escaped, EscapedJson, field_json, field_text};
use mitmcraft_protocol::schema::{Catalog, Value};
use serde_json::Value as Json;

use super::exit::Rendered;
use super::terminal_writer::stream;

/// `--fields`: one row per packet instead of a line.
#[derive(Debug, Args)]
pub(crate) struct ColumnOptions {
    /// Print these fields of each packet, separated by tabs: names and expressions of the filter
    /// language, such as `pkt.time,session.player,message`
    #[arg(long, value_name = "FIELDS", conflicts_with_all = [
        "verbose", "only", "after_context", "before_context", "context", "number", "time", "width",
        "events",
    ])]
    fields: Option<String>,

    /// Print the fields as comma-separated values (RFC 4180), with a header
    #[arg(long, requires = "fields", conflicts_with = "json")]
    csv: bool,

    /// Print the fields as one JSON object per line
    #[arg(long, requires = "fields")]
    json: bool,
}

/// Prints the fields of packets as rows.
pub(crate) struct Columns {
    out: BufWriter<Box<dyn Write + Send>>,
    fields: Vec<Column>,
    form: Form,
    is_terminal: bool,
}

/// The form of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Tabs,
    Csv,
    Json,
}

impl ColumnOptions {
    /// Compiles the fields; `None` if the option was not given.
    pub(crate) fn compile(&self, catalog: &Catalog) -> anyhow::Result<Option<Columns>> {
        let Some(text) = &self.fields else { return Ok(None) };
        let vocabulary = Vocabulary::new(catalog);
        let mut fields: Vec<Column> = Vec::new();
        for (_, name) in split(text, ',') {
            let field = Column::parse(name, &vocabulary);
            let field =
                field.map_err(|error| Rendered(format!("`--fields`: {}", error.render(name))))?;
            if fields.iter().any(|known| known.name() == name) {
                bail!("`--fields`: `{name}` is given twice");
            }
            fields.push(field);
        }
        let form = match (self.csv, self.json) {
            (true, _) => Form::Csv,
            (_, true) => Form::Json,
            _ => Form::Tabs,
        };
        let is_terminal = io::stdout().is_terminal();
        let out = BufWriter::new(stream(io::stdout));
        Ok(Some(Columns { out, fields, form, is_terminal }))
    }
}

impl Columns {
    /// Prints the header, if the form has one.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        if self.form == Form::Csv {
            let names: Vec<String> = self.fields.iter().map(|it| it.name().to_owned()).collect();
            return self.write_csv(&names);
        }
        Ok(())
    }

    fn write_row(&mut self, record: &Record) -> io::Result<()> {
        let values = self.fields.iter().map(|field| field.value(record));
        if self.form == Form::Json {
            return self.write_json(values.collect());
        }
        let texts: Vec<String> =
            values.map(|value| value.as_ref().map_or_else(String::new, field_text)).collect();
        if self.form == Form::Csv {
            return self.write_csv(&texts);
        }
        let texts: Vec<String> = texts.iter().map(|text| Escaped(text).to_string()).collect();
        writeln!(self.out, "{}", texts.join("\t"))
    }

    fn write_json(&mut self, values: Vec<Option<Value>>) -> io::Result<()> {
        let mut row = String::from("{");
        for (field, value) in self.fields.iter().zip(&values) {
            if row.len() > 1 {
                row.push(',');
            }
            row.push_str(&Json::from(field.name()).to_string());
            row.push(':');
            match value {
                Some(value) => row.push_str(field_json(value)?.get()),
                None => row.push_str("null"),
            }
        }
        row.push('}');
        if self.is_terminal {
            return writeln!(self.out, "{}", EscapedJson(&row));
        }
        writeln!(self.out, "{row}")
    }

    fn write_csv(&mut self, texts: &[String]) -> io::Result<()> {
        for (place, text) in texts.iter().enumerate() {
            if place > 0 {
                self.out.write_all(b",")?;
            }
            let text = match self.is_terminal {
                true => Escaped(text).to_string(),
                false => text.clone(),
            };
            if text.contains([',', '"', '\r', '\n']) {
                write!(self.out, "\"{}\"", text.replace('"', "\"\""))?;
            } else {
                self.out.write_all(text.as_bytes())?;
            }
        }
        self.out.write_all(b"\r\n")
    }
}

impl Sink for Columns {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        entry.record().map_or(Ok(()), |record| self.write_row(record))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
