//! The comparison of a layout of our tables with that of a witness.

use std::collections::{HashMap, HashSet};

use super::layout::{
    Cases, Count, Key, Kind, Node, On, alike, case, decided, keys, masks, normal, text, width,
};
use super::tables;
use crate::schema::types::{Type, TypeId};

/// Compares the layout of a packet with a witness's, leaf by leaf, and returns each difference.
pub(super) fn differences(
    types: &[Type],
    ours: TypeId,
    theirs: &[Node],
    names: &HashMap<String, Vec<Node>>,
) -> Vec<String> {
    let ours = tables::layout(types, ours, "");
    let mut comparison = Comparison { types, names, compared: HashSet::new(), within: Vec::new() };
    let mut found = comparison.sequences(&ours, &normal(theirs.to_vec()), &Labels::default());
    let mut seen = HashSet::new();
    found.retain(|difference| seen.insert(difference.clone()));
    found
}

/// Values on which later parts can depend.
#[derive(Clone, Default)]
struct Labels {
    /// The witness's labels of ours.
    theirs: HashMap<String, String>,
    /// Those of ours that are bools.
    bools: HashSet<String>,
}

impl Labels {
    /// Returns the values for which two switches are compared.
    fn keys(&self, on: &On, a: &Cases, b: &Cases) -> Vec<Key> {
        let one_bit = on.mask.is_some_and(u64::is_power_of_two);
        if one_bit || on.mask.is_none() && self.bools.contains(&on.label) {
            return vec![Key::Int(0), Key::Int(1)];
        }
        keys(a, b)
    }

    fn same(&self, ours: &On, theirs: &On) -> bool {
        self.theirs.get(&ours.label) == Some(&theirs.label) && ours.mask == theirs.mask
    }
}

struct Comparison<'c> {
    types: &'c [Type],
    names: &'c HashMap<String, Vec<Node>>,
    /// Named layouts that are the same if everything else is.
    compared: HashSet<(String, String)>,
    /// The sequences around the current ones.
    within: Vec<(String, String)>,
}

