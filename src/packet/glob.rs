/// The name of a packet, or with `*` and `?` those of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob(Box<str>);

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut at, mut place) = (0, 0);
        // Where the last star stands, and up to where of the name it reaches.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters_and_question_marks_for_one() {
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
        ] {
            assert_eq!(Glob::new(pattern).matches(name), matches, "{pattern} {name}");
        }
    }
}
