use mitmcraft_engine::capture::Record;
use mitmcraft_engine::text::{FieldLine, FieldLines};
use mitmcraft_protocol::packet::StyledText;
use mitmcraft_protocol::schema::Role;

/// A chat message or a command as players read it.
#[derive(Debug, Clone)]
pub struct ConversationLine {
    /// The row of its packet.
    pub row: u64,
    /// Its packet, and what the proxy did with it.
    pub record: Record,
    /// Who wrote it, if the packet has that apart from the text.
    pub sender: Option<StyledText>,
    /// The text; `None` if the packet does not decode as far.
    pub text: Option<StyledText>,
}

impl ConversationLine {
    pub(super) fn new(row: u64, record: Record) -> Self {
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
        let mut text = text.map(content);
        if packet.role() == Some(Role::Command) {
            // As it is typed, and as it was sent before 1.19.
            text = text.map(|it| StyledText::unstyled(format!("/{}", it.plain())));
        }
        Self { row, sender, text, record }
    }
}

/// Returns the text of a field.
fn content(line: &FieldLine) -> StyledText {
    match &line.component {
        Some(component) => component.clone(),
        None => {
            let text = line.value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            StyledText::unstyled(text.unwrap_or(&line.value).to_owned())
        }
    }
}

/// Fields that name who wrote a message.
const SENDERS: [&str; 3] = ["networkName", "senderName", "sender_name"];

/// Fields with the text, the likeliest first as packets have them.
const TEXTS: [&str; 7] = [
    "message",
    "unsignedChatContent",
    "plainMessage",
    "content",
    "formattedMessage",
    "reason",
    "command",
];
