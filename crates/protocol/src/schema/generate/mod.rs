//! Valid bytes of any packet, generated from its type tree, for tests.
//!
//! Every decision takes a byte of a list that `proptest` draws and shrinks; after the last byte
//! all decisions are minimal: no value, no elements, the shortest case.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use self::choices::Choices;
use self::maker::Maker;
use self::wish::{Wish, heights};
use super::{PacketType, Protocol};
use crate::schema::types::{Type, TypeId};
use crate::wire::write_varint;

mod choices;
mod maker;
mod nbt;
mod wish;

/// Generates a valid body of that packet, id and fields, by the choices.
#[must_use]
pub fn random_body(protocol: &Protocol, packet: &PacketType, choices: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    body.extend(Shapes::new(&protocol.types).make(packet.ty, choices).bytes);
    body
}

/// The facts about a protocol that generating its packets needs.
pub(in crate::schema) struct Shapes<'a> {
    types: &'a [Type],
    /// The smallest nesting depth of each type.
    heights: Vec<u32>,
    /// The values wished for fields, by container and place.
    wishes: RefCell<Wishes>,
    /// Paths that lead to no field, which a description should not have.
    lost: RefCell<HashSet<String>>,
}

type Wishes = HashMap<(TypeId, usize), Rc<[Wish]>>;

/// A body without its id.
pub(in crate::schema) struct Made {
    pub(in crate::schema) bytes: Vec<u8>,
    /// `true` if a part of it extends to the end of the input.
    pub(in crate::schema) open: bool,
    /// The first value that the version does not have, and the offset at which something without a layout
    /// begins.
    pub(in crate::schema) unknown: Option<(usize, String)>,
}

impl<'a> Shapes<'a> {
    pub(in crate::schema) fn new(types: &'a [Type]) -> Self {
        Self {
            types,
            heights: heights(types),
            wishes: RefCell::default(),
            lost: RefCell::default(),
        }
    }

    /// Generates bytes of that type.
    pub(in crate::schema) fn make(&'a self, root: TypeId, choices: &[u8]) -> Made {
        Maker::new(self, Choices::new(choices)).run(root)
    }

    /// Generates bytes of that type. Some of the values on which the layout depends are ones that the version
    /// does not have; what follows them means nothing.
    #[cfg(test)]
    pub(in crate::schema) fn make_unknown(&'a self, root: TypeId, choices: &[u8]) -> Made {
        Maker::new(self, Choices::new(choices)).straying().run(root)
    }

    /// The paths that led to no field in generated packets.
    #[cfg(test)]
    pub(in crate::schema) fn lost(&self) -> Vec<String> {
        self.lost.borrow().iter().cloned().collect()
    }

    fn get(&self, id: TypeId) -> &'a Type {
        &self.types[id.0 as usize]
    }

    fn height(&self, id: TypeId) -> u32 {
        self.heights[id.0 as usize]
    }
}
