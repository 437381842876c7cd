//! What the store has to say, in words for users. All interfaces use the same.

use crate::store::Losses;

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
    let parts: Vec<String> = packets.into_iter().chain(bodies).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn counted(packets: u64) -> String {
    if packets == 1 { "1 packet".to_owned() } else { format!("{packets} packets") }
}
