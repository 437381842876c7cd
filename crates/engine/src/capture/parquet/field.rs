use super::table_column::{ColumnKind, TableColumn};

/// A column of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Session,
    SessionNumber,
    Seq,
    Time,
    T,
    Event,
    Direction,
    Origin,
    State,
    Protocol,
    Family,
    Table,
    Guess,
    Version,
    Player,
    Id,
    Packet,
    Wire,
    Size,
    Verdict,
    Of,
    Comment,
    Diagnostic,
    Error,
    At,
    Raw,
    Frame,
    Left,
    Threshold,
    Limit,
    Fields,
    Meaning,
    Body,
    RawBytes,
}

impl Field {
    /// Every column with its name, its type, and its key in JSONL, unless it is derived from others.
    /// Columns are only ever added, at the end.
    pub(super) const ALL: [(Self, &str, ColumnKind, Option<&str>); 34] = [
        (Self::Session, "session", ColumnKind::Text, None),
        (Self::SessionNumber, "session_number", ColumnKind::Int, Some("session")),
        (Self::Seq, "seq", ColumnKind::Int, Some("seq")),
        (Self::Time, "time", ColumnKind::Time, Some("time")),
        (Self::T, "t", ColumnKind::Double, Some("t")),
        (Self::Event, "event", ColumnKind::Text, None),
        (Self::Direction, "direction", ColumnKind::Text, Some("dir")),
        (Self::Origin, "origin", ColumnKind::Text, Some("origin")),
        (Self::State, "state", ColumnKind::Text, Some("state")),
        (Self::Protocol, "protocol", ColumnKind::Short, Some("protocol")),
        (Self::Family, "family", ColumnKind::Text, Some("family")),
        (Self::Table, "table", ColumnKind::Text, Some("table")),
        (Self::Guess, "guess", ColumnKind::Flag, Some("guess")),
        (Self::Version, "version", ColumnKind::Text, None),
        (Self::Player, "player", ColumnKind::Text, None),
        (Self::Id, "id", ColumnKind::Short, None),
        (Self::Packet, "packet", ColumnKind::Text, Some("packet")),
        (Self::Wire, "wire", ColumnKind::Int, Some("wire")),
        (Self::Size, "size", ColumnKind::Int, Some("size")),
        (Self::Verdict, "verdict", ColumnKind::Text, Some("verdict")),
        (Self::Of, "of", ColumnKind::Int, Some("of")),
        (Self::Comment, "comment", ColumnKind::Text, Some("comment")),
        (Self::Diagnostic, "diagnostic", ColumnKind::Json, Some("diagnostic")),
        (Self::Error, "error", ColumnKind::Text, Some("error")),
        (Self::At, "at", ColumnKind::Int, None),
        (Self::Raw, "raw", ColumnKind::Text, Some("raw")),
        (Self::Frame, "frame", ColumnKind::Int, Some("frame")),
        (Self::Left, "left", ColumnKind::Int, Some("left")),
        (Self::Threshold, "threshold", ColumnKind::Int, Some("threshold")),
        (Self::Limit, "limit", ColumnKind::Int, Some("limit")),
        (Self::Fields, "fields", ColumnKind::Json, Some("fields")),
        (Self::Meaning, "meaning", ColumnKind::Json, None),
        (Self::Body, "body", ColumnKind::Bytes, Some("body")),
        (Self::RawBytes, "raw_bytes", ColumnKind::Bytes, Some("raw_bytes")),
    ];

    /// Returns whether every file has the column.
    pub(super) fn is_required(self) -> bool {
        matches!(
            self,
            Self::SessionNumber
                | Self::Seq
                | Self::Time
                | Self::Event
                | Self::Direction
                | Self::State
                | Self::Protocol
                | Self::Wire
                | Self::Fields
        )
    }

    /// Returns the columns of a file.
    pub(super) fn columns() -> Vec<TableColumn> {
        let column = |(_, name, kind, _): &(Self, &str, ColumnKind, Option<&str>)| TableColumn {
            name: (*name).into(),
            kind: *kind,
        };
        Self::ALL.iter().map(column).collect()
    }
}

/// The version of the columns, which grows when one is added.
pub(super) const SCHEMA_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_at_its_place() {
        for (place, (field, ..)) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, place, "{field:?}");
        }
    }

    #[test]
    fn the_page_has_each_column_with_its_type() {
        let page = include_str!("../../../../../docs/lake.md");
        for (_, name, kind, _) in Field::ALL {
            let kind = match kind {
                ColumnKind::Flag => "boolean",
                ColumnKind::Short => "int32",
                ColumnKind::Int => "int64",
                ColumnKind::Double => "double",
                ColumnKind::Time => "timestamp, nanoseconds, UTC",
                ColumnKind::Text | ColumnKind::Json => "text",
                ColumnKind::Bytes => "bytes",
            };
            assert!(page.contains(&format!("\n| `{name}` | {kind} |")), "{name}");
        }
    }
}
