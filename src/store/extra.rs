use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::row::MAX_SEQ;
use mitmcraft_engine::capture::{RawKind, Record, raw_content};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Diagnostics, RawReason};

/// What few packets have: the packet that one replaces, a comment, the reason why bytes are no packet, a
/// number that rows cannot have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) of: Option<u64>,
    pub(super) comment: Option<String>,
    pub(super) raw: Option<RawKind>,
    /// The number of bytes before the body of a frame without a length prefix.
    magic: Option<usize>,
    pub(super) seq: Option<u64>,
    /// What its body does not show.
    pub(super) noted: Diagnostics,
}

impl Extra {
    /// Returns that of a record, whose body is known or not.
    pub(super) fn of(record: &Record, has_body: bool) -> Self {
        let packet = &record.packet;
        let bare = packet.frame().filter(|frame| frame.is_bare());
        Self {
            of: record.of,
            comment: record.comment.clone(),
            raw: if has_body { None } else { RawKind::of(packet.content()) },
            magic: bare.map(|frame| frame.wire().len() - frame.size()),
            seq: (packet.seq() > MAX_SEQ).then_some(packet.seq()),
            noted: packet.noted(),
        }
    }

    /// Returns that of a body without a length prefix.
    pub(super) fn bare() -> Self {
        Self { magic: Some(0), ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let raw = self.raw.as_ref().map(|raw| match raw {
            RawKind::Bytes(RawReason::Opaque(why)) => json!([raw.name(), why]),
            RawKind::Bytes(RawReason::Oversize { frame, left }) => json!([raw.name(), frame, left]),
            RawKind::Frame { threshold, limit } => json!([raw.name(), threshold, limit]),
            RawKind::Bytes(_) => json!([raw.name()]),
        });
        let noted = self.noted.bits();
        json!([self.of, self.comment, raw, self.magic, self.seq, noted]).to_string().into_bytes()
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let Json::Array(parts) = serde_json::from_slice(text).ok()? else { return None };
        let [of, comment, raw, magic, seq, noted] = &*parts else { return None };
        let number = |at: usize| raw[at].as_u64().and_then(|it| usize::try_from(it).ok());
        let raw = match raw[0].as_str() {
            None => None,
            Some("frame") => Some(RawKind::Frame { threshold: number(1), limit: number(2) }),
            Some(name) => Some(RawKind::Bytes(match name {
                "relay" => RawReason::NotMinecraft,
                "opaque" => RawReason::Opaque(raw[1].as_str()?.to_owned()),
                "oversize" => RawReason::Oversize { frame: number(1)?, left: number(2)? },
                "cutoff" => RawReason::CutOff,
                "injected" => RawReason::Injected,
                _ => return None,
            })),
        };
        Some(Self {
            of: of.as_u64(),
            comment: comment.as_str().map(str::to_owned),
            raw,
            magic: magic.as_u64().and_then(|it| usize::try_from(it).ok()),
            seq: seq.as_u64(),
            noted: Diagnostics::of_bits(u32::try_from(noted.as_u64()?).ok()?),
        })
    }

    /// Returns the content that has these bytes.
    pub(super) fn content(&self, bytes: Bytes) -> Option<Content> {
        match (&self.raw, self.magic) {
            (Some(raw), _) => raw_content(raw, bytes).ok(),
            (None, Some(magic)) => Some(Content::Frame(Frame::datagram(bytes, magic))),
            (None, None) => Some(Content::Frame(Frame::from_body(bytes))),
        }
    }
}
