use serde::Serialize;
use serde_json::Value as Json;

use super::{PacketJson, Row, SessionInfo};
use crate::control;
use crate::store::Matches;
use crate::view::{ChartData, List, MapState, Sorting};

/// A message that was not asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "push", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Push {
    /// The stored packets or those found have changed: at most ten times a second, and only as fast as the interface
    /// reads.
    State(StoreState),
    /// The packets of the list are counted.
    Statistics {
        /// The report, as `mitmcraft stats --json` prints it, with a series for each name in `timeline.names`.
        #[cfg_attr(test, ts(type = "any"))]
        report: Json,
    },
    /// A session is explained.
    Explanation {
        /// The session.
        session: u64,
        /// The lines of the explanation, as `mitmcraft explain` prints them.
        lines: Vec<String>,
    },
    /// The packets of the list over time are counted.
    Chart(ChartData),
    /// More of a session's chunks are found.
    Map {
        /// The row as of which they are shown; `null` as of now.
        row: Option<u64>,
        /// The map.
        #[serde(flatten)]
        map: MapState,
    },
    /// Packets to which the interface has [subscribed](super::Request::Subscribe), in the order in which they were
    /// recorded.
    Packets {
        /// The packets, each as its line in a JSONL capture, with its `row`.
        #[cfg_attr(test, ts(type = "({ row: number } & Record<string, any>)[]"))]
        packets: Vec<PacketJson>,
        /// The number of packets before the next push of this kind that cannot be pushed: their bytes are missing, or
        /// they were forgotten before they were compared with the filter.
        missed: u64,
    },
    /// Sessions that are new, have changed other than in their counts, or have ended, if the interface has
    /// [subscribed](super::Request::Subscribe): at first, all that are stored.
    Sessions {
        /// The sessions. A session is pushed before its first packet, and again after its last once it has ended.
        sessions: Vec<SessionInfo>,
    },
    /// The held packets have changed: at most ten times a second for a page. `held_rows` returns them.
    Holding(control::Holding),
    /// Something happened to the running sessions.
    #[serde(untagged)]
    Control(control::Push),
}

/// The state of the stored packets, and of those found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StoreState {
    /// The oldest row that is stored.
    pub first: u64,
    /// The row that the next packet gets.
    pub end: u64,
    /// The number of packets that were sent in place of others: parts of their rows in a list without filter and search.
    pub replacements: u64,
    /// `true` if no more packets come.
    pub complete: bool,
    /// The part of the files that was read, from 0 to 1; `None` if none are read.
    pub read: Option<f64>,
    /// A number that changes when marks or comments do.
    pub noted: u64,
    /// Why bytes of packets are missing.
    pub fault: Option<String>,
    /// The number of packets that this interface has hidden.
    pub hidden: usize,
    /// The number of stored packets that this interface has cleared.
    pub cleared: u64,
    /// Whether the list is sorted; `null` if it has the order in which its packets were recorded.
    pub sorting: Option<Sorting>,
    /// A number that changes when the order of the list does.
    pub order: u64,
    /// The outcome of saving marks and comments the last time.
    pub saved: Option<String>,
    /// Why older packets are not stored.
    pub limit: Option<String>,
    /// The list.
    pub list: Progress,
    /// The rows at the end of the list, as many as `newest` of `rows` asks for.
    pub newest: Vec<Row>,
    /// The packets that the search has found, if there is a search.
    pub search: Option<Progress>,
    /// The conversation, once it was asked for.
    pub conversation: Option<Progress>,
    /// The packets that people have sent, once they were asked for.
    pub sent: Option<Progress>,
}

/// How many packets were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Progress {
    /// Packets found so far.
    pub total: u64,
    /// Packets evaluated so far.
    pub done: u64,
    /// Packets to evaluate.
    pub all: u64,
}

impl From<&List> for Progress {
    fn from(list: &List) -> Self {
        Self { total: list.count(), ..list.matches().into() }
    }
}

impl From<&Matches> for Progress {
    fn from(matches: &Matches) -> Self {
        let (done, all) = matches.progress();
        Self { total: matches.count(), done, all }
    }
}
