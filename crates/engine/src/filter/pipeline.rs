use std::sync::Arc;

use bytes::Bytes;

use super::{Effects, Verdict};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{PacketType, Protocol};

/// A filter: judges packets one at a time, in the order in which they arrive.
pub trait Filter: Send {
    /// Returns the name used in messages.
    fn name(&self) -> &str;

    /// Returns whether the filter may act on the packet. It is asked for every packet, so this must
    /// be cheap: unwanted packets cost no more than without filters.
    fn wants(&self, packet: &Packet) -> bool {
        let _ = packet;
        true
    }

    /// Returns whether [`wants`](Self::wants) may be true of a packet of this type.
    fn wants_type(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        let _ = (protocol, packet);
        true
    }

    /// Returns whether the filter may alter, delay or drop packets of a type, or send packets of
    /// that type itself.
    fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        let _ = (protocol, packet);
        false
    }

    /// Returns whether the filter may ask for diagnostics, for which keep-alives are timed.
    fn asks_diagnostics(&self) -> bool {
        false
    }

    /// Judges the packet, and adds side effects to `effects`.
    fn apply(&mut self, packet: &Packet, effects: &mut Effects) -> Verdict;
}

/// An ordered list of filters. Each sees the packet as changed by the filters before it; the first
/// that drops it is the last asked.
#[derive(Default)]
pub struct Pipeline {
    filters: Vec<Box<dyn Filter>>,
}

/// The combined judgement of all filters on a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// The verdict on the packet.
    pub verdict: Verdict,
    /// The side effects.
    pub effects: Effects,
}

impl Judgement {
    /// Returns whether the packet is forwarded unchanged, at once and alone.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let Effects { sends, copies, delay, .. } = &self.effects;
        self.verdict == Verdict::Pass && sends.is_empty() && *copies == 0 && delay.is_none()
    }

    /// Withdraws what rules did to the packet itself: it is forwarded unchanged.
    pub fn pass(&mut self) {
        self.verdict = Verdict::Pass;
        self.effects.notes.rules.clear();
    }

    /// Reduces the judgement to forwarding the packet unchanged and at once, with nothing before
    /// it.
    pub fn keep(&mut self) {
        self.pass();
        self.effects.delay = None;
        self.effects.copies = 0;
        for send in &mut self.effects.sends {
            send.before = false;
        }
    }
}

impl Pipeline {
    /// Appends a filter.
    pub fn push(&mut self, filter: Box<dyn Filter>) {
        self.filters.push(filter);
    }

    /// Judges a packet by each filter in turn.
    pub fn apply(&mut self, packet: &Packet) -> Judgement {
        let mut effects = Effects::default();
        let mut changed: Option<Packet> = None;
        let mut replaced: Option<Bytes> = None;
        for filter in &mut self.filters {
            let current = changed.as_ref().unwrap_or(packet);
            if !filter.wants(current) {
                continue;
            }
            match filter.apply(current, &mut effects) {
                Verdict::Pass => {}
                Verdict::Drop => return Judgement { verdict: Verdict::Drop, effects },
                Verdict::Replace(body) => {
                    changed.get_or_insert_with(|| packet.clone()).replace_body(body.clone());
                    replaced = Some(body);
                }
            }
        }
        Judgement { verdict: replaced.map_or(Verdict::Pass, Verdict::Replace), effects }
    }

    /// Returns whether any filter may act on the packet.
    #[must_use]
    pub fn wants(&self, packet: &Packet) -> bool {
        self.filters.iter().any(|filter| filter.wants(packet))
    }

    /// Returns whether any filter may act on packets of a type.
    #[must_use]
    pub fn wants_type(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        self.filters.iter().any(|filter| filter.wants_type(protocol, packet))
    }

    /// Returns whether any filter may ask for diagnostics.
    #[must_use]
    pub fn asks_diagnostics(&self) -> bool {
        self.filters.iter().any(|filter| filter.asks_diagnostics())
    }

    /// Returns whether any filter may change packets of a type.
    #[must_use]
    pub fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        self.filters.iter().any(|filter| filter.changes(protocol, packet))
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.filters.iter().map(|filter| filter.name())).finish()
    }
}
