//! The architecture of `docs/architecture.md`, checked against every line of every file of the three
//! crates: what Cargo does not see. That is the order of layers within a crate, I/O of the standard
//! library, locks, lengths of files, and the words of the command line.

mod checks;
mod lexer;
mod page;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use crate::support::root;
use source::{Source, crate_files};

/// The roots of the libraries, lowest first.
const LIBRARIES: [&str; 3] =
    ["crates/protocol/src/lib.rs", "crates/engine/src/lib.rs", "src/lib.rs"];

/// The layer from which on I/O is allowed.
const SHELL: &str = "proxy";

/// Longest file without comments and tests.
const LINES: usize = 600;

#[test]
fn each_layer_imports_only_layers_above_it_in_the_table() {
    fulfilled(checks::upward_imports(sources(), &layers()));
}

#[test]
fn no_modules_import_each_other() {
    fulfilled(checks::cycles(sources()));
}

#[test]
fn the_core_does_no_io_and_reads_no_clock() {
    // What only the program depends on is there for I/O.
    let io: Vec<String> = dependencies("Cargo.toml")
        .difference(&dependencies("crates/engine/Cargo.toml"))
        .filter(|package| !package.starts_with("mitmcraft"))
        .map(|package| package.replace('-', "_"))
        .collect();
    assert!(io.iter().any(|name| name == "tokio"));
    fulfilled(checks::io_below(sources(), &core(), &io));
    // `jiff` computes with times; only its zones come from the system.
    fulfilled(checks::words_in(sources(), &core(), &["TimeZone", "Zoned"]));
}

#[test]
fn only_captures_the_spool_and_the_shell_open_files() {
    let mut layers = core();
    layers.retain(|layer| !["capture", "store"].contains(&layer.as_str()));
    fulfilled(checks::words_in(sources(), &layers, &["fs", "File", "OpenOptions"]));
}

#[test]
fn state_with_one_owner_needs_no_lock() {
    let layers = ["codec", "filter", "link", "session"].map(str::to_owned);
    fulfilled(checks::words_in(sources(), &layers, &["Mutex", "RwLock"]));
}

#[test]
fn threads_of_the_core_end_with_the_call_that_starts_them() {
    // Expressions are evaluated on all processors.
    fulfilled(checks::threads(sources(), &core(), "src/store/matches.rs"));
}

#[test]
fn no_file_is_longer_than_600_lines_without_its_tests() {
    fulfilled(checks::long_files(sources(), LINES));
}

#[test]
fn versions_are_compared_by_their_order_and_not_by_their_numbers() {
    // What finds the description of a number among those that are known.
    let own = ["schema/release.rs", "schema/catalog.rs", "schema/unframed.rs"];
    fulfilled(checks::bare_versions(sources(), &own));
}

#[test]
fn options_and_subcommands_are_named_in_cli_alone() {
    let mut layers = layers();
    layers.retain(|layer| layer != "cli");
    fulfilled(checks::command_line_words(sources(), &layers));
}

#[test]
fn text_is_printed_by_one_type_which_escapes_it() {
    // Those that print lines of packets, which `text` writes, and what a terminal gets from a screen.
    let printers = [
        "cli/output.rs",
        "cli/screen.rs",
        "cli/columns.rs",
        "cli/replay/progress.rs",
        "cli/input/progress.rs",
        "tui/screen.rs",
    ];
    // Those that compose several lines, or colours, and escape what they quote.
    let composers = [
        "cli/args/condition.rs",
        "cli/check.rs",
        "cli/completions.rs",
        "cli/config.rs",
        "cli/demo/mod.rs",
        "cli/diff.rs",
        "cli/exit.rs",
        "cli/help.rs",
        "cli/lua_types.rs",
        "cli/ping.rs",
        "cli/protocols/import.rs",
        "cli/protocols/mod.rs",
        "cli/protocols/prove.rs",
        "cli/query.rs",
        "cli/replay/client.rs",
        "cli/replay/regress.rs",
        "cli/report.rs",
        "cli/rules.rs",
        "cli/stats.rs",
        "cli/summary.rs",
        "cli/wireshark/mod.rs",
    ];
    fulfilled(checks::printing(sources(), &printers, &composers));
    fulfilled(checks::meanings(sources()));
}

#[test]
fn the_tables_have_the_modules_of_the_crates_in_their_order() {
    let page = layers();
    let found: BTreeSet<&str> =
        sources().iter().map(Source::layer).filter(|it| !it.is_empty()).collect();
    let listed: BTreeSet<&str> = page.iter().map(String::as_str).collect();
    assert_eq!(found, listed, "modules of the crates and rows of docs/architecture.md");
    let front = |path: &str| page::modules(&fs::read_to_string(root().join(path)).unwrap());
    let fronts: Vec<String> = LIBRARIES.iter().flat_map(|path| front(path)).collect();
    // `cli` belongs to the program.
    assert_eq!(fronts, page[..page.len() - 1], "the tables of {LIBRARIES:?}");
}

#[test]
fn what_only_unix_has_is_left_out_elsewhere() {
    let mut violations = Vec::new();
    let mut folders =
        ["crates", "src", "tests", "examples", "tools"].map(|folder| root().join(folder)).to_vec();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            if path.is_dir() && !["node_modules", "venv", "target"].iter().any(|it| name == *it) {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs")
                && !path.ends_with("architecture/mod.rs")
            {
                files += 1;
                let text = fs::read_to_string(&path).unwrap();
                violations.extend(checks::ungated(&path.display().to_string(), &text));
            }
        }
    }
    assert!(files > 400, "{files} files read");
    fulfilled(violations);
    // A use of its own, so that this file is not read.
    let faulty = "fn f() {\n    std::os::unix::fs::symlink(a, b)\n}\n";
    assert_eq!(checks::ungated("f.rs", faulty).len(), 1);
}

fn fulfilled(violations: Vec<String>) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

/// All files of the libraries and of the program.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let roots = LIBRARIES.iter().chain(&["src/main.rs"]);
        let sources: Vec<Source> = roots.flat_map(|path| crate_files(&root().join(path))).collect();
        assert!(sources.len() > 300, "{} files", sources.len());
        sources
    });
    &SOURCES
}

fn layers() -> Vec<String> {
    page::layers(&fs::read_to_string(root().join("docs/architecture.md")).unwrap())
}

/// The layers below the one that does I/O.
fn core() -> Vec<String> {
    layers().into_iter().take_while(|layer| layer != SHELL).collect()
}

/// The packages that a package depends on.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = fs::read_to_string(root().join(manifest)).unwrap().parse().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().cloned().collect()
}
