use std::borrow::Cow;
use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::rows::texts;
use crate::schema::by_name;
use crate::wire::named;

/// A text with which the game or a server ends a session: a row of `data/disconnects.toml`.
#[derive(Debug)]
pub struct DisconnectText {
    /// The key under which the game finds the text; `None` if servers only send the text itself.
    pub key: Option<String>,
    /// The cause, in words.
    pub cause: String,
    /// The kind of cause.
    pub topic: DisconnectTopic,
    /// The text in English as patterns, the newest first, in which `%s` stands for any text.
    patterns: Vec<String>,
}

named! {
    /// A kind of cause for which a session is ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DisconnectTopic {
        /// The server stopped, or passed the player on.
        Stopped => "stopped",
        /// A peer was silent, or a keep-alive was answered wrongly.
        Silence => "silence",
        /// A packet could not be read or handled.
        Unread => "unread",
        /// The player moved as no player can.
        Movement => "movement",
        /// The peers speak different versions.
        Version => "version",
        /// The account was not verified.
        Account => "account",
        /// A proxy in front of the server did not forward the player's profile.
        Forwarding => "forwarding",
        /// A message was refused.
        Chat => "chat",
        /// The server or the person who runs it decided so.
        Decision => "decision",
        /// The client's own screen says it, and no server sends it.
        Screen => "screen",
    }

    /// All kinds.
    pub const ALL;

    /// Returns the name in the data file.
    pub fn name;
}

by_name!(DisconnectTopic);

impl DisconnectText {
    /// Returns all texts, read from the data file on first use.
    ///
    /// # Panics
    /// Never: a test reads the data file.
    #[must_use]
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<DisconnectText>> =
            LazyLock::new(|| DisconnectText::read().expect("a test reads the data file"));
        &ALL
    }

    /// Finds what a server said in a Disconnect, as a player reads it or as a key with its arguments behind
    /// it.
    #[must_use]
    pub fn find(words: &str) -> Option<&'static Self> {
        let words = words.trim();
        Self::of_key(words).or_else(|| Self::all().iter().find(|it| it.fits(words)))
    }

    /// Finds the text of the key with which words begin.
    fn of_key(words: &str) -> Option<&'static Self> {
        let (key, _) = split_key(words.trim());
        let is_key = key.contains('.');
        is_key.then(|| Self::all().iter().find(|it| it.key.as_deref() == Some(key)))?
    }

    /// Returns the English text of what a server said; `None` if it said a text and no key.
    #[must_use]
    pub fn english(&self, words: &str) -> Option<String> {
        let (key, arguments) = split_key(words.trim());
        (self.key.as_deref() == Some(key)).then(|| {
            let pattern = self.patterns.first().map_or("", String::as_str);
            // The text of such a key is its argument.
            if pattern.starts_with("%s") {
                return arguments.to_owned();
            }
            pattern.replacen("%s", arguments, 1).replace("%s", "")
        })
    }

    /// Returns whether a text follows one of the patterns.
    fn fits(&self, words: &str) -> bool {
        let fits = |pattern: &str| {
            let mut parts = pattern.split("%s");
            let first = parts.next().unwrap_or_default();
            let Some(mut rest) = words.strip_prefix(first) else { return false };
            let mut is_open = false;
            for part in parts {
                let Some((_, behind)) = rest.split_once(part) else { return false };
                (rest, is_open) = (behind, part.is_empty());
            }
            rest.is_empty() || is_open
        };
        self.patterns.iter().any(|pattern| fits(pattern))
    }

    fn read() -> Option<Vec<Self>> {
        let file = DeTable::parse(FILE).ok()?;
        let mut all = Vec::new();
        for (name, rows) in file.get_ref() {
            let topic = name.get_ref().parse().ok()?;
            for row in rows.get_ref().as_array()? {
                all.push((row.span().start, Self::of(topic, row.get_ref())?));
            }
        }
        all.sort_by_key(|(at, _)| *at);
        Some(all.into_iter().map(|(_, row)| row).collect())
    }

    fn of(topic: DisconnectTopic, row: &DeValue<'_>) -> Option<Self> {
        let row = row.as_table()?;
        let text = |name: &str| row.get(name)?.get_ref().as_str();
        let known = ["key", "text", "also", "cause"];
        let mut patterns = vec![text("text")?.to_owned()];
        if let Some(also) = row.get("also") {
            patterns.extend(texts(also.get_ref())?.into_iter().map(str::to_owned));
        }
        let is_known = row.keys().all(|key| known.contains(&key.get_ref().as_ref()));
        is_known.then_some(())?;
        Some(Self {
            key: text("key").map(str::to_owned),
            cause: text("cause")?.to_owned(),
            topic,
            patterns,
        })
    }
}

