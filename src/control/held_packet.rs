use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::Value as Json;

use super::{Decided, HeldId};
use mitmcraft_engine::capture::Record;
use mitmcraft_engine::text::write_summary;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

/// A packet that a session holds, as interfaces list it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeldPacket {
    /// Its session.
    pub session: u64,
    /// Its number among those held in its session, from 1.
    pub held: u64,
    /// Its number among all that were held in the run, from 1: in the order in which they came.
    pub number: u64,
    /// The time since when it is held, in milliseconds since 1970.
    pub since: u64,
    /// Its direction.
    pub dir: Direction,
    /// The state that it belongs to.
    pub state: State,
    /// Its name, if its type is known.
    pub packet: Option<String>,
    /// The size of its inflated body.
    pub size: usize,
    /// Its fields in short.
    pub summary: String,
    /// Why later packets wait although they should overtake it.
    pub in_order: Option<&'static str>,
    /// The decision on it that takes effect when its turn comes, if there is one.
    pub decided: Option<Decided>,
}

/// The content of a held packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeldContent {
    /// Its fields, as captures have them; `None` if it does not decode.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub fields: Option<Json>,
    /// The fields in a text, because JavaScript loses digits of long numbers.
    pub text: Option<String>,
    /// Why it does not decode.
    pub problem: Option<String>,
    /// Id and fields as base64.
    pub body: String,
}

impl HeldPacket {
    pub(super) fn new(
        HeldId { session, held }: HeldId,
        number: u64,
        packet: &Packet,
        since: Timestamp,
        in_order: Option<&'static str>,
    ) -> Self {
        let mut summary = String::new();
        write_summary(&mut summary, &Record::passed(packet.clone()));
        Self {
            session,
            held,
            number,
            since: since.0 / 1_000_000,
            dir: packet.direction(),
            state: packet.state(),
            packet: packet.kind().map(|kind| kind.name().to_string()),
            size: packet.size(),
            summary: summary.trim().chars().take(MAX_SUMMARY).collect(),
            in_order,
            decided: None,
        }
    }

    /// Returns its session and its number there.
    #[must_use]
    pub fn id(&self) -> HeldId {
        HeldId { session: self.session, held: self.held }
    }
}

impl From<&Packet> for HeldContent {
    fn from(packet: &Packet) -> Self {
        let mut fields = Vec::new();
        let walked = packet.write_json(&mut fields);
        let fields = serde_json::from_slice::<Json>(&fields).ok().filter(|_| walked.is_ok());
        Self {
            text: fields.as_ref().map(|it| format!("{it:#}")),
            fields,
            problem: walked.err().map(|error| error.to_string()),
            body: BASE64_STANDARD.encode(packet.body().unwrap_or_default()),
        }
    }
}

/// Most characters of a summary.
const MAX_SUMMARY: usize = 300;
