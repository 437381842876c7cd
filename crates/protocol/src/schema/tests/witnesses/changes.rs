//! The comparison notices whatever is wrong with a layout.

use std::collections::{HashMap, HashSet};

use super::compare::Comparison;
use super::layout::{Node, whole};
use super::tables::Tables;
use super::{Catalog, Witnesses, files};

#[test]
fn a_changed_or_missing_leaf_is_a_difference() {
    let mut tested = HashSet::new();
    for file in files() {
        let protocol = Catalog::embedded().find(file.version).unwrap().protocol;
        let tables = Tables::new(&protocol.types);
        let mut comparison = Comparison::new(&tables, &file.types);
        for it in &file.packets {
            let packet = protocol.packet(it.state, it.direction, it.id).unwrap();
            // Most layouts are the same in many versions.
            let ours = tables.whole(packet.ty);
            if !tested.insert((ours, whole(&it.layout, |name| file.types[name].clone()))) {
                continue;
            }
            let as_it_is = comparison.differences(packet.ty, &it.layout);
            for (index, removed) in changes(&it.layout) {
                let mut layout = it.layout.clone();
                change(&mut layout, &mut { index }, removed);
                let found = comparison.differences(packet.ty, &layout);
                let how = if removed { "removed" } else { "changed" };
                assert!(found != as_it_is, "{} {}: leaf {index} {how}", file.name, packet.name());
            }
        }
    }
}

#[test]
fn a_changed_or_missing_leaf_of_a_named_layout_is_a_difference() {
    let mut tested = HashSet::new();
    for file in files() {
        let protocol = Catalog::embedded().find(file.version).unwrap().protocol;
        let tables = Tables::new(&protocol.types);
        for (name, layout) in &file.types {
            let with = file.packets.iter().filter(|it| reaches(&file, &it.layout, name));
            let short = with.min_by_key(|it| count(&it.layout));
            let it = short.unwrap_or_else(|| panic!("{}: {name} is not used", file.name));
            let packet = protocol.packet(it.state, it.direction, it.id).unwrap();
            let of = |layout: &[Node]| whole(layout, |name| file.types[name].clone());
            if !tested.insert((tables.whole(packet.ty), of(&it.layout), of(layout))) {
                continue;
            }
            let differences = |types: &HashMap<String, Vec<Node>>| {
                Comparison::new(&tables, types).differences(packet.ty, &it.layout)
            };
            let as_it_is = differences(&file.types);
            // Of the hundreds of leaves of an item, some from each part.
            let step = count(layout) * 2 / MAX_CHANGES + 1;
            let mut missed = Vec::new();
            for (index, removed) in changes(layout).step_by(step | 1) {
                let mut types = file.types.clone();
                change(types.get_mut(name).unwrap(), &mut { index }, removed);
                if differences(&types) == as_it_is {
                    missed.push((index, removed));
                }
            }
            // A known difference is reported once, even where it occurs in several places.
            assert!(
                missed.len() <= as_it_is.len(),
                "{} {name} in {}: {missed:?} (leaf, removed)",
                file.name,
                packet.name()
            );
        }
    }
}

/// Returns each leaf's index, once to change and once to remove it.
fn changes(layout: &[Node]) -> impl Iterator<Item = (usize, bool)> {
    (0..count(layout)).flat_map(|index| [(index, false), (index, true)])
}

/// Returns whether a named layout is in a layout.
fn reaches(file: &Witnesses, layout: &[Node], name: &str) -> bool {
    fn within(file: &Witnesses, nodes: &[Node], name: &str, seen: &mut Vec<String>) -> bool {
        nodes.iter().any(|node| match node {
            Node::Leaf { .. } => false,
            Node::Group { parts, .. } => parts.iter().any(|part| within(file, part, name, seen)),
            Node::Switch { cases, .. } => cases.values().any(|part| within(file, part, name, seen)),
            Node::Named { name: other, .. } => {
                other == name
                    || !seen.contains(other) && {
                        seen.push(other.clone());
                        within(file, &file.types[other], name, seen)
                    }
            }
        })
    }
    within(file, layout, name, &mut Vec::new())
}

fn count(nodes: &[Node]) -> usize {
    let parts = |node: &Node| match node {
        Node::Leaf { wire, .. } => usize::from(wire != "never"),
        Node::Group { parts, .. } => parts.iter().map(|part| count(part)).sum(),
        Node::Switch { cases, .. } => cases.values().map(|part| count(part)).sum(),
        Node::Named { .. } => 0,
    };
    nodes.iter().map(parts).sum()
}

/// Gives the leaf of this index another width or removes it, or counts `index` down by the leaves that there are.
fn change(nodes: &mut Vec<Node>, index: &mut usize, removed: bool) -> bool {
    for place in 0..nodes.len() {
        let done = match &mut nodes[place] {
            Node::Leaf { wire, .. } if wire == "never" => false,
            Node::Leaf { .. } if *index > 0 => {
                *index -= 1;
                false
            }
            Node::Leaf { .. } if removed => {
                nodes.remove(place);
                true
            }
            Node::Leaf { wire, .. } => {
                let to = if wire.ends_with("64") { "u32" } else { "u64" };
                to.clone_into(wire);
                true
            }
            Node::Group { parts, .. } => parts.iter_mut().any(|part| change(part, index, removed)),
            Node::Switch { cases, .. } => {
                cases.values_mut().any(|part| change(part, index, removed))
            }
            Node::Named { .. } => false,
        };
        if done {
            return true;
        }
    }
    false
}

/// Changes of a named layout at most.
const MAX_CHANGES: usize = 24;
