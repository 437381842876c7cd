//! The bytes of every packet of a protocol document, both ways, and the page that lists them.
//!
//! `tests/golden/*.toml` is written from the documents, not from the tables, so that each checks
//! the other. `UPDATE_DOCS=1 cargo test --test it golden` rewrites the pages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use mitmcraft_protocol::meaning::meanings;
use mitmcraft_protocol::schema::{
    Catalog, DecodeCause, Direction, Family, JsonVisitor, PacketType, Protocol, SpanVisitor, State,
    Value,
};
use mitmcraft_protocol::wire::VarInt;
use serde_json::Value as Json;

use super::{layouts, unhex, verify_page};
use crate::support::root;
use crate::support::samples::Stage;

/// Every golden file.
const FILES: [&str; 5] =
    ["java-47.toml", "alpha.toml", "alpha-large.toml", "legacy.toml", "server-list-ping.toml"];

/// A packet of a golden file.
struct Golden {
    family: Family,
    /// The first and the last version with the packet.
    versions: [i32; 2],
    state: State,
    direction: Direction,
    id: i32,
    name: String,
    title: String,
    note: Option<String>,
    fields: Vec<[String; 3]>,
    cases: Vec<Case>,
}

struct Case {
    about: String,
    body: Vec<u8>,
    json: Json,
    /// `true` if the bytes are not canonical, so that encoding the JSON gives other bytes.
    oneway: bool,
}

impl Golden {
    /// The descriptions that must decode it.
    fn protocols(&self) -> Vec<Arc<Protocol>> {
        let [first, last] = self.versions;
        let versions = match self.family {
            Family::Java => vec![first, 47, 340, 767, last],
            Family::Legacy => Catalog::embedded().legacy_versions().collect(),
            _ => (first..=last).collect(),
        };
        let catalog = Catalog::embedded();
        let versions = versions.into_iter().filter(|version| (first..=last).contains(version));
        versions.map(|version| catalog.find_in(self.family, version).unwrap().protocol).collect()
    }

    fn packet<'p>(&self, protocol: &'p Protocol) -> &'p PacketType {
        protocol.packet(self.state, self.direction, self.id).unwrap()
    }
}

/// Calls `check` with every case of every file, for every description with the packet.
fn every_case(check: impl Fn(&Golden, &Case, &Protocol, &PacketType, usize)) {
    for golden in FILES.into_iter().flat_map(read) {
        for protocol in golden.protocols() {
            for case in &golden.cases {
                let (packet, start) =
                    protocol.identify(golden.state, golden.direction, &case.body).unwrap();
                check(&golden, case, &protocol, packet, start);
            }
        }
    }
}

/// The first golden value of each annotated field, and what it means.
#[test]
fn values_of_the_documents_mean_what_the_documents_say() {
    let mut told: BTreeMap<String, (Json, String)> = BTreeMap::new();
    for golden in FILES.into_iter().flat_map(read) {
        // The version of the document.
        let Some(protocol) = golden.protocols().into_iter().rfind(|protocol| {
            let document = match golden.family {
                Family::Alpha => 6,
                Family::Legacy => 78,
                _ => 47,
            };
            protocol.version() <= document
        }) else {
            continue;
        };
        for case in &golden.cases {
            let mut stage = Stage::new(1, "127.0.0.1:51234", "192.0.2.7:25565");
            stage.context.protocol = protocol.clone();
            let packet = &stage.body(golden.direction, golden.state, &case.body).packet;
            assert_eq!(packet.error(), None, "{}", golden.name);
            for (path, text) in meanings(packet, None) {
                let value = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
                let value = value.fold(&case.json, |json, step| match step.parse::<usize>() {
                    Ok(index) => &json[index],
                    Err(_) => &json[step],
                });
                let field = format!(
                    "{:?} {} {}.{}",
                    golden.family,
                    golden.direction,
                    golden.name,
                    path.replace(|char: char| char.is_ascii_digit(), "").replace("[]", "[*]")
                );
                let better = told.get(&field).is_none_or(|(old, _)| {
                    matches!(old.as_i64(), Some(0 | -1)) && value.as_i64() != Some(0)
                });
                if better {
                    told.insert(field, (value.clone(), text));
                }
            }
        }
    }
    let lines = told.iter().map(|(field, (value, text))| format!("{field} = {value} ({text})\n"));
    insta::assert_snapshot!(lines.collect::<String>());
}

