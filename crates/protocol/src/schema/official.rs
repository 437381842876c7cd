use std::sync::LazyLock;

use super::{Direction, Family, PacketType, Protocol, State};

/// A name of a packet in the game itself: `level_chunk_with_light` for `map_chunk`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfficialName {
    /// The state in which the packet is sent.
    pub state: State,
    /// The direction of the packet.
    pub direction: Direction,
    /// The name in the tables.
    pub name: &'static str,
    /// The name in the game.
    pub official: &'static str,
    /// The first and the last version that have it, as protocol numbers.
    versions: (i32, i32),
}

impl PacketType {
    /// Returns the names that the game itself has for this packet in any version, if they differ from that in the
    /// tables.
    pub fn official_names(&self) -> impl Iterator<Item = &'static str> {
        let own = (self.state(), self.direction(), &**self.name());
        let all = official_names().iter();
        all.filter(move |it| (it.state, it.direction, it.name) == own).map(|it| it.official)
    }
}

impl Protocol {
    /// Returns the name that the game has for a packet in this version, if it differs from that in the tables:
    /// `level_chunk_with_light` for `map_chunk`. Known since 1.21; earlier versions get the name of 1.21.
    #[must_use]
    pub fn official_name(&self, packet: &PacketType) -> Option<&'static str> {
        let own = (packet.state(), packet.direction(), &**packet.name());
        let number = self.release().number();
        let has = |it: &&OfficialName| {
            (it.state, it.direction, it.name) == own
                && (it.versions.0..=it.versions.1).contains(&number)
        };
        let of_the_game = self.family() == Family::Java;
        official_names().iter().filter(|_| of_the_game).find(has).map(|it| it.official)
    }

    /// Returns the packet with this name in the tables; if there is none, the packet to which the game gives this
    /// name in any version.
    #[must_use]
    pub fn named_or_official(
        &self,
        state: State,
        direction: Direction,
        name: &str,
    ) -> Option<&PacketType> {
        let official = || {
            let mut names = official_names()
                .iter()
                .filter(|it| (it.state, it.direction, it.official) == (state, direction, name));
            names.find_map(|it| self.named(state, direction, it.name))
        };
        self.named(state, direction, name).or_else(official)
    }
}

/// Returns the names that the game has for packets and the tables do not.
#[must_use]
pub fn official_names() -> &'static [OfficialName] {
    static ALL: LazyLock<Vec<OfficialName>> =
        LazyLock::new(|| NAMES.lines().filter_map(read).collect());
    &ALL
}

/// Reads a line of the file.
fn read(line: &'static str) -> Option<OfficialName> {
    let mut words = line.split(' ');
    let (state, direction) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (name, official) = (words.next()?, words.next()?);
    let (first, last) = words.next().unwrap_or("-").split_once('-')?;
    let number = |text: &str, otherwise| match text {
        "" => Some(otherwise),
        text => text.parse().ok(),
    };
    let versions = (number(first, i32::MIN)?, number(last, i32::MAX)?);
    Some(OfficialName { state, direction, name, official, versions })
}

/// Per line: a state, a direction, the name in the tables, the official name, and the versions if another name
/// changed with them. From the game's own reports of 1.21 to 26.2; packets that those lack have the name in the
/// comments of minecraft-data's `proto.yml`, in hyperion's `protocol.json` or in azalea.
const NAMES: &str = include_str!("data/official-names.txt");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Catalog;

    #[test]
    fn every_line_names_a_packet_of_the_newest_versions() {
        let versions =
            [767, 775, 777].map(|version| Catalog::embedded().find(version).unwrap().protocol);
        assert_eq!(official_names().len(), NAMES.lines().count());
        for it in official_names() {
            let OfficialName { state, direction, name, official, .. } = *it;
            let has = |protocol: &&std::sync::Arc<Protocol>| {
                let packet = protocol.named(state, direction, name);
                packet.is_some_and(|packet| protocol.official_name(packet) == Some(official))
            };
            assert!(versions.iter().any(|protocol| has(&protocol)), "{it:?}");
            // A name of the tables comes first.
            let by = |name| versions.iter().find_map(|it| it.named(state, direction, name));
            let own = by(official).map_or(name, |_| official);
            let mut again =
                versions.iter().filter_map(|it| it.named_or_official(state, direction, official));
            assert!(again.any(|packet| **packet.name() == *own), "{it:?}");
        }
    }

    #[test]
    fn a_name_is_that_of_its_version() {
        let official = |version, state, name| {
            let protocol = Catalog::embedded().find(version).unwrap().protocol;
            let packet = protocol.named(state, Direction::Clientbound, name).unwrap();
            protocol.official_name(packet)
        };
        assert_eq!(official(767, State::Login, "success"), Some("game_profile"));
        assert_eq!(official(768, State::Login, "success"), Some("login_finished"));
        assert_eq!(official(773, State::Play, "open_horse_window"), Some("horse_screen_open"));
        assert_eq!(official(774, State::Play, "open_horse_window"), Some("mount_screen_open"));
        assert_eq!(official(47, State::Play, "map_chunk"), Some("level_chunk_with_light"));
        assert_eq!(official(47, State::Play, "keep_alive"), None);
    }
}
