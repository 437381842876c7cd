//! What the store has to say, in words for users. All interfaces use the same.

use super::RoundTrip;
use crate::store::{Limit, Losses, SavedCapture, SavedNotes};
use mitmcraft_protocol::packet::Context;
use mitmcraft_protocol::schema::Family;

/// Stands in place of what a packet has, if its row is held and its bytes are not.
pub const MISSING: &str = "the packet's bytes are missing: no longer held, or never kept";

/// Says what is missing; `None` if nothing is.
#[must_use]
pub fn losses(losses: &Losses) -> Option<String> {
    let why = match &losses.error {
        Some(error) => error.to_string(),
        None => "the disk with the temporary folder is too slow".to_owned(),
    };
    let packets = match losses.packets {
        0 => None,
        count => Some(format!("{} not listed: too many at once", counted(count))),
    };
    let bodies = match losses.bodies {
        0 => None,
        count => Some(format!("bytes of {} are missing: {why}", counted(count))),
    };
    let unread = losses.unread.as_deref().map(str::to_owned);
    let parts: Vec<String> = packets.into_iter().chain(bodies).chain(unread).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the game version of a session: the newest of those with its protocol number, whose packets are the same.
#[must_use]
pub fn version(context: &Context) -> &str {
    let is_known = context.version.is_some() || context.protocol.family() != Family::Java;
    if is_known { context.game_version() } else { "unknown version" }
}

/// Says which packet answers a packet, or which one that answers.
#[must_use]
pub fn round_trip(RoundTrip { seq, is_request, took, .. }: &RoundTrip) -> String {
    let what = if *is_request { "answers" } else { "answered by" };
    format!("{what} packet {seq} after {:.1} ms", took.as_secs_f64() * 1000.0)
}

/// Says why packets that are too old are not held.
#[must_use]
pub fn limit(limit: &Limit) -> String {
    match limit {
        Limit::NoCapture => "a run that writes a capture keeps them".to_owned(),
        Limit::UnreadableCaptures => {
            "only the capture has them: they can be read while it is written if it is one .pcapng or \
             .jsonl file, neither compressed, rotated nor redacted"
                .to_owned()
        }
        Limit::Opened => "a capture that is named on the command line is kept whole".to_owned(),
        Limit::InCapture(name) => format!("they are in `{name}`"),
    }
}

/// Says what became of marks and comments.
#[must_use]
pub fn saved(saved: &SavedNotes) -> String {
    match saved {
        SavedNotes::Nothing => "there are no new marks or comments".to_owned(),
        SavedNotes::AtEnd => {
            "marks and comments are kept in the capture of the run when that ends".to_owned()
        }
        SavedNotes::NoCapture => {
            "marks and comments cannot be kept: there is no capture; export packets".to_owned()
        }
        SavedNotes::Saved { captures, missing } => {
            let missing = (*missing > 0).then(|| {
                let packets = counted(*missing as u64);
                format!("those of {packets} are not kept: their bytes are missing")
            });
            let parts: Vec<String> = captures.iter().map(saved_capture).chain(missing).collect();
            parts.join("; ")
        }
    }
}

fn saved_capture(SavedCapture { path, packets, result, .. }: &SavedCapture) -> String {
    let path = path.display();
    match result {
        Ok(count) if count == packets => {
            format!("marks and comments of {count} packets are kept in `{path}`")
        }
        Ok(count) => format!(
            "marks and comments of {count} of {packets} packets are kept in `{path}`, which does not have \
             the others"
        ),
        Err(error) => format!("`{path}` is unchanged: {error}"),
    }
}

fn counted(packets: u64) -> String {
    if packets == 1 { "1 packet".to_owned() } else { format!("{packets} packets") }
}
