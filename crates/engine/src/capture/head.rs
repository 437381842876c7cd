use bytes::Bytes;

use super::{Outcome, Record};
use mitmcraft_protocol::codec::CodecError;
use mitmcraft_protocol::packet::{Content, Diagnostics, Origin, RawReason};
use mitmcraft_protocol::schema::{DescriptionId, Family, Protocol, State};

/// The facts about a packet that a capture stores besides its bytes, direction and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) session: u64,
    pub(super) seq: u64,
    pub(super) state: State,
    pub(super) protocol: ProtocolId,
    /// `true` if the description is not that of the client's version.
    pub(super) guess: bool,
    /// `None` for the peer that sends in the packet's direction.
    pub(super) origin: Option<Origin>,
    pub(super) outcome: Outcome,
    pub(super) of: Option<u64>,
    pub(super) comment: Option<String>,
    /// The diagnostics of the packet that its body does not show.
    pub(super) noted: Diagnostics,
    /// Bytes on the wire.
    pub(super) wire: usize,
    /// `None` for a frame whose body is known.
    pub(super) raw: Option<RawKind>,
}

/// The description that a packet is decoded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProtocolId {
    pub(super) family: Family,
    pub(super) version: i32,
    /// `None` for a built-in description.
    pub(super) table: Option<DescriptionId>,
}

impl ProtocolId {
    pub(super) fn of(protocol: &Protocol) -> Self {
        let table = protocol.description().map(|it| it.id());
        Self { family: protocol.family(), version: protocol.version(), table }
    }
}

/// The kinds of bytes without a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawKind {
    /// Bytes that are not a frame.
    Bytes(RawReason),
    /// A frame that does not inflate.
    Frame {
        /// The compression threshold at that time.
        threshold: Option<usize>,
        /// The limit of inflated bytes, if it was exceeded.
        limit: Option<usize>,
    },
}

impl Head {
    pub(super) fn of(record: &Record) -> Self {
        let packet = &record.packet;
        Self {
            session: packet.context().session,
            seq: packet.seq(),
            state: packet.state(),
            protocol: ProtocolId::of(&packet.context().protocol),
            guess: packet.context().guess,
            origin: Some(packet.origin()).filter(|it| *it != Origin::of(packet.direction())),
            outcome: record.outcome,
            of: record.of,
            comment: record.comment.clone(),
            noted: packet.noted(),
            wire: packet.wire_size(),
            raw: RawKind::of(packet.content()),
        }
    }
}

/// Returns the bytes of a packet as they crossed.
pub(super) fn crossed(content: &Content) -> &Bytes {
    match content {
        Content::Frame(frame) => frame.wire(),
        Content::Raw(bytes, _) => bytes,
    }
}

impl RawKind {
    /// Returns the kind of a packet without a body.
    pub fn of(content: &Content) -> Option<Self> {
        match content {
            Content::Raw(_, reason) => Some(Self::Bytes(reason.clone())),
            Content::Frame(frame) => match frame.with_body(|_| ()) {
                Ok(()) => None,
                Err(error) => {
                    let limit = match error {
                        CodecError::InflatedLimit { limit, .. } => Some(limit),
                        _ => None,
                    };
                    Some(Self::Frame { threshold: frame.threshold(), limit })
                }
            },
        }
    }

    /// Returns the name of the kind in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bytes(RawReason::NotMinecraft) => "relay",
            Self::Bytes(RawReason::Opaque(_)) => "opaque",
            Self::Bytes(RawReason::Oversize { .. }) => "oversize",
            Self::Bytes(RawReason::CutOff) => "cutoff",
            Self::Bytes(RawReason::Injected) => "injected",
            Self::Frame { .. } => "frame",
        }
    }
}
