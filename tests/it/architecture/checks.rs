//! The rules, each as a function from sources to violations.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::lexer::Kind;
use super::source::Source;

/// Imports of layers above one's own. `layers` begins with the lowest.
pub(super) fn upward_imports(sources: &[Source], layers: &[String]) -> Vec<String> {
    let place = |layer: &str| layers.iter().position(|it| it == layer);
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.layer().is_empty()) {
        let own = place(source.layer());
        for named in source.named() {
            let used = named.path.first().map_or("", String::as_str);
            let at = source.at(named.line);
            match place(used) {
                Some(_) if own.is_none() => found.push(format!("{at}: in no layer")),
                Some(other) if Some(other) > own => {
                    found.push(format!(
                        "{at}: `{}` uses `{used}`, which is above it",
                        source.layer()
                    ));
                }
                Some(_) => {}
                None => found.push(format!("{at}: `{}` is in no layer", named.path.join("::"))),
            }
        }
    }
    found
}

/// Groups of top-level modules that import each other, by the files that do.
pub(super) fn cycles(sources: &[Source]) -> Vec<String> {
    let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.layer().is_empty()) {
        let used = source.named().into_iter().filter_map(|named| named.path.first().cloned());
        uses.entry(source.layer()).or_default().extend(used.filter(|it| it != source.layer()));
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(layer) = open.pop() {
            for next in uses.get(layer.as_str()).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen.contains(to)
    };
    uses.keys()
        .filter(|layer| reaches(layer, layer))
        .map(|layer| format!("`{layer}` imports itself through {:?}", uses[layer]))
        .collect()
}

/// Crates used below the layer `shell`, from where on I/O is allowed, though they are only there for it.
pub(super) fn io_below(sources: &[Source], below: &[String], io: &[String]) -> Vec<String> {
    let std = ["Instant", "SystemTime", "TcpStream", "TcpListener", "UdpSocket", "OsRng"];
    let mut found = Vec::new();
    for source in in_layers(sources, below) {
        for (line, head) in source.heads() {
            if io.contains(&head) {
                found.push(format!("{}: `{head}` does I/O", source.at(line)));
            }
        }
        for token in &source.tokens {
            if let Some(word) = token.word().filter(|word| std.contains(word)) {
                found.push(format!("{}: `{word}` does I/O", source.at(token.line)));
            }
        }
    }
    found
}

/// Words that must not occur in the code of these layers.
pub(super) fn words_in(sources: &[Source], layers: &[String], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in in_layers(sources, layers) {
        for token in &source.tokens {
            if let Some(word) = token.word().filter(|word| words.contains(word)) {
                found.push(format!("{}: `{word}` in `{}`", source.at(token.line), source.layer()));
            }
        }
    }
    found
}

/// Uses of `std::thread` in these layers, but for scoped threads in the file `scoped`.
pub(super) fn threads(sources: &[Source], layers: &[String], scoped: &str) -> Vec<String> {
    let mut found = Vec::new();
    for source in in_layers(sources, layers) {
        let words: Vec<_> =
            source.tokens.iter().filter_map(|token| Some((token.line, token.word()?))).collect();
        for (place, (line, _)) in words.iter().enumerate().filter(|(_, (_, it))| *it == "thread") {
            let next = words.get(place + 1).map_or("", |(_, word)| word);
            let ends = ["available_parallelism", "scope"].contains(&next);
            if !(ends && source.file.ends_with(scoped)) {
                found.push(format!("{}: `thread`, then `{next}`", source.at(*line)));
            }
        }
    }
    found
}

/// Constants of protocol numbers, and protocol numbers that are compared by their size, but in the files
/// `own`: which version came first, only `schema::Release` knows.
pub(super) fn bare_versions(sources: &[Source], own: &[&str]) -> Vec<String> {
    let version = r"\bversion\b( \( \))?";
    let path = r"([&*] )*(\w+ (\( \) )?\. )*version\b";
    let forms = [
        r"\b(const|static) V[0-9]\w* : [iu][0-9]+".to_owned(),
        r"\bFIRST_SNAPSHOT\b".to_owned(),
        format!(r"{version} ([<>]|\. \.)"),
        format!(r"[^-=<>] [<>] (= )?{path}"),
        format!(r"\. \. (= )?{path}"),
        format!(r"\. \. [^;{{}}]*\) \. contains \( {path}"),
        format!(r"\bmatch [^{{}}]*{version} ([,)][^{{}}]*)?\{{ [^{{}}]*\. \."),
        format!(r"\b(sort|max|min|is_sorted)\w* \( [^;{{}}]*{version}"),
    ];
    let forms = forms.map(|form| Regex::new(&form).unwrap());
    let mut found = Vec::new();
    for source in sources.iter().filter(|it| !own.iter().any(|own| it.file.ends_with(own))) {
        let (text, lines) = source.joined();
        for it in forms.iter().flat_map(|form| form.find_iter(&text)) {
            let line = lines[lines.partition_point(|(start, _)| *start <= it.start()) - 1].1;
            found.push(format!("{}: `{}`", source.at(line), it.as_str()));
        }
    }
    found
}

