use std::fs;
use std::io;
use std::path::{Path, PathBuf, is_separator};

use thiserror::Error;

use super::file_name::is_device;
use mitmcraft_protocol::packet::{Context, Timestamp};

/// A file name with `{session}`, `{player}` or `{time}` in it, which makes one file per session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Session,
    Player,
    Time,
}

/// An error from a file name that contains an unknown placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "unknown placeholder `{{{0}}}` in a file name: expected `{{session}}`, `{{player}}` or `{{time}}`"
)]
pub struct UnknownPlaceholder(String);

impl NamePattern {
    /// Parses a name. Returns `None` if it contains no placeholder.
    pub(super) fn parse(path: &Path) -> Result<Option<Self>, UnknownPlaceholder> {
        Self::of(path).map(|pattern| Some(pattern).filter(|it| it.parts.len() > 1))
    }

    /// Parses a name that may contain placeholders.
    pub(super) fn of(path: &Path) -> Result<Self, UnknownPlaceholder> {
        // A name that is not UTF-8 is taken literally.
        let Some(mut text) = path.to_str() else {
            return Ok(Self { parts: vec![Part::Text(path.to_string_lossy().into_owned())] });
        };
        let mut parts = Vec::new();
        while let Some((before, rest)) = text.split_once('{') {
            let Some((name, rest)) = rest.split_once('}') else { break };
            parts.push(Part::Text(before.to_owned()));
            parts.push(match name {
                "session" => Part::Session,
                "player" => Part::Player,
                "time" => Part::Time,
                _ => return Err(UnknownPlaceholder(name.to_owned())),
            });
            text = rest;
        }
        parts.push(Part::Text(text.to_owned()));
        Ok(Self { parts })
    }

    /// Returns `true` if the name depends on the player.
    pub(super) fn needs_player(&self) -> bool {
        self.parts.contains(&Part::Player)
    }

    /// Returns the name of a session's file at a time.
    pub(super) fn fill(&self, context: &Context, at: Timestamp) -> PathBuf {
        let mut name = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Session => name.push_str(&context.session.to_string()),
                Part::Player => name.push_str(&safe(context.player.as_deref().unwrap_or_default())),
                Part::Time => name.push_str(&file_time(at)),
            }
        }
        name.into()
    }

    /// Creates the folders of a session's file, which only their owner can read. Links are followed in the part that
    /// the user has named, and not where a placeholder has: others may have put them there.
    pub(super) fn make_folders(&self, folder: &Path) -> io::Result<()> {
        let Some(Part::Text(named)) = self.parts.first() else { return Ok(()) };
        // Behind the last separator, a placeholder is part of the name.
        let named = named
            .rfind(is_separator)
            .map_or(0, |end| Path::new(&named[..=end]).components().count());
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let mut path = PathBuf::new();
        for (place, component) in folder.components().enumerate() {
            path.push(component);
            if place >= named && fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink()) {
                let reason = format!("`{}` is a link", path.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
            }
            builder.create(&path)?;
        }
        Ok(())
    }
}

/// Makes a player's name fit for a file name: a peer must not be able to choose the folder, nor to
/// begin the name with `-`, which programs take for an option, nor to write to a device of Windows.
fn safe(player: &str) -> String {
    let plain = |char: char| if char.is_alphanumeric() { char } else { '_' };
    match player.chars().take(MAX_PLAYER).map(plain).collect::<String>() {
        empty if empty.is_empty() => "unknown".to_owned(),
        device if is_device(&device) => format!("_{device}"),
        name => name,
    }
}

/// Formats a time as the names of files have it: `20261120T123107Z`, which sorts and is valid on every system.
#[must_use]
pub fn file_time(at: Timestamp) -> String {
    let text = at.to_string();
    let whole = text.split_once('.').map_or(&*text, |(whole, _)| whole);
    let digits: String = whole.chars().filter(|char| !['-', ':'].contains(char)).collect();
    format!("{digits}Z")
}

/// Characters kept of a player's name; the game allows 16.
const MAX_PLAYER: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::Catalog;

    fn context(player: Option<&str>) -> Context {
        Context {
            player: player.map(str::to_owned),
            ..Context::new(
                7,
                Timestamp(1_795_177_864_100_000_123),
                ([127, 0, 0, 1], 1).into(),
                Catalog::embedded().find(47).unwrap().protocol,
            )
        }
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_private_and_links_that_a_player_could_choose_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let root = tempfile::tempdir().unwrap();
        let [own, linked, elsewhere] =
            ["own", "linked", "elsewhere"].map(|it| root.path().join(it));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&own, &linked).unwrap();
        symlink(&elsewhere, own.join("Eve")).unwrap();
        symlink(&elsewhere, own.join("a7")).unwrap();
        let make = |name: &str, player| {
            let pattern = NamePattern::parse(&linked.join(name)).unwrap().unwrap();
            let context = context(Some(player));
            let path = pattern.fill(&context, context.opened);
            pattern.make_folders(path.parent().unwrap())
        };
        let error = make("{player}/{session}.jsonl", "Eve").unwrap_err().to_string();
        assert!(error.contains("linked/Eve` is a link"), "{error}");
        assert!(make("a{session}/x/b.jsonl", "Eve").is_err());
        make("{player}/{session}/a.jsonl", "Bob").unwrap();
        make("{player}/{session}/a.jsonl", "Bob").unwrap();
        assert!(fs::read_dir(&elsewhere).unwrap().next().is_none());
        for made in ["Bob", "Bob/7"] {
            let mode = fs::metadata(own.join(made)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{made}");
        }
    }

    fn filled(pattern: &str, player: Option<&str>) -> String {
        let pattern = NamePattern::parse(pattern.as_ref()).unwrap().unwrap();
        let context = context(player);
        pattern.fill(&context, context.opened).to_str().unwrap().to_owned()
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(filled("a/{time}-{session}.jsonl", None), "a/20261120T123104Z-7.jsonl");
        assert_eq!(filled("{player}.pcapng.gz", Some("Notch")), "Notch.pcapng.gz");
        assert_eq!(filled("{player}{session}", None), "unknown7");
        assert_eq!(NamePattern::parse("plain.jsonl".as_ref()), Ok(None));
        assert_eq!(NamePattern::parse("{session.jsonl".as_ref()), Ok(None));
        let error = NamePattern::parse("{sesion}.jsonl".as_ref()).unwrap_err();
        assert!(error.to_string().starts_with("unknown placeholder `{sesion}`"), "{error}");
    }

    #[test]
    fn a_player_named_like_a_device_of_windows_gets_a_file() {
        assert_eq!(filled("{player}.jsonl", Some("NUL")), "_NUL.jsonl");
        assert_eq!(filled("{player}/{time}.jsonl", Some("con")), "_con/20261120T123104Z.jsonl");
        assert_eq!(filled("{player}.jsonl", Some("Connor")), "Connor.jsonl");
    }

    #[test]
    fn player_names_cannot_choose_a_folder_or_ending() {
        assert_eq!(filled("{player}.jsonl", Some("../../etc/x y")), "______etc_x_y.jsonl");
        assert_eq!(filled("{player}.jsonl", Some("")), "unknown.jsonl");
        assert_eq!(filled("{player}.jsonl", Some("-rf")), "_rf.jsonl");
        assert_eq!(filled("{player}", Some(&"\u{e9}".repeat(1000))), "\u{e9}".repeat(40));
        assert_eq!(filled("{player}", Some("小明 Jürgen")), "小明_Jürgen");
        assert_eq!(filled("{player}", Some("a\u{202e}b\u{200b}😀\u{301}")), "a_b___");
    }
}
