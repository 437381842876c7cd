use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use crate::capture::Record;
use crate::packet::{Packet, Timestamp};
use crate::text::write_summary;

/// A packet that a session holds.
#[derive(Debug)]
pub(super) struct HeldPacket {
    pub(super) packet: Packet,
    pub(super) since: Timestamp,
    /// Why later packets wait although they should overtake it.
    pub(super) in_order: Option<&'static str>,
    /// The decision of a person about the packet, which is carried out when its turn comes.
    pub(super) decided: Option<&'static str>,
}

impl HeldPacket {
    /// Returns the push that announces it.
    pub(super) fn push(&self, session: u64, held: u64) -> Json {
        let packet = &self.packet;
        let mut summary = String::new();
        write_summary(&mut summary, &Record::passed(packet.clone()));
        json!({
            "push": "held",
            "session": session,
            "held": held,
            "since": self.since.0 / 1_000_000,
            "dir": packet.direction().name(),
            "state": packet.state().name(),
            "packet": packet.kind().map(|kind| kind.name().to_string()),
            "size": packet.size(),
            "summary": summary.trim().chars().take(MAX_SUMMARY).collect::<String>(),
            "in_order": self.in_order,
            "decided": self.decided,
        })
    }

    /// Returns its fields, and its body as base64 and hex.
    pub(super) fn content(&self) -> Json {
        let mut fields = Vec::new();
        let walked = self.packet.write_json(&mut fields);
        let fields = serde_json::from_slice::<Json>(&fields).ok().filter(|_| walked.is_ok());
        let body = self.packet.body().unwrap_or_default();
        json!({
            "text": fields.as_ref().map(|it| format!("{it:#}")),
            "fields": fields,
            "problem": walked.err().map(|error| error.to_string()),
            "body": BASE64_STANDARD.encode(&body),
        })
    }
}

/// Most characters of a summary.
const MAX_SUMMARY: usize = 300;