#[test]
fn every_packet_of_the_documents_decodes_to_its_documented_fields() {
    every_case(|golden, case, protocol, packet, start| {
        assert_eq!(**packet.name(), *golden.name);
        let mut out = Vec::new();
        // The files have lists of single bytes as the documents do.
        let mut visitor = JsonVisitor::new(&mut out).with_bytes_as_numbers();
        let end = protocol.walk(packet, &case.body, start, &mut visitor);
        visitor.finish();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(end, Ok(case.body.len()), "{} {text}", golden.name);
        let mut decoded: Json = serde_json::from_str(&text).unwrap();
        if golden.family == Family::LegacyPing {
            // The file omits absent fields.
            decoded.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
        assert_eq!(decoded, case.json, "{}: {}", golden.name, case.about);
        assert_eq!(protocol.measure(packet, &case.body, start), Ok(case.body.len()));
    });
}

#[test]
fn every_packet_of_the_documents_encodes_to_the_same_bytes() {
    every_case(|golden, case, protocol, packet, start| {
        let value = protocol.decode(packet, &case.body, start).unwrap();
        let at = format!("{}: {}", golden.name, case.about);
        assert_eq!(protocol.encode(packet, &value).unwrap(), case.body, "{at} {value:?}");
        if !case.oneway {
            let value = Value::from_json(&case.json);
            assert_eq!(protocol.encode(packet, &value).unwrap(), case.body, "{at} {}", case.json);
        }
    });
}

#[test]
fn the_spans_of_a_packet_cover_every_byte_of_it() {
    every_case(|golden, case, protocol, packet, start| {
        let mut visitor = SpanVisitor::default();
        protocol.walk(packet, &case.body, start, &mut visitor).unwrap();
        let mut covered = vec![false; case.body.len()];
        covered[..start].fill(true);
        for span in visitor.finish() {
            covered[span.bytes].fill(true);
        }
        assert!(covered.iter().all(|byte| *byte), "{} {covered:?}", golden.name);
    });
}

#[test]
fn a_truncated_packet_is_always_incomplete() {
    every_case(|golden, case, protocol, packet, start| {
        // The field extends to the end of the bytes.
        let open = match golden.family {
            Family::Java => {
                matches!(&*golden.name, "custom_payload" | "map_chunk_bulk")
            }
            Family::Alpha | Family::Legacy => false,
            _ => golden.direction == Direction::Serverbound,
        };
        let step = 1 + case.body.len() / 4000;
        for length in (start..case.body.len()).step_by(step) {
            let at = format!("{} at {length}", golden.name);
            match protocol.measure(packet, &case.body[..length], start) {
                Ok(end) => assert!(open && end == length, "{at}"),
                Err(error) if golden.family.is_unframed_game() => {
                    let DecodeCause::Wire(cause) = error.cause else { panic!("{at}") };
                    assert!(cause.is_incomplete(), "{at}: {cause}");
                }
                Err(_) => {}
            }
        }
    });
}

#[test]
fn the_end_of_an_unframed_packet_does_not_depend_on_what_follows() {
    every_case(|golden, case, protocol, packet, start| {
        if golden.family.is_unframed_game() {
            let more = [&case.body[..], &[0xff, 0x00, 0x7f]].concat();
            assert_eq!(protocol.measure(packet, &more, start), Ok(case.body.len()));
        }
    });
}

#[test]
fn the_golden_files_have_exactly_the_packets_of_their_tables() {
    assert_eq!(read("java-47.toml").len(), 111);
    let tables = [
        ("java-47.toml", Family::Java, vec![47]),
        ("alpha.toml", Family::Alpha, (1..=6).collect()),
        ("legacy.toml", Family::Legacy, Catalog::embedded().legacy_versions().collect()),
        ("server-list-ping.toml", Family::LegacyPing, vec![0]),
    ];
    for (file, family, versions) in tables {
        let goldens: Vec<Golden> =
            read(file).into_iter().filter(|golden| golden.family == family).collect();
        assert!(goldens.iter().all(|golden| !golden.cases.is_empty()));
        for version in versions {
            let protocol = Catalog::embedded().find_in(family, version).unwrap().protocol;
            let of = |golden: &&Golden| {
                let [first, last] = golden.versions;
                (first..=last).contains(&version)
            };
            for golden in goldens.iter().filter(of) {
                assert_eq!(**golden.packet(&protocol).name(), *golden.name);
            }
            for packet in protocol.packets() {
                assert!(goldens.iter().filter(of).any(|golden| is(golden, packet)), "{packet:?}");
            }
        }
    }
}

#[test]
fn the_page_of_protocol_47_lists_the_packets_of_the_golden_file() {
    verify_page("java-47.md", &page(HEAD_47, &read("java-47.toml")));
}

#[test]
fn the_page_of_alpha_lists_the_packets_of_the_golden_file() {
    let mut goldens = read("alpha.toml");
    goldens.sort_by_key(|golden| std::cmp::Reverse(golden.direction));
    verify_page("alpha.md", &page(HEAD_ALPHA, &goldens));
}

#[test]
fn the_page_of_beta_to_1_6_4_lists_the_packets_of_the_golden_file() {
    let head = HEAD_LEGACY.replace("{layouts}", &layouts::table());
    verify_page("old.md", &page(&head, &read("legacy.toml")));
}

#[test]
fn the_page_of_the_server_list_ping_lists_the_packets_of_the_golden_file() {
    verify_page("server-list-ping.md", &page(HEAD_PING, &read("server-list-ping.toml")));
}

fn page(head: &str, goldens: &[Golden]) -> String {
    let mut page = String::from(head);
    let mut place = None;
    for golden in goldens {
        let here = (golden.family == Family::LegacyPing, golden.state, golden.direction);
        if place != Some(here) {
            place = Some(here);
            let before = if here.0 { "before 1.7, " } else { "" };
            let _ = write!(page, "\n## {before}{}, {}\n", golden.state, golden.direction);
        }
        let versions = match (golden.family, golden.versions) {
            (Family::Alpha, [1, 6]) => String::new(),
            (Family::Alpha, [first, 6]) => format!(" (version {first} on)"),
            (Family::Legacy, [first, last]) if first == last => format!(" (version {first})"),
            (Family::Legacy, [first, 78]) => format!(" (version {first} on)"),
            (Family::Alpha | Family::Legacy, [first, last]) => {
                format!(" (versions {first} to {last})")
            }
            _ => String::new(),
        };
        let (id, name, title) = (golden.id, &golden.name, &golden.title);
        let _ = write!(page, "\n### `0x{id:02x}` `{name}`: {title}{versions}\n\n");
        if let Some(note) = &golden.note {
            let _ = write!(page, "{note}\n\n");
        }
        if golden.fields.is_empty() {
            page.push_str("No fields.\n");
        } else {
            page.push_str("| document | type | field |\n| --- | --- | --- |\n");
        }
        for [document, kind, field] in &golden.fields {
            let cell = |text: &str| text.replace('|', "\\|");
            let field = if field.is_empty() { String::new() } else { format!("`{field}`") };
            let _ = writeln!(page, "| {} | {} | {field} |", cell(document), cell(kind));
        }
        let count = golden.cases.len();
        let plural = if count == 1 { "case" } else { "cases" };
        let _ = write!(page, "\nGolden bytes: {count} {plural}, the first\n\n```\n");
        let Case { body, json, .. } = &golden.cases[0];
        let hex: Vec<String> = body.iter().take(48).map(|byte| format!("{byte:02x}")).collect();
        let more =
            if body.len() > 48 { format!(" .. ({} bytes)", body.len()) } else { String::new() };
        let text = json.to_string();
        let text: String = match text.chars().count() {
            0..=200 => text,
            _ => text.chars().take(200).chain(" ..".chars()).collect(),
        };
        let _ = write!(page, "{}{more}\n{text}\n```\n", hex.join(" "));
    }
    page
}

fn is(golden: &Golden, packet: &PacketType) -> bool {
    golden.state == packet.state()
        && golden.direction == packet.direction()
        && golden.id == packet.id()
        && *golden.name == **packet.name()
}

fn read(file: &str) -> Vec<Golden> {
    let path = root().join("tests/golden").join(file);
    let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    file["packet"].as_array().unwrap().iter().map(golden).collect()
}

fn golden(packet: &toml::Value) -> Golden {
    let text = |table: &toml::Value, key: &str| table[key].as_str().unwrap().to_owned();
    let int = |value: &toml::Value| i32::try_from(value.as_integer().unwrap()).unwrap();
    let family = packet.get("protocol").map_or("java", |name| name.as_str().unwrap());
    let family = family.parse().unwrap();
    let alone = match family {
        Family::Java => 47,
        _ => 0,
    };
    let framed = packet.get("framed").is_some_and(|framed| framed.as_bool().unwrap());
    let case = |case: &toml::Value| {
        let mut body = unhex(&text(case, "hex"));
        if framed {
            let length = VarInt::read(&body).unwrap();
            body.drain(..length.length);
            assert_eq!(usize::try_from(length.value), Ok(body.len()));
        }
        Case {
            about: case.get("about").map_or_else(String::new, |it| it.as_str().unwrap().into()),
            body,
            json: serde_json::from_str(&text(case, "json")).unwrap(),
            oneway: case.get("oneway").is_some_and(|oneway| oneway.as_bool().unwrap()),
        }
    };
    let fields = packet["fields"].as_array().unwrap().iter();
    Golden {
        family,
        versions: match packet.get("versions") {
            Some(versions) => [int(&versions[0]), int(&versions[1])],
            None => [alone; 2],
        },
        state: text(packet, "state").parse().unwrap(),
        direction: text(packet, "direction").parse().unwrap(),
        id: int(&packet["id"]),
        name: text(packet, "name"),
        title: text(packet, "title"),
        note: packet.get("note").map(|note| note.as_str().unwrap().to_owned()),
        fields: fields.map(|row| ["document", "type", "field"].map(|key| text(row, key))).collect(),
        cases: packet["case"].as_array().unwrap().iter().map(case).collect(),
    }
}

const HEAD_47: &str = "# Protocol 47 (Minecraft 1.8-1.8.9)

Every packet of the 1.8 protocol document, with the names that mitmcraft shows and that rules use.
`document` and `type` are the document's own words; `field` is the path of the decoded field (empty
for a length or a presence flag, which the list or the optional field implies). Packets and fields
are named as in `minecraft-data`. Notes say where the document is wrong.

