//! The table of layers in `docs/architecture.md`.

/// The layers of all crates, lowest first.
pub(super) fn layers(page: &str) -> Vec<String> {
    let (mut layers, mut lines) = (Vec::new(), page.lines());
    while lines.any(|line| line.starts_with("| layer | contents |")) {
        let rows = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        layers.extend(rows.map(|row| quoted(row).next().unwrap().to_owned()));
    }
    layers
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
fn the_tables_give_the_layers_in_their_order() {
    let page = "# A\n\n| layer | contents |\n| --- | --- |\n| `wire` | bytes (`a`) |\n| `cli` | words |\n\n\
                | `no` | |\n\n## B\n| layer | contents |\n| --- | --- |\n| `lang` | `b` |\n";
    assert_eq!(layers(page), ["wire", "cli", "lang"]);
}
