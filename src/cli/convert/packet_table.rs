use std::fs::File;
use std::io;
use std::sync::Arc;

use anyhow::bail;
use mitmcraft_engine::capture::{
    Cell, ColumnKind, Entry, Record, Sink, TableColumn, TableWriter, WhereSink, session_id,
};
use mitmcraft_engine::lang::{Condition, Expr, Path, Vocabulary, split};
use mitmcraft_engine::text::{Column, field_text};
use mitmcraft_protocol::packet::FieldPath;
use mitmcraft_protocol::schema::{Catalog, Kind, Kinds, Value};

use crate::cli::exit::Rendered;

/// `convert --table`: a row per packet of one name, with columns of the types that its fields have.
pub(super) struct PacketTable {
    text: String,
    packets: Expr,
    columns: Arc<[(Source, TableColumn)]>,
}

/// Where the values of a column come from.
enum Source {
    /// When the packet was seen.
    Time,
    /// The id that its session has in every file.
    Session,
    /// A value of the filter language.
    Value(Column),
}

impl PacketTable {
    /// Parses `PACKET: column, ..`. A column is a field of the packet, else a property of every packet, with
    /// or without `pkt.`, else any value of the filter language.
    pub(super) fn parse(text: &str, catalog: &Catalog) -> anyhow::Result<Self> {
        let Some((packet, names)) = text.split_once(':') else {
            bail!("`--table {text}`: expected `PACKET: column, ..`, as in `chat: time, message`");
        };
        let vocabulary = Vocabulary::new(catalog);
        let packet = packet.trim();
        let packets = Expr::parse_in(packet, &vocabulary);
        let (packets, _) =
            packets.map_err(|error| Rendered(format!("`--table`: {}", error.render(packet))))?;
        let condition = Condition::parse(packet).ok();
        let named = condition.as_ref().and_then(Condition::path);
        let mut columns: Vec<(Source, TableColumn)> = Vec::new();
        for (_, name) in split(names, ',') {
            let source = Source::parse(name, named, &vocabulary)?;
            if columns.iter().any(|(_, known)| known.name == name) {
                bail!("`--table`: `{name}` is given twice");
            }
            let kind = source.kind(&vocabulary);
            columns.push((source, TableColumn { name: name.to_owned(), kind }));
        }
        Ok(Self { text: text.to_owned(), packets, columns: columns.into() })
    }

    /// Writes the table to a file.
    pub(super) fn create(&self, file: File) -> io::Result<Box<dyn Sink>> {
        let columns: Vec<TableColumn> = self.columns.iter().map(|(_, it)| it.clone()).collect();
        let rows =
            TableWriter::new(Box::new(file), &columns, &[("mitmcraft.table", self.text.clone())])?;
        let sink = TableSink { columns: Arc::clone(&self.columns), rows };
        let packets = Some(self.packets.clone());
        Ok(Box::new(WhereSink::new(sink, packets).with_kinds(true, false)))
    }
}

impl Source {
    /// Parses a column of the packets that `packet` names, if it does.
    fn parse(
        name: &str,
        packet: Option<&Path>,
        vocabulary: &Vocabulary<'_>,
    ) -> anyhow::Result<Self> {
        if let Ok(path) = FieldPath::parse(name) {
            let of = |owner: &Path| Column::parse(&owner.then(&path).to_string(), vocabulary);
            if let Some(Ok(column)) = packet.map(of) {
                return Ok(Self::Value(column));
            }
            match name {
                "time" | "pkt.time" => return Ok(Self::Time),
                "session" => return Ok(Self::Session),
                _ => {}
            }
            if let Ok(column) = of(&Path::words(["pkt"])) {
                return Ok(Self::Value(column));
            }
        }
        let column = Column::parse(name, vocabulary);
        Ok(Self::Value(
            column.map_err(|error| Rendered(format!("`--table`: {}", error.render(name))))?,
        ))
    }

    fn kind(&self, vocabulary: &Vocabulary<'_>) -> ColumnKind {
        match self {
            Self::Time => ColumnKind::Time,
            Self::Session => ColumnKind::Text,
            Self::Value(column) => match column.formula() {
                Some(formula) => kind_of(formula.kinds(vocabulary)),
                None => ColumnKind::Json,
            },
        }
    }
}

/// Returns the type of a column that can hold values of all these kinds.
fn kind_of(kinds: Kinds) -> ColumnKind {
    let only = |of: &[Kind]| kinds.without(Kinds::of(of)).without(Kind::Absent.into()).is_empty();
    if only(&[Kind::Bool]) {
        ColumnKind::Flag
    } else if only(&[Kind::Int]) {
        ColumnKind::Int
    } else if only(&[Kind::Int, Kind::Float]) {
        ColumnKind::Double
    } else if only(&[Kind::Bytes]) {
        ColumnKind::Bytes
    } else {
        ColumnKind::Text
    }
}

struct TableSink {
    columns: Arc<[(Source, TableColumn)]>,
    rows: TableWriter,
}

impl TableSink {
    fn row(&mut self, record: &Record) -> io::Result<()> {
        let packet = &record.packet;
        for (place, (source, column)) in self.columns.iter().enumerate() {
            let value = match source {
                Source::Time => {
                    self.rows.put(place, Cell::Int(packet.at().0.cast_signed()));
                    continue;
                }
                Source::Session => {
                    self.rows.put(place, session_id(packet.context()).as_str().into());
                    continue;
                }
                Source::Value(field) => field.value(record),
            };
            let Some(value) = value else { continue };
            let text;
            let cell = match (column.kind, value.plain()) {
                (_, Value::Absent) => continue,
                (ColumnKind::Flag, Value::Bool(flag)) => Cell::Flag(*flag),
                (ColumnKind::Int, Value::Int(int)) => Cell::Int(*int),
                (ColumnKind::Double, Value::Int(int)) => Cell::Double(*int as f64),
                (ColumnKind::Double, Value::Float32(float)) => Cell::Double((*float).into()),
                (ColumnKind::Double, Value::Float64(float)) => Cell::Double(*float),
                (ColumnKind::Bytes, Value::Bytes(bytes)) => Cell::Bytes(bytes),
                (ColumnKind::Text | ColumnKind::Json, value) => {
                    text = field_text(value);
                    Cell::from(&*text)
                }
                // A description that only the capture has, or a number that takes 64 bits without its sign.
                (_, value) => {
                    let (name, seq) = (&column.name, packet.seq());
                    let message = format!(
                        "`{name}` of packet {seq} is {} that its column cannot hold; a description that \
                         the capture contains is named with `--protocol`",
                        value.kind()
                    );
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
            };
            self.rows.put(place, cell);
        }
        self.rows.end_row()
    }
}

impl Sink for TableSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        entry.record().map_or(Ok(()), |record| self.row(record))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.rows.finish()
    }
}
