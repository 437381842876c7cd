use std::ops::{Index, IndexMut};

use super::Direction;

/// One value for each [`Direction`], indexed by it.
///
/// ```
/// use mitmcraft_protocol::schema::{Direction, PerDirection};
///
/// let mut packets = PerDirection::new(0, 0);
/// packets[Direction::Serverbound] += 1;
/// assert_eq!(packets, PerDirection { clientbound: 0, serverbound: 1 });
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PerDirection<T> {
    /// The value for packets from the server to the client.
    pub clientbound: T,
    /// The value for packets from the client to the server.
    pub serverbound: T,
}

impl<T> PerDirection<T> {
    /// Pairs the values of both directions.
    #[must_use]
    pub const fn new(clientbound: T, serverbound: T) -> Self {
        Self { clientbound, serverbound }
    }

    /// Calls `value` for each direction, in the order of [`Direction::ALL`].
    #[must_use]
    pub fn from_fn(mut value: impl FnMut(Direction) -> T) -> Self {
        let clientbound = value(Direction::Clientbound);
        Self { clientbound, serverbound: value(Direction::Serverbound) }
    }

    /// Iterates over the values, in the order of [`Direction::ALL`].
    pub fn values(&self) -> impl Iterator<Item = &T> {
        [&self.clientbound, &self.serverbound].into_iter()
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Clientbound => &self.clientbound,
            Direction::Serverbound => &self.serverbound,
        }
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Clientbound => &mut self.clientbound,
            Direction::Serverbound => &mut self.serverbound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_make_and_read_one_agrees_on_the_direction() {
        let mut names = PerDirection::from_fn(Direction::name);
        assert_eq!(names, PerDirection::new("clientbound", "serverbound"));
        assert_eq!(names.values().copied().collect::<Vec<_>>(), ["clientbound", "serverbound"]);
        names[Direction::Serverbound] = "up";
        assert_eq!((names[Direction::Clientbound], names.serverbound), ("clientbound", "up"));
    }
}
