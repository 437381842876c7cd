use std::sync::Arc;

use bytes::Bytes;

use super::{Effects, Judgement, Kept, Moment, SessionEvent, Verdict};
use mitmcraft_protocol::codec::MemoryBudget;
use mitmcraft_protocol::packet::{Packet, Timestamp};
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

    /// Sets the budget that the filter's memory counts against.
    fn set_budget(&mut self, budget: &MemoryBudget) {
        let _ = budget;
    }

    /// Returns whether the filter has timers, or handles the events of its session.
    fn is_active(&self) -> bool {
        false
    }

    /// Handles an event of the session. An active filter gets [`SessionEvent::Open`] before it judges the
    /// first packet.
    fn on_event(&mut self, event: SessionEvent, moment: &Moment<'_>, effects: &mut Effects) {
        let _ = (event, moment, effects);
    }

    /// Returns whether the filter has taken long lately, in any session.
    fn is_slow(&self, at: Timestamp) -> bool {
        let _ = at;
        false
    }

    /// Returns when to call [`on_timeout`](Self::on_timeout), if nothing changes before.
    fn poll_timeout(&self) -> Option<Timestamp> {
        None
    }

    /// Handles the moment of [`poll_timeout`](Self::poll_timeout). Only what an effect does without a
    /// packet is done: sends, the close, messages.
    fn on_timeout(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        let _ = (moment, effects);
    }

    /// Removes what the filter that replaces this one in the running session takes over.
    fn take_kept(&mut self) -> Option<Kept> {
        None
    }

    /// Takes over what was kept of a filter that this one may replace.
    fn take_over(&mut self, kept: &Kept) {
        let _ = kept;
    }
}

/// An ordered list of filters. Each sees the packet as changed by the filters before it; the first
/// that drops it is the last asked.
#[derive(Default)]
pub struct Pipeline {
    filters: Vec<Box<dyn Filter>>,
    /// `true` if any filter is active.
    active: bool,
}

impl Pipeline {
    /// Appends a filter.
    pub fn push(&mut self, filter: Box<dyn Filter>) {
        self.active |= filter.is_active();
        self.filters.push(filter);
    }

    /// Sets the budget that the filters' memory counts against.
    pub fn set_budget(&mut self, budget: &MemoryBudget) {
        for filter in &mut self.filters {
            filter.set_budget(budget);
        }
    }

    /// Takes over what the filters of `old`, which this pipeline replaces in a session, keep.
    pub fn take_over(&mut self, mut old: Self) {
        for kept in old.filters.iter_mut().filter_map(|filter| filter.take_kept()) {
            for filter in &mut self.filters {
                filter.take_over(&kept);
            }
        }
    }

    /// Tells all filters of an event.
    pub fn on_event(&mut self, event: SessionEvent, moment: &Moment<'_>) -> Effects {
        let mut effects = Effects::default();
        for filter in &mut self.filters {
            filter.on_event(event, moment, &mut effects);
        }
        effects
    }

    /// Handles the moment of [`poll_timeout`](Self::poll_timeout).
    pub fn on_timeout(&mut self, moment: &Moment<'_>) -> Effects {
        let mut effects = Effects::default();
        for filter in &mut self.filters {
            if filter.poll_timeout().is_some_and(|due| due <= moment.at) {
                filter.on_timeout(moment, &mut effects);
            }
        }
        effects
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

    /// Returns whether any filter handles events, or has timers.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Returns whether any filter has taken long lately, in any session.
    #[must_use]
    pub fn is_slow(&self, at: Timestamp) -> bool {
        self.active && self.filters.iter().any(|filter| filter.is_slow(at))
    }

    /// Returns when to call [`on_timeout`](Self::on_timeout), if nothing changes before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if !self.active {
            return None;
        }
        self.filters.iter().filter_map(|filter| filter.poll_timeout()).min()
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