Written by `tests/it/golden` from `tests/golden/java-47.toml`, whose bytes the same test decodes and
encodes.
";

const HEAD_ALPHA: &str = "# The Alpha protocol, versions 1 to 6 (Alpha 1.0.17 to 1.2.3.5)

Every packet of the Alpha protocol document, with the names that mitmcraft shows and that rules use:
those of `minecraft-data` for packets that later versions still have. `document` and `type` are the
document's own words; `field` is the path of the decoded field, `len(x)` the length prefix of `x`.
Notes say where the document is wrong or incomplete.

Packets have no frames: only their fields tell where they end. All are in state `play`, and the id is
one byte. The number in the login packet selects the version, from 1.3 on that in the handshake. After an unknown id no further packet
boundary can be found: the rest of that direction is forwarded and recorded as raw bytes.

| version | game | new |
| --- | --- | --- |
| 1 | a1.0.17 | |
| 2 | a1.1.0 | `player_inventory`, `spawn_position`, `tile_entity_data` |
| 3 | a1.2.0 | seed and dimension in `login` |
| 4 | a1.2.2 | `entity_velocity`, `attach_entity`, `use_entity` |
| 5 | a1.2.3 | `update_health`, `respawn`, `entity_status`, `punching` in `use_entity` |
| 6 | a1.2.3.5 | `explosion` |

