use std::io;

use super::Acquaintance;
use super::ending::{is_cut, is_kick, is_lost, is_stopped};
use crate::capture::{Entry, Event, EventKind, Record, Sink as _};
use crate::lang::Expr;
use crate::lint::{LintSide, Linter};
use mitmcraft_protocol::meaning::Breach;
use mitmcraft_protocol::packet::Undecoded;
use mitmcraft_protocol::wire::named;

/// Decides which entries cause an incident file.
#[derive(Debug, Default)]
pub struct Tripwire {
    /// Also triggers on packets that match; `None` if the user gave no expression.
    pub condition: Option<Expr>,
}

named! {
    /// The reason why an incident file is written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Trigger {
        /// The server told the client to leave.
        Kick => "kick",
        /// A peer closed its connection, or the proxy ended the session.
        Disconnect => "disconnect",
        /// The connection to a peer broke.
        Reset => "reset",
        /// A packet does not decode.
        Undecodable => "undecodable",
        /// A packet certainly breaks a rule of the game.
        Finding => "finding",
        /// A packet matches the user's expression.
        Expression => "expression",
    }

    /// All of them.
    pub const ALL;

    /// Returns the name in files: `kick`.
    pub fn name;
}

impl Tripwire {
    /// Judges an entry of a session of a player. Returns the rule that a packet breaks as well.
    #[must_use]
    pub fn judge(&self, entry: &Entry, known: &Acquaintance) -> Option<(Trigger, Option<String>)> {
        match entry {
            _ if !known.has_player => None,
            Entry::Packet(record) => self.judge_packet(entry, record),
            Entry::Event(Event { kind: EventKind::Close(summary), .. }) => {
                let reason = &*summary.reason;
                let trigger = if is_stopped(reason) || is_cut(reason) {
                    return None;
                } else if known.is_kicked || is_kick(reason) {
                    Trigger::Kick
                } else if is_lost(reason) {
                    Trigger::Reset
                } else {
                    Trigger::Disconnect
                };
                Some((trigger, None))
            }
            Entry::Event(_) => None,
        }
    }

    fn judge_packet(&self, entry: &Entry, record: &Record) -> Option<(Trigger, Option<String>)> {
        let packet = &record.packet;
        let matches = || {
            let is_met = self.condition.as_ref().is_some_and(|it| it.matches(record));
            is_met.then_some((Trigger::Expression, None))
        };
        // The description of another version proves nothing.
        if !record.outcome.came() || packet.context().guess {
            return matches();
        }
        let error = packet.error();
        if error.is_none() && packet.noted().is_empty() && Breach::of_inflated(packet).is_none() {
            return matches();
        }
        let is_undecodable = matches!(error, Some(Undecoded::Codec(_) | Undecoded::Decode(_)));
        let rule = certain_rule(entry).ok().flatten();
        match rule {
            Some(rule) if is_undecodable => Some((Trigger::Undecodable, Some(rule))),
            Some(rule) => Some((Trigger::Finding, Some(rule))),
            None => matches(),
        }
    }
}

/// Returns the first rule that a packet certainly breaks, as it is known by itself.
fn certain_rule(entry: &Entry) -> io::Result<Option<String>> {
    let mut linter = Linter::brief(LintSide::Both);
    linter.write(entry)?;
    let found = linter.report().findings.into_iter().find(|finding| finding.certain);
    Ok(found.map(|finding| finding.rule.into_owned()))
}