/// Files that have more lines than `limit` without comments and tests.
pub(super) fn long_files(sources: &[Source], limit: usize) -> Vec<String> {
    let long = sources.iter().filter(|source| source.lines > limit);
    long.map(|source| format!("{}: {} lines without its tests", source.file, source.lines))
        .collect()
}

/// The names of options and subcommands in string literals of these layers.
pub(super) fn command_line_words(sources: &[Source], layers: &[String]) -> Vec<String> {
    let word = Regex::new(r"(^|[^-\w])--[a-z][a-z-]+|`-[A-Za-z]\b|`mitmcraft [a-z]+").unwrap();
    let mut found = Vec::new();
    for source in in_layers(sources, layers) {
        for token in &source.tokens {
            let Kind::Text(text) = &token.kind else { continue };
            if let Some(word) = word.find(text) {
                found.push(format!("{}: `{}`", source.at(token.line), word.as_str().trim()));
            }
        }
    }
    found
}

/// Text that is written to a standard stream past `printers`, and several lines that are composed elsewhere than
/// in `composers`.
pub(super) fn printing(sources: &[Source], printers: &[&str], composers: &[&str]) -> Vec<String> {
    let raw = [
        r"\bio :: (stdout|stderr)\b( \( \) \. \w+)?",
        r"\b(stdout|stderr) \( \)( \. \w+)?",
        r"\be?print(ln)? !",
        r"\bdbg !",
        r"\bindicatif ::",
    ];
    let composed = [r"\boutput \. lines \(", r"\bmessage_lines \(", r"\bsaid \. print \( \)"];
    let own = |source: &Source, files: &[&str]| files.iter().any(|own| source.file.ends_with(own));
    let mut found = Vec::new();
    for (forms, files) in [(&raw[..], printers), (&composed, &[composers, printers].concat())] {
        for source in sources.iter().filter(|source| !own(source, files)) {
            let (text, lines) = source.joined();
            for form in forms.iter().map(|form| Regex::new(form).unwrap()) {
                for it in form.find_iter(&text).filter(|it| !it.as_str().ends_with("is_terminal")) {
                    let line = lines[lines.partition_point(|(at, _)| *at <= it.start()) - 1].1;
                    found.push(format!("{}: `{}`", source.at(line), it.as_str()));
                }
            }
        }
    }
    found
}

/// Meanings of values, which contain names that peers sent, and which `text` writes without escaping them.
pub(super) fn meanings(sources: &[Source]) -> Vec<String> {
    let meaning = Regex::new(r"\btracker \. (words|tag) \(").unwrap();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.layer() == "text") {
        let (text, lines) = source.joined();
        for it in meaning.find_iter(&text) {
            let after: String = text[it.end()..].chars().take(NEAR).collect();
            if !after.contains("Escaped (") {
                let line = lines[lines.partition_point(|(at, _)| *at <= it.start()) - 1].1;
                found.push(format!("{}: `{}` without `Escaped`", source.at(line), it.as_str()));
            }
        }
    }
    found
}

/// Characters of code within which a meaning is escaped.
const NEAR: usize = 200;

fn in_layers<'a>(sources: &'a [Source], layers: &'a [String]) -> impl Iterator<Item = &'a Source> {
    sources.iter().filter(|source| layers.iter().any(|layer| layer == source.layer()))
}

/// Uses of what only Unix has in code that other systems compile too: no `cfg` stands within a few
/// lines in front of them.
pub(super) fn ungated(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let unix = Regex::new(r"\b(os::(unix|fd|linux)|signal::unix|rustix)::").unwrap();
    let gate = Regex::new(r"cfg\((unix|target_os = )").unwrap();
    let gated =
        |place: usize| lines[place.saturating_sub(GATE)..place].iter().any(|it| gate.is_match(it));
    let uses = lines.iter().enumerate().filter(|(_, line)| unix.is_match(line));
    uses.filter(|(place, _)| !gated(*place))
        .map(|(place, line)| format!("{path}:{}: {}", place + 1, line.trim()))
        .collect()
}

