use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::judge::seconds;
use super::measured::{Measured, Ticks};
use super::observed::TICKS;
use super::sink::MAX_SESSIONS;
use super::{LagFinding, LagPlace, Share, ShareKind};
use crate::analysis::RoundTrip;
use crate::analysis::report::arrow;
use crate::text::{ByteSize, Escaped, count};
use mitmcraft_protocol::packet::{Context, Timestamp};
use mitmcraft_protocol::schema::Direction;

/// When sessions lagged and where that came from, and what was measured.
#[derive(Debug, Default)]
pub struct LagReport {
    /// What was found; at most [`MAX_FINDINGS`].
    findings: Vec<LagFinding>,
    /// The number of periods that are left out.
    left_out: u64,
    /// The first sessions, and the number of all.
    measured: Vec<Measured>,
    sessions: u64,
    /// The number of sessions that were not followed.
    passed_over: u64,
}

impl LagReport {
    /// Iterates over the periods in which sessions lagged.
    pub fn findings(&self) -> impl Iterator<Item = &LagFinding> {
        self.findings.iter()
    }

    /// Iterates over what was measured of the first sessions.
    pub fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter()
    }

    /// Removes the findings about a session, which stay in order.
    pub(super) fn remove(&mut self, session: u64) -> Vec<LagFinding> {
        self.findings.extract_if(.., |it| it.context.session == session).collect()
    }

    pub(super) fn add(&mut self, finding: LagFinding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn measure(&mut self, measured: Measured) {
        self.sessions += 1;
        if self.measured.len() < MAX_MEASURED {
            self.measured.push(measured);
        }
    }

    /// Counts a session that is not followed.
    pub(super) fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    pub(super) fn merge(&mut self, other: Self) {
        let room = MAX_FINDINGS - self.findings.len();
        self.left_out += other.left_out + other.findings.len().saturating_sub(room) as u64;
        self.findings.extend(other.findings.into_iter().take(room));
        self.sessions += other.sessions;
        self.passed_over += other.passed_over;
        let room = MAX_MEASURED - self.measured.len();
        self.measured.extend(other.measured.into_iter().take(room));
    }

    /// Appends the page: the periods with their evidence, and what was measured of each session.
    pub fn write_text(&self, out: &mut String) {
        let total = self.findings.len() as u64 + self.left_out;
        let sessions = count(self.sessions, "session");
        let _ = match total {
            0 if self.measured.iter().all(Measured::is_blind) => {
                writeln!(out, "Nothing in {sessions} tells whether it lagged.")
            }
            0 => writeln!(out, "No lag in {sessions}."),
            _ => writeln!(out, "{} of lag in {sessions}.", count(total, "period")),
        };
        if self.passed_over > 0 {
            let passed_over = count(self.passed_over, "session");
            let _ = writeln!(
                out,
                "{passed_over} not followed: {MAX_SESSIONS} others were open at the same time."
            );
        }
        for finding in self.findings.iter().take(MAX_SHOWN) {
            write_finding(out, finding);
        }
        let others = total.saturating_sub(self.findings.len().min(MAX_SHOWN) as u64);
        if others > 0 {
            let _ = writeln!(
                out,
                "\n{} more; as JSON, the first {MAX_FINDINGS} are complete.",
                count(others, "period")
            );
        }
        for measured in self.measured.iter().take(MAX_SHOWN) {
            write_measured(out, measured);
        }
        let others = self.sessions - self.measured.len().min(MAX_SHOWN) as u64;
        if others > 0 {
            let others = count(others, "session");
            let _ =
                writeln!(out, "\n{others} more; as JSON, the first {MAX_MEASURED} are complete.");
        }
    }

    /// Returns the report as JSON, with times in seconds.
    #[must_use]
    pub fn json(&self) -> Json {
        json!({
            "v": 1,
            "lag": self.findings.iter().map(LagFinding::json).collect::<Vec<_>>(),
            "lag_left_out": self.left_out,
            "sessions": self.measured.iter().map(measured_json).collect::<Vec<_>>(),
            "sessions_left_out": self.sessions - self.measured.len() as u64,
            "sessions_not_followed": self.passed_over,
        })
    }
}

