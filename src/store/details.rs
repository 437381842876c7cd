use bytes::Bytes;

use mitmcraft_engine::capture::{LegState, Record};
use mitmcraft_engine::text::{FieldLine, FieldLines};
use mitmcraft_protocol::meaning::About;
use mitmcraft_protocol::packet::{Content, Reading};

/// Everything about one packet.
#[derive(Debug)]
pub struct Details {
    /// The packet, and what the proxy did with it.
    pub record: Record,
    /// The state, compression and encryption of the legs at that time, if known.
    pub legs: Option<LegState>,
    /// The bytes in which `fields` have their places: the inflated body, or the bytes of what has none.
    pub bytes: Bytes,
    /// The decoded fields, up to an error; with those of a payload of a plugin channel.
    pub fields: Vec<FieldLine>,
    /// Why the packet does not decode, with what it reads as, and the offset at which decoding stopped.
    pub error: Option<(String, usize)>,
}

impl Details {
    /// Decodes a packet; `about` is what earlier packets say about it.
    pub(super) fn new(record: Record, legs: Option<LegState>, about: Option<About>) -> Self {
        let packet = &record.packet;
        let bytes = match (packet.content(), packet.body()) {
            (_, Ok(body)) => body,
            (Content::Frame(frame), Err(_)) => frame.wire().clone(),
            (Content::Raw(bytes, _), Err(_)) => bytes.clone(),
        };
        let mut lines = FieldLines::new(packet).about(about);
        let walked = packet.walk_with_payload(&mut lines);
        let fields = lines.with_contents(packet);
        let error = walked.err().map(|error| {
            let reading = Reading::of(packet).map(|it| format!("; it {it}")).unwrap_or_default();
            (format!("{error}{reading}"), error.at())
        });
        Self { legs, bytes, fields, error, record }
    }
}
