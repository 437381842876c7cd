use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::attribute::Attribute;
use super::packets::RoleName;
use super::parser::{OPERATORS, function_names};
use mitmcraft_protocol::schema::{Direction, Protocol, Shape, State, payload_name};

/// The names that can follow at a place in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The part of the text that a name replaces, in bytes.
    pub span: Range<usize>,
    /// The names, in alphabetical order; those of packets with `protocols`' versions only.
    pub names: Vec<String>,
}

impl Completion {
    /// Returns the names that complete the word before `at` (in bytes) in `text`: packets and fields of
    /// `protocols`, properties of packets, states and directions. At most [`MAX`](Self::MAX) names.
    #[must_use]
    pub fn new(text: &str, at: usize, protocols: &[Arc<Protocol>]) -> Self {
        let at = if text.is_char_boundary(at) { at } else { text.len() };
        let is_part = |char: char| char.is_alphanumeric() || "_.".contains(char);
        let start = text[..at].rfind(|char| !is_part(char));
        let start =
            start.map_or(0, |place| place + text[place..].chars().next().map_or(0, char::len_utf8));
        let word = &text[start..at];
        if text[..start].matches('"').count() % 2 == 1 {
            // Within a text.
            return Self { span: at..at, names: Vec::new() };
        }
        let names = match word.rsplit_once('.') {
            Some((path, _)) => below(path, protocols),
            None => first(protocols),
        };
        let span = start + word.rfind('.').map_or(0, |dot| dot + 1)..at;
        let part = text[span.clone()].to_lowercase();
        let mut names: Vec<String> =
            names.into_iter().filter(|name| name.starts_with(&part) && *name != part).collect();
        names.truncate(Self::MAX);
        Self { span, names }
    }

    /// Most names of a completion.
    pub const MAX: usize = 100;
}

/// Returns the names with which an operand begins.
fn first(protocols: &[Arc<Protocol>]) -> BTreeSet<String> {
    let words = OPERATORS.into_iter().chain(function_names()).chain(WORDS);
    let mut names: BTreeSet<String> = words.map(str::to_owned).collect();
    names.extend(Direction::ALL.iter().map(|it| it.name().to_owned()));
    names.extend(State::ALL.iter().map(|it| it.name().to_owned()));
    names.insert(payload_name().to_string());
    for protocol in protocols {
        for packet in protocol.packets() {
            names.insert(packet.name().to_string());
            let fields = Shape::of(protocol, packet).fields();
            names.extend(fields.into_iter().map(|(name, _)| name.to_string()));
        }
    }
    names
}

/// Returns the names that follow `path` and a dot.
fn below(path: &str, protocols: &[Arc<Protocol>]) -> BTreeSet<String> {
    let owned = |name: &str| name.to_owned();
    match path {
        "pkt" | "session" => return Attribute::names(path).map(owned).collect(),
        "state" => return State::ALL.iter().map(|it| owned(it.name())).collect(),
        "role" => return RoleName::ALL.iter().map(|it| owned(it.name)).collect(),
        _ => {}
    }
    let mut names = BTreeSet::new();
    for protocol in protocols {
        for packet in protocol.packets() {
            let mut steps = path.split('.').peekable();
            if steps.peek().is_some_and(|first| *first == &**packet.name()) {
                steps.next();
            }
            let is_payload = steps.next_if_eq(&&**payload_name()).is_some();
            let payloads = protocol.payload_layouts(packet).filter(|_| is_payload);
            for holder in payloads.chain((!is_payload).then_some(packet)) {
                let whole = Shape::of(protocol, holder);
                let shape = steps.clone().try_fold(whole, |shape, step| {
                    let field = shape.field(step)?;
                    Some(field.element().unwrap_or(field))
                });
                let fields = shape.map(|shape| shape.fields()).unwrap_or_default();
                names.extend(fields.into_iter().map(|(name, _)| name.to_string()));
            }
        }
    }
    names
}

/// The other words, and prefixes of names.
const WORDS: [&str; 7] = ["false", "not", "pkt.", "role.", "session.", "state.", "true"];

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    #[test]
    fn names_of_the_versions_are_completed_where_a_name_can_stand() {
        let protocols = [Catalog::embedded().find(47).unwrap().protocol];
        let complete = |text: &str| {
            let completion = Completion::new(text, text.len(), &protocols);
            (text[completion.span.clone()].to_owned(), completion.names)
        };
        let has = |text: &str, part: &str, name: &str| {
            let (span, names) = complete(text);
            assert_eq!(span, part, "{text}");
            assert!(names.iter().any(|it| it == name), "{text}: {names:?}");
        };
        has("map", "map", "map_chunk");
        has("chat and mess", "mess", "message");
        has("chat and (server", "server", "serverbound");
        has("chat.mes", "mes", "message");
        has("chat.", "", "position");
        has("pkt.ver", "ver", "verdict");
        has("dist", "dist", "distance");
        has("chat and rol", "rol", "role.");
        has("not session.", "", "player");
        has("state.lo", "lo", "login");
        has("role.ch", "ch", "chat");
        has("window_items.items.", "", "itemCount");
        has("paylo", "paylo", "payload");
        has("payload.fl", "fl", "floodgate");
        has("set_protocol.payload.forwarded.", "", "uuid");
        has("payload.mods.", "", "version");
        has("", "", "chat");
        for none in ["message == \"ma", "registry_dat", "chat.message.x", "ä"] {
            assert_eq!(complete(none).1, [""; 0], "{none}");
        }
        let all = Completion::new("", 0, &protocols).names;
        assert_eq!(all.len(), Completion::MAX);
        // A place within a character.
        assert_eq!(Completion::new("ä", 1, &protocols).span, 0..2);
    }
}