impl LagFinding {
    /// Returns where the lag came from, and how certain that is: `server, likely`.
    #[must_use]
    pub fn verdict(&self) -> String {
        let place = self.place.name();
        if self.place == LagPlace::Unknown {
            let among: Vec<&str> = self.among.iter().map(|it| it.name()).collect();
            format!("{place} ({})", among.join(" or "))
        } else {
            format!("{place}, {}", self.certainty.name())
        }
    }

    /// Returns when it lagged: `2026-11-20T02:20:01.633 for 5.0 s`.
    #[must_use]
    pub fn period(&self) -> String {
        let time = seconds(self.end.since(self.begin).as_secs_f64());
        format!("{} for {time}", moment(self.begin))
    }

    /// Returns the finding as JSON, with times in seconds.
    #[must_use]
    pub fn json(&self) -> Json {
        let among: Vec<Json> =
            self.among.iter().map(|it| json!({ "where": it.key(), "leg": it.leg() })).collect();
        let evidence = self.evidence.iter();
        json!({
            "capture": self.source.as_deref(),
            "session": self.context.session,
            "player": self.context.player,
            "begin": self.begin.to_string(),
            "end": self.end.to_string(),
            "seconds": self.end.since(self.begin).as_secs_f64(),
            "where": self.place.key(),
            "leg": self.place.leg(),
            "among": among,
            "certainty": self.place.key().map(|_| self.certainty.name()),
            "reason": self.reason,
            "evidence": evidence.map(|it| json!({ "time": it.at.to_string(), "seq": it.seq, "text": it.text })).collect::<Vec<_>>(),
            "packets": self.total.0,
            "wire": self.total.1,
            "top": self.shares.iter().map(share_json).collect::<Vec<_>>(),
        })
    }
}

fn write_finding(out: &mut String, finding: &LagFinding) {
    let (period, verdict, reason) = (finding.period(), finding.verdict(), &finding.reason);
    let _ = writeln!(out, "\n{period}, {}: {verdict}\n  {reason}", session(&finding.context));
    if let Some(source) = &finding.source {
        let _ = writeln!(out, "  in {}", Escaped(source));
    }
    for it in &finding.evidence {
        let _ = writeln!(out, "  {} packet {}: {}", moment(it.at), it.seq, it.text);
    }
    let (packets, bytes) = finding.total;
    let _ = writeln!(
        out,
        "  meanwhile {}, {}; most of them:",
        count(packets, "packet"),
        ByteSize(bytes)
    );
    for kind in ShareKind::ALL {
        let of_kind: Vec<&Share> = finding.shares.iter().filter(|it| it.kind == kind).collect();
        // One player alone took everything.
        if of_kind.is_empty() || kind == ShareKind::Player && of_kind.len() == 1 {
            continue;
        }
        let words = of_kind.iter().map(|share| {
            let arrow = share.direction.map(arrow).map(String::from).unwrap_or_default();
            format!(
                "{arrow}{} {} in {}",
                Escaped(&share.name),
                ByteSize(share.bytes),
                share.packets
            )
        });
        let _ = writeln!(out, "    {:<8} {}", kind.name(), words.collect::<Vec<_>>().join("; "));
    }
}

fn write_measured(out: &mut String, measured: &Measured) {
    let Measured { context, seconds: time, server, client, chunks, .. } = measured;
    let _ = writeln!(out, "\n{}, {} in the game", session(context), seconds(*time));
    if let Some(source) = &measured.source {
        let _ = writeln!(out, "  in {}", Escaped(source));
    }
    let sides = match measured.is_partial {
        false => vec![
            ("server", server, measured.server_silence),
            ("client", client, measured.client_silence),
        ],
        true => {
            out.push_str(
                "  packets are missing from the capture: ticks and silences are unknown\n",
            );
            Vec::new()
        }
    };
    for (name, ticks, silence) in sides {
        let _ = write!(out, "  {name}: ");
        match ticks.slowest {
            Some(slowest) => {
                let _ = write!(
                    out,
                    "{:.1} ticks per second, {slowest:.1} in the slowest 10 s; packets up to {} late; ",
                    rate(ticks),
                    seconds(ticks.waited)
                );
            }
            None => out.push_str("its ticks cannot be counted; "),
        }
        let _ = writeln!(out, "silent for {} at most", seconds(silence));
    }
    for (question, trip) in &measured.trips {
        let Some(mean) = trip.mean() else { continue };
        let (there, back) = (arrow(question.asked()), arrow(question.asked().reverse()));
        let _ = writeln!(
            out,
            "  {there}{back} {}: {}, {} at most, {}",
            question.name(),
            seconds(mean.as_secs_f64()),
            seconds(trip.longest.as_secs_f64()),
            count(trip.answered, "answer")
        );
    }
    if let Some((reports, least, most)) = chunks {
        let reports = count(*reports, "report");
        let _ = writeln!(
            out,
            "  the client could take {least:.1} to {most:.1} chunks per tick, {reports}"
        );
    }
}

