use serde_json::Value as Json;

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
            _ => return None,
        })
    }
}

/// Most rows, lines and sessions of a message.
const MAX_COUNT: usize = 500;
