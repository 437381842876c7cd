use std::ops::{Index, IndexMut};

use super::Side;

/// A value for each of the two peers, indexed by [`Side`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerSide<T> {
    /// The client's value.
    pub client: T,
    /// The server's value.
    pub server: T,
}

impl<T> PerSide<T> {
    /// Calls `make` for each side.
    pub fn from_fn(mut make: impl FnMut(Side) -> T) -> Self {
        Self { client: make(Side::Client), server: make(Side::Server) }
    }

    /// Returns the value of `side`, and that of the other side.
    pub fn pair_mut(&mut self, side: Side) -> (&mut T, &mut T) {
        match side {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        }
    }

    /// Iterates over both values, the client's first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.client, &self.server].into_iter()
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}