No program that speaks these versions is available from npm, PyPI or crates.io (PyPI's bravo 2.0 does
not install under Python 3). The golden bytes are therefore written by hand from the document, and both
ends of `mitmcraft demo --all` are mitmcraft's own.

Written by `tests/it/golden` from `tests/golden/alpha.toml`, whose bytes the same test decodes and
encodes.
";

const HEAD_LEGACY: &str = "# Beta 1.0 to 1.6.4 (protocols 7 to 78)

Every packet, with the names that mitmcraft shows and that rules use: those of `minecraft-data` for packets
that later versions still have. `field` is the path of the decoded field.

Packets have no frames: only their fields tell where they end. All are in state `play`, and the id is
one byte. The number in the login packet selects the version. After an unknown id no further packet
boundary can be found: the rest of that direction is forwarded and recorded as raw bytes. Up to Beta 1.4
text is modified UTF-8 with its length in bytes, then UTF-16 with its length in units. The family of these
versions is `legacy` in captures and rules, and in rules `pkt.protocol` is absent: compare `pkt.version`.

| version | name | game | new |
| --- | --- | --- | --- |
| 7 | `beta-1.1_01` | Beta 1.0 to 1.1_01 | |
| 8 | `beta-1.2_02` | Beta 1.2 to 1.2_02 | metadata, `entity_action`, paintings, note blocks; damage of items is 16 bits |
| 9 | `beta-1.3_01` | Beta 1.3, 1.3_01 | `bed`, `stance_update` |
| 10 | `beta-1.4_01` | Beta 1.4, 1.4_01 | `game_state_change` |
| 11 | `beta-1.5_01` | Beta 1.5, 1.5_01 | UTF-16; no password in `login`; `mode` in `window_click`; lightning, statistics |
| 13 | `beta-1.6.6` | Beta 1.6 to 1.6.6 | dimension in `respawn`; velocity in `spawn_entity`; `world_event`, `map` |
| 14 | `beta-1.7.3` | Beta 1.7 to 1.7.3 | no layout |
| 17 | `beta-1.8.1` | Beta 1.8, 1.8.1 | numbers in `keep_alive`; food, game modes, experience, effects, `player_info` |
| 22 | `1.0.1` | 1.0, 1.0.1 | NBT of tools and armour; `enchant_item` |
| 23 | `1.1` | 1.1 | `custom_payload`; type of the level |
| 28 | `1.2.3` | 1.2.1 to 1.2.3 | chunks of sections; host in `handshake`; `tile_entity_data` |
| 29 | `1.2.5` | 1.2.4, 1.2.5 | `abilities` |
| 39 | `1.3.2` | 1.3.1, 1.3.2 | encryption; `map_chunk_bulk`, `settings`, `client_command`; NBT of all items |
| 47 | `1.4.2` | 1.4.2 | age of the world; items in `pickup_spawn` |
| 49 | `1.4.5` | 1.4.4, 1.4.5 | NBT of items in metadata; 16-bit length in `map` |
| 51 | `1.4.7` | 1.4.6, 1.4.7 | angles in `spawn_entity`; sky light in `map_chunk_bulk`; no `pickup_spawn` |
| 60 | `1.5.1` | 1.5, 1.5.1 | scoreboards, teams, `world_particles` |
| 61 | `1.5.2` | 1.5.2 | no layout |
| 72 | `1.6` | 1.6 | `steer_vehicle`, `update_attributes`; health as a float |
| 73 | `1.6.1` | 1.6.1 | no layout |
| 74 | `1.6.2` | 1.6.2 | modifiers in `update_attributes`; `open_sign_entity` |
| 77, 78 | `1.6.3`, `1.6.4` | 1.6.3, 1.6.4 | no layout |

