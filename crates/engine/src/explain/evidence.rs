use std::borrow::Cow;
use std::sync::Arc;

use super::{EndKind, Ending, Watched};
use crate::capture::Record;
use crate::report::{Around, Certainty, Finding, Place};
use mitmcraft_protocol::packet::Packet;

/// A packet that speaks for a cause, and the rule that it breaks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Evidence {
    /// How certainly it is the cause.
    pub certainty: Certainty,
    /// The number of the packet in its session.
    pub seq: u64,
    /// The rule, the reason and the packet.
    pub finding: Finding,
}

impl Evidence {
    /// Returns the evidence of a packet of a session.
    pub(super) fn of(
        session: &Watched,
        record: &Record,
        certainty: Certainty,
        rule: impl Into<Cow<'static, str>>,
        reason: String,
    ) -> Self {
        let context = Arc::clone(&session.context);
        let place = Place { source: session.source.clone(), context, at: record.packet.at() };
        let finding = Finding::new(rule, reason, place, Around::only(record.clone()));
        Self::found(finding, certainty, record.packet.seq())
    }

    /// Returns a finding as evidence.
    pub(super) fn found(finding: Finding, certainty: Certainty, seq: u64) -> Self {
        let finding = Finding { certain: certainty == Certainty::Certain, ..finding };
        Self { certainty, seq, finding }
    }

    /// Returns the packet, unless it is no longer kept.
    #[must_use]
    pub fn packet(&self) -> Option<&Packet> {
        self.finding.packet()
    }
}

/// Returns how a session ended, in the light of what was found: a client that closes at a packet that it
/// certainly refuses has not left by itself.
pub(super) fn ending_of(ending: Ending, evidence: &[Evidence]) -> Ending {
    let is_refused = ending.kind == EndKind::Left
        && evidence.first().is_some_and(|first| first.certainty == Certainty::Certain);
    if is_refused { Ending { kind: EndKind::Refused, ..ending } } else { ending }
}
