//! The protocol descriptions of Beta 1.0 to 1.6.4: `data/legacy.json` holds every version, each layout
//! once. `docs/protocols/old.md` names its sources.

use std::sync::{Arc, LazyLock};

use super::unframed::Unframed;
use super::{Catalog, Family, Match, Name, Protocol, Release};
use crate::wire::Encoding;

impl Catalog {
    /// Returns the protocol of a version from Beta 1.0 (7) to 1.6.4 (78), or of the nearest older one.
    ///
    /// # Panics
    /// Never: a test compiles all versions.
    #[must_use]
    pub fn legacy(&self, version: i32) -> Match {
        all().find(version)
    }

    /// Iterates over the protocol numbers from Beta 1.0 to 1.6.4, oldest first.
    pub fn legacy_versions(&self) -> impl DoubleEndedIterator<Item = i32> + Clone {
        all().numbers()
    }

    /// Returns the game versions that have a protocol from before 1.7, oldest first: `beta-1.7.3`,
    /// `1.4.2`. Empty for a protocol of another family than [`Family::Legacy`].
    #[must_use]
    pub fn legacy_names(&self, protocol: &Protocol) -> &'static [Name] {
        match protocol.family() {
            Family::Legacy => all().names(protocol.version()),
            _ => &[],
        }
    }

    /// Returns the protocol before 1.7 of a client that writes `text` in this encoding and names this
    /// number in its login; `None` if it is unknown. Up to Beta 1.4 it is modified UTF-8, then UTF-16.
    #[must_use]
    pub fn unframed(&self, text: Encoding, version: i32) -> Option<Arc<Protocol>> {
        let release = Release::new(Family::Legacy, version);
        let found = match text == Encoding::Utf16 {
            true if (Release::BETA_1_5..Release::V1_3).contains(&release) => self.legacy(version),
            false if (Release::BETA_1_0..Release::BETA_1_5).contains(&release) => {
                self.legacy(version)
            }
            false => self.alpha(version),
            true => return None,
        };
        // Before the first version of Alpha that is known, numbers began at 1 once before.
        found.exact.then_some(found.protocol)
    }

    /// Returns the protocol of a client whose handshake begins with this number, as from 1.3 to 1.6; `None`
    /// if it is unknown.
    #[must_use]
    pub fn unframed_release(&self, version: i32) -> Option<Arc<Protocol>> {
        let found = self.legacy(version);
        (found.exact && found.protocol.release() >= Release::V1_3).then_some(found.protocol)
    }
}

impl Release {
    /// Returns the encoding of text in a version of an unframed game; `None` in other families.
    #[must_use]
    pub fn unframed_text(self) -> Option<Encoding> {
        match self.family() {
            Family::Legacy if self >= Self::BETA_1_5 => Some(Encoding::Utf16),
            Family::Alpha | Family::Legacy => Some(Encoding::ModifiedUtf8),
            Family::Java | Family::LegacyPing | Family::Query => None,
        }
    }
}

fn all() -> &'static Unframed {
    static ALL: LazyLock<Unframed> = LazyLock::new(|| Unframed::read(Family::Legacy, LEGACY));
    &ALL
}

