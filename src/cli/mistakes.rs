//! What a person probably meant whose command line is refused.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use mitmcraft::proxy::UpstreamName;

/// Adds to an error of the command line what was probably meant. `words` are those behind the program's name.
pub(super) fn with_meaning(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    if let Some(meant) = meant(&error, &words) {
        let tip = StyledStr::from(meant);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

fn meant(error: &clap::Error, words: &[&str]) -> Option<String> {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let verb = *words.first()?;
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = said(ContextKind::InvalidSubcommand)?;
            if verb == "replay" {
                return is_file(word).then(|| {
                    format!(
                        "`mitmcraft replay client {word} SERVER` plays its client, \
                         `mitmcraft replay server {word}` its server"
                    )
                });
            }
            if is_file(word) {
                let verb = match Path::new(word).extension()?.to_str()? {
                    "toml" | "lua" => "check",
                    _ => "show",
                };
                return Some(format!("did you mean `mitmcraft {verb} {word}`?"));
            }
            is_server(word).then(|| format!("did you mean `mitmcraft proxy {word}`?"))
        }
        ErrorKind::UnknownArgument => {
            let port = said(ContextKind::InvalidArg)?;
            port.parse::<u16>().ok()?;
            let place = words.iter().position(|word| *word == port)?;
            let host = *words.get(place.checked_sub(1)?)?;
            let is_alone = host.parse::<UpstreamName>().is_ok_and(|name| name.port.is_none());
            (is_alone && place > 1)
                .then(|| format!("write the port after a colon: `{host}:{port}`"))
        }
        ErrorKind::ValueValidation => {
            let (argument, value) =
                (said(ContextKind::InvalidArg)?, said(ContextKind::InvalidValue)?);
            let is_of_server = ["UPSTREAM", "HOST"].iter().any(|name| argument.contains(name));
            (is_of_server && is_file(value))
                .then(|| format!("`{value}` is a file; expected the name of a server"))
        }
        ErrorKind::MissingRequiredArgument => match (verb, words) {
            ("convert", [_, input]) if is_file(input) => {
                Some(format!("the output is missing: `mitmcraft convert {input} OUTPUT.pcapng`"))
            }
            ("lint", [_]) => Some("give a server, or captures after `--capture`".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn is_file(word: &str) -> bool {
    Path::new(word).is_file()
}

/// Returns whether a word is the address of a server, and not a verb with a typing error.
pub(super) fn is_server(word: &str) -> bool {
    let has_form = word.contains(['.', ':']) || word == "localhost";
    has_form && word.parse::<UpstreamName>().is_ok()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn tip(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let all = std::iter::once(OsString::from("mitmcraft")).chain(words.clone());
        let error = Cli::command().try_get_matches_from(all).unwrap_err();
        let text = with_meaning(error, &words).render().to_string();
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect()
    }

    #[test]
    fn what_was_meant_is_said() {
        // Tests run in the folder of the package.
        let capture = "captures/session-1.8.jsonl";
        for (line, expected) in [
            ("localhost:25565", "did you mean `mitmcraft proxy localhost:25565`?"),
            ("mc.example.org", "did you mean `mitmcraft proxy mc.example.org`?"),
            ("[::1]:25565", "did you mean `mitmcraft proxy [::1]:25565`?"),
            ("Cargo.toml", "did you mean `mitmcraft check Cargo.toml`?"),
            ("proxy localhost 25565", "write the port after a colon: `localhost:25565`"),
            ("ping mc.example.org 25570", "write the port after a colon: `mc.example.org:25570`"),
            ("lint", "give a server, or captures after `--capture`"),
        ] {
            assert_eq!(tip(line), expected, "{line}");
        }
        assert_eq!(tip(capture), format!("did you mean `mitmcraft show {capture}`?"));
        let plays = format!("`mitmcraft replay client {capture} SERVER` plays its client");
        assert!(tip(&format!("replay {capture} localhost")).contains(&plays));
        let output = format!("the output is missing: `mitmcraft convert {capture} OUTPUT.pcapng`");
        assert_eq!(tip(&format!("convert {capture}")), output);
        assert!(tip("shwo").contains("'show'"), "{}", tip("shwo"));
        assert_eq!(
            tip("proxy localhost 25565 25566"),
            "write the port after a colon: `localhost:25565`"
        );
        assert_eq!(tip("nonsense"), "");
    }
}
