//! A live session with rules, and the offline replay of the same session through the same rules,
//! must record the same entries.

mod comparison;
mod rules;
mod scripts;

use proptest::prelude::*;
use proptest::test_runner::{Config as Cases, RngAlgorithm, TestRng, TestRunner};

use crate::capture::{Entry, EventKind};
use comparison::query;
pub(super) use comparison::{compare, offline, recorded};
use rules::{filter_file, rules};
use scripts::{Script, alpha, choices, java, legacy_ping, logins};

fn check(script: &Script, rules: &[(usize, usize, usize)]) -> Result<(), TestCaseError> {
    let file = filter_file(rules);
    let bare = script.live("");
    let offline = offline(recorded(&bare), &file);
    compare(&script.live(&file), &offline, &file)
}

fn runner(cases: u32) -> TestRunner {
    let config = Cases { cases, failure_persistence: None, ..Cases::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// The number of sessions per generation. Set `DIFFERENTIAL_CASES` to a larger number for a longer
/// search.
fn cases() -> u32 {
    std::env::var("DIFFERENTIAL_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(100)
}

#[test]
fn rules_do_offline_to_sessions_since_1_7_what_they_do_live() {
    let sessions = (logins(), choices(), rules());
    let tried = runner(cases())
        .run(&sessions, |(login, choices, rules)| check(&java(login, &choices), &rules));
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rules_do_offline_to_sessions_of_alpha_what_they_do_live() {
    let sessions = (1..7, choices(), rules());
    let tried = runner(cases())
        .run(&sessions, |(version, choices, rules)| check(&alpha(version, &choices), &rules));
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rules_do_offline_to_pings_from_before_1_7_what_they_do_live() {
    let sessions = (0..3usize, 1..900u64, any::<bool>(), rules());
    let tried = runner(cases()).run(&sessions, |(form, after, refused, rules)| {
        let closes = filter_file(&rules).contains("close");
        check(&legacy_ping(form, if closes { after + 500 } else { after }, refused), &rules)
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn rules_do_offline_to_queries_what_they_do_live() {
    let datagrams = prop::collection::vec((any::<bool>(), any::<u8>(), 0..60u64), 1..12);
    let tried = runner(cases()).run(&(datagrams, rules()), |(datagrams, rules)| {
        let file = filter_file(&rules);
        // After a rule has closed a live session, the next datagram begins another one.
        let live = query(&datagrams, &file);
        let close = live.iter().position(|entry| match entry {
            Entry::Event(event) => matches!(event.kind, EventKind::Close(_)),
            Entry::Packet(_) => false,
        });
        let first = close.map_or(live.len(), |close| close + 1);
        compare(&live[..first], &offline(recorded(&query(&datagrams, "")), &file), &file)
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}
