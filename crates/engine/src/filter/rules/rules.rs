use std::sync::Arc;

use bytes::Bytes;

use super::RuleSet;
use super::act::act;
use super::progress::Progress;
use super::rule::Rule;
use crate::filter::{Effects, Filter, Message, Moment, SessionEvent, Verdict};
use mitmcraft_protocol::packet::{Content, Packet, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol};

/// The filter that applies the rules of a file in one session.
#[derive(Debug)]
pub struct Rules {
    set: RuleSet,
    /// One per rule.
    progress: Vec<Progress>,
}

impl RuleSet {
    /// Returns a filter for one session.
    #[must_use]
    pub fn filter(&self) -> Rules {
        let progress = self.rules().iter().map(|_| Progress::default()).collect();
        Rules { set: self.clone(), progress }
    }
}

impl Filter for Rules {
    fn name(&self) -> &str {
        "rules"
    }

    fn wants(&self, packet: &Packet) -> bool {
        !self.set.index(&packet.context().protocol).rules(packet).is_empty()
    }

    fn wants_type(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        !self.set.index(protocol).rules_for(protocol, packet).is_empty()
    }

    fn changes(&self, protocol: &Arc<Protocol>, packet: &PacketType) -> bool {
        let sends = |rule: &Rule| rule.actions.sends(packet);
        let matching = self.set.index(protocol).rules_for(protocol, packet);
        matching.iter().any(|place| self.set.rules()[*place as usize].actions.changes())
            || self.set.rules().iter().any(sends)
    }

    fn asks_diagnostics(&self) -> bool {
        self.set.asks_diagnostics()
    }

    fn apply(&mut self, packet: &Packet, effects: &mut Effects) -> Verdict {
        let mut changed: Option<Packet> = None;
        let mut replaced = None;
        let mut from = 0;
        // A rule can replace the packet by one of another type, which other rules match.
        loop {
            let current = changed.as_ref().unwrap_or(packet);
            let index = self.set.index(&current.context().protocol);
            let Some(place) = index.next(current, from) else { break };
            from = place + 1;
            let rule = &self.set.rules()[place];
            let progress = &mut self.progress[place];
            if rule.when.as_ref().is_some_and(|when| !when.matches(current)) {
                continue;
            }
            rule.shared.count_match();
            if !progress.admits(rule, current) {
                continue;
            }
            match act(rule, current, progress, effects) {
                Ok(done) => {
                    progress.count_act();
                    rule.shared.count_act();
                    match done {
                        Verdict::Drop => {
                            // It was not rewritten after all.
                            effects.notes.rules = vec![rule.name.clone()];
                            return Verdict::Drop;
                        }
                        Verdict::Pass => {}
                        Verdict::Replace(body) => {
                            effects.notes.rules.push(rule.name.clone());
                            let changed = changed.get_or_insert_with(|| packet.clone());
                            changed.replace_body(body.clone());
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

    fn is_active(&self) -> bool {
        self.set.rules().iter().any(|rule| rule.conditions.timer.is_some())
    }

    fn on_event(&mut self, event: SessionEvent, moment: &Moment<'_>, _effects: &mut Effects) {
        for (rule, progress) in self.set.rules().iter().zip(&mut self.progress) {
            match event {
                SessionEvent::Open => {
                    progress.due = rule.conditions.timer.map(|timer| moment.at.plus(timer));
                }
                SessionEvent::State => {}
                SessionEvent::Close => progress.due = None,
            }
        }
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.progress.iter().filter_map(|progress| progress.due).min()
    }

    fn on_timeout(&mut self, moment: &Moment<'_>, effects: &mut Effects) {
        for (rule, progress) in self.set.rules().iter().zip(&mut self.progress) {
            let Some(timer) = rule.conditions.timer else { continue };
            let Some(due) = progress.due.filter(|due| *due <= moment.at) else { continue };
            let next = due.plus(timer);
            // What was missed is not made up for.
            progress.due = Some(if next > moment.at { next } else { moment.at.plus(timer) });
            fire(rule, moment, progress, effects);
        }
    }
}

/// Acts on a timer, if the rule's conditions hold and what it sends exists in the present state.
fn fire(rule: &Rule, moment: &Moment<'_>, progress: &mut Progress, effects: &mut Effects) {
    let state = moment.states.clientbound;
    if state != moment.states.serverbound || !rule.actions.can_send(&moment.context.protocol, state)
    {
        return;
    }
    // Expressions are asked about a packet: one without content.
    let content = Content::Raw(Bytes::new(), RawReason::Injected);
    let context = Arc::clone(moment.context);
    let nothing = Packet::new(context, 0, moment.at, Direction::Clientbound, state, content);
    if rule.when.as_ref().is_some_and(|when| !when.matches(&nothing)) {
        return;
    }
    rule.shared.count_match();
    if !progress.admits(rule, &nothing) {
        return;
    }
    match act(rule, &nothing, progress, effects) {
        Ok(_) => {
            progress.count_act();
            rule.shared.count_act();
        }
        Err(why) => {
            rule.shared.count_failure();
            if !std::mem::replace(&mut progress.has_reported, true) {
                effects.messages.push(Message {
                    session: moment.context.session,
                    file: rule.name.as_str().into(),
                    text: format!("the timer failed: {why}"),
                    is_error: true,
                });
            }
        }
    }
}
