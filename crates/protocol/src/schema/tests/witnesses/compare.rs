//! The comparison of a layout of our tables with that of a witness.

use std::collections::{HashMap, HashSet};

use super::layout::{
    Cases, Count, Key, Kind, Node, On, alike, case, decided, keys, labelled, masks, normal, text,
    width,
};
use super::tables::Tables;
use crate::schema::types::TypeId;

/// The tables of one version and a file of witnesses, with the pairs of named layouts already compared.
pub(super) struct Comparison<'c> {
    tables: &'c Tables<'c>,
    names: &'c HashMap<String, Vec<Node>>,
    /// Pairs that are equal, or whose differences are found already, or that are being compared: a layout that
    /// contains itself equals another if both are the same up to where they begin again.
    compared: HashSet<(String, String)>,
    /// The pairs of `compared`, in the order in which they were noted.
    order: Vec<(String, String)>,
}

impl<'c> Comparison<'c> {
    pub(super) fn new(tables: &'c Tables<'c>, names: &'c HashMap<String, Vec<Node>>) -> Self {
        Self { tables, names, compared: HashSet::new(), order: Vec::new() }
    }

    /// Compares the layout of a packet with a witness's, leaf by leaf, and returns each difference.
    pub(super) fn differences(&mut self, ours: TypeId, theirs: &[Node]) -> Vec<String> {
        let known = self.order.len();
        let ours = self.tables.layout(ours);
        let found = self.both(ours, normal(theirs.to_vec()), Labels::default());
        if !found.is_empty() {
            self.forget(known);
        }
        found
    }

    /// Notes a pair, and returns whether it is new.
    fn note(&mut self, pair: (String, String)) -> bool {
        let new = self.compared.insert(pair.clone());
        if new {
            self.order.push(pair);
        }
        new
    }

    /// Forgets all pairs but the first `known`, because a difference between them was not reported, or is reported
    /// again.
    fn forget(&mut self, known: usize) {
        for pair in self.order.drain(known..) {
            self.compared.remove(&pair);
        }
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
                (Some(Node::Named { name: a, at }), Some(Node::Named { name: b, .. })) => {
                    if self.note((a.clone(), b.clone())) {
                        let (a, b) = (self.tables.named(&a), self.named(&b));
                        let of = self.both(a, b, Labels::default());
                        found.extend(of.into_iter().map(|it| format!("{at}: {it}")));
                    }
                    at.clone_into(&mut last);
                    ours.remove(0);
                    theirs.remove(0);
                }
                (Some(Node::Named { name, .. }), _) => {
                    if !self.note((text(&ours), text(&theirs))) {
                        return found;
                    }
                    ours.splice(..1, self.tables.named(&name));
                }
                (_, Some(Node::Named { name, .. })) => {
                    if !self.note((text(&ours), text(&theirs))) {
                        return found;
                    }
                    theirs.splice(..1, self.named(&name));
                }
                (
                    Some(Node::Switch { on, cases, .. }),
                    Some(Node::Switch { on: their_on, cases: theirs_cases, .. }),
                ) if labels.same(&on, &their_on) => {
                    let (our_tail, their_tail) = (ours.split_off(1), theirs.split_off(1));
                    let known = self.order.len();
                    let mut inside = Vec::new();
                    for key in labels.keys(&on, &cases, &theirs_cases) {
                        let (a, b) = (case(&cases, &key), case(&theirs_cases, &key));
                        inside.extend(self.both(a.to_vec(), b.to_vec(), labels.clone()));
                    }
                    if inside.is_empty() {
                        (ours, theirs) = (our_tail, their_tail);
                        continue;
                    }
                    self.forget(known);
                    let behind = self.both(our_tail.clone(), their_tail.clone(), labels.clone());
                    self.forget(known);
                    // What one layout has behind the switch can be in each case of the other.
                    let mut all = Vec::new();
                    for key in labels.keys(&on, &cases, &theirs_cases) {
                        let a = [case(&cases, &key), &our_tail].concat();
                        let b = [case(&theirs_cases, &key), &their_tail].concat();
                        let (a, b) = (decided(&a, &on, &key), decided(&b, &their_on, &key));
                        let of = self.both(normal(a), normal(b), labels.clone());
                        all.extend(of.into_iter().map(|it| format!("if {key}: {it}")));
                    }
                    let apart = [inside, behind].concat();
                    found.extend(if all.len() <= apart.len() { all } else { apart });
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
            let of = self.both(normal(a), normal(b), labels.clone());
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
                        found.extend(self.both(a.clone(), b.clone(), labels.clone()));
                    }
                }
                found
            }
            _ => differ(),
        }
    }

    fn named(&self, name: &str) -> Vec<Node> {
        let nodes = self.names.get(name).unwrap_or_else(|| panic!("no type `{name}`"));
        normal(labelled(nodes))
    }
}

/// Values on which later parts can depend.
#[derive(Clone, Default)]
struct Labels {
    /// The witness's labels of ours.
    theirs: HashMap<String, String>,
    /// Our labels of values that are bools.
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

/// Returns the keys of all switches on a value, those within others and within groups too.
fn switch_keys(nodes: &[Node], on: &On) -> Cases {
    let mut found = Cases::new();
    for node in nodes {
        match node {
            Node::Switch { on: other, cases, .. } => {
                if other == on {
                    found.extend(cases.keys().map(|key| (key.clone(), Vec::new())));
                }
                cases.values().for_each(|part| found.extend(switch_keys(part, on)));
            }
            Node::Group { parts, .. } => {
                parts.iter().for_each(|part| found.extend(switch_keys(part, on)));
            }
            Node::Leaf { .. } | Node::Named { .. } => {}
        }
    }
    found
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

/// Parts of a layout on one level at most.
const MAX_STEPS: usize = 1000;

/// Characters of a layout in a message at most.
const MAX_SHOWN: usize = 60;
