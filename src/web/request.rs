use serde_json::Value as Json;

use super::packet_form::FormChange;
use super::{FormPlace, FormRequest};

/// The packets that are exported, if not the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Exported {
    /// Those that people have marked.
    Marked,
    Rows(Vec<u64>),
}

/// A request of the page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    View { filter: String, sessions: Vec<u64>, times: Option<(f64, f64)> },
    Check { filter: String },
    Complete { filter: String, at: usize },
    Rows { start: u64, count: usize },
    Details { row: u64 },
    Search { text: String },
    Find { row: u64, back: bool },
    Index { row: u64 },
    Sessions,
    Conversation { start: u64, count: usize },
    Statistics,
    Compare { a: u64, b: u64 },
    Hide { row: u64 },
    ShowHidden,
    Save,
    Annotate { row: u64, marked: bool, comment: String },
    Export { format: String, rows: Option<Exported> },
    ExportMore,
    Expression { row: u64 },
    Packets(FormPlace),
    Form(FormRequest),
    FormOf { row: u64 },
}

impl Request {
    /// Reads a request. Returns `None` if it is none.
    pub(super) fn read(json: &Json) -> Option<Self> {
        let text = |key: &str| Some(json.get(key)?.as_str()?.to_owned());
        let number = |key: &str| json.get(key)?.as_u64();
        let count = || Some(usize::try_from(number("count")?).ok()?.min(MAX_COUNT));
        let filter = || text("filter");
        Some(match json.get("do")?.as_str()? {
            "view" => {
                let sessions = json.get("sessions").and_then(Json::as_array);
                let sessions = sessions.into_iter().flatten().take(MAX_COUNT);
                let time = |key: &str| json.get(key)?.as_f64();
                Self::View {
                    filter: filter()?,
                    sessions: sessions.map(Json::as_u64).collect::<Option<_>>()?,
                    times: time("from").zip(time("to")),
                }
            }
            "check" => Self::Check { filter: filter()? },
            "complete" => {
                Self::Complete { filter: filter()?, at: usize::try_from(number("at")?).ok()? }
            }
            "rows" => Self::Rows { start: number("start")?, count: count()? },
            "details" => Self::Details { row: number("row")? },
            "search" => Self::Search { text: text("text")? },
            "find" => Self::Find { row: number("row")?, back: json.get("back")?.as_bool()? },
            "index" => Self::Index { row: number("row")? },
            "sessions" => Self::Sessions,
            "conversation" => Self::Conversation { start: number("start")?, count: count()? },
            "statistics" => Self::Statistics,
            "compare" => Self::Compare { a: number("a")?, b: number("b")? },
            "hide" => Self::Hide { row: number("row")? },
            "show_hidden" => Self::ShowHidden,
            "save" => Self::Save,
            "annotate" => Self::Annotate {
                row: number("row")?,
                marked: json.get("marked")?.as_bool()?,
                comment: text("comment")?,
            },
            "export" => {
                let rows = match json.get("rows") {
                    None | Some(Json::Null) => None,
                    Some(rows) => Some(match rows.as_str() {
                        Some("marked") => Exported::Marked,
                        _ => Exported::Rows(numbers(rows)?),
                    }),
                };
                Self::Export { format: text("format")?, rows }
            }
            "export_more" => Self::ExportMore,
            "expression" => Self::Expression { row: number("row")? },
            "packets" => Self::Packets(place(json)?),
            "form" if json.get("row").is_some() => Self::FormOf { row: number("row")? },
            "form" => Self::Form(FormRequest {
                place: place(json)?,
                packet: text("packet")?,
                text: text("text"),
                change: change(json),
            }),
            _ => return None,
        })
    }
}

fn change(json: &Json) -> Option<FormChange> {
    let pointer = |key: &str| Some(json.get(key)?.as_str()?.to_owned());
    if let Some(place) = pointer("set") {
        let raw = json.get("raw")?.as_str()?;
        // What is not JSON becomes text, about which the encoder says what it thinks.
        let value = serde_json::from_str(raw).unwrap_or_else(|_| raw.into());
        return Some(FormChange::Set(place, value));
    }
    pointer("add").map(FormChange::Add).or_else(|| pointer("remove").map(FormChange::Remove))
}

fn numbers(json: &Json) -> Option<Vec<u64>> {
    json.as_array()?.iter().take(MAX_EXPORTED).map(Json::as_u64).collect()
}

fn place(json: &Json) -> Option<FormPlace> {
    let state = match json.get("state").and_then(Json::as_str) {
        Some(state) => Some(state.parse().ok()?),
        None => None,
    };
    Some(FormPlace {
        session: json.get("session")?.as_u64()?,
        direction: json.get("dir")?.as_str()?.parse().ok()?,
        state,
    })
}

/// Most packets that are exported by their rows.
const MAX_EXPORTED: usize = 10_000;

/// Most rows, lines and sessions of a message.
const MAX_COUNT: usize = 500;
