use super::EffectiveSetting;

/// Returns the text of a configuration file with a comment for each setting that it neither sets nor
/// mentions. Everything else stays as it is.
pub(super) fn completed<'s>(
    text: &str,
    missing: impl IntoIterator<Item = EffectiveSetting<'s>>,
) -> String {
    let mut sections = Section::all(text);
    for setting in missing {
        let table = setting.table();
        let section = match sections.iter_mut().position(|it| it.table == table) {
            Some(found) => &mut sections[found],
            None => {
                let lines = vec![format!("[{table}]")];
                sections.push(Section { table, lines, added: Vec::new() });
                let last = sections.len() - 1;
                &mut sections[last]
            }
        };
        if !section.mentions(setting.key()) {
            section.added.push(setting.comment());
        }
    }
    let sections: Vec<String> = sections.into_iter().filter_map(Section::into_text).collect();
    format!("{}\n", sections.join("\n").trim_end())
}

/// The lines of one table.
struct Section {
    /// The verb, such as `replay.server`; empty for what precedes all tables.
    table: String,
    lines: Vec<String>,
    /// Comments to add.
    added: Vec<String>,
}

impl Section {
    fn all(text: &str) -> Vec<Self> {
        let new = |table| Self { table, lines: Vec::new(), added: Vec::new() };
        let mut sections = vec![new(String::new())];
        for line in text.lines() {
            if let Some(table) = header(line) {
                sections.push(new(table));
            }
            if let Some(section) = sections.last_mut() {
                section.lines.push(line.to_owned());
            }
        }
        sections
    }

    fn mentions(&self, key: &str) -> bool {
        self.lines.iter().any(|line| {
            let line = line.trim_start().trim_start_matches(['#', ' ']).replace('_', "-");
            let rest = line.strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with('=') || rest.starts_with(" is "))
        })
    }

    /// Returns the lines, with the comments after the last one that sets something; `None` if there
    /// are none.
    fn into_text(mut self) -> Option<String> {
        if self.added.is_empty() && self.lines.is_empty() {
            return None;
        }
        let sets = |line: &String| !line.trim_start().starts_with('#') && !line.trim().is_empty();
        let end = self.lines.iter().rposition(sets).map_or(0, |last| last + 1);
        let own_last = end == self.lines.len();
        if !self.added.is_empty() && own_last {
            self.added.push(String::new());
        }
        self.lines.splice(end..end, self.added);
        Some(self.lines.join("\n"))
    }
}

/// Returns the verb of a table whose header is this line.
fn header(line: &str) -> Option<String> {
    let (name, _) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let words = name.split('.').map(|word| word.trim().trim_matches(['"', '\'']));
    Some(words.collect::<Vec<_>>().join(".").replace('_', "-"))
}
