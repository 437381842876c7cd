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
            for (index, to) in (0..leaves).flat_map(|index| [(index, Some("u64")), (index, None)]) {
                let mut layout = it.layout.clone();
                change(&mut layout, &mut { index }, to);
                let found = differences(&layout);
                assert!(found != as_it_is, "{} {}: leaf {index}: {to:?}", file.name, packet.name());
            }
        }
    }
}

fn count(nodes: &[Node]) -> usize {
    let parts = |node: &Node| match node {
        Node::Leaf { .. } => 1,
        Node::Group { parts, .. } => parts.iter().map(|part| count(part)).sum(),
        Node::Switch { cases, .. } => cases.values().map(|part| count(part)).sum(),
        Node::Named { .. } => 0,
    };
    nodes.iter().map(parts).sum()
}

/// Replaces or removes the leaf of this index, or counts `index` down by the leaves that there are.
fn change(nodes: &mut Vec<Node>, index: &mut usize, to: Option<&str>) -> bool {
    for place in 0..nodes.len() {
        let done = match &mut nodes[place] {
            Node::Leaf { .. } if *index > 0 => {
                *index -= 1;
                false
            }
            Node::Leaf { wire, .. } => {
                match to {
                    Some(to) => to.clone_into(wire),
                    None => drop(nodes.remove(place)),
                }
                true
            }
            Node::Group { parts, .. } => parts.iter_mut().any(|part| change(part, index, to)),
            Node::Switch { cases, .. } => cases.values_mut().any(|part| change(part, index, to)),
            Node::Named { .. } => false,
        };
        if done {
            return true;
        }
    }
    false
}