/// Lines between a `cfg` and what it gates.
const GATE: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn file(module: &[&str], text: &str) -> Source {
        Source::new(&format!("{}.rs", module.join("/")), module, text)
    }

    #[test]
    fn a_meaning_that_is_written_raw_is_found() {
        let written = |argument: &str| {
            let text = format!(
                "fn f() {{ if let Some(it) = self.tracker.words(a) {{ write!(out, \"{{}}\", {argument}) }} }}"
            );
            meanings(&[file(&["text"], &text)]).len()
        };
        assert_eq!([written("it"), written("Escaped(it)")], [1, 0]);
    }

    #[test]
    fn an_import_of_a_higher_layer_is_found_in_every_form() {
        let layers = layers(&["wire", "codec", "cli"]);
        for text in [
            "use crate::codec::Frame;",
            "use crate::{\n    wire::X,\n    codec::Frame,\n};",
            "use super::super::codec::Frame;",
            "use super::super::{wire, codec};",
            "fn f() { let x = crate::codec::Frame::new(); }",
            "use mitmcraft::codec::Frame;",
            "use mitmcraft_protocol::codec::Frame;",
            "#[cfg(test)]\nmod tests;\nuse crate::codec::Frame;",
            "#[cfg(test)]\nfn f() {}\nuse crate::codec::Frame;",
        ] {
            let found = upward_imports(&[file(&["wire", "nbt"], text)], &layers);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains("`wire` uses `codec`, which is above it"), "{found:?}");
            let fine = upward_imports(&[file(&["codec", "nbt"], text)], &layers);
            assert_eq!(fine, [""; 0], "{text}");
        }
    }

    #[test]
    fn every_way_round_the_printer_is_found() {
        for text in [
            "fn f() { io::stdout().write_all(text) }",
            "fn f() { stream(io::stderr) }",
            "fn f() { writeln!(std::io::stderr(), \"{x}\") }",
            "fn f() { stdout().lock() }",
            "fn f() { println!(\"{x}\") }",
            "fn f() { eprint!(\"{x}\") }",
            "fn f() { output.lines(&x) }",
            "fn f() { self.output.lines(&x) }",
            "fn f() { output.message_lines(Level::Info, &x) }",
            "use indicatif::ProgressBar;",
        ] {
            let found = printing(&[file(&["cli", "a"], text)], &["cli/b.rs"], &["cli/c.rs"]);
            assert!(!found.is_empty(), "{text}");
            let found = printing(&[file(&["cli", "a"], text)], &["cli/a.rs"], &[]);
            assert_eq!(found, [""; 0], "{text}");
        }
        let fine = "fn f() { output.line(&x); io::stdout().is_terminal(); files.on_stdout() }";
        assert_eq!(printing(&[file(&["cli", "a"], fine)], &[], &[]), [""; 0]);
    }

    #[test]
    fn an_import_from_outside_the_layers_is_found() {
        let layers = layers(&["wire"]);
        for text in ["use crate::*;", "use crate::helper::f;", "use super::*;"] {
            let found = upward_imports(&[file(&["wire"], text)], &layers);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
        }
        assert_eq!(upward_imports(&[file(&["new"], "use crate::wire::X;")], &layers).len(), 1);
    }

    #[test]
    fn modules_that_import_each_other_over_a_third_are_a_cycle() {
        let files = |last: &str| {
            [
                file(&["a", "x"], "use crate::b::B;"),
                file(&["b"], "use crate::c::C;"),
                file(&["c", "y"], last),
                file(&["d"], "use crate::{a, d};"),
            ]
        };
        let found = cycles(&files("fn f() { crate::a::A }"));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("`a` imports itself"), "{found:?}");
        assert_eq!(cycles(&files("use super::super::c::z;")), [""; 0]);
    }

    #[test]
    fn a_crate_that_does_io_is_found_only_below_the_shell() {
        let (below, io) = (layers(&["wire"]), layers(&["tokio"]));
        let check =
            |module: &str, text: &str| io_below(&[file(&[module], text)], &below, &io).len();
        assert_eq!(check("wire", "use std::io;\nuse tokio::{\n    net,\n};"), 1);
        assert_eq!(check("wire", "fn f() { tokio::spawn(x) }"), 1);
        assert_eq!(check("wire", "use std::time::{Duration, Instant};"), 1);
        assert_eq!(check("wire", "// tokio::spawn, Instant\nuse crate::x::tokio::y;"), 0);
        assert_eq!(check("proxy", "use tokio::net;"), 0);
    }

    #[test]
    fn a_lock_is_found_in_the_layers_that_must_have_none() {
        let check = |module: &str, text: &str| {
            words_in(&[file(&[module], text)], &layers(&["codec"]), &["Mutex"]).len()
        };
        assert_eq!(check("codec", "use std::sync::{\n    Arc, Mutex,\n};"), 1);
        assert_eq!(check("codec", "#[cfg(test)]\nuse std::sync::Mutex; // Mutex"), 0);
        assert_eq!(check("proxy", "use std::sync::Mutex;"), 0);
    }

    #[test]
    fn a_thread_is_found_in_every_form_but_where_it_is_scoped() {
        let check = |module: &str, text: &str| {
            threads(&[file(&["store", module], text)], &layers(&["store"]), "store/matches.rs")
                .len()
        };
        for text in [
            "fn f() { std::thread::spawn(g); }",
            "fn f() { std::thread::Builder::new().spawn(g); }",
            "use std::thread;",
            "use std::thread::{self, scope};",
        ] {
            assert_eq!((check("store", text), check("matches", text)), (1, 1), "{text}");
        }
        let text = "fn f() { std::thread::scope(|it| it.spawn(g)) }";
        assert_eq!((check("store", text), check("matches", text)), (1, 0));
        assert_eq!(check("store", "#[cfg(test)]\nfn f() { std::thread::spawn(g); }"), 0);
    }

    #[test]
    fn a_version_that_is_compared_by_its_number_is_found_in_every_form() {
        let check = |module: &[&str], text: &str| {
            bare_versions(&[file(module, text)], &["schema/release.rs"]).len()
        };
        for text in [
            "const V1_13: i32 = 393;",
            "pub(super) static V26_1: i32 = 775;",
            "fn f() { if protocol.version() < FIRST_NBT { a() } }",
            "fn f() { version >= 107 && b }",
            "fn f() { 393 <= packet.context().protocol.version() }",
            "fn f() { *since <= version && b }",
            "fn f() { (A..B).contains(&version) }",
            "fn f() { (47..=340).contains(&self.protocol.version()) }",
            "fn f() { from.version()..=to.version() }",
            "fn f() { match protocol.version() {\n    ..107 => a,\n    _ => b,\n} }",
            "fn f() { match (family, version) { (A, ..V1_2) => a } }",
            "fn f() { all.sort_by_key(|it| it.version()) }",
            "fn f() { all.max_by_key(|protocol| protocol.version()) }",
            "fn f() { numbers.filter(|it| *it < Catalog::FIRST_SNAPSHOT) }",
        ] {
            assert!(check(&["lint", "order"], text) > 0, "{text}");
            assert_eq!(check(&["schema", "release"], text), 0, "{text}");
        }
        for text in [
            "const V1_13: Release = Release::numbered(393);",
            "fn f() { protocol.release() < Release::V1_13 }",
            "fn f() { known.version() == protocol.version() }",
            "fn version(&self) -> i32 { self.release.number() }",
            "fn f() { versions.contains(&version) }",
            "fn f() { first.min(row.versions.first) }",
            "fn f() { match version { 47 => a, _ => b } }",
            "fn f(version: Option<i32>) -> Option<Version> { A { version, ..b } }",
            "fn f() { let x: Vec<i32> = all; g(|version| it.version()) }",
            "#[cfg(test)]\nfn f() { version < 393 }",
        ] {
            assert_eq!(bare_versions(&[file(&["lint", "order"], text)], &[]), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_long_file_is_found_wherever_its_tests_stand() {
        let code = "fn f() {}\n".repeat(3);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn t() {}\n".repeat(9));
        for text in [format!("{tests}{code}"), format!("{code}{tests}")] {
            assert_eq!(long_files(&[file(&["a"], &text)], 3), [""; 0]);
            assert_eq!(long_files(&[file(&["a"], &text)], 2).len(), 1);
        }
    }

    #[test]
    fn options_and_subcommands_are_found_in_string_literals() {
        let check = |module: &str, text: &str| {
            command_line_words(&[file(&[module], text)], &layers(&["auth"])).len()
        };
        for text in [
            "const A: &str = \"log in or choose `--auth none`\";",
            "#[error(\"--auth is missing\")]\nstruct E;",
            "fn f() { g(r#\"see \"`mitmcraft login`\"\"#) }",
            "const A: &str = \"no account: run `mitmcraft login`\";",
            "const A: &str = \"choose a file with `-w`\";",
        ] {
            assert_eq!(check("auth", text), 1, "{text}");
            assert_eq!(check("cli", text), 0, "{text}");
        }
        for text in [
            "// the option `--auth`\nfn f() {}",
            "const A: &str = \"--- a\";",
            "const A: &str = \"-----BEGIN\";",
            "const A: &str = \"mitmcraft has it\";",
            "#[cfg(test)]\nmod tests { const A: &str = \"--auth\"; }",
        ] {
            assert_eq!(check("auth", text), 0, "{text}");
        }
    }
}
