use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::causes::is_own_decision;
use super::{Certainty, Ending, Evidence, Watched, causes, ending_of};
use crate::analysis::LagFinding;
use crate::report::{Around, Case, Report, Suite, Verdict};
use crate::text::{Escaped, LineOptions, count};
use mitmcraft_protocol::packet::{Context, Packet};

/// How the sessions of captures ended, and why.
#[derive(Debug, Default)]
pub struct ExplainReport {
    /// The sessions, in the order in which they ended; at most 10,000.
    pub sessions: Vec<Explained>,
    /// The sessions beyond those, and how many of them ended otherwise than expected.
    pub omitted: (u64, u64),
    /// The bytes of the packets in the evidence.
    kept: usize,
}

/// How a session ended, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// The capture; `None` if it is not known.
    pub source: Option<Arc<str>>,
    /// What was known of the session at its end.
    pub context: Arc<Context>,
    /// How it ended.
    pub ending: Ending,
    /// What speaks for a cause, the most certain first; at most ten.
    pub evidence: Vec<Evidence>,
    /// The last period in which the session lagged, if that was over for less than 30 s, or not at all.
    pub lag: Option<LagFinding>,
}

impl Explained {
    /// Explains a session that has ended, and that lagged in these periods.
    pub(super) fn of(mut session: Watched, lag: Vec<LagFinding>) -> Self {
        // What was left open, such as a bundle, is judged at the end.
        let _ = crate::capture::Sink::finish(&mut session.linter);
        let ending = Ending::of(&session);
        let mut evidence = causes(&session, &ending);
        evidence.truncate(MOST_EVIDENCE);
        let ending = ending_of(ending, &evidence);
        let end = session.end();
        let lag = lag.into_iter().max_by_key(|it| it.end);
        let lag = lag.filter(|it| end.since(it.end) < LAGGED_WITHIN);
        let Watched { source, context, .. } = session;
        Self { source, context, ending, evidence, lag }
    }

    /// Returns whether it ended as sessions end without a fault.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        self.ending.kind.is_expected()
    }

    /// Returns one line: the session, how it ended, and the likely cause.
    #[must_use]
    pub fn headline(&self) -> String {
        let Context { session, player, .. } = &*self.context;
        let source =
            self.source.as_ref().map(|it| format!("{}, ", Escaped(it))).unwrap_or_default();
        let player = player.as_ref().map(|it| format!(" ({})", Escaped(it))).unwrap_or_default();
        let version = Escaped(self.context.game_version());
        let seconds = self.ending.after.as_secs_f64();
        let how = self.ending.describe();
        let how = Escaped(&how);
        let verdict = match self.evidence.first() {
            Some(first) if is_own_decision(first) => {
                format!("nothing is wrong with its packets; packet {}", first.seq)
            }
            Some(Evidence { certainty, seq, finding }) => {
                let cause = match certainty {
                    Certainty::Certain => "cause",
                    Certainty::Likely => "likely cause",
                    Certainty::Possible => "possible cause",
                };
                format!("{cause}: packet {seq}, {}", finding.rule)
            }
            None if self.is_expected() => "nothing is wrong".to_owned(),
            None => "no cause found".to_owned(),
        };
        format!("{source}session {session}{player}, {version}, {seconds:.3} s: {verdict}; {how}")
    }

    /// Returns the explanation as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let Ending { kind, after, reason, words } = &self.ending;
        let known = words.as_ref().and_then(|it| it.known);
        let evidence = self.evidence.iter().map(|it| {
            let mut json = it.finding.json();
            json["certainty"] = it.certainty.name().into();
            json["seq"] = it.seq.into();
            json
        });
        json!({
            "capture": self.source.as_deref(),
            "session": self.context.session,
            "player": self.context.player,
            "version": self.context.game_version(),
            "seconds": after.as_secs_f64(),
            "ended": kind.name(),
            "by": self.ending.by(),
            "expected": kind.is_expected(),
            "reason": reason,
            "words": words.as_ref().map(super::Words::text),
            "key": known.and_then(|it| it.key.as_deref()),
            "topic": known.map(|it| it.topic.name()),
            "seq": words.as_ref().and_then(|it| it.packet.as_ref()).map(|it| it.packet.seq()),
            "evidence": evidence.collect::<Json>(),
            "lag": self.lag.as_ref().map(LagFinding::json),
        })
    }

    fn write_text(&self, out: &mut String, options: &LineOptions) {
        let _ = writeln!(out, "{}", self.headline());
        for Evidence { certainty, seq, finding } in &self.evidence {
            let (rule, reason) = (&finding.rule, Escaped(&finding.reason));
            let times = if finding.count > 1 {
                format!(", {} packets", finding.count)
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                "  {certainty}: packet {seq}, {rule}{times}: {reason}",
                certainty = certainty.name()
            );
            finding.write_packets(out, options);
            if let Some(seen) = finding.player_sees {
                let _ = writeln!(out, "    the player sees: {seen}");
            }
        }
        if let Some(lag) = &self.lag {
            let (period, verdict, reason) = (lag.period(), lag.verdict(), &lag.reason);
            let _ = writeln!(out, "  lag: {period}: {verdict}: {reason}");
        }
    }

    fn case(&self, options: &LineOptions) -> Case {
        let (kind, headline) = (self.ending.kind, self.headline());
        let verdict = if kind.is_expected() { Verdict::Passed } else { Verdict::Failed };
        let mut case = Case::new(format!("session {}", self.context.session), verdict, headline);
        if verdict == Verdict::Failed {
            self.write_text(&mut case.text, options);
        }
        case
    }
}

