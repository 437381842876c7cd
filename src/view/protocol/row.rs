use serde::Serialize;

use super::{cut_to, millis};
use crate::store::{Annotation, Snapshot};
use crate::view::{HighlightColor, Highlights, words};
use mitmcraft_engine::capture::{Outcome, Record};
use mitmcraft_engine::text::{Column, field_text, write_summary};
use mitmcraft_protocol::schema::{Direction, State};

/// A packet as a line of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Row {
    /// Its row.
    pub row: u64,
    /// Its time in milliseconds since 1970, exact to a microsecond.
    pub at: f64,
    /// Seconds since its session began.
    pub t: f64,
    /// Seconds since the row before.
    pub delta: f64,
    /// Its session.
    pub session: u64,
    /// Its number in the session.
    pub seq: u64,
    /// Its direction.
    pub dir: Direction,
    /// The state that it belongs to.
    pub state: State,
    /// Its name, if its type is known.
    pub name: Option<String>,
    /// Its id; `None` if it has none, or if its bytes are lost.
    pub id: Option<i32>,
    /// `true` if its version is not known, so that its name is a guess.
    pub guess: bool,
    /// The size of its inflated body.
    pub size: u32,
    /// Its size on the wire.
    pub wire: u32,
    /// The proxy's verdict on it: `pass`, `drop`, `replace` and others.
    pub verdict: &'static str,
    /// Who made it.
    pub origin: &'static str,
    /// Its fields in short.
    pub summary: String,
    /// `true` if a person has marked it.
    pub marked: bool,
    /// The comment of a person.
    pub note: Option<String>,
    /// All comments, as captures have them.
    pub comment: Option<String>,
    /// `true` if it does not decode.
    pub error: bool,
    /// Its colour.
    pub color: Option<HighlightColor>,
    /// The fields in short of the packet that was sent in its place, if the list leaves that out.
    pub sent: Option<String>,
    /// The values of the columns that were asked for; `null` if it has none.
    pub columns: Vec<Option<String>>,
}

impl Row {
    /// Returns what the row of a packet shows; `None` if it is no longer stored. `previous` is the row before.
    #[must_use]
    pub fn new(
        snapshot: &Snapshot,
        number: u64,
        previous: Option<u64>,
        columns: &[Column],
        highlights: &Highlights,
    ) -> Option<Self> {
        let row = snapshot.row(number)?;
        let context = snapshot.context(number)?;
        let before = previous.and_then(|number| snapshot.row(number)).map_or(row.at, |row| row.at);
        let mut shown = Self {
            row: number,
            at: millis(row.at),
            t: row.at.since(context.opened).as_secs_f64(),
            delta: row.at.since(before).as_secs_f64(),
            session: context.session,
            seq: row.seq(),
            dir: row.direction(),
            state: row.state(),
            name: snapshot.kind(number).map(|kind| kind.name().to_string()),
            id: None,
            guess: context.guess,
            size: row.size,
            wire: row.wire,
            verdict: row.outcome().name(),
            origin: row.origin().name(),
            summary: words::MISSING.to_owned(),
            marked: false,
            note: None,
            comment: None,
            error: false,
            color: None,
            sent: None,
            columns: vec![None; columns.len()],
        };
        if let Some(record) = snapshot.record(number) {
            shown.note = snapshot.annotation(number).map(|it| it.comment.clone());
            shown.color = highlights.of(&record);
            let values = columns.iter().map(|column| column.value(&record));
            shown.columns =
                values.map(|value| value.map(|it| cut_to(&field_text(&it), MAX_COLUMN))).collect();
            shown.describe(record);
        }
        Some(shown)
    }

    /// Adds the packet that was sent in place of a rewritten one.
    pub fn fold(&mut self, snapshot: &Snapshot) {
        let sent = (self.verdict == Outcome::Rewrite.name())
            .then(|| snapshot.counterpart(self.row).and_then(|row| snapshot.record(row)));
        self.sent = sent.flatten().map(|record| {
            let mut text = String::new();
            write_summary(&mut text, &Record { comment: None, ..record });
            cut_to(text.trim(), MAX_SUMMARY)
        });
    }

    fn describe(&mut self, record: Record) {
        let mut text = String::new();
        write_summary(&mut text, &record);
        self.summary = cut_to(text.trim(), MAX_SUMMARY);
        self.id = record.packet.id();
        self.error = text.contains(" ! ") && record.packet.error().is_some();
        let comments = record.comment.iter().flat_map(|it| it.split("; "));
        self.marked = comments.into_iter().any(|it| it == Annotation::MARK);
        self.comment = record.comment;
    }
}

/// Most characters of a column.
const MAX_COLUMN: usize = 200;

/// Most characters of a summary.
const MAX_SUMMARY: usize = 300;
