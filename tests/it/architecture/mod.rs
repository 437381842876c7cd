//! The architecture of `docs/architecture.md`, checked against every line of every file in `src`:
//! layers, I/O, locks, lengths of files, and the words of the command line.

mod checks;
mod lexer;
mod page;
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use crate::support::root;
use page::Layer;
use source::{Source, crate_files};

/// The layer from which on I/O is allowed.
const SHELL: &str = "proxy";

/// Longest file without comments and tests.
const LINES: usize = 600;

/// Crates that every layer may use without a mention on the page.
const EVERYWHERE: [&str; 5] = ["base64", "bytes", "serde", "serde_json", "thiserror"];

#[test]
fn each_layer_imports_only_layers_above_it_in_the_table() {
    fulfilled(checks::upward_imports(sources(), &names(&layers())));
}

#[test]
fn no_modules_import_each_other() {
    fulfilled(checks::cycles(sources()));
}

#[test]
fn the_core_does_no_io_and_reads_no_clock() {
    // What the feature `proxy` brings in is there for I/O.
    let io: Vec<String> =
        dependencies().into_iter().filter(|it| it.optional).map(|it| it.name).collect();
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
fn options_and_subcommands_are_named_in_cli_alone() {
    let mut layers = names(&layers());
    layers.retain(|layer| layer != "cli");
    fulfilled(checks::command_line_words(sources(), &layers));
}

#[test]
fn the_table_has_the_modules_of_the_tree_and_the_crates_they_use() {
    let (sources, layers) = (sources(), layers());
    let found: BTreeSet<&str> =
        sources.iter().map(Source::layer).filter(|it| !it.is_empty()).collect();
    let listed: BTreeSet<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(found, listed, "modules of `src` and rows of the table in docs/architecture.md");
    let known: BTreeSet<String> = dependencies().into_iter().map(|it| it.name).collect();
    let used = checks::crates_used(sources, &known);
    let mut wrong = Vec::new();
    for layer in &layers {
        let mut used = used[&layer.name].clone();
        used.retain(|name| !EVERYWHERE.contains(&name.as_str()));
        let listed: BTreeSet<String> = layer.crates.iter().map(|name| in_code(name)).collect();
        if used != listed {
            wrong.push(format!("`{}` uses {used:?}, the table has {listed:?}", layer.name));
        }
    }
    fulfilled(wrong);
}

#[test]
fn the_front_page_of_the_library_lists_all_its_layers_in_their_order() {
    let front = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut expected = names(&layers());
    // It belongs to the program.
    expected.retain(|layer| layer != "cli");
    assert_eq!(page::modules(&front), expected, "the table of src/lib.rs");
}

#[test]
fn what_only_unix_has_is_left_out_elsewhere() {
    let mut violations = Vec::new();
    let mut folders =
        ["src", "tests", "examples", "tools"].map(|folder| root().join(folder)).to_vec();
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

/// All files of the library and of the binary.
fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let mut sources = crate_files(&root().join("src/lib.rs"));
        sources.extend(crate_files(&root().join("src/main.rs")));
        assert!(sources.len() > 300, "{} files", sources.len());
        sources
    });
    &SOURCES
}

fn layers() -> Vec<Layer> {
    page::layers(&fs::read_to_string(root().join("docs/architecture.md")).unwrap())
}

fn names(layers: &[Layer]) -> Vec<String> {
    layers.iter().map(|layer| layer.name.clone()).collect()
}

/// The layers below the one that does I/O.
fn core() -> Vec<String> {
    names(&layers()).into_iter().take_while(|layer| layer != SHELL).collect()
}

/// A crate that the package depends on.
struct Dependency {
    /// As code names it.
    name: String,
    optional: bool,
}

fn dependencies() -> Vec<Dependency> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let of = |table: &toml::Value| table["dependencies"].as_table().cloned().unwrap();
    // Those of all systems, and those of some.
    let mut dependencies = manifest["dependencies"].as_table().cloned().unwrap();
    dependencies.extend(manifest["target"].as_table().unwrap().values().flat_map(of));
    let dependency = |(name, value): (&String, &toml::Value)| Dependency {
        name: in_code(name),
        optional: value.get("optional").is_some_and(|it| it.as_bool() == Some(true)),
    };
    dependencies.iter().map(dependency).collect()
}

/// The name of a crate in code.
fn in_code(package: &str) -> String {
    match package {
        "md-5" => "md5".to_owned(),
        name => name.replace('-', "_"),
    }
}
