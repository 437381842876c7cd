//! The protocol between user interfaces and the program: typed requests, answers and pushes, as JSON objects on a
//! WebSocket. They are read and written here and nowhere else.
//!
//! An interface first sends a [`Login`] with the token in the fragment of the printed URL, and gets a [`Hello`].
//! Afterwards it sends [`Request`]s and gets [`Message`]s:
//!
//! ```json
//! {"id":1,"do":"rows","start":0,"count":100}
//! {"id":1,"answer":"rows","start":0,"total":2,"rows":[..]}
//! {"id":2,"error":{"message":"`start`: invalid type: string \"x\", expected u64",..}}
//! {"push":"state",..}
//! ```
//!
//! * `id` is any number. The answer repeats it; answers may come in another order than the requests.
//! * `do` names the [`Request`], whose documentation lists what else it has. What is optional may be absent or `null`.
//! * `answer` is the name of the request, or `done` if there is nothing more to say: see [`Answer`]. A request that
//!   cannot be carried out, or read, is answered with an `error`: see [`Failure`].
//! * [`Push`]es come unasked: the state of the list when it has changed, and what happens to held packets.
//!
//! Requests that need running sessions fail if there are none, as in `mitmcraft view`.

mod answer;
mod commands;
mod details;
mod failure;
mod form;
mod message;
mod offsets;
mod packet_json;
mod push;
mod query;
mod request;
mod row;
mod rules;
mod session;
#[cfg(test)]
mod tests;
mod text_piece;

pub use answer::{Answer, ChatLine, Found, SavedRules, Warning};
pub use commands::read_body;
pub use details::{DecodeError, Diagnostic, Field, OtherPacket, PacketDetails};
pub use failure::Failure;
pub use form::{FieldSetting, Form, FormChange, FormLine, FormPlace, FormProblem};
pub use message::{ActionInfo, Hello, Login, Message};
pub use offsets::{bytes, units};
pub use packet_json::PacketJson;
pub use push::{Progress, Push, StoreState};
pub use query::Query;
pub use request::{ConditionSource, ExportFormat, Exported, HeldDecision, MarkedPackets, Request};
pub use row::Row;
pub use rules::RuleFile;
pub use session::{LegInfo, LegsInfo, SessionInfo, SessionKind, SessionMark, SessionOrder};
pub use text_piece::TextPiece;

use mitmcraft_protocol::packet::Timestamp;

/// Returns a moment in milliseconds since 1970, exact to a microsecond.
#[must_use]
pub fn millis(at: Timestamp) -> f64 {
    (at.0 / 1000) as f64 / 1000.0
}

/// Returns the moment that [`millis`] gives.
#[must_use]
pub fn moment(millis: f64) -> Timestamp {
    // The cast saturates.
    Timestamp((millis * 1000.0).round() as u64 * 1000)
}

/// Returns the beginning of a value, with `…` if it is longer than any that is shown.
pub(super) fn cut(text: &str) -> String {
    cut_to(text, MAX_VALUE)
}

/// Returns the beginning of a text, with `…` if it is longer than `limit` characters.
fn cut_to(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Most characters of a value.
const MAX_VALUE: usize = 4000;
