use super::rule::{Rule, Scope};
use crate::filter::SplitMix64;
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::PerDirection;

/// The state of one rule in one session.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The rule's first match after `after`.
    first: Option<Timestamp>,
    /// Matches after `after`, within `for`.
    matches: u64,
    /// Times that the rule has acted.
    acted: u64,
    random: Option<SplitMix64>,
    /// When the rule's timer fires next.
    pub(super) due: Option<Timestamp>,
    /// `true` once a failure of the timer has been reported.
    pub(super) has_reported: bool,
    /// The time at which the line that `throttle` imitates is free again.
    pub(super) free: PerDirection<Timestamp>,
}

impl Progress {
    /// Checks the conditions other than `when`, and counts the match.
    pub(super) fn admits(&mut self, rule: &Rule, packet: &Packet) -> bool {
        let conditions = &rule.conditions;
        let age = packet.at().since(packet.context().opened);
        if conditions.after.is_some_and(|after| age < after) {
            return false;
        }
        let first = *self.first.get_or_insert_with(|| packet.at());
        if conditions.during.is_some_and(|during| packet.at().since(first) >= during) {
            return false;
        }
        let number = self.matches;
        self.matches += 1;
        if conditions.every.is_some_and(|every| !number.is_multiple_of(every)) {
            return false;
        }
        if let Some(chance) = conditions.chance
            && self.unit(rule, packet) >= chance
        {
            return false;
        }
        if conditions.limit.is_some_and(|limit| self.acted >= limit) {
            return false;
        }
        match conditions.once_per {
            None => true,
            Some(Scope::Session) => self.acted == 0,
            Some(Scope::Run) => rule.shared.first_in_run(),
            Some(Scope::Player) => {
                let player = packet.context().player.as_deref();
                player.is_some_and(|player| rule.shared.first_for(player))
            }
        }
    }

    pub(super) fn count_act(&mut self) {
        self.acted += 1;
    }

    /// Returns a random number: 0 <= number < 1.
    pub(super) fn unit(&mut self, rule: &Rule, packet: &Packet) -> f64 {
        (self.random(rule, packet).next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a random number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize, rule: &Rule, packet: &Packet) -> usize {
        // The bias of a remainder is far too small to be noticed.
        (self.random(rule, packet).next_u64() % limit as u64) as usize
    }

    /// The rule's random numbers in this session: the seed is the user's, or the rule's name.
    fn random(&mut self, rule: &Rule, packet: &Packet) -> &mut SplitMix64 {
        self.random.get_or_insert_with(|| {
            let seed = rule.conditions.seed.unwrap_or_else(|| fnv_1a(&rule.name));
            let session = packet.context().session.wrapping_mul(SplitMix64::STEP);
            let mut random = SplitMix64::new(seed ^ session);
            random.next_u64();
            random
        })
    }
}

/// Hashes a name with FNV-1a.
fn fnv_1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hashed_as_fnv_1a_says() {
        assert_eq!(fnv_1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
