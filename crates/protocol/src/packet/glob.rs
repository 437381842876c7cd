/// A pattern for names: `*` matches any characters, `?` exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Glob(Box<str>);

impl Glob {
    /// Creates a glob. Every text is a valid glob.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self(pattern.into())
    }

    /// Returns the pattern.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the whole of `name` matches the pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }
}

/// Returns whether the whole of `name` matches the glob `pattern`.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut place) = (0, 0);
    // The position of the last star, and the end of what it matches of the name.
    let mut star = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((back, reach)) = star else { return false };
                star = Some((back, reach + 1));
                (at, place) = (back + 1, reach + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_characters_and_a_question_mark_one() {
        for (pattern, name, matches) in [
            ("chat", "chat", true),
            ("chat", "chats", false),
            ("entity_*", "entity_velocity", true),
            ("entity_*", "entity", false),
            ("*_window", "open_window", true),
            ("*_window", "open_windows", false),
            ("*a*b*", "xxaxxb", true),
            ("*a*b", "abab", true),
            ("slo?", "slot", true),
            ("slo?", "slo", false),
            ("*", "", true),
            ("**", "x", true),
            ("e*l*k", "entity_look", true),
            ("e*x*", "entity_look", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), matches, "{pattern} {name}");
        }
    }
}