fn share_json(share: &Share) -> Json {
    json!({
        "kind": share.kind.name(),
        "name": share.name,
        "dir": share.direction.map(Direction::name),
        "packets": share.packets,
        "wire": share.bytes,
    })
}

fn measured_json(measured: &Measured) -> Json {
    let ticks = |ticks: &Ticks| {
        json!({
            "seconds": ticks.seconds,
            "lost": ticks.lost,
            "ticks_per_second": ticks.slowest.map(|_| rate(ticks)),
            "slowest": ticks.slowest,
            "latest": ticks.waited,
        })
    };
    let trips = measured.trips.iter().map(|(question, trip): (_, &RoundTrip)| {
        json!({
            "name": question.name(),
            "asked": question.asked().name(),
            "answered": trip.answered,
            "mean": trip.mean().map(|it| it.as_secs_f64()),
            "longest": trip.longest.as_secs_f64(),
        })
    });
    let (chunks, is_known) = (measured.chunks, !measured.is_partial);
    json!({
        "capture": measured.source.as_deref(),
        "session": measured.context.session,
        "player": measured.context.player,
        "seconds": measured.seconds,
        "partial": measured.is_partial,
        "server": is_known.then(|| ticks(&measured.server)),
        "client": is_known.then(|| ticks(&measured.client)),
        "server_silence": is_known.then_some(measured.server_silence),
        "client_silence": is_known.then_some(measured.client_silence),
        "answers": trips.collect::<Vec<_>>(),
        "chunks_per_tick": chunks.map(|(reports, least, most)| json!({ "reports": reports, "least": least, "most": most })),
    })
}

/// The ticks per second of a clock.
fn rate(ticks: &Ticks) -> f64 {
    TICKS * (1.0 - ticks.lost / ticks.seconds.max(ticks.lost).max(1.0))
}

fn session(context: &Context) -> String {
    let mut name = format!("#{}", context.session);
    if let Some(player) = &context.player {
        let _ = write!(name, " {}", Escaped(player));
    }
    name
}

/// Returns a moment up to its milliseconds.
fn moment(at: Timestamp) -> String {
    at.to_string().chars().take(MILLIS).collect()
}

/// Characters of a moment up to its milliseconds.
const MILLIS: usize = 23;

/// Periods that are kept.
const MAX_FINDINGS: usize = 1000;

/// Sessions whose measurements are kept.
const MAX_MEASURED: usize = 200;

/// Periods, and sessions, that the page has.
const MAX_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lint::tests::context;
    use crate::report::Certainty;

    #[test]
    fn neighbouring_periods_keep_what_was_found_of_each() {
        let context = Arc::new(context(340));
        let finding = |among: LagPlace, reason: &str, begin, end, packets| LagFinding {
            source: None,
            context: Arc::clone(&context),
            begin: Timestamp(begin),
            end: Timestamp(end),
            place: LagPlace::Unknown,
            among: vec![among, LagPlace::ClientNetwork],
            certainty: Certainty::Possible,
            reason: reason.to_owned(),
            evidence: Vec::new(),
            shares: Vec::new(),
            total: (packets, 10 * packets),
        };
        let mut report = LagReport::default();
        report.add(finding(LagPlace::ServerNetwork, "both stood still", 0, 5_000_000_000, 3));
        // It overlaps, and has packets of the other.
        report.add(finding(LagPlace::Client, "late", 4_000_000_000, 9_000_000_000, 4));
        let found = report.findings().map(|it| (it.among[0], &*it.reason, it.total));
        let first = (LagPlace::ServerNetwork, "both stood still", (3, 30));
        assert_eq!(found.collect::<Vec<_>>(), [first, (LagPlace::Client, "late", (4, 40))]);
    }
}
