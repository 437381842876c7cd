//! The house: each layer uses only the layers above it, I/O has its place, and no file is a
//! warehouse (`docs/architecture.md`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// The layers, the lowest first. A layer may use those before it.
const LAYERS: [&str; 19] = [
    "wire", "schema", "codec", "packet", "lang", "filter", "capture", "text", "analysis", "auth",
    "link", "session", "ping", "query", "decode", "replay", "proxy", "demo", "cli",
];

/// From here on a layer may do I/O.
const SHELL: &str = "proxy";

/// Crates that do I/O, or need the `proxy` feature for another reason.
const IO_CRATES: [&str; 9] = [
    "tokio",
    "reqwest",
    "hickory_resolver",
    "socket2",
    "notify",
    "clap",
    "anyhow",
    "indicatif",
    "jiff",
];

/// What reads the clock, draws random numbers or opens sockets without a crate.
const IO_STD: [&str; 6] =
    ["Instant", "SystemTime", "TcpStream", "TcpListener", "UdpSocket", "OsRng"];

/// Longest file without its tests.
const LINES: usize = 600;

#[test]
fn each_layer_uses_only_the_layers_before_it() {
    for file in sources() {
        let place = place(&file.layer);
        for (number, line) in &file.lines {
            for used in words_after(line, "crate::").chain(words_after(line, "mitmcraft::")) {
                let Some(other) = LAYERS.iter().position(|layer| *layer == used) else { continue };
                let at = format!("{}:{number}", file.path.display());
                assert!(other <= place, "{at}: {} uses {used}, which is above it", file.layer);
            }
        }
    }
}

#[test]
fn the_core_names_no_crate_that_does_io_and_reads_no_clock() {
    for file in sources() {
        if place(&file.layer) >= place(SHELL) {
            continue;
        }
        for (number, line) in &file.lines {
            let at = format!("{}:{number}", file.path.display());
            for name in IO_CRATES {
                assert!(!line.contains(&format!("{name}::")), "{at}: {name} in {}", file.layer);
            }
            for name in IO_STD {
                let found =
                    line.split(|char: char| !char.is_alphanumeric()).any(|word| word == name);
                assert!(!found, "{at}: {name} in {}", file.layer);
            }
        }
    }
}

#[test]
fn only_captures_and_the_shell_open_files() {
    for file in sources() {
        if place(&file.layer) >= place(SHELL) || file.layer == "capture" {
            continue;
        }
        for (number, line) in &file.lines {
            let at = format!("{}:{number}", file.path.display());
            assert!(!line.contains("std::fs") && !line.contains("File::"), "{at}: opens a file");
        }
    }
}

#[test]
fn no_lock_stands_in_the_layers_that_have_one_owner() {
    for file in sources() {
        if !["session", "link", "codec", "filter"].contains(&file.layer.as_str()) {
            continue;
        }
        for (number, line) in &file.lines {
            let at = format!("{}:{number}", file.path.display());
            assert!(!line.contains("Mutex") && !line.contains("RwLock"), "{at}: a lock");
        }
    }
}

#[test]
fn no_file_is_longer_than_the_wall() {
    for file in sources() {
        let count = file.lines.len();
        assert!(count <= LINES, "{}: {count} lines without its tests", file.path.display());
    }
}

#[test]
fn every_layer_of_this_test_is_in_the_page_and_in_the_tree() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let found: Vec<String> = sources().into_iter().map(|file| file.layer).collect();
    for layer in found.iter().filter(|layer| !layer.is_empty()) {
        assert!(LAYERS.contains(&layer.as_str()), "src/{layer} is no layer");
        assert!(page.contains(&format!("| `{layer}` |")), "docs/architecture.md has no `{layer}`");
    }
    assert!(found.len() > 40, "the walk has found the tree");
}

struct Source {
    path: PathBuf,
    /// The folder below `src`; empty for `lib.rs` and `main.rs`.
    layer: String,
    /// Without comments and tests, with their numbers.
    lines: Vec<(usize, String)>,
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root().join("src"), &mut found);
    found
}

fn walk(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                walk(&path, found);
            }
            continue;
        }
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests" || stem == "samples");
        if path.extension().is_none_or(|ending| ending != "rs") || is_test {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = (1..)
            .zip(text.lines())
            .take_while(|(_, line)| {
                !line.starts_with("#[cfg(test)]") || line.contains("mod tests;")
            })
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(number, line)| (number, line.to_owned()))
            .collect();
        let below = path.strip_prefix(root().join("src")).unwrap();
        let layer = match below.parent().and_then(|parent| parent.iter().next()) {
            Some(layer) => layer.to_string_lossy().into_owned(),
            None => String::new(),
        };
        found.push(Source { path, layer, lines });
    }
}

fn place(layer: &str) -> usize {
    LAYERS.iter().position(|it| *it == layer).unwrap_or(LAYERS.len())
}

/// The names that follow a prefix, also those in braces: `crate::{a::B, c}`.
fn words_after<'a>(line: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    let rest = line.split(prefix).skip(1);
    rest.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split(',').map(str::trim).collect::<Vec<_>>(),
        None => vec![rest],
    })
    .map(|word| {
        word.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or("")
    })
}
