use std::str::FromStr;

use thiserror::Error;

use crate::packet::Packet;

/// What does not count as a difference: whole packets, and fields.
///
/// ```
/// use mitmcraft::analysis::Ignore;
///
/// let mut ignore = Ignore::default();      // what differs from run to run
/// ignore.add("entity_velocity")?;          // a packet
/// ignore.add("*.metadata[*].value")?;      // a field and all in it, of every packet
/// # Ok::<(), mitmcraft::analysis::IgnoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ignore {
    rules: Vec<Rule>,
    /// Whether entity ids may be others, as long as each is always the same other.
    renumbered: bool,
}

/// What is not a packet or a field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither a packet (`entity_*`) nor a field (`map_chunk.x`, `*.item.itemCount`)")]
pub struct IgnoreError(String);

#[derive(Debug, Clone)]
struct Rule {
    packet: String,
    /// Empty: the whole packet.
    steps: Vec<Step>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Field(String),
    /// In a rule, none is every element.
    Index(Option<usize>),
}

impl Default for Ignore {
    /// What differs from run to run.
    fn default() -> Self {
        let rules = DEFAULTS.iter().filter_map(|rule| rule.parse().ok()).collect();
        Self { rules, renumbered: true }
    }
}

impl Ignore {
    /// Every difference counts.
    #[must_use]
    pub fn nothing() -> Self {
        Self { rules: Vec::new(), renumbered: false }
    }

    /// Ignores another packet (`entity_*`) or field (`map_chunk.x`), with `*` for any name.
    ///
    /// # Errors
    /// [`IgnoreError`] when it is neither.
    pub fn add(&mut self, rule: &str) -> Result<(), IgnoreError> {
        self.rules.push(rule.parse()?);
        Ok(())
    }

    /// Whether fields with entity ids are the same when all of one id are all of another.
    #[must_use]
    pub fn renumbered(&self) -> bool {
        self.renumbered
    }

    /// What is ignored by itself.
    #[must_use]
    pub fn defaults() -> &'static [&'static str] {
        &DEFAULTS
    }

    /// Whether the packet is ignored as a whole.
    pub(super) fn packet(&self, packet: &Packet) -> bool {
        let Some(known) = packet.kind() else { return false };
        let mut whole = self.rules.iter().filter(|rule| rule.steps.is_empty());
        whole.any(|rule| glob(&rule.packet, known.name()))
    }

    /// The rules for the fields of a packet.
    pub(super) fn fields(&self, packet: &Packet) -> Vec<&[Step]> {
        let Some(known) = packet.kind() else { return Vec::new() };
        let rules = self.rules.iter().filter(|rule| !rule.steps.is_empty());
        let rules = rules.filter(|rule| glob(&rule.packet, known.name()));
        rules.map(|rule| &rule.steps[..]).collect()
    }
}

/// Whether one of the rules is the path.
pub(super) fn matches(rules: &[&[Step]], path: &[Step]) -> bool {
    rules.iter().any(|rule| {
        rule.len() == path.len()
            && rule.iter().zip(path).all(|(rule, step)| match (rule, step) {
                (Step::Field(rule), Step::Field(name)) => glob(rule, name),
                (Step::Index(None), Step::Index(_)) => true,
                (rule, step) => rule == step,
            })
    })
}

impl FromStr for Rule {
    type Err = IgnoreError;

    fn from_str(text: &str) -> Result<Self, IgnoreError> {
        let wrong = || IgnoreError(text.to_owned());
        let (packet, path) = match text.split_once('.') {
            Some((_, "")) => return Err(wrong()),
            Some((packet, path)) => (packet, path),
            None => (text, ""),
        };
        let name = |char: char| char.is_alphanumeric() || "_*:|/-".contains(char);
        if packet.is_empty() || !packet.chars().all(name) {
            return Err(wrong());
        }
        let mut steps = Vec::new();
        for part in path.split('.').filter(|_| !path.is_empty()) {
            let (field, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if field.is_empty() {
                return Err(wrong());
            }
            steps.push(Step::Field(field.to_owned()));
            while !rest.is_empty() {
                let inside = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let (index, behind) = inside.ok_or_else(wrong)?;
                steps.push(Step::Index(match index {
                    "*" => None,
                    index => Some(index.parse().map_err(|_| wrong())?),
                }));
                rest = behind;
            }
        }
        Ok(Self { packet: packet.to_owned(), steps })
    }
}

/// Whether a pattern with `*` for anything is the name.
fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    true
}

/// What differs from run to run though nothing else does: how often time makes a packet be sent,
/// numbers that are drawn, keys, and where the client was told to connect.
const DEFAULTS: [&str; 36] = [
    "keep_alive",
    "update_time",
    "ping.time",
    "ping.id",
    "pong.id",
    "ping_request.id",
    "ping_response.id",
    "position.teleportId",
    "teleport_confirm.teleportId",
    "transaction.action",
    "window_click.action",
    "*.stateId",
    "login_plugin_request.messageId",
    "login_plugin_response.messageId",
    "set_protocol.serverHost",
    "set_protocol.serverPort",
    "encryption_begin.*",
    "player_info.data[*].ping",
    "player_info.data[*].latency",
    "player_info.data[*].chatSession",
    "chat_session_update",
    "chat_message.timestamp",
    "chat_message.salt",
    "chat_message.signature",
    "chat_message.offset",
    "chat_message.checksum",
    "chat_command*.timestamp",
    "chat_command*.salt",
    "chat_command*.argumentSignatures",
    "chat_command*.messageCount",
    "chat_command*.checksum",
    "player_chat.timestamp",
    "player_chat.salt",
    "player_chat.signature",
    "player_chat.previousMessages",
    "message_acknowledgement",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (pattern, name, is) in [
            ("chat", "chat", true),
            ("chat", "chats", false),
            ("entity_*", "entity_look", true),
            ("*_look", "entity_look", true),
            ("e*l*k", "entity_look", true),
            ("e*x*", "entity_look", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn defaults_are_rules_and_nonsense_is_none() {
        assert_eq!(Ignore::default().rules.len(), DEFAULTS.len());
        for text in
            ["", ".", "chat.", ".message", "a..b", "a.b[", "a.b[x]", "a.[0]", "a b", "a.b[0]c"]
        {
            assert_eq!(Ignore::nothing().add(text), Err(IgnoreError(text.to_owned())));
        }
        let mut ignore = Ignore::nothing();
        ignore.add("*.items[*].nbt[3]").unwrap();
        let field = |name: &str| Step::Field(name.to_owned());
        let path = [field("items"), Step::Index(Some(7)), field("nbt"), Step::Index(Some(3))];
        let rules: Vec<&[Step]> = ignore.rules.iter().map(|rule| &rule.steps[..]).collect();
        assert!(matches(&rules, &path) && !matches(&rules, &path[..3]));
    }
}
