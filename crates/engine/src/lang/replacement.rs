use regex::Regex;

use super::ExprError;
use super::ast::With;
use super::datum::Datum;
use mitmcraft_protocol::packet::{replace_nbt, replace_text};

/// What `replace` does: a regular expression, and the text that takes the place of what it finds.
#[derive(Debug)]
pub(super) struct Replacement {
    regex: Regex,
    with: Box<str>,
}

impl Replacement {
    pub(super) fn new(regex: Regex, with: &With) -> Result<Self, ExprError> {
        let named = |name: &str| regex.capture_names().flatten().any(|it| it == name);
        let is_group = |name: &str| match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => named(name),
        };
        if let Some(name) = groups(&with.text).find(|name| !is_group(name)) {
            let message = format!("the regular expression has no group `{name}`");
            return Err(ExprError::new(&with.location.0, message).hint(
                "`$$` is a dollar; put the name in braces, as in `${1}a`, if letters follow it",
            ));
        }
        Ok(Self { regex, with: with.text.as_str().into() })
    }

    /// Returns a text with all matches replaced, or a component with those in each of its texts. `None` for another
    /// value, and if the texts are longer than [`MAX_CHARS`] together.
    pub(super) fn apply<'a>(&self, datum: Datum<'a>) -> Option<Datum<'a>> {
        let mut left = MAX_CHARS;
        let mut replace = |text: &str| self.in_text(text, &mut left);
        Some(match datum {
            Datum::Nbt(mut nbt) => {
                replace_nbt(&mut nbt.root, &mut replace)?;
                Datum::Nbt(nbt)
            }
            datum => Datum::string(replace_text(&datum.string_of()?, &mut replace)?),
        })
    }

    fn in_text(&self, text: &str, left: &mut usize) -> Option<String> {
        let mut result = String::new();
        let mut at = 0;
        for found in self.regex.captures_iter(text) {
            let whole = found.get(0)?.range();
            result.push_str(&text[at..whole.start]);
            found.expand(&self.with, &mut result);
            at = whole.end;
            // A character has at most four bytes.
            if result.len() > 4 * MAX_CHARS {
                return None;
            }
        }
        result.push_str(&text[at..]);
        if result != text {
            *left = left.checked_sub(result.chars().count())?;
        }
        Some(result)
    }
}

/// Returns the names and numbers of groups that a text refers to, as the `regex` crate reads it.
fn groups(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('$')?;
            if let Some(after) = after.strip_prefix('$') {
                rest = after;
                continue;
            }
            let braced = after.strip_prefix('{').and_then(|after| after.split_once('}'));
            let word = |it: char| it.is_ascii_alphanumeric() || it == '_';
            let (name, after) = braced.unwrap_or_else(|| {
                after.split_at(after.find(|it| !word(it)).unwrap_or(after.len()))
            });
            rest = after;
            if !name.is_empty() {
                return Some(name);
            }
        }
    })
}

/// The characters that a text of the game has at most.
const MAX_CHARS: usize = 32_767;