impl Comparison<'_> {
    fn sequences(&mut self, ours: &[Node], theirs: &[Node], labels: &Labels) -> Vec<String> {
        if ours.is_empty() && theirs.is_empty() {
            return Vec::new();
        }
        // Layouts that contain themselves, at different places, come back to the same two sequences.
        let pair = (text(ours), text(theirs));
        let recursive = pair.0.contains('@') || pair.1.contains('@');
        if recursive && self.within.contains(&pair) {
            return Vec::new();
        }
        self.within.push(pair);
        assert!(self.within.len() < MAX_DEPTH, "{} / {}", text(ours), text(theirs));
        let found = self.both(ours.to_vec(), theirs.to_vec(), labels.clone());
        self.within.pop();
        found
    }

    fn both(
        &mut self,
        mut ours: Vec<Node>,
        mut theirs: Vec<Node>,
        mut labels: Labels,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let mut last = String::new();
        for _ in 0..MAX_STEPS {
            match (ours.first().cloned(), theirs.first().cloned()) {
                (None, None) => return found,
                (_, Some(Node::Leaf { wire, .. })) if wire == "never" => return found,
                (Some(Node::Named { name: a, .. }), Some(Node::Named { name: b, .. }))
                    if self.compared.contains(&(a.clone(), b.clone())) =>
                {
                    ours.remove(0);
                    theirs.remove(0);
                }
                (Some(Node::Named { name, at }), theirs_first) => {
                    if let Some(Node::Named { name: other, .. }) = theirs_first {
                        self.compared.insert((name.clone(), other));
                    }
                    let id = name.parse().map(TypeId).unwrap_or(TypeId(0));
                    ours.splice(..1, tables::layout(self.types, id, &at));
                    if let Some(Node::Named { name, .. }) = theirs.first().cloned() {
                        theirs.splice(..1, self.named(&name));
                    }
                }
                (_, Some(Node::Named { name, .. })) => {
                    theirs.splice(..1, self.named(&name));
                }
                (
                    Some(Node::Switch { on, cases, .. }),
                    Some(Node::Switch { on: their_on, cases: theirs_cases, .. }),
                ) if labels.same(&on, &their_on) => {
                    let (our_tail, their_tail) = (ours.split_off(1), theirs.split_off(1));
                    let mut inside = Vec::new();
                    for key in labels.keys(&on, &cases, &theirs_cases) {
                        inside.extend(self.sequences(
                            case(&cases, &key),
                            case(&theirs_cases, &key),
                            &labels,
                        ));
                    }
                    if inside.is_empty() {
                        (ours, theirs) = (our_tail, their_tail);
                        continue;
                    }
                    // What one layout has behind the switch can be in each case of the other.
                    let mut all = Vec::new();
                    for key in labels.keys(&on, &cases, &theirs_cases) {
                        let a = [case(&cases, &key), &our_tail].concat();
                        let b = [case(&theirs_cases, &key), &their_tail].concat();
                        let (a, b) = (decided(&a, &on, &key), decided(&b, &their_on, &key));
                        let of = self.sequences(&normal(a), &normal(b), &labels);
                        all.extend(of.into_iter().map(|it| format!("if {key}: {it}")));
                    }
                    let found_behind = self.sequences(&our_tail, &their_tail, &labels);
                    if all.len() <= inside.len() + found_behind.len() {
                        found.extend(all);
                    } else {
                        found.extend(inside);
                        found.extend(found_behind);
                    }
                    return found;
                }
                (Some(Node::Switch { on, .. }), _) => {
                    let Some(label) = labels.theirs.get(&on.label) else {
                        found.push(format!(
                            "{}: depends on a value that the witness does not use",
                            ours[0].at()
                        ));
                        ours.remove(0);
                        continue;
                    };
                    let (on, their_on, all) =
                        keys_of(&on.label, label, on.mask, &ours, &theirs, &labels);
                    return self.by_case(&all, (&ours, &on), (&theirs, &their_on), &labels, found);
                }
                (_, Some(Node::Switch { on: their_on, .. })) => {
                    let label = labels.theirs.iter().find(|(_, theirs)| **theirs == their_on.label);
                    let Some((label, _)) = label else {
                        found.push(format!("after {last}: the witness has {}", theirs[0]));
                        theirs.remove(0);
                        continue;
                    };
                    let (on, their_on, all) =
                        keys_of(label, &their_on.label, their_on.mask, &ours, &theirs, &labels);
                    return self.by_case(&all, (&ours, &on), (&theirs, &their_on), &labels, found);
                }
                (Some(a), None) => {
                    found.push(format!("{}: {}, the witness ends", a.at(), brief(&a)));
                    ours.remove(0);
                }
                (None, Some(b)) => {
                    found.push(format!("after {last}: the witness has {}", brief(&b)));
                    theirs.remove(0);
                }
                (Some(a), Some(b)) => {
                    if let Some((of_ours, of_theirs)) = same_width(&ours, &theirs) {
                        ours[of_ours - 1].at().clone_into(&mut last);
                        ours.drain(..of_ours);
                        theirs.drain(..of_theirs);
                        continue;
                    }
                    if let (Some(a), Some(b)) = (a.label(), b.label()) {
                        labels.theirs.insert(a.clone(), b.clone());
                    }
                    if let Node::Leaf { wire, label: Some(label), .. } = &a
                        && wire == "bool"
                    {
                        labels.bools.insert(label.clone());
                    }
                    found.extend(self.single(&a, &b, &labels));
                    a.at().clone_into(&mut last);
                    ours.remove(0);
                    theirs.remove(0);
                }
            }
        }
        panic!("a layout begins with itself: {} / {}", text(&ours), text(&theirs));
    }

    /// Compares two layouts for each value of an earlier one.
    fn by_case(
        &mut self,
        keys: &[Key],
        (ours, on): (&[Node], &On),
        (theirs, their_on): (&[Node], &On),
        labels: &Labels,
        mut found: Vec<String>,
    ) -> Vec<String> {
        for key in keys {
            let (a, b) = (decided(ours, on, key), decided(theirs, their_on, key));
            let of = self.sequences(&normal(a), &normal(b), labels);
            found.extend(of.into_iter().map(|it| format!("if {key}: {it}")));
        }
        found
    }

    fn single(&mut self, ours: &Node, theirs: &Node, labels: &Labels) -> Vec<String> {
        let differ =
            || vec![format!("{}: {}, the witness has {}", ours.at(), brief(ours), brief(theirs))];
        match (ours, theirs) {
            (Node::Leaf { wire: a, .. }, Node::Leaf { wire: b, .. }) if alike(a, b) => Vec::new(),
            (
                Node::Group { kind: a, parts: our_parts, .. },
                Node::Group { kind: b, parts: their_parts, .. },
            ) => {
                let counts = match (a, b) {
                    (Kind::List(Count::Label(a)), Kind::List(Count::Label(b))) => {
                        labels.theirs.get(a) == Some(b)
                    }
                    (Kind::List(Count::Prefix(a)), Kind::List(Count::Prefix(b))) => alike(a, b),
                    (a, b) => a == b,
                };
                let mut found = if counts { Vec::new() } else { differ() };
                let same_kind = std::mem::discriminant(a) == std::mem::discriminant(b);
                if counts || same_kind {
                    for (a, b) in our_parts.iter().zip(their_parts) {
                        found.extend(self.sequences(a, b, labels));
                    }
                }
                found
            }
            _ => differ(),
        }
    }

    fn named(&self, name: &str) -> Vec<Node> {
        let nodes = self.names.get(name).unwrap_or_else(|| panic!("no type `{name}`"));
        normal(nodes.clone())
    }
}

