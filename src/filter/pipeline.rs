use std::sync::Arc;

use bytes::Bytes;

use super::{Effects, Verdict};
use crate::packet::Packet;
use crate::schema::{PacketType, Protocol};

/// Judges packets, one at a time, in the order in which they came.
pub trait Filter: Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Whether it may have something to say of such a packet. A packet that no filter wants costs
    /// no more than without filters, so this should be cheap: it is asked of every one.
    fn wants(&self, packet: &Packet) -> bool {
        let _ = packet;
        true
    }

    /// Whether it may keep such packets from going on as they came, or send some of its own.
    fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        let _ = (protocol, packet);
        false
    }

    /// Says what becomes of the packet, and adds to `effects` what else is to be done.
    fn apply(&mut self, packet: &mut Packet, effects: &mut Effects) -> Verdict;
}

/// Filters in order: each sees what the one before has made of the packet, and the first that
/// drops it ends it.
#[derive(Default)]
pub struct Pipeline {
    filters: Vec<Box<dyn Filter>>,
}

/// What the filters make of a packet together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of the packet.
    pub verdict: Verdict,
    /// What is to be done besides.
    pub effects: Effects,
}

impl Judgement {
    /// Whether the packet goes on as it came and when it came, alone.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let Effects { sends, copies, delay, .. } = &self.effects;
        self.verdict == Verdict::Pass && sends.is_empty() && *copies == 0 && delay.is_none()
    }

    /// Lets the packet through as it is, now, and nothing before it.
    pub fn keep(&mut self) {
        self.verdict = Verdict::Pass;
        self.effects.delay = None;
        self.effects.copies = 0;
        for send in &mut self.effects.sends {
            send.before = false;
        }
    }
}

impl Pipeline {
    /// Puts a filter behind the others.
    pub fn push(&mut self, filter: Box<dyn Filter>) {
        self.filters.push(filter);
    }

    /// Asks each filter in turn.
    pub fn apply(&mut self, packet: &Packet) -> Judgement {
        let mut effects = Effects::default();
        let mut current: Option<Packet> = None;
        let mut replaced: Option<Bytes> = None;
        for filter in &mut self.filters {
            if !filter.wants(current.as_ref().unwrap_or(packet)) {
                continue;
            }
            let current = current.get_or_insert_with(|| packet.clone());
            match filter.apply(current, &mut effects) {
                Verdict::Pass => {}
                Verdict::Drop => return Judgement { verdict: Verdict::Drop, effects },
                Verdict::Replace(body) => {
                    current.replace_body(body.clone());
                    replaced = Some(body);
                }
            }
        }
        Judgement { verdict: replaced.map_or(Verdict::Pass, Verdict::Replace), effects }
    }

    /// Whether some filter may have something to say of the packet.
    #[must_use]
    pub fn wants(&self, packet: &Packet) -> bool {
        self.filters.iter().any(|filter| filter.wants(packet))
    }

    /// Whether some filter may change such packets.
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
