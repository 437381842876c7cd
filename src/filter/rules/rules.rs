use std::sync::Arc;

use super::RuleSet;
use super::act::act;
use super::random::{Random, seed_of};
use super::rule::{Rule, Scope};
use crate::filter::{Effects, Filter, Verdict};
use crate::packet::{Packet, Timestamp};
use crate::schema::{PacketType, Protocol};

/// The rules of a file at work in one session.
#[derive(Debug)]
pub struct Rules {
    set: RuleSet,
    /// By rule.
    progress: Vec<Progress>,
}

/// How far a rule is in this session.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Its first match behind `after`.
    first: Option<Timestamp>,
    /// Matches behind `after`, within `for`.
    matches: u64,
    acted: u64,
    random: Option<Random>,
    /// When the line that `throttle` thinks of is free again, by direction.
    pub(super) free: [Timestamp; 2],
}

impl Rules {
    pub(super) fn new(set: RuleSet) -> Self {
        let progress = set.rules().iter().map(|_| Progress::default()).collect();
        Self { set, progress }
    }
}

impl Filter for Rules {
    fn name(&self) -> &str {
        "rules"
    }

    fn wants(&self, packet: &Packet) -> bool {
        !self.set.index(&packet.context.protocol).rules(packet).is_empty()
    }

    fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        let sends = |rule: &Rule| rule.actions.sends(packet);
        let matching = self.set.index(protocol).rules_for(packet);
        matching.iter().any(|place| self.set.rules()[*place].actions.changes())
            || self.set.rules().iter().any(sends)
    }

    fn apply(&mut self, packet: &mut Packet, effects: &mut Effects) -> Verdict {
        let mut replaced = None;
        let mut from = 0;
        // A rule can put another packet into the place of this one: then other rules can match.
        while let Some(place) = self.next(packet, from) {
            from = place + 1;
            let rule = &self.set.rules()[place];
            let progress = &mut self.progress[place];
            if rule.when.as_ref().is_some_and(|when| !when.matches(packet)) {
                continue;
            }
            rule.shared.count_match();
            if !progress.admits(rule, packet) {
                continue;
            }
            match act(rule, packet, progress, effects) {
                Ok(done) => {
                    progress.acted += 1;
                    rule.shared.count_act();
                    match done {
                        Verdict::Drop => return Verdict::Drop,
                        Verdict::Pass => {}
                        Verdict::Replace(body) => {
                            packet.replace_body(body.clone());
                            replaced = Some(body);
                        }
                    }
                }
                Err(why) => {
                    rule.shared.count_failure();
                    effects.notes.comments.push(format!("rule `{}` failed: {why}", rule.name));
                }
            }
        }
        replaced.map_or(Verdict::Pass, Verdict::Replace)
    }
}

impl Rules {
    /// The next rule that can match.
    fn next(&self, packet: &Packet, from: usize) -> Option<usize> {
        let rules = self.set.index(&packet.context.protocol).rules(packet);
        rules.get(rules.partition_point(|place| *place < from)).copied()
    }
}

impl Progress {
    /// Whether the conditions besides `when` hold.
    fn admits(&mut self, rule: &Rule, packet: &Packet) -> bool {
        let conditions = &rule.conditions;
        let age = packet.at.since(packet.context.opened);
        if conditions.after.is_some_and(|after| age < after) {
            return false;
        }
        let first = *self.first.get_or_insert(packet.at);
        if conditions.during.is_some_and(|during| packet.at.since(first) >= during) {
            return false;
        }
        let number = self.matches;
        self.matches += 1;
        if conditions.every.is_some_and(|every| !number.is_multiple_of(every)) {
            return false;
        }
        if let Some(chance) = conditions.chance
            && self.random(rule, packet).unit() >= chance
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
                let player = packet.context.player.as_deref();
                player.is_some_and(|player| rule.shared.first_for(player))
            }
        }
    }

    pub(super) fn random(&mut self, rule: &Rule, packet: &Packet) -> &mut Random {
        self.random.get_or_insert_with(|| {
            let seed = rule.conditions.seed.unwrap_or_else(|| seed_of(&rule.name));
            Random::new(seed, packet.context.session)
        })
    }
}
