use std::sync::Arc;

use super::List;
use crate::store::{Snapshot, Store};
use mitmcraft_engine::lang::Expr;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::Catalog;

/// Returns the list of the packets that people have sent, and of those in whose place they have sent an edited one, in
/// all sessions of a store: captures keep them, with the comment that says so.
#[must_use]
pub fn sent_packets(store: Arc<Store>, catalog: &Catalog) -> List {
    let mut list = List::new(store);
    list.set_filter(Expr::parse(FILTER, catalog).ok().map(|(filter, _)| filter));
    list
}

/// Returns the rows of the packets that came from the receiver of a packet within a second after it.
#[must_use]
pub fn replies(snapshot: &Snapshot, row: u64) -> Vec<u64> {
    let Some((sent, context)) = snapshot.row(row).zip(snapshot.context(row)) else {
        return Vec::new();
    };
    let last = Timestamp(sent.at.0.saturating_add(SECOND));
    let later = (row + 1..snapshot.end()).take(MAX_LOOKED);
    let answers = later.filter(|row| {
        snapshot.context(*row).is_some_and(|it| it.session == context.session)
            && snapshot.row(*row).is_some_and(|it| {
                it.direction() != sent.direction() && it.at >= sent.at && it.at <= last
            })
    });
    answers.take(MAX_REPLIES).collect()
}

/// The filter that selects the packets that people have sent, and those that they have edited.
const FILTER: &str = "pkt.origin == \"proxy\" and pkt.comment contains \"sent by hand\" \
                      or pkt.verdict == \"rewrite\" and pkt.comment contains \"then edited\"";

/// A second in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Most packets among which replies are looked for.
const MAX_LOOKED: usize = 100_000;

/// Most replies.
const MAX_REPLIES: usize = 200;
