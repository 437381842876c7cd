use serde::Serialize;

use super::{
    Form, FormPlace, PacketDetails, Row, RuleFile, SessionInfo, SessionMark, TextPiece, millis,
    units,
};
use crate::control::{self, HeldContent, HeldRows};
use crate::view::{ComparedField, ConversationLine, Highlight, PickedField};
use mitmcraft_engine::filter::{RuleCount, SourceFault};
use mitmcraft_engine::lang;
use mitmcraft_protocol::schema::{Direction, State};

/// The answer to a [`Request`](super::Request) of the same name; [`Done`](Self::Done) to all others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Answer {
    /// The request was carried out.
    Done {},
    /// The packets of the list are selected, and are being found.
    View {
        /// Warnings about the filter.
        warnings: Vec<Warning>,
        /// The number of packets found so far.
        total: u64,
    },
    /// The filter is right.
    Check {
        /// Warnings about it.
        warnings: Vec<Warning>,
    },
    /// The condition was added to the filter.
    Combine {
        /// The new filter.
        filter: String,
    },
    /// The names that complete a filter.
    Complete {
        /// The offset from which on a name replaces the text before the cursor.
        start: usize,
        /// The names, in alphabetical order.
        names: Vec<String>,
    },
    /// Rows of the list.
    Rows {
        /// The index of the first one in the list.
        start: u64,
        /// The number of packets found so far.
        total: u64,
        /// The rows.
        rows: Vec<Row>,
    },
    /// Numbers of rows of the list.
    RowNumbers {
        /// The rows, in the order of the list.
        rows: Vec<u64>,
    },
    /// A field, in the forms in which it is filtered, shown as a column and copied.
    Field(PickedField),
    /// The next marked packet.
    NextMark {
        /// The packet, if there is one.
        found: Option<Found>,
    },
    /// Everything about a packet.
    Details {
        /// Its row.
        row: u64,
        /// The packet.
        packet: Box<PacketDetails>,
    },
    /// The colours of packets.
    Highlight {
        /// The colours, the first of which has precedence.
        colors: Vec<Highlight>,
        /// The file that keeps colours that are saved; `null` if none does.
        file: Option<String>,
    },
    /// Packets that people have sent.
    Sent {
        /// The index of the first one.
        start: u64,
        /// The number of packets found so far.
        total: u64,
        /// The packets.
        rows: Vec<Row>,
    },
    /// The packets of the other direction within a second after a sent packet.
    Replies {
        /// The packets.
        rows: Vec<Row>,
    },
    /// The next packet that the search has found.
    Find {
        /// The packet, if there is one.
        found: Option<Found>,
        /// `true` if not all packets were searched yet.
        searching: bool,
    },
    /// The packet to go to.
    GoTo {
        /// Its row, once it is found.
        row: Option<u64>,
        /// `true` if not all packets were looked at yet.
        searching: bool,
    },
    /// Where a packet is in the list.
    Index {
        /// The number of packets of the list before it.
        index: u64,
        /// `true` if it is in the list itself, as far as is known.
        found: bool,
    },
    /// The sessions.
    Sessions {
        /// The sessions; if nothing else is asked for, the newest, oldest first.
        sessions: Vec<SessionInfo>,
        /// The number of older sessions: those that are no longer listed, and without `start` those before these.
        left_out: usize,
        /// The number of sessions that were searched.
        total: usize,
        /// The number of sessions that only asked for the server's status.
        pings: usize,
        /// The sessions that have ended so far; `None` if none has.
        mark: Option<SessionMark>,
        /// The index of the session `anchor` among those that were searched.
        anchor: Option<usize>,
        /// The session `anchor`, even if `sessions` does not include it.
        anchored: Option<Box<SessionInfo>>,
    },
    /// The subscription is active.
    Subscribe {
        /// Warnings about the filter.
        warnings: Vec<Warning>,
        /// The first row whose packet can be pushed.
        from: u64,
    },
    /// A tile of a map.
    MapTile {
        /// The picture as PNG, in base64; `null` if no chunk of it is known.
        png: Option<String>,
    },
    /// The block that is seen at a place of a map.
    MapBlock {
        /// Its height; `null` if none is.
        y: Option<i16>,
        /// Its name.
        name: Option<String>,
    },
    /// Lines of the conversation.
    Conversation {
        /// The index of the first one.
        start: u64,
        /// The number of lines found so far.
        total: u64,
        /// The lines.
        lines: Vec<ChatLine>,
        /// The index of the line of the row that was asked for, or of the next one after it.
        anchor: Option<u64>,
    },
    /// The fields and bytes of two packets side by side.
    Compare {
        /// The fields.
        fields: Vec<ComparedField>,
        /// The first byte in each packet that differs, and the one after the last.
        differing: [(usize, usize); 2],
    },
    /// The beginning of an export.
    Export {
        /// Bytes as base64.
        piece: String,
        /// `true` if that is all.
        last: bool,
    },
    /// More of an export.
    ExportMore {
        /// Bytes as base64.
        piece: String,
        /// `true` if nothing follows.
        last: bool,
    },
    /// An expression and a rule that match packets like one.
    Expression {
        /// An expression; `None` if the packet's type is not known.
        expression: Option<String>,
        /// A rule as filter files have it.
        rule: Option<String>,
    },
    /// The packets that a session can have.
    Packets {
        /// The state that they belong to.
        state: State,
        /// Their names.
        names: Vec<String>,
    },
    /// The form of a packet that a person writes.
    Form {
        /// The form.
        form: Form,
    },
    /// The form of a recorded packet.
    FormOf {
        /// Where the packet belongs.
        place: FormPlace,
        /// The form.
        form: Form,
    },
    /// The filter files.
    Rules {
        /// The files, in the order of their rules.
        files: Vec<RuleFile>,
        /// A text for each that is another one once it has changed.
        versions: Vec<String>,
        /// The results of their rules, by file.
        counts: Vec<Vec<RuleCount>>,
    },
    /// The results of the rules.
    RuleCounts {
        /// The results, by file.
        counts: Vec<Vec<RuleCount>>,
        /// A text for each file that is another one once it has changed.
        versions: Vec<String>,
    },
    /// A text was checked as a filter file.
    CheckRules {
        /// Its errors and warnings.
        faults: Vec<SourceFault>,
    },
    /// The outcome of saving a filter file.
    SaveRules(SavedRules),
    /// The content of a held packet.
    Held(HeldContent),
    /// Held packets.
    HeldRows(HeldRows),
    /// The packets that are still held, and not decided on.
    StillHeld {
        /// Their `number`s.
        numbers: Vec<u64>,
        /// The number of those in the spans.
        count: usize,
    },
    /// Packets in spans were decided on.
    Decide {
        /// Their number.
        decided: usize,
    },
}

