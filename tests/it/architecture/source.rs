//! Source files without their tests, and the paths they name.

use std::fs;
use std::path::{Path, PathBuf};

use super::lexer::{Kind, Token, lex};

/// A source file: its code outside `#[cfg(test)]`.
pub(super) struct Source {
    /// The file, for messages.
    pub(super) file: String,
    /// The module that it holds, from the root of its crate: empty for `lib.rs` and `main.rs`.
    pub(super) module: Vec<String>,
    pub(super) tokens: Vec<Token>,
    /// How many lines it has without comments and tests.
    pub(super) lines: usize,
}

/// A path that code names.
#[derive(Debug, PartialEq)]
pub(super) struct Named {
    pub(super) line: usize,
    /// From the root of the crate; `*` at the end of a glob.
    pub(super) path: Vec<String>,
}

impl Source {
    pub(super) fn new(file: &str, module: &[&str], text: &str) -> Self {
        let (tokens, tests) = without_tests(lex(text));
        let in_tests =
            |line: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&line));
        let lines = (1..)
            .zip(text.lines())
            .filter(|(number, line)| !line.trim_start().starts_with("//") && !in_tests(*number))
            .count();
        let module = module.iter().map(|name| (*name).to_owned()).collect();
        Self { file: file.to_owned(), module, tokens, lines }
    }

    /// The top-level module that the file is in; empty for `lib.rs` and `main.rs`.
    pub(super) fn layer(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }

    /// The place of a line, for messages.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    /// Its tokens with spaces between them, `0` for numbers and characters, and the lines of the places at
    /// which they begin.
    pub(super) fn joined(&self) -> (String, Vec<(usize, usize)>) {
        let (mut text, mut lines) = (String::new(), Vec::new());
        for token in &self.tokens {
            lines.push((text.len(), token.line));
            match &token.kind {
                Kind::Word(word) => text += word,
                Kind::Colons => text += "::",
                Kind::Sign(sign) => text.push(*sign),
                Kind::Text(_) => text += "\"\"",
                Kind::Other => text += "0",
            }
            text.push(' ');
        }
        (text, lines)
    }

    /// The files' modules that it declares.
    fn children(&self) -> impl Iterator<Item = &str> {
        self.tokens.windows(3).filter_map(|window| {
            let declared = window[0].is_word("mod") && window[2].is(';');
            window[1].word().filter(|_| declared)
        })
    }

    /// Paths into the workspace, in `use` trees and within the code.
    pub(super) fn named(&self) -> Vec<Named> {
        let mut named = Vec::new();
        self.each_path(|line, module, path| {
            if let Some(path) = absolute(module, path) {
                named.push(Named { line, path });
            }
        });
        named
    }

    /// First words of all paths that lead to no layer: crates, types, local modules.
    pub(super) fn heads(&self) -> Vec<(usize, String)> {
        let mut heads = Vec::new();
        self.each_path(|line, module, path| {
            if absolute(module, path).is_none() {
                heads.push((line, path[0].clone()));
            }
        });
        heads
    }

    /// All paths as they are written, with their lines and the modules they are written in.
    fn each_path(&self, mut visit: impl FnMut(usize, &[String], &[String])) {
        let tokens = &self.tokens;
        let mut module = self.module.clone();
        // Inline modules, by the depth of braces within them.
        let (mut depth, mut inline) = (0, Vec::new());
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            let next = tokens.get(at + 1);
            if token.is('{') {
                depth += 1;
            } else if token.is('}') {
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
                depth -= 1;
            } else if token.is_word("mod") && tokens.get(at + 2).is_some_and(|it| it.is('{')) {
                module.extend(next.and_then(Token::word).map(str::to_owned));
                inline.push(depth + 1);
            } else if token.is_word("use") && !next.is_some_and(|it| it.is('<')) {
                let mut tree = Tree { tokens, at: at + 1, paths: Vec::new() };
                tree.read(&mut Vec::new());
                at = tree.at;
                tree.paths.iter().for_each(|(line, path)| visit(*line, &module, path));
                continue;
            } else if token.word().is_some() && next.is_some_and(|it| it.kind == Kind::Colons) {
                let mut path = Vec::new();
                let line = token.line;
                while let Some(word) = tokens.get(at).and_then(Token::word) {
                    path.push(word.to_owned());
                    if tokens.get(at + 1).is_none_or(|it| it.kind != Kind::Colons) {
                        break;
                    }
                    at += 2;
                }
                visit(line, &module, &path);
                // What ended the path may be a brace.
                at += usize::from(tokens.get(at).is_some_and(|it| it.word().is_some()));
                continue;
            }
            at += 1;
        }
    }
}

