use mitmcraft_engine::link::Side;
use mitmcraft_protocol::packet::Timestamp;

use crate::proxy::metrics::Metrics;

/// How long bytes for a side wait in the proxy, and how long its peer takes none.
#[derive(Debug, Default)]
pub(super) struct WriteDelay {
    /// When the first of the bytes that are about to be written were read.
    received: Option<Timestamp>,
    /// When the peer stopped taking bytes; `None` while it takes them.
    blocked: Option<Timestamp>,
}

impl WriteDelay {
    /// Bytes for the side were read.
    pub(super) fn on_read(&mut self, now: Timestamp) {
        self.received.get_or_insert(now);
    }

    /// The bytes for the side were written, as far as its peer took them. `was_pending` and `is_pending` tell whether
    /// there were some before and after. The clock is read only if there is something to count.
    pub(super) fn on_write(
        &mut self,
        side: Side,
        was_pending: bool,
        is_pending: bool,
        now: impl FnOnce() -> Timestamp,
        metrics: &Metrics,
    ) {
        let received = self.received.take().filter(|_| was_pending);
        let blocked = self.blocked.take();
        if received.is_none() && blocked.is_none() && !is_pending {
            return;
        }
        let now = now();
        match (blocked, received) {
            (Some(since), _) => {
                let nanos = now.since(since).as_nanos();
                metrics.blocked[side].add(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            (None, Some(received)) => metrics.forwarding[side].add(now.since(received)),
            (None, None) => {}
        }
        self.blocked = is_pending.then_some(now);
    }
}
