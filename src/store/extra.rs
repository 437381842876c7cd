use bytes::Bytes;
use serde_json::{Value as Json, json};

use crate::capture::{RawKind, Record, raw_content};
use crate::packet::{Content, RawReason};

/// What few packets have: the packet that one replaces, a comment, the reason why bytes are no packet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) of: Option<u64>,
    pub(super) comment: Option<String>,
    pub(super) raw: Option<RawKind>,
}

impl Extra {
    pub(super) fn of(record: &Record, raw: Option<RawKind>) -> Self {
        Self { of: record.of, comment: record.comment.clone(), raw }
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
        json!([self.of, self.comment, raw]).to_string().into_bytes()
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let Json::Array(parts) = serde_json::from_slice(text).ok()? else { return None };
        let [of, comment, raw] = &*parts else { return None };
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
        Some(Self { of: of.as_u64(), comment: comment.as_str().map(str::to_owned), raw })
    }

    /// Returns the content of bytes without a body.
    pub(super) fn content(&self, bytes: Bytes) -> Option<Content> {
        raw_content(self.raw.as_ref()?, bytes).ok()
    }
}
