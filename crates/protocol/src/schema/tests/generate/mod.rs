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
use crate::schema::types::{Type, TypeId};

mod choices;
mod maker;
mod nbt;
mod wish;

/// The facts about a protocol that generating its packets needs.
pub(super) struct Shapes<'a> {
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
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    /// `true` if a part of it extends to the end of the input.
    pub(super) open: bool,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(types: &'a [Type]) -> Self {
        Self {
            types,
            heights: heights(types),
            wishes: RefCell::default(),
            lost: RefCell::default(),
        }
    }

    /// Generates bytes of that type.
    pub(super) fn make(&'a self, root: TypeId, choices: &[u8]) -> Made {
        Maker::new(self, Choices::new(choices)).run(root)
    }

    /// The paths that led to no field in generated packets.
    pub(super) fn lost(&self) -> Vec<String> {
        self.lost.borrow().iter().cloned().collect()
    }

    fn get(&self, id: TypeId) -> &'a Type {
        &self.types[id.0 as usize]
    }

    fn height(&self, id: TypeId) -> u32 {
        self.heights[id.0 as usize]
    }
}
