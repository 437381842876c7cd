//! The table of layers in `docs/architecture.md`.

/// A row of the table.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    /// The crates of its last column, as they are named in `Cargo.toml`.
    pub(super) crates: Vec<String>,
}

/// The layers, lowest first.
pub(super) fn layers(page: &str) -> Vec<Layer> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| layer |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let name = quoted(cells[0]).next().unwrap().to_owned();
        Layer { name, crates: quoted(cells.last().unwrap()).map(str::to_owned).collect() }
    })
    .collect()
}

/// The modules in the table of the crate's documentation.
pub(super) fn modules(front: &str) -> Vec<String> {
    let lines = front.lines().map(|line| line.trim_start_matches("//! "));
    let rows = lines.skip_while(|line| !line.starts_with("| module |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| quoted(row).next().unwrap().to_owned()).collect()
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_table_gives_the_layers_in_their_order_with_their_crates() {
    let page = "# A\n\n| layer | what | its crates |\n| --- | --- | --- |\n\
                | `wire` | bytes (`a`) | `bytes`, `simd-json` |\n| `cli` | words | |\n\n| `no` | |\n";
    let layers = layers(page);
    let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["wire", "cli"]);
    assert_eq!(layers[0].crates, ["bytes", "simd-json"]);
    assert_eq!(layers[1].crates, [""; 0]);
}
