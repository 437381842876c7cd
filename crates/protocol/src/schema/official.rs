use super::{Direction, PacketType, Protocol, State};

impl PacketType {
    /// Returns the name that the game itself has for this packet in its latest versions, if it
    /// differs: `level_chunk_with_light` for `map_chunk`. Known for packets of the game.
    #[must_use]
    pub fn official_name(&self) -> Option<&'static str> {
        let own = (self.direction().name(), &**self.name());
        let mut of_the_game = official_names().filter(|_| self.state() == State::Play);
        of_the_game.find(|(direction, name, _)| (*direction, *name) == own).map(|(.., name)| name)
    }
}

impl Protocol {
    /// Returns the packet with this name in the tables; if there is none, the packet of the game with this
    /// official name.
    #[must_use]
    pub fn named_or_official(
        &self,
        state: State,
        direction: Direction,
        name: &str,
    ) -> Option<&PacketType> {
        let official = || {
            let mut names = official_names().filter(|(side, _, official)| {
                state == State::Play && *side == direction.name() && *official == name
            });
            names.find_map(|(_, name, _)| self.named(state, direction, name))
        };
        self.named(state, direction, name).or_else(official)
    }
}

/// Returns a direction, the name in the tables, and the official name of each packet of the game
/// that has one.
pub fn official_names() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    NAMES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    })
}

/// Per line: a direction, the name in the tables, and the official name. From the comments of
/// minecraft-data's `proto.yml`; what those lack, from hyperion's `protocol.json` and azalea.
const NAMES: &str = include_str!("data/official-names.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Catalog;

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
            // A name of the tables comes first.
            let by = |name| versions.iter().find_map(|it| it.named(State::Play, direction, name));
            let own = by(official).map_or(name, |_| official);
            let mut again = versions
                .iter()
                .filter_map(|it| it.named_or_official(State::Play, direction, official));
            assert!(again.any(|packet| **packet.name() == *own), "{line}");
        }
        let login = versions[0].named(State::Login, Direction::Clientbound, "disconnect").unwrap();
        assert_eq!(login.official_name(), None);
    }
}