/// A `use` tree as the paths that it stands for.
struct Tree<'a> {
    tokens: &'a [Token],
    at: usize,
    paths: Vec<(usize, Vec<String>)>,
}

impl Tree<'_> {
    fn read(&mut self, prefix: &mut Vec<String>) {
        let depth = prefix.len();
        let mut line = self.tokens[self.at].line;
        loop {
            let token = &self.tokens[self.at];
            self.at += 1;
            match &token.kind {
                Kind::Colons => {}
                Kind::Word(word) if word == "as" => self.at += 1,
                Kind::Word(word) => {
                    prefix.push(word.clone());
                    line = token.line;
                }
                Kind::Sign('*') => prefix.push("*".to_owned()),
                Kind::Sign('{') => {
                    while !self.tokens[self.at].is('}') {
                        self.read(prefix);
                        if self.tokens[self.at].is(',') {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    prefix.truncate(depth);
                    return;
                }
                _ => {
                    self.at -= 1;
                    self.paths.push((line, prefix.clone()));
                    prefix.truncate(depth);
                    return;
                }
            }
        }
    }
}

/// A path from the layers' common root; `None` if it leads elsewhere. No two crates of the workspace
/// have a layer of the same name, so that each of them stands for all.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut whole = match path[0].as_str() {
        it if ROOTS.contains(&it) => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    for word in path {
        match word.as_str() {
            "self" => {}
            "super" => drop(whole.pop()),
            word if ROOTS.contains(&word) => {}
            word => whole.push(word.to_owned()),
        }
    }
    Some(whole)
}

/// Names of crates whose modules are layers.
const ROOTS: [&str; 4] = ["crate", "mitmcraft", "mitmcraft_engine", "mitmcraft_protocol"];

/// Takes out the items behind `#[cfg(test)]`; also gives the lines that they cover.
fn without_tests(tokens: Vec<Token>) -> (Vec<Token>, Vec<(usize, usize)>) {
    let (mut kept, mut covered) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !is_test_attribute(&tokens[at..]) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let first = tokens[at].line;
        at = item_end(&tokens, at);
        covered.push((first, tokens[at - 1].line));
    }
    (kept, covered)
}

fn is_test_attribute(tokens: &[Token]) -> bool {
    let written = tokens.iter().take(7).map(|token| match &token.kind {
        Kind::Word(word) => word.clone(),
        Kind::Sign(sign) => sign.to_string(),
        _ => String::new(),
    });
    written.collect::<String>() == "#[cfg(test)]"
}

/// The place behind an item that begins with attributes.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while tokens[at].is('#') {
        at = group_end(tokens, at + 1);
    }
    let known = ["mod", "fn", "impl", "struct", "enum", "trait", "macro_rules"];
    // These may hold braces before the semicolon that ends them.
    let braced = ["use", "const", "static", "type"];
    // A visibility may come first, as in `pub(in crate::a)`.
    let last = if tokens[at].is_word("pub") { at + 8 } else { at };
    let keyword = (at..=last).find(|at| {
        tokens[*at].word().is_some_and(|word| known.contains(&word) || braced.contains(&word))
    });
    // What has no keyword is a statement.
    let by_semicolon = keyword.is_none_or(|keyword| {
        tokens[keyword].word().is_some_and(|word| braced.contains(&word))
            && !tokens[keyword + 1].is_word("fn")
    });
    assert!(keyword.is_some() || !tokens[at].is_word("pub"), "line {}", tokens[at].line);
    loop {
        if tokens[at].is(';') {
            return at + 1;
        }
        let opens = ['(', '[', '{'].iter().any(|sign| tokens[at].is(*sign));
        if !opens {
            at += 1;
            continue;
        }
        let block = tokens[at].is('{');
        at = group_end(tokens, at);
        if block && !by_semicolon {
            return at;
        }
    }
}

