use std::fmt;

use thiserror::Error;

use crate::schema::Name;

/// The path to a field of a packet: `items[3].itemCount`, `metadata[*].value`, `entityIds[-1]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldPath {
    steps: Box<[PathStep]>,
}

/// One step of a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// `.name`: a field of a container, or a key of an NBT compound.
    Name(Name),
    /// `[3]`, `[-1]`: an element of a list, from its end when negative.
    Index(i64),
    /// `[*]`: each element of a list.
    Each,
    /// `[+]`: a new element at the end of a list. Only changes can append; nothing is read there.
    Append,
}

/// The reason why a text is not a [`FieldPath`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct PathError {
    /// A description of the error.
    pub message: &'static str,
    /// Offset in the text, in bytes.
    pub at: usize,
}

impl FieldPath {
    /// Parses a path.
    ///
    /// # Errors
    /// [`PathError`] when `text` is not names and indexes, beginning with a name.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let fail = |message, at| Err(PathError { message, at });
        let mut steps = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some(inner) = rest.strip_prefix('[').filter(|_| at > 0) {
                let Some((index, _)) = inner.split_once(']') else {
                    return fail("`]` is missing", at);
                };
                steps.push(match (index, index.parse()) {
                    ("*", _) => PathStep::Each,
                    ("+", _) => PathStep::Append,
                    (_, Ok(number)) => PathStep::Index(number),
                    _ => return fail("expected `[3]`, `[-1]`, `[*]` or `[+]`", at),
                });
                at += index.len() + 2;
                continue;
            }
            let name = if at == 0 {
                rest
            } else {
                let Some(name) = rest.strip_prefix('.') else {
                    return fail("expected `.` or `[`", at);
                };
                name
            };
            let name = &name[..name.find(['.', '[']).unwrap_or(name.len())];
            if name.is_empty() {
                return fail("a field's name is missing", at);
            }
            steps.push(PathStep::Name(name.into()));
            at += usize::from(at > 0) + name.len();
        }
        if steps.is_empty() {
            return fail("a field's name is missing", 0);
        }
        Ok(steps.into_iter().collect())
    }

    /// Returns the steps, outermost first.
    #[inline]
    #[must_use]
    pub fn steps(&self) -> &[PathStep] {
        &self.steps
    }
}

impl FromIterator<PathStep> for FieldPath {
    fn from_iter<I: IntoIterator<Item = PathStep>>(steps: I) -> Self {
        Self { steps: steps.into_iter().collect() }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                PathStep::Name(name) if number == 0 => f.write_str(name)?,
                PathStep::Name(name) => write!(f, ".{name}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Each => f.write_str("[*]")?,
                PathStep::Append => f.write_str("[+]")?,
            }
        }
        Ok(())
    }
}

/// Returns the position of the element with an index, which counts from the end when negative.
pub fn position(index: i64, length: usize) -> Option<usize> {
    let length_signed = i64::try_from(length).ok()?;
    let position = if index < 0 { length_signed.checked_add(index)? } else { index };
    usize::try_from(position).ok().filter(|position| *position < length)
}

/// Returns a path in which `[*]` stands for each position: `items[*].itemId` for `items[3].itemId`.
#[must_use]
pub fn any_position(path: &str) -> String {
    let mut any = String::new();
    for part in path.split('[') {
        match part.split_once(']') {
            Some((_, rest)) => any = any + "[*]" + rest,
            None => any.push_str(part),
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_paths() {
        for text in ["message", "location.x", "items[3].itemCount", "items[-1]", "a[*].b[+]"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_position() {
        for (text, at) in
            [("", 0), ("a..b", 1), ("a[", 1), ("a[x]", 1), ("a[0]b", 4), ("a.", 1), ("[0]", 0)]
        {
            assert_eq!(FieldPath::parse(text).unwrap_err().at, at, "{text}");
        }
    }

    #[test]
    fn negative_indexes_count_from_the_end() {
        for (index, length, expected) in [
            (0, 3, Some(0)),
            (2, 3, Some(2)),
            (3, 3, None),
            (-1, 3, Some(2)),
            (-3, 3, Some(0)),
            (-4, 3, None),
            (i64::MIN, 3, None),
            (-1, 0, None),
        ] {
            assert_eq!(position(index, length), expected, "{index} {length}");
        }
    }
}