/// Returns how many integers of fixed width on each side have the same width together, if they are not one
/// on each side: a long, or two ints, or a chunk's position.
fn same_width(ours: &[Node], theirs: &[Node]) -> Option<(usize, usize)> {
    let (mut of_ours, mut of_theirs) = (1, 1);
    let (mut a, mut b) = (width(ours.first()?)?, width(theirs.first()?)?);
    while a != b {
        if a < b {
            a += width(ours.get(of_ours)?)?;
            of_ours += 1;
        } else {
            b += width(theirs.get(of_theirs)?)?;
            of_theirs += 1;
        }
    }
    (of_ours > 1 || of_theirs > 1).then_some((of_ours, of_theirs))
}

/// Returns on what and for which values two layouts are compared. If one of them depends on a whole value, and
/// the other on bits of it, then for each value with these bits.
fn keys_of(
    ours: &str,
    theirs: &str,
    mask: Option<u64>,
    our_nodes: &[Node],
    their_nodes: &[Node],
    labels: &Labels,
) -> (On, On, Vec<Key>) {
    let on = |label: &str, mask| On { label: label.into(), mask };
    let cases = |mask| {
        let ours = switch_keys(our_nodes, &on(ours, mask));
        (ours, switch_keys(their_nodes, &on(theirs, mask)))
    };
    let whole = cases(None);
    if mask.is_some() && whole.0.is_empty() && whole.1.is_empty() {
        let (a, b) = cases(mask);
        let all = labels.keys(&on(ours, mask), &a, &b);
        return (on(ours, mask), on(theirs, mask), all);
    }
    let mut all = labels.keys(&on(ours, None), &whole.0, &whole.1);
    let masks = [masks(our_nodes, ours), masks(their_nodes, theirs)].concat();
    let bits = masks.iter().fold(0, |all, mask| all | mask);
    if bits < MAX_BITS {
        all.extend(
            (0..=bits)
                .filter(|value| value & !bits == 0 && *value > 0)
                .map(|value| Key::Int(value.cast_signed())),
        );
    }
    all.sort();
    all.dedup();
    (on(ours, None), on(theirs, None), all)
}

/// The cases of the first switch on a value.
fn switch_keys(nodes: &[Node], on: &On) -> Cases {
    let found = nodes.iter().find_map(|node| match node {
        Node::Switch { on: other, cases, .. } if other == on => Some(cases.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

fn brief(node: &Node) -> String {
    let text = node.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Bits of which all combinations are compared are below this one.
const MAX_BITS: u64 = 64;

const MAX_DEPTH: usize = 200;

/// Parts of a layout on one level at most.
const MAX_STEPS: usize = 1000;

/// Characters of a layout in a message at most.
const MAX_SHOWN: usize = 60;
