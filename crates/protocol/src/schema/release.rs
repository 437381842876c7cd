use std::cmp::Ordering;

use super::embedded::Embedded;
use super::{Catalog, Family};

/// A version of the game as a point in its history: two of them compare by which came out first.
///
/// The numbers of protocols alone do not: each family counts anew, and since 1.16.4 the numbers of snapshots
/// and pre-releases are all above those of releases. The order is Alpha, Beta 1.0 to 1.6.4, then 1.7 and
/// later, where a snapshot comes after the last release before it: 1.16.5 < 21w07a < 1.17.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Release {
    family: Family,
    number: i32,
    /// The number of the last release up to this version: its own, but for snapshots.
    last: i32,
}

impl Release {
    /// Beta 1.0 and 1.1.
    pub const BETA_1_0: Self = Self::numbered(Family::Legacy, 7);
    /// Beta 1.5, the first whose text is UTF-16.
    pub const BETA_1_5: Self = Self::numbered(Family::Legacy, 11);
    /// 1.1, of the family of Beta 1.0 to 1.6.4.
    pub const V1_1: Self = Self::numbered(Family::Legacy, 23);
    /// 1.2.1, of the family of Beta 1.0 to 1.6.4.
    pub const V1_2: Self = Self::numbered(Family::Legacy, 28);
    /// 1.3.1, of the family of Beta 1.0 to 1.6.4, the first whose handshake begins with the number.
    pub const V1_3: Self = Self::numbered(Family::Legacy, 39);
    /// 1.6, of the family of Beta 1.0 to 1.6.4.
    pub const V1_6: Self = Self::numbered(Family::Legacy, 72);
    /// 1.7.2 to 1.7.5.
    pub const V1_7: Self = Self::numbered(Family::Java, 4);
    /// 1.7.6 to 1.7.10.
    pub const V1_7_6: Self = Self::numbered(Family::Java, 5);
    /// 1.8 to 1.8.9.
    pub const V1_8: Self = Self::numbered(Family::Java, 47);
    /// 1.9.
    pub const V1_9: Self = Self::numbered(Family::Java, 107);
    /// 1.10 to 1.10.2.
    pub const V1_10: Self = Self::numbered(Family::Java, 210);
    /// 1.11.
    pub const V1_11: Self = Self::numbered(Family::Java, 315);
    /// 1.12.2.
    pub const V1_12_2: Self = Self::numbered(Family::Java, 340);
    /// 1.13.
    pub const V1_13: Self = Self::numbered(Family::Java, 393);
    /// 1.13.2.
    pub const V1_13_2: Self = Self::numbered(Family::Java, 404);
    /// 1.14.
    pub const V1_14: Self = Self::numbered(Family::Java, 477);
    /// 1.15.
    pub const V1_15: Self = Self::numbered(Family::Java, 573);
    /// 1.15.2.
    pub const V1_15_2: Self = Self::numbered(Family::Java, 578);
    /// The first release candidate of 1.16.
    pub const V1_16_RC1: Self = Self::numbered(Family::Java, 734);
    /// 1.16.2.
    pub const V1_16_2: Self = Self::numbered(Family::Java, 751);
    /// 1.16.4 and 1.16.5.
    pub const V1_16_4: Self = Self::numbered(Family::Java, 754);
    /// 1.17.
    pub const V1_17: Self = Self::numbered(Family::Java, 755);
    /// 1.17.1.
    pub const V1_17_1: Self = Self::numbered(Family::Java, 756);
    /// 1.18 and 1.18.1.
    pub const V1_18: Self = Self::numbered(Family::Java, 757);
    /// 1.19.
    pub const V1_19: Self = Self::numbered(Family::Java, 759);
    /// 1.19.1 and 1.19.2.
    pub const V1_19_1: Self = Self::numbered(Family::Java, 760);
    /// 1.19.3.
    pub const V1_19_3: Self = Self::numbered(Family::Java, 761);
    /// 1.19.4.
    pub const V1_19_4: Self = Self::numbered(Family::Java, 762);
    /// 1.20.2.
    pub const V1_20_2: Self = Self::numbered(Family::Java, 764);
    /// 1.20.3 and 1.20.4.
    pub const V1_20_3: Self = Self::numbered(Family::Java, 765);
    /// 1.20.5 and 1.20.6.
    pub const V1_20_5: Self = Self::numbered(Family::Java, 766);
    /// 1.21 and 1.21.1.
    pub const V1_21: Self = Self::numbered(Family::Java, 767);
    /// 1.21.2 and 1.21.3.
    pub const V1_21_2: Self = Self::numbered(Family::Java, 768);
    /// 1.21.4.
    pub const V1_21_4: Self = Self::numbered(Family::Java, 769);
    /// 1.21.5.
    pub const V1_21_5: Self = Self::numbered(Family::Java, 770);
    /// 1.21.9 and 1.21.10.
    pub const V1_21_9: Self = Self::numbered(Family::Java, 773);
    /// 1.21.11.
    pub const V1_21_11: Self = Self::numbered(Family::Java, 774);
    /// 26.1 to 26.1.2.
    pub const V26_1: Self = Self::numbered(Family::Java, 775);
    /// 26.3.
    pub const V26_3: Self = Self::numbered(Family::Java, 777);

    /// Returns the version of a family with that protocol number, known or not.
    ///
    /// # Panics
    /// Never: a test reads the embedded tables, which tell what snapshots come after.
    #[must_use]
    pub fn new(family: Family, number: i32) -> Self {
        let last = match family {
            Family::Java if number >= Catalog::FIRST_SNAPSHOT => {
                let before = Self::snapshots().filter(|(_, first)| *first <= number);
                before.map(|(release, _)| release).max().unwrap_or_default()
            }
            _ => number,
        };
        Self { family, number, last }
    }