impl ExplainReport {
    /// Adds a session.
    pub(super) fn add(&mut self, mut session: Explained) {
        if self.sessions.len() >= MOST_SESSIONS {
            self.omitted.0 += 1;
            self.omitted.1 += u64::from(!session.is_expected());
            return;
        }
        for evidence in &mut session.evidence {
            let size = evidence.packet().map_or(0, Packet::memory);
            if self.kept + size > MOST_KEPT {
                evidence.finding.around = Around::default();
            } else {
                self.kept += size;
            }
        }
        self.sessions.push(session);
    }

    /// Adds the sessions of a report of captures that follow.
    pub(super) fn merge(&mut self, other: Self) {
        other.sessions.into_iter().for_each(|session| self.add(session));
        self.omitted.0 += other.omitted.0;
        self.omitted.1 += other.omitted.1;
    }

    /// Returns the number of sessions, and of those that ended otherwise than expected.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let unexpected = self.sessions.iter().filter(|it| !it.is_expected()).count();
        let (more, bad) = self.omitted;
        (self.sessions.len() as u64 + more, unexpected as u64 + bad)
    }
}

impl Report for ExplainReport {
    /// Returns whether every session ended as sessions end without a fault.
    fn passed(&self) -> bool {
        self.counts().1 == 0
    }

    fn json(&self) -> Json {
        let (sessions, unexpected) = self.counts();
        json!({
            "count": sessions,
            "unexpected": unexpected,
            "omitted": self.omitted.0,
            "sessions": self.sessions.iter().map(Explained::json).collect::<Json>(),
        })
    }

    /// Appends each session with its evidence.
    fn write_text(&self, out: &mut String, options: &LineOptions) {
        self.sessions.iter().for_each(|session| session.write_text(out, options));
        let (sessions, unexpected) = self.counts();
        if sessions != 1 {
            let _ =
                writeln!(out, "{}, {unexpected} ended unexpectedly", count(sessions, "session"));
        }
        if self.omitted.0 > 0 {
            let _ = writeln!(out, "{} not listed", count(self.omitted.0, "session"));
        }
    }

    /// Returns a suite for each capture, with a case for each session.
    fn suites(&self, options: &LineOptions) -> Vec<Suite> {
        let mut suites: Vec<Suite> = Vec::new();
        for session in &self.sessions {
            let name = session.source.as_deref().unwrap_or("capture");
            if suites.last().is_none_or(|last| last.name != name) {
                suites.push(Suite { name: name.to_owned(), cases: Vec::new() });
            }
            if let Some(suite) = suites.last_mut() {
                suite.cases.push(session.case(options));
            }
        }
        suites
    }
}

/// The time before the end of a session in which lag can have to do with it.
const LAGGED_WITHIN: Duration = Duration::from_secs(30);

/// The most sessions that a report lists.
const MOST_SESSIONS: usize = 10_000;

/// The most pieces of evidence of a session.
const MOST_EVIDENCE: usize = 10;

/// The most bytes of packets that a report keeps.
const MOST_KEPT: usize = 64 << 20;
