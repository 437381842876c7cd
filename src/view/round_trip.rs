use std::time::Duration;

use crate::store::Snapshot;
use mitmcraft_engine::analysis::{Exchange, ExchangeRole};
use mitmcraft_engine::capture::Outcome;

/// The other packet of a request and its answer, such as a keep-alive and that of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Its row.
    pub row: u64,
    /// Its number in the session.
    pub seq: u64,
    /// `true` if it is the request.
    pub is_request: bool,
    /// The time between the two.
    pub took: Duration,
}

impl RoundTrip {
    /// Finds the request that the packet of a row answers, or the answer to it, among the packets around it.
    #[must_use]
    pub fn of(snapshot: &Snapshot, row: u64) -> Option<Self> {
        let session = snapshot.context(row)?.session;
        let role = role(snapshot, row).filter(|_| may_have_role(snapshot, row, session))?;
        let other = |rows: &mut dyn Iterator<Item = u64>, exchange, is_request| {
            let candidates =
                rows.take(MAX_LOOKED).filter(|row| may_have_role(snapshot, *row, session));
            let found = candidates.take(MAX_READ).find_map(|row| {
                let other = self::role(snapshot, row)?;
                let (wanted, same) = match is_request {
                    true => (other.asks, other.answers),
                    false => (other.answers, other.asks),
                };
                let is = |it| other.number == role.number && it == Some(exchange);
                // If one of its own kind comes first, the number was used again.
                (is(wanted) || is(same)).then(|| Some(row).filter(|_| is(wanted)))
            })??;
            let [one, other] = [row, found].map(|row| snapshot.row(row));
            let (at, other) = (one?.at, other?);
            let took = at.since(other.at).max(other.at.since(at));
            Some(Self { row: found, seq: other.seq(), is_request, took })
        };
        let before: &mut dyn Iterator<Item = u64> = &mut (snapshot.first()..row).rev();
        let after: &mut dyn Iterator<Item = u64> = &mut (row + 1..snapshot.end());
        let request = role.answers.and_then(|it| other(before, it, true));
        request.or_else(|| other(after, role.asks?, false))
    }
}

/// Returns whether a packet of a session came from a peer and is of a type that belongs to exchanges.
fn may_have_role(snapshot: &Snapshot, row: u64, session: u64) -> bool {
    snapshot.kind(row).is_some_and(Exchange::has)
        && snapshot.context(row).is_some_and(|it| it.session == session)
        && snapshot.row(row).is_some_and(|it| it.outcome() != Outcome::Send)
}

/// Returns the role of a packet in exchanges, for which its body is read.
fn role(snapshot: &Snapshot, row: u64) -> Option<ExchangeRole> {
    Exchange::role(&snapshot.record(row)?.packet)
}

/// Most packets among which the other one is looked for.
const MAX_LOOKED: usize = 100_000;

/// Most packets whose bodies are read for that: a peer can ask without an end, and nobody answer.
const MAX_READ: usize = 1000;
