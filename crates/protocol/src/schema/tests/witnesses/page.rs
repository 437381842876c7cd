//! The table of `docs/versions.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use super::{COMPARED, Catalog};

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
    // Per version: the packets with a witness of their own, and those that have one of an older version.
    let (mut packets, mut older, mut sources) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for it in COMPARED.iter() {
        let own = it.layout_of == it.version;
        let of = if own { &mut packets } else { &mut older };
        let counted: &mut BTreeSet<_> = of.entry(it.version).or_default();
        // A witness that is known to be wrong does not count.
        if it.differences.is_empty() {
            let (state, direction, id) = it.place;
            counted.insert((state.name(), direction.name(), id));
        }
        let projects: &mut BTreeSet<&str> = sources.entry(it.version).or_default();
        projects.extend(it.source.split(", ").filter_map(|it| it.split('@').next()));
    }
    let mut table = "| game | packets | with a second witness | from |\n\
                     | --- | ---: | ---: | --- |\n"
        .to_owned();
    for (number, names) in Catalog::embedded().versions() {
        let (Some(counted), Some(sources)) = (packets.get(&number), sources.get(&number)) else {
            continue;
        };
        let protocol = Catalog::embedded().find(number).unwrap().protocol;
        let unchanged = older.get(&number).map(|of| of.difference(counted).count());
        let row = [
            match names {
                [first, .., last] => format!("{first}-{last}"),
                names => names.join(""),
            },
            protocol.packets().len().to_string(),
            match unchanged {
                Some(count) => format!("{} + {count}", counted.len()),
                None => counted.len().to_string(),
            },
            sources.iter().copied().collect::<Vec<_>>().join(", "),
        ];
        writeln!(table, "| {} |", row.join(" | ")).unwrap();
    }
    table
}

const BEGIN: &str = "<!-- generated: witnesses -->\n\n";
const END: &str = "\n<!-- up to here -->";
