//! Rules with `timer`.

use super::*;
use crate::filter::{Moment, SessionEvent};
use mitmcraft_protocol::schema::PerDirection;

/// A session that is judged at its timers.
struct Timed {
    pipeline: Pipeline,
    set: RuleSet,
    context: Arc<Context>,
    states: PerDirection<State>,
}

impl Timed {
    fn new(text: &str) -> Self {
        let (pipeline, set) = rules(text);
        let states = PerDirection::new(State::Play, State::Play);
        Self { pipeline, set, context: Arc::new(context()), states }
    }

    fn moment(&self, millis: u64) -> Moment<'_> {
        let at = Timestamp(millis * 1_000_000);
        Moment { at, context: &self.context, states: self.states }
    }

    fn open(mut self, millis: u64) -> Self {
        let (at, context, states) =
            (Timestamp(millis * 1_000_000), Arc::clone(&self.context), self.states);
        self.pipeline.on_event(SessionEvent::Open, &Moment { at, context: &context, states });
        self
    }

    /// Returns the effects at the next timer, and its time in milliseconds.
    fn next(&mut self) -> (u64, Effects) {
        let at = self.pipeline.poll_timeout().unwrap();
        let (context, states) = (Arc::clone(&self.context), self.states);
        let effects = self.pipeline.on_timeout(&Moment { at, context: &context, states });
        (at.0 / 1_000_000, effects)
    }

    /// Returns the times before `end` at which something is sent.
    fn sent(&mut self, end: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while self.pipeline.poll_timeout().is_some_and(|at| at.0 < end * 1_000_000) {
            let (at, effects) = self.next();
            if !effects.sends.is_empty() {
                times.push(at);
            }
        }
        times
    }
}

fn every_second(more: &str) -> String {
    format!(
        "[[rule]]\ntimer = '1s'\n{more}\n\
         send = {{ to = 'client', packet = 'chat', fields = {{ message = 'tick', position = 0 }} }}"
    )
}

#[test]
fn a_timer_acts_at_its_interval_from_the_opening_on_and_not_on_packets() {
    let mut timed = Timed::new(&every_second("")).open(250);
    assert!(timed.pipeline.is_active());
    assert!(!timed.pipeline.wants(&chat_at(300, "x")));
    let (at, effects) = timed.next();
    assert_eq!(
        (at, effects.sends.len(), effects.sends[0].direction),
        (1250, 1, Direction::Clientbound)
    );
    assert_eq!(effects.sends[0].rule.as_deref(), Some("rule 1"));
    assert_eq!(timed.sent(5000), [2250, 3250, 4250]);
    let count = &timed.set.counts()[0];
    assert_eq!((count.matched, count.acted, count.failed), (4, 4, 0));
}

#[test]
fn the_other_conditions_hold_for_timers_too() {
    for (more, wanted) in [
        ("after = '3s'", &[3000, 4000, 5000, 6000][..]),
        ("after = '2s'\nfor = '2s'", &[2000, 3000]),
        ("limit = 2", &[1000, 2000]),
        ("once_per = 'player'", &[1000]),
        ("chance = 0", &[]),
        (
            "when = 'play and session.player == \"Steve\" and pkt.protocol == 47'",
            &[1000, 2000, 3000, 4000, 5000, 6000],
        ),
        ("when = 'session.player == \"Alex\"'", &[]),
    ] {
        assert_eq!(Timed::new(&every_second(more)).open(0).sent(6500), wanted, "{more}");
    }
}

/// A packet of `play` is not sent in the login, and nothing is while the directions differ.
#[test]
fn a_timer_waits_until_its_packets_exist() {
    let mut timed = Timed::new(&every_second("")).open(0);
    timed.states = PerDirection::new(State::Login, State::Login);
    assert_eq!(timed.sent(2500), Vec::<u64>::new());
    timed.states.clientbound = State::Play;
    assert_eq!(timed.sent(4500), Vec::<u64>::new());
    timed.states.serverbound = State::Play;
    assert_eq!(timed.sent(6500), [5000, 6000]);
    assert_eq!(timed.set.counts()[0].matched, 2);
}

#[test]
fn what_was_missed_is_not_made_up_for() {
    let mut timed = Timed::new(&every_second("")).open(0);
    let late = timed.moment(10_400).at;
    let (context, states) = (Arc::clone(&timed.context), timed.states);
    let effects = timed.pipeline.on_timeout(&Moment { at: late, context: &context, states });
    assert_eq!(effects.sends.len(), 1);
    assert_eq!(timed.sent(13_000), [11_400, 12_400]);
}

#[test]
fn a_timer_that_fails_is_counted_and_reported_once() {
    let text = "[[rule]]\nname = 'x'\ntimer = '1s'\nclose = '=\"by \" + message'";
    let checked = RuleSet::parse(text, Catalog::embedded());
    assert!(checked.faults.is_empty() || checked.rules.is_some(), "{:?}", checked.faults);
    let mut timed = Timed::new(text).open(0);
    let (_, effects) = timed.next();
    assert!(effects.messages[0].text.starts_with("the timer failed: "), "{effects:?}");
    assert_eq!((effects.messages[0].is_error, effects.close.clone()), (true, None));
    assert_eq!(timed.next().1, Effects::default());
    assert_eq!(timed.set.counts()[0].failed, 2);
}

#[test]
fn a_timer_ends_the_session_with_its_reason() {
    let mut timed = Timed::new("[[rule]]\ntimer = '1h'\nclose = '=session.player'").open(0);
    let (at, effects) = timed.next();
    assert_eq!((at, effects.close.as_deref()), (3_600_000, Some("Steve")));
}

#[test]
fn what_needs_a_packet_is_an_error() {
    for (rule, wanted) in [
        ("drop = true", "`drop` needs a packet; a rule with `timer` has none"),
        ("every = 2\nclose = 'x'", "`every` needs a packet; a rule with `timer` has none"),
        ("tag = 'x'", "`tag` needs a packet; a rule with `timer` has none"),
        ("when = 'chat'\nclose = 'x'", "this asks about a packet; a rule with `timer` has none"),
        ("when = 'message == \"x\"'\nclose = 'x'", "this asks about a packet"),
        (
            "send = { to = 'client', packet = 'chat', place = 'before' }",
            "`place` needs a packet; a rule with `timer` has none",
        ),
        ("", "this rule has no action"),
    ] {
        let text = format!("[[rule]]\ntimer = '1s'\n{rule}");
        let faults = RuleSet::parse(&text, Catalog::embedded()).faults;
        let faults: Vec<String> = faults.iter().map(|fault| fault.render("f")).collect();
        assert!(faults.iter().any(|fault| fault.contains(wanted)), "{rule}: {faults:?}");
    }
    let short = RuleSet::parse("[[rule]]\ntimer = '9ms'\nclose = 'x'", Catalog::embedded());
    assert!(short.faults[0].render("f").contains("the shortest interval of a timer is 10 ms"));
}
