//! Lua's patterns with a bound on the steps of a match: a hook does not stop a function that is not in
//! Lua. After `lstrlib.c` of Lua 5.4.

use thiserror::Error;

/// A match of a pattern in a text.
#[derive(Debug)]
pub(super) struct Matcher<'a> {
    source: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Capture>,
    steps: &'a mut u64,
    depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// The capture is not closed yet.
    Open,
    /// The capture is a position.
    Position,
    Bytes(usize),
}

#[derive(Debug, Clone, Copy)]
struct Capture {
    start: usize,
    length: Length,
}

/// A captured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Captured<'a> {
    Bytes(&'a [u8]),
    /// A position, from 1.
    Position(usize),
}

/// The reason why a pattern cannot be matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum PatternError {
    #[error("invalid capture index %{0}")]
    NoCapture(usize),
    #[error("invalid capture index %{0}")]
    NoReference(char),
    #[error("unfinished capture")]
    Unfinished,
    #[error("too many captures")]
    TooManyCaptures,
    #[error("pattern too complex")]
    TooComplex,
    #[error("missing '[' after '%f' in pattern")]
    Frontier,
    #[error("missing arguments to '%b' in pattern")]
    Balance,
    #[error("malformed pattern (ends with '%')")]
    EndsWithPercent,
    #[error("malformed pattern (missing ']')")]
    NoBracket,
    #[error("invalid pattern capture")]
    NothingToClose,
    #[error("the pattern takes too long to match")]
    TooManySteps,
}

type Found = Result<Option<usize>, PatternError>;

impl<'a> Matcher<'a> {
    /// Creates a matcher that takes its steps from `steps`.
    pub(super) fn new(source: &'a [u8], pattern: &'a [u8], steps: &'a mut u64) -> Self {
        Self { source, pattern, captures: Vec::new(), steps, depth: 0 }
    }

    /// Matches the pattern at an offset. Returns the end of the match.
    pub(super) fn match_at(&mut self, start: usize) -> Found {
        self.captures.clear();
        self.depth = 0;
        self.run(start, 0)
    }

    /// Returns the number of captures of the last match; a match without captures counts as one if
    /// `whole`.
    pub(super) fn count(&self, whole: bool) -> usize {
        if self.captures.is_empty() && whole { 1 } else { self.captures.len() }
    }