Beta 1.1_02 sent the number 8 too, with the packets of Beta 1.1: it is taken for Beta 1.2.

From 1.3 on every server encrypts. The client encrypts from its `encryption_begin` on, the server only after
`encryption_response`, which it sends in the clear, and the client logs in with `client_command`. A server in
offline mode has the server id `-`.

## Sources

The layouts were written from several descriptions and programs, and are used only where at least two
of them, written independently, agree:

| source | what | numbers |
| --- | --- | --- |
| DirtPowered/DirtMultiversion | a list of types for each packet, the same for both directions | 9 to 11, 14, 17, 22, 23, 28, 39, 51, 60, 61, 73, 74, 78 |
| ViaVersion/ViaLegacy | the ids of each direction, the length of each packet | 7 to 78 |
| dalbothek/mc4p | layouts with names, for each direction | 17 to 74 |
| node-minecraft-protocol | layouts with names, for some packets by direction | 51, 60, 73, 78 |
| the game's jar, as Burger read it (in ddevault/TrueCraft) | what each packet writes, for each direction | 14 |
| mindstorm38/mc173 | a server with layouts and names, for each direction | 14 |
| cuberite/cuberite at 305778f | a server | 29 to 78 |
| bravoserver/bravo | a list of types for each packet, the same for both directions | 7 to 9, 13 |
| mmdjiji/mcwiki | the changes of each release | all |

