use std::collections::VecDeque;
use std::time::Duration;

use crate::filter::{RateBound, RateUnit};
use mitmcraft_protocol::packet::{Packet, Timestamp};

/// The packets of the last second, against a bound on every second.
#[derive(Debug, Default)]
pub(super) struct Rate {
    recent: VecDeque<(Timestamp, u64)>,
    sum: u64,
}

impl Rate {
    /// Counts a packet. Returns the number in a second that breaks the bound.
    pub(super) fn take(
        &mut self,
        bound: &RateBound,
        begun: Timestamp,
        packet: &Packet,
    ) -> Option<u64> {
        let at = packet.at();
        // Between two packets, the number is smallest just before the second one.
        if at.since(begun) > SECOND
            && let Some(few) = self.too_few(bound, begun, at)
        {
            return Some(few);
        }
        self.forget(|age| age >= SECOND, at);
        let amount = match bound.unit {
            RateUnit::Packets => 1,
            RateUnit::Bytes => packet.size() as u64,
        };
        self.recent.push_back((at, amount));
        self.sum += amount;
        bound.bound.is_exceeded(self.sum).then_some(self.sum)
    }

    /// Returns the number in the second up to `at` if it is below the bound.
    pub(super) fn too_few(
        &mut self,
        bound: &RateBound,
        begun: Timestamp,
        at: Timestamp,
    ) -> Option<u64> {
        self.forget(|age| age > SECOND, at);
        (at.since(begun) >= SECOND && self.sum < bound.bound.least).then_some(self.sum)
    }

    fn forget(&mut self, is_over: impl Fn(Duration) -> bool, at: Timestamp) {
        while let Some((then, amount)) = self.recent.front().copied()
            && is_over(at.since(then))
        {
            self.recent.pop_front();
            self.sum -= amount;
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