    /// Returns a capture of the last match, which went from `start` to `end`.
    pub(super) fn capture(
        &self,
        number: usize,
        start: usize,
        end: usize,
    ) -> Result<Captured<'a>, PatternError> {
        match self.captures.get(number) {
            None if number == 0 => Ok(Captured::Bytes(&self.source[start..end])),
            None => Err(PatternError::NoCapture(number + 1)),
            Some(Capture { length: Length::Open, .. }) => Err(PatternError::Unfinished),
            Some(Capture { start, length: Length::Position }) => Ok(Captured::Position(start + 1)),
            Some(Capture { start, length: Length::Bytes(length) }) => {
                Ok(Captured::Bytes(&self.source[*start..start + length]))
            }
        }
    }

    /// Returns the number of steps that are left.
    pub(super) fn left(&self) -> u64 {
        *self.steps
    }

    /// Takes steps for work outside a match.
    pub(super) fn take(&mut self, steps: usize) -> Result<(), PatternError> {
        let left = self.steps.checked_sub(steps as u64);
        *self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(PatternError::TooManySteps)
    }

    fn run(&mut self, s: usize, p: usize) -> Found {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PatternError::TooComplex);
        }
        let found = self.advance(s, p);
        self.depth -= 1;
        found
    }

    fn advance(&mut self, mut s: usize, mut p: usize) -> Found {
        loop {
            self.take(1)?;
            let Some(&char) = self.pattern.get(p) else { return Ok(Some(s)) };
            match char {
                b'(' if self.pattern.get(p + 1) == Some(&b')') => {
                    return self.open(s, p + 2, Length::Position);
                }
                b'(' => return self.open(s, p + 1, Length::Open),
                b')' => return self.close(s, p + 1),
                b'$' if p + 1 == self.pattern.len() => {
                    return Ok((s == self.source.len()).then_some(s));
                }
                b'%' => match self.pattern.get(p + 1) {
                    Some(b'b') => match self.balance(s, p + 2)? {
                        Some(end) => {
                            s = end;
                            p += 4;
                            continue;
                        }
                        None => return Ok(None),
                    },
                    Some(b'f') => {
                        p += 2;
                        if self.pattern.get(p) != Some(&b'[') {
                            return Err(PatternError::Frontier);
                        }
                        let end = self.class_end(p)?;
                        self.take(end - p)?;
                        let before = if s == 0 { 0 } else { self.source[s - 1] };
                        let here = self.source.get(s).copied().unwrap_or(0);
                        if !self.in_set(before, p, end - 1) && self.in_set(here, p, end - 1) {
                            p = end;
                            continue;
                        }
                        return Ok(None);
                    }
                    Some(digit) if digit.is_ascii_digit() => {
                        let Some(end) = self.back_reference(s, *digit)? else { return Ok(None) };
                        s = end;
                        p += 2;
                        continue;
                    }
                    _ => {}
                },
                _ => {}
            }
            let end = self.class_end(p)?;
            self.take(end - p)?;
            match self.pattern.get(end) {
                Some(b'?') => {
                    if self.single(s, p, end)
                        && let Some(found) = self.run(s + 1, end + 1)?
                    {
                        return Ok(Some(found));
                    }
                    p = end + 1;
                }
                Some(b'+') => {
                    return if self.single(s, p, end) {
                        self.most(s + 1, p, end)
                    } else {
                        Ok(None)
                    };
                }
                Some(b'*') => return self.most(s, p, end),
                Some(b'-') => return self.least(s, p, end),
                _ if !self.single(s, p, end) => return Ok(None),
                _ => {
                    s += 1;
                    p = end;
                }
            }
        }
    }

    fn open(&mut self, s: usize, p: usize, length: Length) -> Found {
        if self.captures.len() >= MAX_CAPTURES {
            return Err(PatternError::TooManyCaptures);
        }
        let count = self.captures.len();
        self.captures.push(Capture { start: s, length });
        let found = self.run(s, p)?;
        if found.is_none() {
            self.captures.truncate(count);
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Found {
        let open = self.captures.iter().rposition(|it| it.length == Length::Open);
        let place = open.ok_or(PatternError::NothingToClose)?;
        self.captures[place].length = Length::Bytes(s - self.captures[place].start);
        let found = self.run(s, p)?;
        if found.is_none() {
            self.captures[place].length = Length::Open;
        }
        Ok(found)
    }

    fn balance(&mut self, s: usize, p: usize) -> Found {
        let [open, close] = *self.pattern.get(p..p + 2).unwrap_or_default() else {
            return Err(PatternError::Balance);
        };
        if self.source.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1;
        for at in s + 1..self.source.len() {
            self.take(1)?;
            let char = self.source[at];
            if char == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if char == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    fn back_reference(&mut self, s: usize, digit: u8) -> Found {
        let place = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let Some(Capture { start, length: Length::Bytes(length) }) = self.captures.get(place)
        else {
            return Err(PatternError::NoReference(char::from(digit)));
        };
        let (start, end) = (*start, s + length);
        let length = *length;
        self.take(length / 16)?;
        let same = self.source.get(s..end) == Some(&self.source[start..start + length]);
        Ok(same.then_some(end))
    }

    /// Matches as often as possible.
    fn most(&mut self, s: usize, p: usize, end: usize) -> Found {
        let mut count = 0;
        while self.single(s + count, p, end) {
            self.take(end - p)?;
            count += 1;
        }
        loop {
            if let Some(found) = self.run(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// Matches as seldom as possible.
    fn least(&mut self, mut s: usize, p: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.run(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(s, p, end) {
                return Ok(None);
            }
            self.take(end - p)?;
            s += 1;
        }
    }

    fn single(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(&char) = self.source.get(s) else { return false };
        match self.pattern[p] {
            b'.' => true,
            b'%' => is_class(char, self.pattern[p + 1]),
            b'[' => self.in_set(char, p, end - 1),
            other => other == char,
        }
    }

    /// Returns the end of the class or character at an offset of the pattern.
    fn class_end(&self, p: usize) -> Result<usize, PatternError> {
        let at = |place: usize| self.pattern.get(place).copied();
        match self.pattern[p] {
            b'%' if at(p + 1).is_none() => Err(PatternError::EndsWithPercent),
            b'%' => Ok(p + 2),
            b'[' => {
                let mut end = p + 1;
                if at(end) == Some(b'^') {
                    end += 1;
                }
                loop {
                    let char = at(end).ok_or(PatternError::NoBracket)?;
                    end += if char == b'%' { 2 } else { 1 };
                    if at(end) == Some(b']') {
                        return Ok(end + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    /// Returns whether a character is in the set from `[` at `p` to `]` at `last`.
    fn in_set(&self, char: u8, p: usize, last: usize) -> bool {
        let (mut at, mut is_in) = (p + 1, true);
        if self.pattern[at] == b'^' {
            is_in = false;
            at += 1;
        }
        while at < last {
            if self.pattern[at] == b'%' {
                at += 1;
                if is_class(char, self.pattern[at]) {
                    return is_in;
                }
                at += 1;
            } else if self.pattern[at + 1] == b'-' && at + 2 < last {
                if (self.pattern[at]..=self.pattern[at + 2]).contains(&char) {
                    return is_in;
                }
                at += 3;
            } else {
                if self.pattern[at] == char {
                    return is_in;
                }
                at += 1;
            }
        }
        !is_in
    }
}

fn is_class(char: u8, class: u8) -> bool {
    let is_in = match class.to_ascii_lowercase() {
        b'a' => char.is_ascii_alphabetic(),
        b'c' => char.is_ascii_control(),
        b'd' => char.is_ascii_digit(),
        b'g' => char.is_ascii_graphic(),
        b'l' => char.is_ascii_lowercase(),
        b'p' => char.is_ascii_punctuation(),
        b's' => char.is_ascii_whitespace() || char == 0x0b,
        b'u' => char.is_ascii_uppercase(),
        b'w' => char.is_ascii_alphanumeric(),
        b'x' => char.is_ascii_hexdigit(),
        _ => return class == char,
    };
    is_in != class.is_ascii_uppercase()
}

/// Steps that the matches of one call of a library function may take.
pub(super) const MAX_STEPS: u64 = 2_000_000;

const MAX_CAPTURES: usize = 32;
const MAX_DEPTH: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn find(source: &str, pattern: &str) -> Result<Option<Vec<String>>, PatternError> {
        let mut steps = MAX_STEPS;
        let anchored = pattern.starts_with('^');
        let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
        let mut matcher = Matcher::new(source.as_bytes(), pattern.as_bytes(), &mut steps);
        for start in 0..=source.len() {
            if let Some(end) = matcher.match_at(start)? {
                let text = |number| match matcher.capture(number, start, end)? {
                    Captured::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
                    Captured::Position(place) => Ok(place.to_string()),
                };
                return (0..matcher.count(true)).map(text).collect::<Result<_, _>>().map(Some);
            }
            if anchored {
                break;
            }
        }
        Ok(None)
    }

    #[test]
    fn patterns_match_as_in_lua() {
        for (source, pattern, found) in [
            ("hello", "l+", Some(vec!["ll"])),
            ("hello", "^l", None),
            ("key = value", "^(%w+)%s*=%s*(%w+)$", Some(vec!["key", "value"])),
            ("THE (quick) fox", "%((%a+)%)", Some(vec!["quick"])),
            ("f(a(b)c)d", "%b()", Some(vec!["(a(b)c)"])),
            ("THE (quick) fox", "%f[%a]%a+%f[%A]", Some(vec!["THE"])),
            ("abcabc", "(abc)%1", Some(vec!["abc"])),
            ("  x", "()x()", Some(vec!["3", "4"])),
            ("a]b", "[]]", Some(vec!["]"])),
            ("a-b", "[a%-]+", Some(vec!["a-"])),
            ("<<x>>", "<(.-)>", Some(vec!["<x"])),
            ("x1Y", "[^%a]", Some(vec!["1"])),
            ("", ".*", Some(vec![""])),
            ("ab", "a?b?c?$", Some(vec!["ab"])),
        ] {
            let found = found.map(|all| all.iter().map(|it| (*it).to_owned()).collect());
            assert_eq!(find(source, pattern), Ok(found), "{source} {pattern}");
        }
    }

    #[test]
    fn patterns_that_are_none_are_rejected() {
        for pattern in ["%", "[a", "(a", "%1", "%f", "%b", "a)", "[%", "[^"] {
            assert!(find("aaa", pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pathological_pattern_ends_with_an_error() {
        let source = "a".repeat(5000);
        let pattern = ".-".repeat(20) + "b";
        assert_eq!(find(&source, &pattern), Err(PatternError::TooManySteps));
    }
}
