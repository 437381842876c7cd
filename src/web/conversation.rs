use serde_json::{Value as Json, json};

use super::answers::{millis, spans};
use crate::capture::Record;
use crate::text::{FieldLine, FieldLines};

/// Returns a line of chat as players read it: who wrote it, where the packet has that, and the text.
pub(super) fn conversation_line(row: u64, record: &Record) -> Json {
    let packet = &record.packet;
    let mut fields = FieldLines::new(packet);
    // What was decoded before an error is shown.
    let _ = packet.walk(&mut fields);
    let fields = fields.finish();
    let named = |names: &[&str]| fields.iter().find(|line| names.contains(&&*line.name));
    let sender = named(&SENDERS).map(content);
    let text = named(&TEXTS).or_else(|| {
        fields.iter().find(|line| line.component.is_some() && !SENDERS.contains(&&*line.name))
    });
    json!({
        "row": row,
        "at": millis(packet.at),
        "session": packet.context.session,
        "dir": packet.direction.name(),
        "player": packet.context.player,
        "sender": sender,
        "text": text.map(content),
        "verdict": record.outcome.name(),
    })
}

/// Returns the text of a field in coloured pieces.
fn content(line: &FieldLine) -> Json {
    match &line.component {
        Some(component) => spans(component),
        None => {
            let text = line.value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            json!([{ "text": text.unwrap_or(&line.value) }])
        }
    }
}

/// Fields that name who wrote a message.
const SENDERS: [&str; 3] = ["networkName", "senderName", "sender_name"];

/// Fields with the text, the likeliest first as packets have them.
const TEXTS: [&str; 6] =
    ["message", "unsignedChatContent", "plainMessage", "content", "formattedMessage", "reason"];
