//! Generated rules.

use proptest::prelude::*;

use crate::filter::RuleSet;
use mitmcraft_protocol::schema::Catalog;

/// Conditions of generated rules.
const CONDITIONS: [&str; 24] = [
    "serverbound",
    "clientbound",
    "play and clientbound",
    "play and serverbound",
    "state.login or state.handshaking",
    "state.configuration",
    "state.status",
    "chat or chat_message",
    "chat_command",
    "player_chat",
    "bundle_delimiter",
    "login_start",
    "success",
    "set_protocol",
    "encryption_begin",
    "ping_start or ping",
    "server_info",
    "pkt.size < 20",
    "pkt.error",
    "keep_alive",
    "kick_disconnect or disconnect",
    "transfer or start_configuration",
    "chat_session_update or server_data or login",
    "compress or finish_configuration or login_acknowledged",
];

/// Actions of generated rules.
pub(super) const ACTIONS: [&str; 16] = [
    "drop = true",
    "delay = '30ms'",
    "delay = '20ms'\nreorder = true",
    "copy = 2",
    "close = 'enough'",
    "comment = 'seen'",
    "log = false",
    "tag = 'tagged'",
    "replace = { hex = '00' }",
    "replace = { hex = '0501020304' }",
    "send = [{ to = 'client', raw = '0102' }]",
    "send = [{ to = 'server', raw = 'ff', place = 'before' }]",
    "send = [{ to = 'client', packet = 'keep_alive', fields = { keepAliveId = 5 } }]",
    "send = [{ to = 'client', packet = 'bundle_delimiter' }]",
    "drop = true\nsend = [{ to = 'server', raw = '0a', place = 'before' }, { to = 'client', raw = '0b' }]",
    "delay = '10ms'\ncopy = 1\ncomment = 'late'",
];

/// Limits of generated rules.
const LIMITS: [&str; 6] =
    ["", "", "every = 2", "limit = 1", "chance = 0.5", "once_per = 'session'\nafter = '100ms'"];

/// A filter file of rules given by numbers. Rules that the checker rejects are left out; so are
/// delays in a file that closes sessions: a live session that is closed while packets wait for a
/// delay records the bytes after them undecoded, which a capture of whole packets cannot show.
pub(super) fn filter_file(rules: &[(usize, usize, usize)]) -> String {
    let mut file = String::new();
    let closes = rules.iter().any(|(_, action, _)| ACTIONS[*action].starts_with("close"));
    for (place, (condition, action, limit)) in rules.iter().enumerate() {
        let condition = CONDITIONS[condition % CONDITIONS.len()];
        let action = ACTIONS[action % ACTIONS.len()];
        let limit = LIMITS[limit % LIMITS.len()];
        if closes && action.contains("delay") {
            continue;
        }
        let rule =
            format!("[[rule]]\nname = 'rule {place}'\nwhen = \"{condition}\"\n{action}\n{limit}\n");
        if RuleSet::parse(&rule, Catalog::embedded()).rules.is_some() {
            file += &rule;
        }
    }
    file
}

#[test]
fn every_condition_action_and_limit_of_generated_rules_is_accepted() {
    let parse = |rule: &str| {
        let checked = RuleSet::parse(rule, Catalog::embedded());
        assert!(checked.rules.is_some(), "{rule}\n{:?}", checked.faults);
    };
    for condition in CONDITIONS {
        parse(&format!("[[rule]]\nwhen = \"{condition}\"\ncomment = 'seen'\n"));
    }
    for action in ACTIONS {
        parse(&format!("[[rule]]\nwhen = 'serverbound'\n{action}\n"));
    }
    for limit in LIMITS {
        parse(&format!("[[rule]]\nwhen = 'serverbound'\ncomment = 'seen'\n{limit}\n"));
    }
}

pub(super) fn rules() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    prop::collection::vec((0..CONDITIONS.len(), 0..ACTIONS.len(), 0..LIMITS.len()), 1..5)
}