const LEGACY: &str = include_str!("data/legacy.json");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Direction, State};

    #[test]
    fn every_version_compiles_and_has_a_name() {
        let catalog = Catalog::embedded();
        let versions: Vec<i32> = catalog.legacy_versions().collect();
        assert!(versions.is_sorted());
        for version in versions {
            let found = catalog.legacy(version);
            assert!(found.exact);
            let protocol = &found.protocol;
            assert_eq!((protocol.version(), protocol.family()), (version, Family::Legacy));
            let names = catalog.legacy_names(protocol);
            assert_eq!(names.last().map(|name| &**name), Some(protocol.name()), "{version}");
        }
        assert_eq!(catalog.legacy(14).protocol.name(), "beta-1.7.3");
        assert!(!catalog.legacy(15).exact && !catalog.legacy(1).exact);
        assert!(catalog.legacy_names(&catalog.alpha(5).protocol).is_empty());
    }

    #[test]
    fn the_encoding_of_text_and_the_number_choose_the_version() {
        let catalog = Catalog::embedded();
        let name = |text, version| {
            let protocol = catalog.unframed(text, version)?;
            Some((protocol.family(), protocol.version()))
        };
        assert_eq!(name(Encoding::ModifiedUtf8, 5), Some((Family::Alpha, 5)));
        assert_eq!(name(Encoding::Utf16, 14), Some((Family::Legacy, 14)));
        // Alpha 1.0.16 had 14 too.
        assert_eq!(name(Encoding::ModifiedUtf8, 14), None);
        assert_eq!(name(Encoding::Utf16, 5), None);
        assert_eq!(name(Encoding::Utf16, 15), None);
        assert_eq!(name(Encoding::Utf16, 78), None);
        let release = |version| catalog.unframed_release(version).map(|it| it.version());
        assert_eq!([78, 62, 29].map(release), [Some(78), None, None]);
    }

    #[test]
    fn a_packet_of_beta_1_7_3_ends_where_its_metadata_does() {
        let protocol = Catalog::embedded().legacy(14).protocol;
        // A slime of size 2 with a name: byte 0, byte 16, string 5.
        let body = hex_literal::hex!(
            "18 00000007 37 00000020 00000040 00000060 40 00 00 00 10 02 85 0001 0061 7f"
        );
        let (packet, start) =
            protocol.identify(State::Play, Direction::Clientbound, &body).unwrap();
        assert_eq!(protocol.measure(packet, &body, start), Ok(body.len()));
        let value = protocol.decode(packet, &body, start).unwrap();
        assert_eq!(value.to_json()["metadata"][2]["value"], "a");
        assert_eq!(protocol.encode(packet, &value).unwrap(), body);
    }

    #[test]
    fn payloads_of_the_games_own_channels_are_described() {
        let chain = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        let packet = |channel: &str, data: &[u8]| {
            let length = |count: usize| u16::try_from(count).unwrap().to_be_bytes();
            let (name, text) = (channel.encode_utf16().count(), chain(channel));
            [&[0xfa][..], &length(name), &text, &length(data.len()), data].concat()
        };
        let book = hex_literal::hex!("0182 01 0000 ffff");
        let trades = hex_literal::hex!("00000007 01 0185 03 0000 ffff 0101 01 0000 ffff 00");
        let disabled = [&trades[..], &[1]].concat();
        use Direction::{Clientbound, Serverbound};
        for (direction, channel, data, versions, path, value) in [
            (Serverbound, "MC|BEdit", &book[..], &[39, 47, 78][..], "/book/blockId", "386"),
            (Serverbound, "MC|BSign", &book, &[39, 60, 78], "/book/itemCount", "1"),
            (Clientbound, "MC|TrList", &trades, &[39], "/trades/0/outputItem/blockId", "257"),
            (Clientbound, "MC|TrList", &disabled, &[47, 78], "/trades/0/tradeDisabled", "true"),
            (
                Serverbound,
                "MC|Beacon",
                &[0, 0, 0, 1, 0, 0, 0, 10],
                &[47, 78],
                "/secondaryEffect",
                "10",
            ),
            (Serverbound, "MC|ItemName", "Gürtel".as_bytes(), &[47, 78], "/name", "\"Gürtel\""),
            (
                Clientbound,
                "MC|TPack",
                b"http://a/b.zip\x0016",
                &[39, 61],
                "/urlAndSize/1",
                "\"16\"",
            ),
            (Clientbound, "MC|RPack", b"http://a/b.zip", &[72, 78], "/url", "\"http://a/b.zip\""),
            (Clientbound, "MC|Brand", b"vanilla", &[74, 78], "/brand", "\"vanilla\""),
            (Serverbound, "REGISTER", b"a\0b", &[23, 28, 39, 78], "/channels/1", "\"b\""),
        ] {
            let body = packet(channel, data);
            for version in Catalog::embedded().legacy_versions() {
                let protocol = Catalog::embedded().legacy(version).protocol;
                let Some(kind) = protocol.named(State::Play, direction, "custom_payload") else {
                    continue;
                };
                let found = protocol.payload(kind, &body, 1);
                if !versions.contains(&version) {
                    continue;
                }
                let found = found.unwrap_or_else(|| panic!("{version} {channel}"));
                let fields = protocol.decode(found.layout, &body, found.bytes.start).unwrap();
                let json = fields.to_json();
                assert_eq!(json.pointer(path).map(ToString::to_string).as_deref(), Some(value));
                assert_eq!(protocol.encode_payload(found.layout, &fields).unwrap(), data);
            }
        }
    }
}