    /// Returns a version that is no snapshot with a number of 2^30 or above.
    const fn numbered(family: Family, number: i32) -> Self {
        Self { family, number, last: number }
    }

    /// Iterates over the numbers of releases and of the first snapshot after each.
    pub(crate) fn snapshots() -> impl Iterator<Item = (i32, i32)> {
        let releases =
            Embedded::get().tables().iter().filter(|it| it.version < Catalog::FIRST_SNAPSHOT);
        releases.map(|it| (it.version, it.snapshots_from))
    }

    /// Returns the family of the protocol.
    #[must_use]
    pub fn family(self) -> Family {
        self.family
    }

    /// Returns the number of the protocol.
    #[must_use]
    pub fn number(self) -> i32 {
        self.number
    }

    /// Returns whether the version is a snapshot or a pre-release since 1.16.4, whose numbers are of a
    /// range of their own.
    #[must_use]
    pub fn is_snapshot(self) -> bool {
        self.number != self.last
    }

    fn place(self) -> (u8, i32, i32) {
        let age = match self.family {
            Family::LegacyPing => 0,
            Family::Query => 1,
            Family::Alpha => 2,
            Family::Legacy => 3,
            Family::Java => 4,
        };
        (age, self.last, self.number)
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNAPSHOT: i32 = Catalog::FIRST_SNAPSHOT;

    fn java(number: i32) -> Release {
        Release::new(Family::Java, number)
    }

    #[test]
    fn every_version_has_its_place_in_the_order() {
        let catalog = Catalog::embedded();
        let mut java: Vec<_> = catalog.protocols().map(|it| it.release()).collect();
        assert_eq!(java.len(), 66);
        java.sort_unstable();
        let numbers: Vec<i32> = java.iter().map(|it| it.number()).collect();
        let snapshot = numbers.iter().position(|it| *it == SNAPSHOT + 15).unwrap();
        assert_eq!(numbers[snapshot - 1..=snapshot + 1], [754, SNAPSHOT + 15, 755]);
        let others = [&numbers[..snapshot], &numbers[snapshot + 1..]].concat();
        assert!(others.is_sorted(), "{others:?}");
        let mut old: Vec<_> = catalog.old().map(|it| it.release()).collect();
        old.sort_unstable();
        let mut families: Vec<_> = old.iter().map(|it| it.family()).collect();
        families.dedup();
        let expected = [Family::LegacyPing, Family::Query, Family::Alpha, Family::Legacy];
        assert_eq!(families, expected);
        assert!(old.last() < java.first());
    }

    #[test]
    fn snapshots_and_pre_releases_stand_between_releases() {
        for (before, snapshots, after) in [
            // 1.16.4-pre1 and 1.16.4-rc1.
            (753, 1..=3, 754),
            // 20w45a to 1.17-rc2, with 21w07a.
            (754, 5..=35, 755),
            // 1.17.1-pre1 to 1.17.1-rc2.
            (755, 36..=40, 756),
            // 1.18-rc4 is the last one before 1.18.
            (756, 41..=60, 757),
            (758, 74..=91, 759),
            // 1.19.3-rc3 is the last one before 1.19.3.
            (760, 102..=114, 761),
            // 23w03a to 1.19.4-rc3, of which no table has names.
            (761, 116..=126, 762),
            // 23w12a to 1.20-rc1, likewise.
            (762, 127..=141, 763),
            (763, 142..=152, 764),
            // 23w40a to 1.20.3-rc1.
            (764, 154..=168, 765),
            // 24w18a to 1.21-rc1.
            (766, 193..=203, 767),
            // Those of 26.3, and what comes after it.
            (776, 323..=338, 777),
            (777, 339..=400, 778),
        ] {
            for snapshot in snapshots {
                let place = java(SNAPSHOT + snapshot);
                assert!(java(before) < place && place < java(after), "{snapshot}");
                assert!(place.is_snapshot());
                assert!(place < java(SNAPSHOT + snapshot + 1), "{snapshot}");
            }
        }
        // Earlier ones have numbers among those of releases: 17w50a, 1.16-rc1.
        assert!(java(340) < java(351) && java(351) < java(393) && !java(351).is_snapshot());
        assert!(java(710) < Release::V1_16_RC1 && Release::V1_16_RC1 < java(735));
    }

    #[test]
    fn constants_have_the_names_of_their_versions() {
        let catalog = Catalog::embedded();
        let text = include_str!("release.rs");
        let mut found = 0;
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("pub const ")) {
            let (name, rest) = line.split_once(": Self = Self::numbered(Family::").unwrap();
            let (family, number) = rest.trim_end_matches(");").split_once(", ").unwrap();
            let name = name.trim_start_matches('V').replace("_RC", "-rc").replace("BETA_", "beta-");
            let name = name.replace('_', ".");
            let number = number.parse().unwrap();
            let names: Vec<&str> = match family {
                "Java" => {
                    let versions = catalog.versions().find(|(it, _)| *it == number);
                    versions.unwrap().1.iter().map(|it| &**it).collect()
                }
                _ => {
                    let protocol = catalog.legacy(number).protocol;
                    catalog.legacy_names(&protocol).iter().map(|it| &**it).collect()
                }
            };
            let is = |it: &&str| {
                *it == name
                    || it.strip_suffix(".1") == Some(&name)
                    || it.strip_suffix(".2") == Some(&name)
            };
            assert!(names.first().is_some_and(is), "{name}: {number} is {names:?}");
            found += 1;
        }
        assert!(found > 25, "{found}");
    }
}
