//! `docs/upstream.md`: the text of an issue for each error in minecraft-data that a patch corrects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mitmcraft_protocol::schema::{Catalog, Direction, State};
use mitmcraft_protocol::wire::write_varint;

#[test]
fn every_patch_has_the_text_of_an_issue() {
    let page = read("docs/upstream.md");
    let described: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("patch    ")).collect();
    let mut patches = BTreeSet::new();
    for file in ["patches", "compared", "items", "later", "named"] {
        let source = read(&format!("tools/import_tables/{file}.rs"));
        let names = source.lines().filter_map(|line| line.trim().strip_prefix("name: \""));
        patches.extend(names.map(|name| name.trim_end_matches("\",").to_owned()));
    }
    assert!(patches.len() > 40, "{patches:?}");
    for source in ["patches", "compared", "items", "named"] {
        let text = read(&format!("tools/import_tables/{source}.rs"));
        for name in patches.iter().filter(|name| text.contains(name.as_str())) {
            assert!(
                described.contains(&name.as_str()),
                "docs/upstream.md: no section has the patch `{name}`"
            );
        }
    }
    for name in described {
        let other = [EFFECTS, DERIVED].contains(&name);
        assert!(other || patches.contains(name), "docs/upstream.md: there is no patch `{name}`");
    }
}

#[test]
fn every_issue_has_bytes_that_decode_and_a_witness() {
    let page = read("docs/upstream.md");
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        let of = |key: &str| {
            section.lines().filter_map(|line| line.strip_prefix(key)).collect::<Vec<_>>()
        };
        assert_eq!(of("versions ").len(), 1, "{title}");
        for witness in of("witness  ") {
            let (place, path) = witness.split_once(':').unwrap_or((witness, ""));
            let commit = place.split_once('@').map_or("", |(_, commit)| commit);
            let named = commit.len() == 40 && !path.is_empty();
            assert!(
                named || witness.contains("CraftBukkit") || witness.contains("registry"),
                "{witness}"
            );
        }
        let (witnesses, patches, bytes) = (of("witness  "), of("patch    "), of("bytes    "));
        assert!(!witnesses.is_empty() && !patches.is_empty() && !bytes.is_empty(), "{title}");
        bytes.into_iter().for_each(decode);
    }
}

/// Decodes `PROTOCOL STATE DIRECTION NAME FIELDS`, and encodes the fields again.
fn decode(line: &str) {
    let [version, state, direction, name, fields] = line.splitn(5, ' ').collect::<Vec<_>>()[..]
    else {
        panic!("{line}")
    };
    let protocol = Catalog::embedded().find(version.parse().unwrap()).unwrap().protocol;
    let (state, direction): (State, Direction) =
        (state.parse().unwrap(), direction.parse().unwrap());
    let packet = protocol.named(state, direction, name).unwrap_or_else(|| panic!("{line}"));
    let digits: String = fields.split_whitespace().collect();
    assert!(digits.len().is_multiple_of(2), "{line}");
    let mut body = Vec::new();
    write_varint(&mut body, packet.id());
    let start = body.len();
    body.extend(
        (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()),
    );
    let value =
        protocol.decode(packet, &body, start).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(protocol.encode(packet, &value), Ok(body), "{line}");
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// What is corrected without a patch.
const EFFECTS: &str = "`tools/import_tables/registries.rs`";
const DERIVED: &str = "4";
