use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;
use super::groups::GROUPS;
use super::manual::TOPICS;

#[test]
fn the_page_of_the_command_line_says_what_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/command-line.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (prose, _) = page.split_once(MARK).unwrap();
    let fresh = format!("{prose}{MARK}\n{}", verbs());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    let stale = "is stale: UPDATE_DOCS=1 cargo test --bin mitmcraft page";
    assert!(page == fresh, "docs/command-line.md {stale}");
}

#[test]
fn the_help_of_every_verb_has_examples() {
    for (name, mut command) in leaves() {
        let help = command.render_long_help().to_string();
        assert!(help.contains("Examples:\n  mitmcraft "), "{name}: {help}");
    }
}

#[test]
fn every_guide_is_in_the_program_and_help_names_no_other_page() {
    // For people who work on the program, or have no program yet; `--help` has the page of the command line.
    let others = [
        "README",
        "architecture",
        "command-line",
        "install",
        "performance",
        "releasing",
        "testing",
        "upstream",
    ];
    for page in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap() {
        let path = page.unwrap().path();
        if path.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let is_there = TOPICS.iter().any(|topic| topic.text == text);
        assert_eq!(is_there, !others.contains(&&*stem), "{stem}");
    }
    for (name, mut command) in leaves() {
        let help = command.render_long_help().to_string();
        assert!(!help.contains("docs/"), "{name}: {help}");
        for (_, behind) in
            help.match_indices("`mitmcraft help ").map(|(at, it)| (at, &help[at + it.len()..]))
        {
            let topic = behind.split('`').next().unwrap();
            assert!(TOPICS.iter().any(|it| it.name == topic), "{name}: {topic}");
        }
    }
}

/// The completions of zsh read a colon as their own, and split at blanks and quotes.
#[test]
fn names_of_values_mean_nothing_to_a_shell() {
    for (name, command) in leaves() {
        for value in command.get_arguments().filter_map(Arg::get_value_names).flatten() {
            let is_plain = !value.chars().any(|it| ":\"'`() ".contains(it));
            assert!(is_plain, "{name}: {value}");
        }
    }
}

#[test]
fn the_text_below_the_options_is_wrapped_once() {
    for (name, command) in leaves() {
        let help = command.term_width(80).render_long_help().to_string();
        let (_, text) = help.rsplit_once("Examples:\n").unwrap();
        let text: Vec<&str> = text.lines().skip_while(|line| line.starts_with("  ")).collect();
        for lines in text.windows(2).filter(|lines| !lines[0].is_empty()) {
            let Some(word) = lines[1].split_whitespace().next() else { continue };
            let fits = lines[0].trim_end().chars().count() + 1 + word.chars().count() < 80;
            assert!(!fits, "{name}: `{word}` fits on the line before: {}", lines[0]);
        }
    }
}

/// Returns a section for each verb, under the heading of its group.
fn verbs() -> String {
    let (mut text, mut groups) = (String::new(), GROUPS.iter().peekable());
    for (name, mut command) in leaves() {
        if let Some((group, _)) =
            groups.next_if(|(_, names)| name == format!("mitmcraft {}", names[0]))
        {
            let _ = write!(text, "\n## {group}\n");
        }
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(text, "\n### `{name}`\n\n```\n{}\n```\n", lines.join("\n").trim_end());
    }
    assert!(groups.next().is_none());
    text
}

/// Returns the verbs without subcommands, with their full names.
fn leaves() -> Vec<(String, Command)> {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut found = Vec::new();
    collect("mitmcraft", &command, &mut found);
    found
}

fn collect(name: &str, command: &Command, found: &mut Vec<(String, Command)>) {
    if !command.has_subcommands() {
        // Options of all verbs are described once, above; values of variables are not documentation.
        let own = |arg: Arg| {
            let common = arg.is_global_set();
            arg.hide(common).hide_env_values(true)
        };
        found.push((name.to_owned(), command.clone().term_width(100).mut_args(own)));
    }
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        collect(&format!("{name} {}", below.get_name()), below, found);
    }
}

/// Everything after it is written by this test.
const MARK: &str = "<!-- What follows is generated from `--help`. -->";
