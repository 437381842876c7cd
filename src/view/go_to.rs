use std::time::Duration;

use thiserror::Error;

use super::List;
use crate::store::Snapshot;
use mitmcraft_protocol::packet::Timestamp;

/// Finds the packet that a person goes to: by its number, or the one of the list that is nearest to a time. It looks at
/// the packets that were stored when it began, in slices.
#[derive(Debug)]
pub struct GoTo {
    goal: Goal,
    /// The session that numbers belong to.
    session: u64,
    snapshot: Snapshot,
    /// The next row.
    from: u64,
    /// The best row so far, behind its distance from the goal.
    best: Option<(u64, u64)>,
    /// The first and the last number in the session.
    numbers: Option<(u64, u64)>,
}

/// The reason why there is no packet to go to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GoToError {
    /// No packet is stored.
    #[error("there are no packets to go to")]
    NoPackets,
    /// The text is neither a number nor a time.
    #[error(
        "expected a packet's number (`452`), seconds since its session began (`12.5 s`), or a time (`14:05:30`)"
    )]
    Syntax,
    /// No session has a packet with this number.
    #[error("there is no packet {number}: session {session} has {first} to {last}")]
    NoSuchNumber {
        /// The number that was asked for.
        number: u64,
        /// The session from which the person goes.
        session: u64,
        /// The lowest number of a packet in the session.
        first: u64,
        /// The highest number of a packet in the session.
        last: u64,
    },
    /// The list has no packet that could be near to a time.
    #[error("the list has no packet to go to")]
    NoneListed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Goal {
    /// The packet with this number; one of another session only if its own has none.
    Number(u64),
    /// The packet nearest to a time.
    Time(Timestamp),
    /// The packet of the session nearest to a time.
    TimeInSession(Timestamp),
}

impl GoTo {
    /// Reads where a person goes to, who is at `row` and whose clock is `zone` minutes ahead of UTC.
    ///
    /// # Errors
    /// [`GoToError::Syntax`], or [`GoToError::NoPackets`] if none is stored.
    pub fn new(text: &str, list: &List, row: Option<u64>, zone: i64) -> Result<Self, GoToError> {
        let snapshot = list.snapshot().clone();
        let from = snapshot.first();
        let row = row.filter(|row| snapshot.row(*row).is_some()).unwrap_or(from);
        let here = snapshot.row(row).zip(snapshot.context(row));
        let Some((at, context)) = here.map(|(row, context)| (row.at, context)) else {
            return Err(GoToError::NoPackets);
        };
        let goal = Goal::parse(text.trim(), at, context.opened, zone).ok_or(GoToError::Syntax)?;
        let session = context.session;
        Ok(Self { goal, session, snapshot, from, best: None, numbers: None })
    }

    /// Rows that are looked at before anything else gets its turn.
    pub const SLICE: u64 = 1 << 18;

    /// Looks at about `rows` more packets. Returns the row to go to, or why there is none, once that is known.
    pub fn advance(&mut self, list: &List, rows: u64) -> Option<Result<u64, GoToError>> {
        let is_listed = |row: u64| list.matches().has(row);
        if !matches!(self.goal, Goal::Number(_)) && !list.is_complete() {
            return None;
        }
        let until = self.snapshot.end().min(self.from.saturating_add(rows));
        for number in self.from..until {
            let Some(row) = self.snapshot.row(number) else { continue };
            let session = self.snapshot.context(number).map(|it| it.session);
            let own = session == Some(self.session);
            let distance = match self.goal {
                Goal::Number(wanted) => {
                    if own {
                        let seq = row.seq();
                        self.numbers = Some((self.numbers.map_or(seq, |(first, _)| first), seq));
                    }
                    match row.seq() == wanted {
                        true if own => return Some(Ok(number)),
                        true => 0,
                        false => continue,
                    }
                }
                Goal::TimeInSession(_) if !own => continue,
                Goal::Time(at) | Goal::TimeInSession(at) if is_listed(number) => {
                    at.0.abs_diff(row.at.0)
                }
                Goal::Time(_) | Goal::TimeInSession(_) => continue,
            };
            if self.best.is_none_or(|(best, _)| distance < best) {
                self.best = Some((distance, number));
            }
        }
        self.from = until;
        (until == self.snapshot.end()).then(|| self.outcome())
    }

    fn outcome(&self) -> Result<u64, GoToError> {
        match (self.best, self.goal, self.numbers) {
            (Some((_, row)), ..) => Ok(row),
            (None, Goal::Number(number), Some((first, last))) => {
                Err(GoToError::NoSuchNumber { number, session: self.session, first, last })
            }
            _ => Err(GoToError::NoneListed),
        }
    }
}

impl Goal {
    /// Reads a goal. A time without a date is one of the day of `at`; seconds are since `opened`.
    fn parse(text: &str, at: Timestamp, opened: Timestamp, zone: i64) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Self::Number(number));
        }
        if let Some(at) = Timestamp::parse(text) {
            return Some(Self::Time(at));
        }
        let duration =
            |seconds: &str| Duration::try_from_secs_f64(seconds.trim().parse().ok()?).ok();
        let nanos = |duration: Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
        if !text.contains(':') {
            let since = nanos(duration(text.strip_suffix('s').unwrap_or(text))?);
            return Some(Self::TimeInSession(timestamp(i128::from(opened.0) + since)));
        }
        let mut parts = text.split(':');
        let mut part = |most: u32| parts.next()?.parse::<u32>().ok().filter(|it| *it < most);
        let minutes = 60 * part(24)? + part(60)?;
        let seconds = parts.next().map_or(Some(Duration::ZERO), duration)?;
        if parts.next().is_some() || seconds.as_secs() >= 60 {
            return None;
        }
        let zone = i128::from(zone) * MINUTE;
        let local = i128::from(at.0) + zone;
        let midnight = local - local.rem_euclid(24 * 60 * MINUTE);
        let local = midnight + i128::from(minutes) * MINUTE + nanos(seconds);
        Some(Self::Time(timestamp(local - zone)))
    }
}

fn timestamp(nanos: i128) -> Timestamp {
    Timestamp(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}

/// A minute in nanoseconds.
const MINUTE: i128 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_seconds_and_times_are_told_apart() {
        let time = |text: &str| Timestamp::parse(text).unwrap();
        let (at, opened) = (time("2026-11-21T23:30:00Z"), time("2026-11-21T23:00:00Z"));
        let parse = |text, zone| Goal::parse(text, at, opened, zone);
        let in_session = |text| Some(Goal::TimeInSession(time(text)));
        assert_eq!(parse("452", 0), Some(Goal::Number(452)));
        assert_eq!(parse("12.5", 0), in_session("2026-11-21T23:00:12.5Z"));
        assert_eq!(parse("3 s", 0), in_session("2026-11-21T23:00:03Z"));
        for (text, zone, expected) in [
            ("2026-11-20T00:00:00Z", 60, "2026-11-20T00:00:00Z"),
            ("14:05", 0, "2026-11-21T14:05:00Z"),
            ("14:05:30.25", 0, "2026-11-21T14:05:30.25Z"),
            // The next day has begun there.
            ("00:31", 60, "2026-11-21T23:31:00Z"),
            ("14:05", -300, "2026-11-21T19:05:00Z"),
        ] {
            assert_eq!(parse(text, zone), Some(Goal::Time(time(expected))), "{text}");
        }
        for text in ["", "x", "-1", "24:00", "12:60", "12:00:60", "1:2:3:4", "12:", "1e99 s"] {
            assert_eq!(parse(text, 0), None, "{text}");
        }
    }
}
