use super::Purpose;

/// The expressions and searches that were entered, the newest last.
#[derive(Debug, Default)]
pub(super) struct History(Vec<(Purpose, String)>);

impl History {
    /// Adds a line that was entered.
    pub(super) fn add(&mut self, purpose: &Purpose, text: &str) {
        if text.trim().is_empty() || !purpose.is_remembered() {
            return;
        }
        self.0.retain(|(known, line)| known != purpose || line != text);
        self.0.push((purpose.clone(), text.to_owned()));
        if self.0.len() > MAX_LINES {
            self.0.remove(0);
        }
    }

    /// Returns the line that was entered `back` lines ago, from 1 for the last one.
    pub(super) fn line(&self, purpose: &Purpose, back: usize) -> Option<&str> {
        let mut lines = self.0.iter().rev().filter(|(known, _)| known == purpose);
        lines.nth(back.checked_sub(1)?).map(|(_, line)| line.as_str())
    }
}

/// Most lines that are remembered.
const MAX_LINES: usize = 200;
