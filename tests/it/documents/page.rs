//! Commands in Markdown and in the comments of examples.

use std::fs;
use std::path::Path;

use crate::support::root;

/// A command line of mitmcraft.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Command {
    /// The words after `mitmcraft`.
    pub(crate) words: Vec<String>,
    /// Another program's output is its stdin.
    pub(crate) piped: bool,
    /// It stands within text, where a page may leave out what is not its point.
    pub(crate) partial: bool,
}

/// Returns the name and text of every page with commands.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut files = vec![root().join("README.md")];
    for (folder, ending) in [
        ("docs", "md"),
        ("docs/protocols", "md"),
        ("captures", "md"),
        ("examples/rules", "toml"),
        ("examples/scripts", "lua"),
    ] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let entries = entries.map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|it| it == ending)));
    }
    files.sort();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let name = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    files.iter().map(|path| (name(path), read(path))).collect()
}

/// Returns the commands of a page: in blocks of `sh`, in the examples of a help text, in code within
/// text and tables, and in comments.
pub(crate) fn commands(page: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let (mut block, mut prose) = (None, String::new());
    for line in page.lines() {
        let line =
            line.strip_prefix('#').filter(|line| line.contains(" mitmcraft ")).unwrap_or(line);
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language) };
            continue;
        }
        match block {
            Some("sh") => found.extend(parse(line)),
            Some(_) if line.starts_with("  mitmcraft ") => found.extend(parse(line)),
            Some(_) => {}
            None if line.trim_start().starts_with("mitmcraft ") && line.starts_with("   ") => {
                found.extend(parse(line));
            }
            None if line.starts_with('#') && !line.contains("Try it:") => {}
            None => match line.split_once("Try it:") {
                Some((_, line)) => found.extend(parse(line)),
                None => prose = prose + line + "\n",
            },
        }
    }
    for code in prose.split('`').skip(1).step_by(2) {
        let code = code.replace('\n', " ").replace("\\|", "|");
        let first = code.split(' ').next().unwrap_or_default();
        let line = match first {
            "mitmcraft" => code,
            _ if SHORT.contains(&first) && code.contains(' ') => format!("mitmcraft {code}"),
            _ => continue,
        };
        if !OTHER.contains(&&*line) {
            found.extend(parse(&line).into_iter().map(|it| Command { partial: true, ..it }));
        }
    }
    found
}

/// Splits a line of a shell, and returns what it runs of mitmcraft.
fn parse(line: &str) -> Vec<Command> {
    let (mut segments, mut word, mut quote, mut started) =
        (vec![vec![]], String::new(), None, false);
    let mut piped = vec![false];
    for char in line.chars().chain([' ']) {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some(_), _) => word.push(char),
            (None, '\'' | '"') => (quote, started) = (Some(char), true),
            (None, '#') if word.is_empty() && !started => break,
            (None, ' ' | '|' | '&' | ';') => {
                if started || !word.is_empty() {
                    segments.last_mut().unwrap().push(std::mem::take(&mut word));
                    started = false;
                }
                if char != ' ' {
                    segments.push(Vec::new());
                    piped.push(char == '|');
                }
            }
            (None, _) => word.push(char),
        }
    }
    let ours = segments.into_iter().zip(piped).filter_map(|(words, piped)| {
        let mut words = words.into_iter().skip_while(|word| word.contains('=') || word == "sudo");
        (words.next()? == "mitmcraft").then_some(())?;
        let words = words.take_while(|word| !word.starts_with('>') && word != "2>").collect();
        Some(Command { words, piped, partial: false })
    });
    ours.filter(|command| !command.words.is_empty()).collect()
}

/// Verbs that pages write without `mitmcraft` before them.
const SHORT: &[&str] =
    &["proxy", "show", "diff", "convert", "decode", "stats", "replay", "ping", "query"];

/// Code that begins like a command: an option of a file, the version of a format.
const OTHER: &[&str] = &["mitmcraft show = false", "mitmcraft capture 2"];