/// Splits the words of a component with a key into the key and its arguments.
fn split_key(words: &str) -> (&str, &str) {
    words.split_once(' ').unwrap_or((words, ""))
}

/// Returns the words that a player reads: those of a key in English, with the key behind them.
#[must_use]
pub fn disconnect_words(words: &str) -> Cow<'_, str> {
    let english = DisconnectText::of_key(words).and_then(|known| known.english(words));
    english.map_or(Cow::Borrowed(words), |english| {
        let (key, _) = split_key(words.trim());
        Cow::Owned(format!("{english} ({key})"))
    })
}

pub(crate) const FILE: &str = include_str!("data/disconnects.toml");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn topic(words: &str) -> Option<DisconnectTopic> {
        DisconnectText::find(words).map(|it| it.topic)
    }

    #[test]
    fn every_row_is_read_and_is_the_first_that_fits_its_own_key_and_texts() {
        let all = DisconnectText::all();
        let keys: Vec<&str> = all.iter().filter_map(|it| it.key.as_deref()).collect();
        assert_eq!(keys.len(), keys.iter().collect::<BTreeSet<_>>().len());
        for row in all {
            assert!(!row.patterns.iter().any(|it| it.trim() == "%s"), "{row:?} fits anything");
            assert!(row.key.as_deref().is_none_or(|key| !key.contains(' ')), "{row:?}");
            for pattern in &row.patterns {
                let found = DisconnectText::find(&pattern.replace("%s", "1")).unwrap();
                assert_eq!(found.topic, row.topic, "{pattern}");
            }
        }
        for topic in DisconnectTopic::ALL {
            assert!(all.iter().any(|it| it.topic == topic), "{topic:?}");
        }
    }

    #[test]
    fn the_page_on_disconnects_lists_every_key_with_its_text() {
        let page = include_str!("../../../../docs/disconnected.md");
        let rows = DisconnectText::all().iter();
        let mut lines: Vec<String> = rows
            .filter_map(|row| {
                let text =
                    row.patterns[0].replace('\n', " ").replace("%sInternal Exception: %s", "%s");
                Some(format!("{}: {}\n", row.key.as_ref()?, text.trim()))
            })
            .collect();
        lines.sort();
        let block = format!("```text\n{}```\n", lines.concat());
        assert!(page.contains(&block), "docs/disconnected.md should have\n{block}");
    }

    #[test]
    fn texts_are_found_by_their_key_and_by_their_words() {
        use DisconnectTopic::{Account, Decision, Forwarding, Movement, Silence, Unread, Version};
        for (words, expected) in [
            ("disconnect.timeout", Some(Silence)),
            ("Timed out", Some(Silence)),
            (" Timed out\n", Some(Silence)),
            ("Timed outside", None),
            ("multiplayer.disconnect.outdated_client 1.8.9", Some(Version)),
            ("Outdated client! Please use 1.8.9", Some(Version)),
            ("multiplayer.disconnect.flying", Some(Movement)),
            ("multiplayer.disconnect.unverified_username", Some(Account)),
            (
                "disconnect.genericReason Internal Exception: io.netty.handler.codec.DecoderException: x",
                Some(Unread),
            ),
            ("Internal Exception: java.io.IOException: Connection reset by peer", Some(Unread)),
            (
                "If you wish to use IP forwarding, please enable it in your BungeeCord config as well!",
                Some(Forwarding),
            ),
            ("This server requires you to connect with Velocity.", Some(Forwarding)),
            ("You are banned from this server.\nReason: griefing", Some(Decision)),
            ("Unexpected packet received during server login process! 0a", Some(Unread)),
            ("Already connecting to this server!", Some(Decision)),
            ("Mod rejections [FMLMod:examplemod{1.0}]", Some(Decision)),
            ("see you", None),
            ("", None),
        ] {
            assert_eq!(topic(words), expected, "{words}");
        }
    }

    #[test]
    fn a_key_is_shown_in_english_with_its_arguments() {
        for (words, expected) in [
            ("disconnect.timeout", "Timed out (disconnect.timeout)"),
            (
                "multiplayer.disconnect.incompatible 1.20.4",
                "Incompatible client! Please use 1.20.4 (multiplayer.disconnect.incompatible)",
            ),
            (
                "disconnect.genericReason Internal Exception: io.netty: x",
                "Internal Exception: io.netty: x (disconnect.genericReason)",
            ),
            (
                "disconnect.loginFailedInfo.invalidSession",
                "Invalid session (Try restarting your game and the launcher) \
                 (disconnect.loginFailedInfo.invalidSession)",
            ),
            ("Timed out", "Timed out"),
            ("see you", "see you"),
            ("a.key.of.a.plugin 1", "a.key.of.a.plugin 1"),
        ] {
            assert_eq!(disconnect_words(words), expected);
        }
    }
}
