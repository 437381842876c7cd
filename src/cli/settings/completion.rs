use super::EffectiveSetting;

/// Returns the text of a configuration file with a comment for each setting that it neither sets nor
/// mentions. Everything else stays as it is.
pub(super) fn completed(text: &str, missing: &[EffectiveSetting<'_>]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for missing in missing.chunk_by(|one, other| one.table() == other.table()) {
        let table = missing[0].table();
        let header = lines.iter().position(|line| header(line).as_ref() == Some(&table));
        let start = match header {
            _ if table.is_empty() => 0,
            Some(header) => header + 1,
            None => {
                lines.extend([String::new(), format!("[{table}]")]);
                lines.len()
            }
        };
        let own = lines[start..].iter().take_while(|line| self::header(line).is_none());
        let own: Vec<&str> = own.map(String::as_str).collect();
        let missing = missing.iter().filter(|it| !mentions(&own, &it.setting.key));
        let mut added: Vec<String> = missing.map(comment).collect();
        // After the last line that sets something: what follows may belong to the next table.
        let sets = |line: &&str| !line.trim_start().starts_with('#') && !line.trim().is_empty();
        let end = own.iter().rposition(sets).map_or(0, |last| last + 1);
        if !added.is_empty() && end == own.len() && start + end < lines.len() {
            added.push(String::new());
        }
        lines.splice(start + end..start + end, added);
    }
    format!("{}\n", lines.join("\n").trim_end())
}

/// Returns a setting that is not set, as a comment.
fn comment(setting: &EffectiveSetting<'_>) -> String {
    let line = setting.to_string();
    line.strip_suffix("  # default").map_or_else(|| line.clone(), |line| format!("# {line}"))
}

/// Returns whether lines set a key, or mention it in a comment.
fn mentions(lines: &[&str], key: &str) -> bool {
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
