use std::cmp::Ordering;

use crate::store::Snapshot;
use mitmcraft_engine::lang::{ExprError, Vocabulary};
use mitmcraft_engine::text::{Column, field_text};
use mitmcraft_protocol::schema::{Direction, Value};

/// The key by which a list is sorted: a column of its rows, or any value of the packets.
#[derive(Debug, Clone)]
pub enum SortKey {
    /// The time.
    Time,
    /// The session.
    Session,
    /// The number in the session.
    Number,
    /// The direction, clientbound first.
    Direction,
    /// The state.
    State,
    /// The id.
    Id,
    /// The name.
    Packet,
    /// The size of the inflated body.
    Size,
    /// The size on the wire.
    Wire,
    /// The verdict on the packet.
    Verdict,
    /// A value of the filter language, for which packets are decoded.
    Value(Box<Column>),
}

/// The value of one packet by which a list is sorted. Packets without a value come first, then numbers, then texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SortValue {
    Absent,
    Number(f64),
    Text(Box<str>),
}

impl SortKey {
    /// Reads the name of a column, or a value of the filter language.
    ///
    /// # Errors
    /// [`ExprError`] if it is neither.
    pub fn parse(text: &str, vocabulary: &Vocabulary<'_>) -> Result<Self, ExprError> {
        Ok(match text {
            "time" => Self::Time,
            "session" => Self::Session,
            "number" => Self::Number,
            "direction" => Self::Direction,
            "state" => Self::State,
            "id" => Self::Id,
            "packet" => Self::Packet,
            "size" => Self::Size,
            "wire" => Self::Wire,
            "verdict" => Self::Verdict,
            text => Self::Value(Box::new(Column::parse(text, vocabulary)?)),
        })
    }

    /// Returns the value of a packet, which is absent if its bytes are missing.
    pub(super) fn of(&self, snapshot: &Snapshot, number: u64) -> SortValue {
        let Some(row) = snapshot.row(number) else { return SortValue::Absent };
        let text = |text: &str| SortValue::Text(text.into());
        match self {
            // Exact to a microsecond in this millennium.
            Self::Time => SortValue::Number((row.at.0 / 1000) as f64),
            Self::Session => snapshot
                .context(number)
                .map_or(SortValue::Absent, |it| SortValue::Number(it.session as f64)),
            Self::Number => SortValue::Number(row.seq() as f64),
            Self::Direction => {
                SortValue::Number((row.direction() == Direction::Serverbound).into())
            }
            Self::State => SortValue::Number(f64::from(row.state() as u8)),
            Self::Id => snapshot
                .kind(number)
                .map_or(SortValue::Absent, |kind| SortValue::Number(kind.id().into())),
            Self::Packet => {
                snapshot.kind(number).map_or(SortValue::Absent, |kind| text(kind.name()))
            }
            Self::Size => SortValue::Number(row.size.into()),
            Self::Wire => SortValue::Number(row.wire.into()),
            Self::Verdict => text(row.outcome().name()),
            Self::Value(column) => {
                let value = snapshot.record(number).and_then(|record| column.value(&record));
                value.as_ref().map_or(SortValue::Absent, SortValue::from)
            }
        }
    }
}

impl From<&Value> for SortValue {
    fn from(value: &Value) -> Self {
        match value.plain() {
            Value::Absent => Self::Absent,
            Value::Bool(bool) => Self::Number((*bool).into()),
            Value::Int(int) => Self::Number(*int as f64),
            Value::Unsigned(int) => Self::Number(*int as f64),
            Value::Float32(float) => Self::Number((*float).into()),
            Value::Float64(float) => Self::Number(*float),
            value => {
                let text: String = field_text(value).chars().take(MAX_TEXT).collect();
                Self::Text(text.into())
            }
        }
    }
}

impl Eq for SortValue {}

impl Ord for SortValue {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for SortValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SortValue {
    fn rank(&self) -> u8 {
        match self {
            Self::Absent => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }
}

/// Characters of a text by which packets are sorted.
const MAX_TEXT: usize = 100;
