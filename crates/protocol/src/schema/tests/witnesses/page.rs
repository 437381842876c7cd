//! The table of `docs/versions.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use super::{Catalog, explained, files, whole_name};

#[test]
fn the_page_counts_the_witnesses() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/versions.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let fresh = fresh();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{fresh}{END}{after}")).unwrap();
        return;
    }
    assert!(table == fresh, "UPDATE_DOCS=1 cargo test -p mitmcraft-protocol witnesses:\n{fresh}");
}

/// Formats one row per version that has witnesses.
fn fresh() -> String {
    let explained = explained();
    let (mut packets, mut sources) = (BTreeMap::new(), BTreeMap::new());
    for file in files() {
        let protocol = Catalog::embedded().find(file.version).unwrap().protocol;
        let counted: &mut BTreeSet<_> = packets.entry(file.version).or_default();
        for it in &file.packets {
            let packet = protocol.packet(it.state, it.direction, it.id).unwrap();
            // A witness that is known to be wrong does not count.
            let whole = whole_name(it, packet.name());
            let mut known = explained.iter().filter(|known| known.versions.contains(&file.version));
            if known.all(|known| known.packet != whole) {
                counted.insert((it.state.name(), it.direction.name(), it.id));
            }
        }
        let projects: &mut BTreeSet<String> = sources.entry(file.version).or_default();
        for source in file.sources.values() {
            projects.insert(source.split('@').next().unwrap().into());
        }
    }
    let mut table = "| protocol | game | packets | with a second witness | from |\n\
                     | ---: | --- | ---: | ---: | --- |\n"
        .to_owned();
    for (number, names) in Catalog::embedded().versions() {
        let (Some(counted), Some(sources)) = (packets.get(&number), sources.get(&number)) else {
            continue;
        };
        let protocol = Catalog::embedded().find(number).unwrap().protocol;
        let row = [
            number.to_string(),
            names.join(", "),
            protocol.packets().len().to_string(),
            counted.len().to_string(),
            sources.iter().cloned().collect::<Vec<_>>().join(", "),
        ];
        writeln!(table, "| {} |", row.join(" | ")).unwrap();
    }
    table
}

const BEGIN: &str = "<!-- counted by a test: -->\n\n";
const END: &str = "\n<!-- up to here -->";
