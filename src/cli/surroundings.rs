use std::collections::VecDeque;

/// Selects the items around those that match, as `grep` does with `-A` and `-B`.
#[derive(Debug)]
pub(super) struct Surroundings<T> {
    before: usize,
    after: usize,
    /// The last items that were not shown, at most `before`.
    held: VecDeque<T>,
    /// Number of items to show that follow the last match.
    due: usize,
    /// `true` if an item was left out after the last one shown.
    gap: bool,
    /// `true` if a match was shown.
    begun: bool,
}

/// Items that are shown together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group<T> {
    /// `true` if items were left out before it, and after an earlier group.
    pub(super) separated: bool,
    pub(super) items: Vec<T>,
}

impl<T> Surroundings<T> {
    /// Creates a selection of `before` items before each match and `after` items after it.
    pub(super) fn new(before: usize, after: usize) -> Self {
        let held = VecDeque::new();
        Self { before, after, held, due: 0, gap: false, begun: false }
    }

    /// Takes the next item and returns what is shown now.
    pub(super) fn next(&mut self, item: T, matches: bool) -> Option<Group<T>> {
        if matches {
            let separated = self.begun && self.gap;
            (self.due, self.gap, self.begun) = (self.after, false, true);
            let items = self.held.drain(..).chain([item]).collect();
            return Some(Group { separated, items });
        }
        if self.due > 0 {
            self.due -= 1;
            return Some(Group { separated: false, items: vec![item] });
        }
        self.held.push_back(item);
        if self.held.len() > self.before {
            self.held.pop_front();
            self.gap = true;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is shown of the numbers below 20, of which those in `matching` match.
    fn shown(before: usize, after: usize, matching: &[u32]) -> String {
        let mut surroundings = Surroundings::new(before, after);
        let mut lines = Vec::new();
        for number in 0..20 {
            let Some(group) = surroundings.next(number, matching.contains(&number)) else {
                continue;
            };
            lines.extend(group.separated.then(|| "--".to_owned()));
            lines.extend(group.items.iter().map(u32::to_string));
        }
        lines.join(" ")
    }

    #[test]
    fn matches_have_the_items_around_them() {
        assert_eq!(shown(1, 2, &[5, 15]), "4 5 6 7 -- 14 15 16 17");
        assert_eq!(shown(0, 0, &[5, 6, 8]), "5 6 -- 8");
        assert_eq!(shown(3, 0, &[1]), "0 1");
        assert_eq!(shown(0, 5, &[18]), "18 19");
    }

    #[test]
    fn groups_that_touch_are_one_and_no_item_is_shown_twice() {
        assert_eq!(shown(1, 1, &[5, 8]), "4 5 6 7 8 9");
        assert_eq!(shown(2, 2, &[5, 6, 8]), "3 4 5 6 7 8 9 10");
        assert_eq!(shown(1, 1, &[5, 9]), "4 5 6 -- 8 9 10");
    }
}
