/// The candidate that `word` was probably meant to be.
#[must_use]
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let near = candidates.into_iter().filter_map(|candidate| {
        let distance = distance(&word.to_lowercase(), &candidate.to_lowercase());
        (distance <= limit && candidate != word).then_some((distance, candidate))
    });
    near.min().map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out, changed or swapped with the next.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > MAX_DISTANCE {
        return usize::MAX;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, right) in b.iter().enumerate() {
            let change = last[j] + usize::from(left != right);
            row[j + 1] = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *left == b[j - 1] && a[i - 1] == *right {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// Words that differ by more are not what was meant.
const MAX_DISTANCE: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_word_and_none_that_is_far() {
        let names = ["message", "messages", "position", "x", "y", "onGround"];
        for (word, found) in [
            ("mesage", Some("message")),
            ("messgae", Some("message")),
            ("Message", Some("message")),
            ("ongruond", Some("onGround")),
            ("z", Some("x")),
            ("velocity", None),
            ("", Some("x")),
        ] {
            assert_eq!(closest(word, names), found, "{word}");
        }
        assert_eq!(distance("ca", "abc"), 3);
        assert_eq!(distance("abcd", "acbd"), 1);
    }
}