`tools/old_layouts` turns those that a program can read into lists of wire types, in
`tests/golden/old-layouts`, each with the commit or the release that it is from. A test compares the lists
with the tables, packet by packet; `explained.txt` beside the lists has the differences in which a list is not
believed, with the reason. 77 is in no list, as no project has separate layouts for it: its packets are those of 78.
Packets of each number that are the same in the tables and in a list:

{layouts}
Real programs of these versions play through the proxy, too: [testing.md](../testing.md#servers-from-elsewhere).

Where the sources disagree:

| what | one | another | believed |
| --- | --- | --- | --- |
| 8, `block_action` | bravo: y is a byte | ViaLegacy, DirtMultiversion: y is 16 bits | 16 bits: 12 bytes in every later version |
| 28, `abilities` | DirtMultiversion has it | ViaLegacy, mc4p, mcwiki: new in 1.2.4 | from 29 on |
| 17, `set_creative_slot` | mc4p: item, count and damage of 16 bits each, always | DirtMultiversion: an item of its own | they are the same |
| 28 and 29, `respawn` | mc4p: the dimension is a byte | DirtMultiversion, cuberite: an int | an int, as in `login` |
| 39 to 74, `0x32` | mc4p keeps it | ViaLegacy, DirtMultiversion, nmp: gone | gone: `map_chunk` says it |
| 60 on, `scoreboard_score` | mc4p, DirtMultiversion: always a value | ViaLegacy, nmp of 1.6.4: none if it is removed | none |
| 72 on, `open_window` | DirtMultiversion, nmp of 1.6.1: five fields | ViaLegacy, mc4p, nmp of 1.6.4: an entity behind them for a horse | an entity |
| 14, clientbound `position_look` | mc173: the feet before the eyes | mc4p, nmp, cuberite: the eyes first | the eyes first |
| 73, `open_sign_entity` | cuberite sends it | ViaLegacy, mc4p, DirtMultiversion, nmp: new in 1.6.2 | from 74 on |
| 22 to 29, items | ViaLegacy and mc4p list the items with NBT: what wears out | cuberite: what can be enchanted | ViaLegacy and mc4p: their lists are equal |

The golden bytes below are built from the lists of types of DirtMultiversion and the ids of ViaLegacy
(of 7, 8, 13, 47, 49, 72 and 77, for which there is no such list, from the next one and what ViaLegacy, mc4p, bravo and
mcwiki say has changed), not from the tables. Written by `tests/it/golden` from
`tests/golden/legacy.toml`, whose bytes the same test decodes and encodes.
";

const HEAD_PING: &str = "# Server List Ping of all generations

The requests of a client's server list and the server's responses, with the names that mitmcraft
shows and that rules use. `document` and `type` are the documents' own words; `field` is the path of
the decoded field, `len(x)` the length prefix of `x`. Notes say where a document is wrong.

Since 1.7 a ping is a framed session in state `status`. Before, it is one unframed message in each
direction. The three forms of the request differ only in what follows `fe`, so requests are forwarded
as they arrive, and recorded when the answer or the close arrives. If a rule matches the request, it
is held until it is complete: the request of 1.6 has a length, the others are complete when nothing
has followed for half a second.

A response text that starts with `§1` and a NUL has five more parts separated by NULs: protocol
number, version, MOTD, players online, maximum players. Any other text has three parts, split from the
right at `§`: MOTD, players online, maximum players. The parts are fields in addition to `reason`, the whole
text, and are absent if the text has neither form. A rule may set a part
(`set = { motd = \"Hi\", online = 7 }`): the text is then rebuilt. The `length` of a 1.6 request is
updated to match the host.

Written by `tests/it/golden` from `tests/golden/server-list-ping.toml`, whose bytes the same test
decodes and encodes.
";