/// A packet that a search has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Found {
    /// Its row.
    pub row: u64,
    /// Its index in the list.
    pub index: u64,
}

/// A possible mistake in an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Warning {
    /// A description of the mistake.
    pub message: String,
    /// Advice on fixing it.
    pub hint: Option<String>,
    /// The offset at which the part begins that may be wrong.
    pub start: usize,
    /// The offset at which it ends.
    pub end: usize,
}

/// A chat message or a command as players read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChatLine {
    /// The row of its packet.
    pub row: u64,
    /// Its time in milliseconds since 1970.
    pub at: f64,
    /// Its session.
    pub session: u64,
    /// Its direction.
    pub dir: Direction,
    /// The player of the session.
    pub player: Option<String>,
    /// Who wrote it, if the packet has that apart from the text.
    pub sender: Option<Vec<TextPiece>>,
    /// The text; `None` if the packet does not decode as far.
    pub text: Option<Vec<TextPiece>>,
    /// The proxy's verdict on the packet.
    pub verdict: &'static str,
}

/// The outcome of saving a filter file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SavedRules {
    /// It is saved, and its rules are active.
    Saved {},
    /// It was not saved, because it is another one than that which was read.
    Changed {
        /// Its text now; `None` if it was deleted.
        text: Option<String>,
    },
    /// It was not saved, because the text has errors.
    Faulty {
        /// The errors, and warnings.
        faults: Vec<SourceFault>,
    },
}

impl Answer {
    /// The answer to a request that has no other.
    pub const DONE: Self = Self::Done {};
}

impl From<control::Answer> for Answer {
    fn from(answer: control::Answer) -> Self {
        match answer {
            control::Answer::Done => Self::DONE,
            control::Answer::Held(content) => Self::Held(content),
            control::Answer::List(rows) => Self::HeldRows(rows),
            control::Answer::Undecided(numbers, count) => Self::StillHeld { numbers, count },
            control::Answer::Decided(decided) => Self::Decide { decided },
        }
    }
}

impl Warning {
    /// Says what may be wrong with an expression, and where in `text`.
    #[must_use]
    pub fn new(warning: &lang::Warning, text: &str) -> Self {
        Self {
            message: warning.message.clone(),
            hint: warning.hint.clone(),
            start: units(text, warning.span.start),
            end: units(text, warning.span.end),
        }
    }
}

impl From<&ConversationLine> for ChatLine {
    fn from(line: &ConversationLine) -> Self {
        let packet = &line.record.packet;
        Self {
            row: line.row,
            at: millis(packet.at()),
            session: packet.context().session,
            dir: packet.direction(),
            player: packet.context().player.clone(),
            sender: line.sender.as_ref().map(TextPiece::all),
            text: line.text.as_ref().map(TextPiece::all),
            verdict: line.record.outcome.name(),
        }
    }
}
