use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{FieldSetting, FormChange, SessionKind, SessionMark, SessionOrder};
use crate::view::{Combination, Highlight};
use mitmcraft_engine::link::Side;
use mitmcraft_protocol::schema::{Direction, State};

/// A request of a user interface.
///
/// Rows are the numbers of packets in the order in which they were recorded, from 0. Times are milliseconds since
/// 1970. Offsets in texts count UTF-16 code units, as JavaScript does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields = nullable))]
pub enum Request {
    /// Selects the packets of the list: those that match `filter`.
    View {
        /// An expression; empty for all packets.
        filter: String,
        /// The sessions; empty for all.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<u64>>", optional))]
        sessions: Vec<u64>,
        /// The first moment.
        from: Option<f64>,
        /// The moment after the last. It counts only together with `from`.
        to: Option<f64>,
        /// `true` to leave out packets that were sent in place of others, while nothing is filtered or searched.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<bool>", optional))]
        fold: bool,
    },
    /// Checks a filter without selecting anything.
    Check {
        /// The expression.
        filter: String,
    },
    /// Returns a filter with a condition added.
    Combine {
        /// An expression; empty for no filter.
        filter: String,
        /// The condition.
        condition: ConditionSource,
        /// The way in which it is added.
        how: Combination,
    },
    /// Returns the names that complete a filter.
    Complete {
        /// The expression.
        filter: String,
        /// The offset of the cursor.
        at: usize,
    },
    /// Returns rows of the list.
    Rows {
        /// The index of the first one in the list.
        start: u64,
        /// The most rows to return, at most 500.
        count: usize,
        /// More columns: names and expressions of the filter language, at most 20.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
        columns: Vec<String>,
        /// The number of rows at the end of the list, at most 500, that come with every `state` from now on; as before
        /// if absent.
        newest: Option<usize>,
    },
    /// Returns the numbers of the rows of the list.
    RowNumbers {
        /// The index of the first one in the list.
        start: u64,
        /// The most numbers to return, at most 10,000.
        count: usize,
    },
    /// Sorts the list by a value of its packets. A list of more than 1,000,000 packets stays as it is.
    Sort {
        /// `time`, `session`, `number`, `direction`, `state`, `id`, `packet`, `size`, `wire`, `verdict`, or a name or
        /// expression of the filter language; absent for the order in which the packets were recorded.
        by: Option<String>,
        /// `true` for the greatest value first.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<bool>", optional))]
        descending: bool,
    },
    /// Returns what can be done with a field of a packet: an expression, a column, and its value to be copied.
    Field {
        /// The packet's row.
        row: u64,
        /// The index of the field among the `fields` of its details.
        field: usize,
    },
    /// Returns everything about a packet.
    Details {
        /// Its row.
        row: u64,
    },
    /// Searches the packets of the list whose body has a text, or bytes such as `0a:1b`.
    Search {
        /// The text; empty ends the search.
        text: String,
    },
    /// Returns the next packet that the search has found.
    Find {
        /// The row after which to look.
        row: u64,
        /// `true` to look before it instead.
        back: bool,
    },
    /// Finds a packet by its number, or the listed one nearest to a time; ask again while the answer is `searching`.
    GoTo {
        /// A number in a session (`452`), seconds since that began (`12.5 s`), or a time (`14:05`, as RFC 3339).
        to: String,
        /// The row of the packet whose session and day are meant.
        row: Option<u64>,
        /// The minutes by which the person's clock is ahead of UTC; 0 if absent.
        zone: Option<i64>,
    },
    /// Returns where a packet is in the list.
    Index {
        /// Its row.
        row: u64,
    },
    /// Returns sessions.
    Sessions {
        /// Words that a session has all of: in its number, names, addresses, version, `open` or its end; empty for all
        /// sessions.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<String>", optional))]
        text: String,
        /// The kind of sessions; all if absent.
        only: Option<SessionKind>,
        /// What they are sorted by; their number if absent.
        by: Option<SessionOrder>,
        /// `true` for the greatest value first.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<bool>", optional))]
        descending: bool,
        /// Leaves out the sessions that had ended then: the `mark` of an earlier answer.
        after: Option<SessionMark>,
        /// The index of the first one; if absent, the last ones are returned.
        start: Option<usize>,
        /// The most sessions to return, at most 1000; 1000 if absent.
        count: Option<usize>,
        /// The number of a session that is wanted as well, with its index.
        anchor: Option<u64>,
    },
    /// Subscribes to packets and sessions, which come in the pushes `packets` and `sessions`. Ends an earlier
    /// subscription.
    Subscribe {
        /// An expression that the packets match; empty for all packets.
        filter: String,
        /// The first row whose packet can be pushed, 0 for all that are stored; if absent, only packets that come from
        /// now on are.
        from: Option<u64>,
    },
    /// Ends what was subscribed.
    Unsubscribe {},
    /// Returns lines of the conversation in the sessions and times of the list.
    Conversation {
        /// The index of the first line.
        start: u64,
        /// The most lines to return, at most 500.
        count: usize,
        /// A text, or bytes such as `0a:1b`, that the packets of the lines have; all if absent.
        text: Option<String>,
        /// The row of a line whose index is wanted.
        anchor: Option<u64>,
    },
    /// Finds out how a session ended, or what it waits for, and why. The push `explanation` has the result.
    Explain {
        /// The session.
        session: u64,
    },
    /// Counts the packets of the list, or those that have come since. The push `statistics` has the result.
    Statistics {},
    /// Counts the packets of the list that match expressions over time. The push `chart` has the result.
    Chart {
        /// The expressions, at most 8; both directions if absent.
        expressions: Option<Vec<String>>,
    },
    /// Finds the chunks that servers have sent. The push `map` has the result, as soon as some are found and again when
    /// all are.
    Map {
        /// The row as of which the map of its session is wanted; if absent, the map as of now.
        row: Option<u64>,
        /// The session, if no row is given; that which came last if absent.
        session: Option<u64>,
    },
    /// Draws a tile of 128 × 128 blocks of a map.
    MapTile {
        /// The number of the dimension.
        dimension: usize,
        /// The place of the tile, in tiles.
        x: i32,
        /// See `x`.
        z: i32,
        /// The row as of which it is drawn; as of now if absent.
        row: Option<u64>,
    },
    /// Returns the block that is seen at a place of a map.
    MapBlock {
        /// The number of the dimension.
        dimension: usize,
        /// The place, in blocks.
        x: i32,
        /// See `x`.
        z: i32,
        /// The row as of which it is looked at; as of now if absent.
        row: Option<u64>,
    },
    /// Sets the colours of packets, and returns them.
    Highlight {
        /// The colours, the first of which has precedence; those that there are if absent.
        colors: Option<Vec<Highlight>>,
        /// `true` to keep them for all screens and later runs, if a file keeps colours.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<bool>", optional))]
        save: bool,
    },
    /// Returns packets that people have sent, in all sessions.
    Sent {
        /// The index of the first one.
        start: u64,
        /// The most packets to return, at most 500.
        count: usize,
    },
    /// Returns the packets that came from the receiver of a packet within a second after it, at most 200.
    Replies {
        /// The packet's row.
        row: u64,
    },
    /// Returns the fields of two packets side by side.
    Compare {
        /// The row of the first packet.
        a: u64,
        /// The row of the second packet.
        b: u64,
    },
    /// Hides a packet from this interface's list.
    Hide {
        /// Its row.
        row: u64,
    },
    /// Hides several packets from this interface's list.
    HideAll {
        /// Their rows.
        rows: Vec<u64>,
    },
    /// Leaves out of this interface's list what is stored now.
    Clear {
        /// Leave out only the packets before this row.
        before: Option<u64>,
    },
    /// Shows the packets again that were hidden or cleared.
    ShowHidden {},
    /// Writes marks and comments into the capture.
    Save {},
    /// Marks or comments on a packet, for all interfaces and exports.
    Annotate {
        /// Its row.
        row: u64,
        /// `true` if it is marked.
        marked: bool,
        /// The comment; empty for none.
        comment: String,
    },
    /// Marks several packets, or unmarks them; their comments stay.
    MarkAll {
        /// Their rows, at most 10,000.
        rows: Vec<u64>,
        /// `true` if they are marked.
        marked: bool,
    },
    /// Returns the marked packet of the list that is next.
    NextMark {
        /// The row after which to look.
        row: u64,
        /// `true` to look before it instead.
        back: bool,
    },
    /// Exports packets, in pieces.
    Export {
        /// The form of the export.
        format: ExportFormat,
        /// The packets; the list if absent.
        rows: Option<Exported>,
    },
    /// Returns the next piece of the list that is being exported.
    ExportMore {},
    /// Returns an expression and a rule for packets like one.
    Expression {
        /// Its row.
        row: u64,
        /// The text of the filter file that gets the rule, which has a name of its own there.
        rules: Option<String>,
        /// The field that the rule sets, and its value. If absent, the rule adds a tag to the packets.
        set: Option<FieldSetting>,
    },
    /// Returns the names of the packets that a session can have.
    Packets {
        /// The session.
        session: u64,
        /// The direction of the packets.
        dir: Direction,
        /// Their state; that of the session if absent.
        state: Option<State>,
    },
    /// Returns the form of a packet that a person writes.
    Form {
        /// The session.
        session: u64,
        /// The direction of the packet.
        dir: Direction,
        /// Its state; that of the session if absent.
        state: Option<State>,
        /// Its name.
        packet: String,
        /// Its fields as JSON, in a text because JavaScript loses digits of long numbers; the simplest fields if
        /// absent.
        text: Option<String>,
        /// Id and fields instead: base64, or hex digits after `0x`.
        body: Option<String>,
        /// A change to make first.
        change: Option<FormChange>,
    },
    /// Returns the form of a recorded packet.
    FormOf {
        /// Its row.
        row: u64,
    },
    /// Begins to send a capture. Once it is complete, it takes the place of what is shown, and interfaces must connect again.
    Open {
        /// The name of its file.
        name: String,
        /// Its length in bytes.
        size: u64,
    },
    /// Sends more of that capture.
    OpenMore {
        /// At most 1 MiB, in base64.
        bytes: String,
    },
    /// Returns the filter files, and what their rules did.
    Rules {},
    /// Returns what the rules did.
    RuleCounts {},
    /// Checks a text as a filter file.
    CheckRules {
        /// The text.
        text: String,
    },
    /// Saves a filter file and applies its rules, unless it was changed in the meantime or has errors.
    SaveRules {
        /// The index of the file in `rules`.
        file: usize,
        /// The text that was read; absent for a file that was deleted, which is created again.
        base: Option<String>,
        /// The new text.
        text: String,
    },
    /// Holds the packets that match from now on, in all sessions. Packets that are held already stay so.
    Break {
        /// An expression; empty holds no more.
        #[serde(rename = "where")]
        condition: String,
        /// `true` if later packets overtake a held one where the game bears it.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<bool>", optional))]
        overtaken: bool,
    },
    /// Returns the content of a held packet.
    Held {
        /// The session.
        session: u64,
        /// The packet's number among those held in its session.
        held: u64,
    },
    /// Returns packets that are held, in the order in which they came.
    HeldRows {
        /// The index of the first one.
        start: usize,
        /// The most packets to return, at most 500.
        count: usize,
        /// The `number` of a packet whose index is wanted.
        anchor: Option<u64>,
    },
    /// Returns which of some packets are still held, and not decided on.
    StillHeld {
        /// The packets' `number`s.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<u64>>", optional))]
        numbers: Vec<u64>,
        /// The first and last `number` of spans of packets, at most 1000, of which only the count is wanted.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<(u64, u64)>>", optional))]
        spans: Vec<(u64, u64)>,
    },
    /// Decides on held packets: those of a session, or those of all sessions in spans. Those that are not held any more
    /// are left out.
    Decide {
        /// The session; absent with `spans`.
        session: Option<u64>,
        /// The packets' numbers among those held in their session.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<u64>>", optional))]
        held: Vec<u64>,
        /// The first and last `number` of spans of packets, at most 1000. Those that are decided on already are left out,
        /// too. The answer is then how many there were, otherwise `done`.
        #[serde(default)]
        #[cfg_attr(test, ts(as = "Option<Vec<(u64, u64)>>", optional))]
        spans: Vec<(u64, u64)>,
        /// The decision.
        decision: HeldDecision,
    },
    /// Forwards a held packet.
    Forward {
        /// The session.
        session: u64,
        /// The packet's number among those held in its session.
        held: u64,
    },
    /// Drops a held packet.
    Drop {
        /// The session.
        session: u64,
        /// The packet's number among those held in its session.
        held: u64,
    },
    /// Sends something else instead of a held packet: `fields` or a `body`.
    Edit {
        /// The session.
        session: u64,
        /// The packet's number among those held in its session.
        held: u64,
        /// The fields as captures have them, or a text with their JSON.
        #[cfg_attr(test, ts(type = "unknown", optional = nullable))]
        fields: Option<Json>,
        /// Id and fields: base64, or hex digits after `0x`.
        body: Option<String>,
    },
    /// Forwards everything that is held.
    ForwardAll {
        /// The session; all of them if absent.
        session: Option<u64>,
    },
    /// Sends a packet: the `fields` of a `packet`, or a `body`.
    Send {
        /// The session.
        session: u64,
        /// The receiver.
        to: Side,
        /// The packet's name in the version of the session; not needed with a `body`.
        packet: Option<String>,
        /// The fields as captures have them, or a text with their JSON.
        #[cfg_attr(test, ts(type = "unknown", optional = nullable))]
        fields: Option<Json>,
        /// Id and fields: base64, or hex digits after `0x`.
        body: Option<String>,
        /// How many times; once if absent.
        times: Option<u32>,
        /// The time from one to the next, such as `2s`; a tick of 50 ms if absent.
        interval: Option<String>,
        /// The number of the packet of the session that is sent again.
        resent: Option<u64>,
    },
    /// Sends no more packets of something that is sent repeatedly.
    Stop {
        /// Its `number`, which the push `sending` has; everything if absent.
        number: Option<u64>,
    },
    /// Does nothing: the answer shows that the connection is alive.
    Alive {},
    /// Ends a session.
    Kick {
        /// The session.
        session: u64,
        /// The text that the player reads; `kicked` if absent or empty.
        text: Option<String>,
    },
}

/// A condition that is added to a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ConditionSource {
    /// An expression.
    Expression(String),
    /// That packets have the name of the packet of this row.
    TypeOf(u64),
    /// That packets are these.
    Packets {
        /// Their direction.
        dir: Direction,
        /// Their state.
        state: State,
        /// Their name.
        name: String,
    },
}

/// A decision on several held packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum HeldDecision {
    /// They are forwarded.
    Forward,
    /// They are not forwarded.
    Drop,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ExportFormat {
    /// A capture for Wireshark.
    Pcapng,
    /// A capture of JSON lines.
    Jsonl,
    /// The fields as a JSON array.
    Json,
    /// The bytes in hex.
    Hex,
    /// Rules for packets like these.
    Rule,
    /// The command line that shows the packets.
    Command,
}

/// The packets of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Exported {
    /// Those that people have marked.
    Marked(MarkedPackets),
    /// Those of these rows, at most 10,000.
    Rows(Vec<u64>),
}

/// The word for the packets that people have marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum MarkedPackets {
    /// The marked packets.
    Marked,
}
