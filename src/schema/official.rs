use super::{PacketType, State};

impl PacketType {
    /// Returns the name that the game itself has for this packet in its latest versions, if it
    /// differs: `level_chunk_with_light` for `map_chunk`. Known for packets of the game.
    #[must_use]
    pub fn official_name(&self) -> Option<&'static str> {
        let own = |(direction, name): (&str, &str)| {
            direction == self.direction().name() && name == &**self.name()
        };
        let mut of_the_game = official_names().filter(|_| self.state() == State::Play);
        of_the_game.find(|(direction, name, _)| own((direction, name))).map(|(.., name)| name)
    }
}

/// Returns a direction, the name in the tables, and the official name of each packet of the game
/// that has one.
pub(crate) fn official_names() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    NAMES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    })
}

/// Per line: a direction, the name in the tables, and the official name. From the comments of
/// minecraft-data's `proto.yml`.
const NAMES: &str = include_str!("data/official-names.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Catalog, Direction};

    #[test]
    fn every_line_names_a_packet_of_the_newest_versions() {
        let versions =
            [775, 777].map(|version| Catalog::embedded().find(version).unwrap().protocol);
        for line in NAMES.lines() {
            let [direction, name, official] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let direction: Direction = direction.parse().unwrap();
            let found = versions.iter().find_map(|it| it.named(State::Play, direction, name));
            let found = found.unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.official_name(), Some(official));
        }
        let login = versions[0].named(State::Login, Direction::Clientbound, "disconnect").unwrap();
        assert_eq!(login.official_name(), None);
    }
}
