//! The protocol descriptions of Alpha and of old pings, written by hand from the documents.
//! `data/alpha.json` holds every version of Alpha, each layout once; `data/legacy-ping.json` is
//! plain ProtoDef.

use std::sync::{Arc, LazyLock};

use super::unframed::{Unframed, only_version};
use super::{Catalog, Family, Match, Protocol};

impl Catalog {
    /// Returns the protocol of an Alpha version, 1 to 6, or of the nearest one.
    ///
    /// # Panics
    /// Never: a test compiles all versions.
    #[must_use]
    pub fn alpha(&self, version: i32) -> Match {
        alpha().find(version)
    }

    /// Returns the protocol of the Server List Ping before 1.7.
    ///
    /// # Panics
    /// Never: a test compiles it.
    #[must_use]
    pub fn legacy_ping(&self) -> Arc<Protocol> {
        static PING: LazyLock<Arc<Protocol>> =
            LazyLock::new(|| only_version(Family::LegacyPing, LEGACY_PING));
        Arc::clone(&PING)
    }

    /// Iterates over all protocols outside the Java family: those of Beta 1.0 to 1.6.4 and then
    /// Alpha's from newest to oldest, the Server List Ping before 1.7, and Query.
    pub fn old(&self) -> impl Iterator<Item = Arc<Protocol>> {
        let legacy = self.legacy_versions().rev().map(|version| self.legacy(version).protocol);
        let alpha = alpha().numbers().rev().map(|version| self.alpha(version).protocol);
        let all = legacy.chain(alpha).chain([self.legacy_ping(), self.query()]);
        let kept = self.old.as_deref();
        all.filter(move |it| kept.is_none_or(|kept| kept.iter().any(|old| Arc::ptr_eq(old, it))))
    }

    /// Returns the protocol of a version of `family`, or of the nearest known version; `None` if
    /// the catalog has no version of the family.
    #[must_use]
    pub fn find_in(&self, family: Family, version: i32) -> Option<Match> {
        match family {
            Family::Java => self.find(version),
            Family::Alpha => Some(self.alpha(version)),
            Family::Legacy => Some(self.legacy(version)),
            Family::LegacyPing => Some(Match { protocol: self.legacy_ping(), exact: true }),
            Family::Query => Some(Match { protocol: self.query(), exact: true }),
        }
    }
}

fn alpha() -> &'static Unframed {
    static ALPHA: LazyLock<Unframed> =
        LazyLock::new(|| Unframed::read(Family::Alpha, ALPHA_SOURCE));
    &ALPHA
}

/// Packet id of a Server List Ping before 1.7: the first byte that such a client sends.
pub const LEGACY_PING_ID: u8 = 0xfe;

const ALPHA_SOURCE: &str = include_str!("data/alpha.json");

const LEGACY_PING: &str = include_str!("data/legacy-ping.json");

#[cfg(test)]
mod tests {
    use hex_literal::hex;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::schema::{DecodeCause, Direction, State, Value};

    #[test]
    fn every_version_has_the_packets_of_its_time() {
        let catalog = Catalog::embedded();
        let has = |version, direction, id| {
            catalog.alpha(version).protocol.packet(State::Play, direction, id).is_some()
        };
        for version in 1..=6 {
            let found = catalog.alpha(version);
            assert!(found.exact);
            assert_eq!(
                (found.protocol.version(), found.protocol.family()),
                (version, Family::Alpha)
            );
            assert_eq!(has(version, Direction::Clientbound, 0x05), version >= 2);
            assert_eq!(has(version, Direction::Serverbound, 0x07), version >= 4);
            assert_eq!(has(version, Direction::Clientbound, 0x26), version >= 5);
            assert_eq!(has(version, Direction::Clientbound, 0x3c), version >= 6);
        }
        assert!(!catalog.alpha(0).exact && !catalog.alpha(7).exact);
    }

    #[test]
    fn an_id_of_one_byte_is_not_taken_for_a_varint() {
        let protocol = Catalog::embedded().alpha(5).protocol;
        let (packet, start) =
            protocol.identify(State::Play, Direction::Clientbound, &hex!("ff 0001 61")).unwrap();
        assert_eq!((&**packet.name(), start), ("kick_disconnect", 1));
        let value = Value::map([("reason", Value::from("a"))]);
        assert_eq!(protocol.encode(packet, &value).unwrap(), hex!("ff 0001 61"));
        let unknown = protocol.identify(State::Play, Direction::Clientbound, &hex!("e8 01"));
        assert!(matches!(unknown.unwrap_err().cause, DecodeCause::UnknownId { id: 0xe8, .. }));
    }

    #[test]
    fn optional_parts_of_a_legacy_ping_depend_on_the_remaining_bytes() {
        let protocol = Catalog::embedded().legacy_ping();
        for (body, fields) in [
            (&hex!("fe")[..], json!({ "payload": null, "pluginId": null })),
            (&hex!("fe 01"), json!({ "payload": 1, "pluginId": null })),
            (&hex!("fe 01 fa"), json!({ "payload": 1, "pluginId": 250 })),
        ] {
            let (packet, start) =
                protocol.identify(State::Status, Direction::Serverbound, body).unwrap();
            let value = protocol.decode(packet, body, start).unwrap();
            for (name, field) in fields.as_object().unwrap() {
                let decoded = value.get(name).map_or(Json::Null, Value::to_json);
                assert_eq!(&decoded, field, "{name} of {body:02x?}");
            }
            assert_eq!(protocol.encode(packet, &value).unwrap(), body);
        }
    }
}
