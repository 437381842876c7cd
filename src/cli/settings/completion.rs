use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use mitmcraft::proxy::{read_source, write_source};

use super::setting::{Setting, Values};
use super::{Settings, file};

impl Settings {
    /// Creates the configuration file, or adds a comment to it for each setting that it does not
    /// mention. What it sets stays as it is.
    ///
    /// # Errors
    /// If there is no place for the file, it has faults, or it cannot be written.
    pub(in crate::cli) fn write_file(&self) -> anyhow::Result<&Path> {
        let path = self.path.as_deref();
        let path = path.context("no configuration folder is known: name a file with --config")?;
        self.check()?;
        let missing = (0..self.all.len()).filter(|place| !self.in_file.contains_key(place));
        let missing: Vec<&Setting> = missing.map(|place| &self.all[place]).collect();
        let text = if path.exists() { read_source(path)? } else { String::new() };
        let text = completed(&text, &missing);
        let words =
            |values: &Values| values.values().map(|it| it.words.clone()).collect::<Vec<_>>();
        let same = |completed: Values| words(&completed) == words(&self.in_file);
        if !file::parse(path, &text, &self.all).is_ok_and(same) {
            bail!(
                "cannot complete {}: write each command as a table such as `[proxy]`",
                path.display()
            );
        }
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| write_source(path, &text))
            .with_context(|| format!("cannot write the configuration file {}", path.display()))?;
        Ok(path)
    }
}

/// Returns the text of a configuration file with a comment for each setting that it neither sets nor
/// mentions. Everything else stays as it is.
fn completed(text: &str, missing: &[&Setting]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for missing in missing.chunk_by(|one, other| one.verb() == other.verb()) {
        let table = missing[0].verb();
        let start = match lines.iter().position(|line| header(line).as_deref() == Some(table)) {
            Some(header) => header + 1,
            None if table.is_empty() => 0,
            None => {
                lines.extend([String::new(), format!("[{table}]")]);
                lines.len()
            }
        };
        let own: Vec<&String> =
            lines[start..].iter().take_while(|it| header(it).is_none()).collect();
        // After the last line that sets something: what follows may belong to the next table.
        let sets = |line: &&String| !line.trim_start().starts_with('#') && !line.trim().is_empty();
        let end = start + own.iter().rposition(sets).map_or(0, |last| last + 1);
        let missing = missing.iter().filter(|setting| !mentions(&own, setting.key()));
        let mut added: Vec<String> = missing.map(|setting| comment(setting)).collect();
        if !added.is_empty() && end < lines.len() && end == start + own.len() {
            added.push(String::new());
        }
        lines.splice(end..end, added);
    }
    format!("{}\n", lines.join("\n").trim_end())
}

/// Returns a setting that is not set, as a comment.
fn comment(setting: &Setting) -> String {
    let line = setting.line(None);
    line.strip_suffix("  # default").map_or_else(|| line.clone(), |line| format!("# {line}"))
}

/// Returns whether lines set a key, or mention it in a comment.
fn mentions(lines: &[&String], key: &str) -> bool {
    lines.iter().any(|line| {
        let line = line.trim_start().trim_start_matches(['#', ' ']).replace('_', "-");
        let rest = line.strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with('=') || rest.starts_with(" is "))
    })
}

/// Returns the verb of a table whose header is this line.
fn header(line: &str) -> Option<String> {
    let (name, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let words = name.split('.').map(|word| word.trim().trim_matches(['"', '\'']));
    Some(words.collect::<Vec<_>>().join(".").replace('_', "-"))
}