/// The place behind a group in brackets that begins here.
fn group_end(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    loop {
        match tokens[at].kind {
            Kind::Sign('(' | '[' | '{') => depth += 1,
            Kind::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
}

/// Every file of a crate that is compiled without `cfg(test)`, from its root on.
pub(super) fn crate_files(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    walk(root, root, &mut Vec::new(), &mut found);
    found
}

fn walk(file: &Path, root: &Path, module: &mut Vec<String>, found: &mut Vec<Source>) {
    let text = fs::read_to_string(file).unwrap();
    let names: Vec<&str> = module.iter().map(String::as_str).collect();
    let source = Source::new(&file.display().to_string(), &names, &text);
    let children: Vec<String> = source.children().map(str::to_owned).collect();
    found.push(source);
    let folder = folder_of_children(file, root);
    for child in children {
        let flat = folder.join(&child).with_extension("rs");
        let file = if flat.is_file() { flat } else { folder.join(&child).join("mod.rs") };
        module.push(child);
        walk(&file, root, module, found);
        module.pop();
    }
}

fn folder_of_children(file: &Path, root: &Path) -> PathBuf {
    if file == root || file.file_name().is_some_and(|name| name == "mod.rs") {
        return file.parent().unwrap().to_owned();
    }
    file.with_extension("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(module: &[&str], text: &str) -> Vec<String> {
        let source = Source::new("a.rs", module, text);
        source.named().iter().map(|it| it.path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_in_use_trees_of_several_lines() {
        let text = "use crate::{\n    codec::Frame,\n    proxy::{self, Driver as D, log::*},\n};\n\
                    pub(crate) use std::io;";
        let found = ["codec::Frame", "proxy", "proxy::Driver", "proxy::log::*"];
        assert_eq!(named(&["wire"], text), found);
    }

    #[test]
    fn paths_are_found_within_code_and_in_macros() {
        let text = "fn f(x: &crate::cli::A<super::B>) -> u8 { matches!(x, self::c::D { .. }) }";
        assert_eq!(named(&["wire", "nbt"], text), ["cli::A", "wire::B", "wire::nbt::c::D"]);
    }

    #[test]
    fn super_counts_from_the_module_that_it_is_written_in() {
        let text = "use super::super::codec::A;\n\
                    mod inner { use super::super::b; fn f() { {} } }\nuse super::c;";
        assert_eq!(named(&["wire", "nbt"], text), ["codec::A", "wire::b", "wire::c"]);
    }

    #[test]
    fn the_library_is_the_root_for_the_binary() {
        assert_eq!(named(&["cli"], "use mitmcraft::proxy::Driver;"), ["proxy::Driver"]);
    }

    #[test]
    fn code_behind_tests_is_seen_and_tests_are_not() {
        let text = "#[cfg(test)]\nmod tests;\n\
                    #[cfg(test)]\n#[allow(x)]\npub(crate) fn f() -> [u8; 2] {\n crate::a::x();\n}\n\
                    #[cfg(test)]\nuse crate::{b, c};\n\
                    use crate::d;\n\
                    #[cfg(test)]\nmod more { use crate::e; }\n\
                    fn g() {\n#[cfg(test)]\ncrate::count(1);\ncrate::f::x() }\n";
        assert_eq!(named(&["wire"], text), ["d", "f::x"]);
        assert_eq!(Source::new("a.rs", &[], text).lines, 3);
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        let text = "//! crate::a::B\n/// [`crate::a::B`]\nconst A: &str = \"crate::a::B\";\n";
        assert_eq!(named(&["wire"], text), [""; 0]);
    }

    #[test]
    fn heads_are_the_first_words_of_other_paths() {
        let source =
            Source::new("a.rs", &["wire"], "use std::{fs, io};\nfn f() { tokio::spawn(a::b()) }");
        let heads: Vec<String> = source.heads().into_iter().map(|(_, head)| head).collect();
        assert_eq!(heads, ["std", "std", "tokio", "a"]);
    }
}
