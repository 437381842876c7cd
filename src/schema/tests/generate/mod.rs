//! Valid bytes of any packet, made from the type tree itself, for tests.
//!
//! Every decision takes a byte of a list that `proptest` draws and shrinks; when the list is used
//! up all further decisions are for the least: nothing, empty, the case that needs no more.

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

/// What has to be known of a protocol to make its packets.
pub(super) struct Shapes<'a> {
    types: &'a [Type],
    /// How many values stand in each other at least.
    heights: Vec<u32>,
    /// What is asked of a field, by container and place.
    wishes: RefCell<Wishes>,
    /// Paths that led to no field, which a description should not have.
    lost: RefCell<HashSet<String>>,
}

type Wishes = HashMap<(TypeId, usize), Rc<[Wish]>>;

/// A body without its id.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    /// Whether some part of it goes on for as long as there are bytes.
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

    /// Bytes of that type.
    pub(super) fn make(&'a self, root: TypeId, choices: &[u8]) -> Made {
        Maker::new(self, Choices::new(choices)).run(root)
    }

    /// The paths that led to no field in what was made.
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
