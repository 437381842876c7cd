//! The comparison notices whatever is wrong with a layout.

use super::layout::Node;
use super::{Catalog, compare, files};

#[test]
fn a_changed_or_missing_leaf_is_a_difference() {
    for file in files() {
        let protocol = Catalog::embedded().find(file.version).unwrap().protocol;
        for it in &file.packets {
            let packet = protocol.packet(it.state, it.direction, it.id).unwrap();
            let differences = |layout: &[Node]| {
                compare::differences(&protocol.types, packet.ty, layout, &file.types)
            };
            let as_it_is = differences(&it.layout);
            let leaves = count(&it.layout);
            for (index, removed) in (0..leaves).flat_map(|index| [(index, false), (index, true)]) {
                let mut layout = it.layout.clone();
                change(&mut layout, &mut { index }, removed);
                let found = differences(&layout);
                assert!(
                    found != as_it_is,
                    "{} {}: leaf {index}{}",
                    file.name,
                    packet.name(),
                    if removed { " removed" } else { "" }
                );
            }
        }
    }
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
