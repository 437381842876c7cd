use crate::schema::{Name, Value};

/// Where in a packet's value: `items[3].itemCount`, `response#/players/online`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
    /// A JSON pointer (RFC 6901) into the text that is there.
    pub(super) pointer: Option<Vec<String>>,
}

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// `.name`
    Field(Name),
    /// `[3]`, `[-1]`: from the end.
    Index(i64),
    /// `[*]`: every element.
    All,
    /// `[+]`: a new element at the end.
    Append,
}

impl Path {
    /// Reads a path, or says what is wrong and at which byte.
    pub(super) fn parse(text: &str) -> Result<Self, (String, usize)> {
        let (fields, pointer) = match text.split_once('#') {
            Some((fields, pointer)) => (fields, Some(pointer)),
            None => (text, None),
        };
        let mut steps = Vec::new();
        let mut at = 0;
        while at < fields.len() {
            let rest = &fields[at..];
            if let Some(inner) = rest.strip_prefix('[') {
                let Some(end) = inner.find(']') else { return Err(("`]` is missing".into(), at)) };
                steps.push(match &inner[..end] {
                    "*" => Step::All,
                    "+" => Step::Append,
                    index => Step::Index(
                        index
                            .parse()
                            .map_err(|_| ("want `[3]`, `[-1]`, `[*]` or `[+]`".to_owned(), at))?,
                    ),
                });
                at += end + 2;
                continue;
            }
            let dot = usize::from(!steps.is_empty());
            if dot == 1 && !rest.starts_with('.') {
                return Err(("want `.` or `[`".into(), at));
            }
            let name = &rest[dot..];
            let name = &name[..name.find(['.', '[']).unwrap_or(name.len())];
            if name.is_empty() {
                return Err(("a field's name is missing".into(), at));
            }
            steps.push(Step::Field(name.into()));
            at += dot + name.len();
        }
        let pointer = match pointer {
            None => None,
            Some("") => Some(Vec::new()),
            Some(pointer) => match pointer.strip_prefix('/') {
                Some(parts) => Some(parts.split('/').map(unescape).collect()),
                None => return Err(("want `/` behind `#`".into(), fields.len() + 1)),
            },
        };
        if steps.is_empty() {
            return Err(("a field's name is missing".into(), 0));
        }
        Ok(Self { steps, pointer })
    }
}

/// The values at a path. An appended element is the last one.
pub(super) fn lookup<'v>(value: &'v Value, steps: &[Step]) -> Vec<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![value] };
    match (step, value.plain()) {
        // What is further in NBT is compared with it as a whole.
        (_, Value::Nbt(_)) => vec![value],
        (Step::Field(name), _) => {
            value.get(name).map(|value| lookup(value, rest)).unwrap_or_default()
        }
        (Step::Index(index), Value::List(items)) => {
            place(*index, items.len()).map(|at| lookup(&items[at], rest)).unwrap_or_default()
        }
        (Step::Append, Value::List(items)) => {
            items.last().map(|item| lookup(item, rest)).unwrap_or_default()
        }
        (Step::All, Value::List(items)) => {
            items.iter().flat_map(|item| lookup(item, rest)).collect()
        }
        _ => Vec::new(),
    }
}

/// The element that an index means, if there is one.
pub(super) fn place(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if index < 0 { length.checked_add(index)? } else { index };
    usize::try_from(at).ok().filter(|_| at < length)
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                Step::Field(name) if number == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::All => f.write_str("[*]")?,
                Step::Append => f.write_str("[+]")?,
            }
        }
        let Some(pointer) = &self.pointer else { return Ok(()) };
        f.write_str("#")?;
        pointer
            .iter()
            .try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_paths() {
        for text in [
            "message",
            "location.x",
            "items[3].itemCount",
            "items[-1]",
            "metadata[*].value",
            "data[+]",
            "response#/players/online",
            "response#",
            "message#/extra/0/a~1b",
        ] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_where_a_path_is_wrong() {
        for (text, at) in
            [("", 0), ("a..b", 1), ("a[", 1), ("a[x]", 1), ("a[0]b", 4), ("a#b", 2), ("a.", 1)]
        {
            assert_eq!(Path::parse(text).unwrap_err().1, at, "{text}");
        }
    }
}
