use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{ArgAction, CommandFactory as _, Parser as _};

use super::Settings;
use super::setting::{PREFIX, Setting};
use crate::cli::Cli;

#[test]
fn a_flag_beats_a_variable_and_that_the_file_and_that_the_default() {
    let file = file("[proxy]\nlisten = '127.0.0.1:3'\n");
    let variables = [("MITMCRAFT_LISTEN", "127.0.0.1:2")];
    let line = "mitmcraft proxy localhost";
    let held = |line: &str, variables: &[(&str, &str)], file: Option<&PathBuf>| {
        held(line, variables, file, "listen")
    };
    let typed = held("mitmcraft proxy localhost -l 127.0.0.1:1", &variables, Some(&file));
    assert_eq!(typed, "listen = \"127.0.0.1:1\"  # flag");
    let variable = held(line, &variables, Some(&file));
    assert_eq!(variable, "listen = \"127.0.0.1:2\"  # env MITMCRAFT_LISTEN");
    let from_file = held(line, &[], Some(&file));
    assert_eq!(from_file, format!("listen = \"127.0.0.1:3\"  # {}:2", file.display()));
    assert_eq!(held(line, &[], None), "listen = \"127.0.0.1:25566\"  # default");
}

#[test]
fn the_command_line_that_runs_is_the_one_that_is_explained() {
    let file = file(
        "color = 'never'\n[proxy]\nupstream = 'mc.example.org'\nverbose = 2\nwrite = ['a.jsonl', 'b,c.pcap']\nkeep_host = true\n",
    );
    let words = completed("mitmcraft proxy -l [::1]:5", &[("MITMCRAFT_MAX_FRAME", "64k")], &file);
    let expected = [
        "mitmcraft",
        "proxy",
        "--keep-host",
        "--max-frame=64k",
        "--verbose",
        "--verbose",
        "--write=a.jsonl",
        "--write=b,c.pcap",
        "--color=never",
    ];
    for word in expected {
        assert!(words.iter().any(|it| it == word), "{word} in {words:?}");
    }
    assert_eq!(words[words.len() - 2..], ["--", "mc.example.org"]);
    Cli::try_parse_from(words).unwrap();
}

#[test]
fn what_is_typed_beats_what_contradicts_it_elsewhere() {
    let file = file("[proxy]\nquiet = true\n");
    let words = completed("mitmcraft proxy localhost -v", &[], &file);
    assert!(!words.iter().any(|word| word == "--quiet"), "{words:?}");
    let words = completed("mitmcraft proxy localhost", &[("MITMCRAFT_QUIET", "no")], &file);
    assert!(!words.iter().any(|word| word == "--quiet"), "{words:?}");
}

#[test]
fn what_is_overridden_overrides_nothing_itself() {
    let file = file("[diff]\nverbose = 1\n");
    let quiet = [("MITMCRAFT_QUIET", "yes")];
    let has = |words: &[OsString], option: &str| words.iter().any(|word| word == option);
    let words = completed("mitmcraft diff a b", &quiet, &file);
    assert!(has(&words, "--quiet") && !has(&words, "--verbose"), "{words:?}");
    let words = completed("mitmcraft diff --json a b", &quiet, &file);
    assert!(!has(&words, "--quiet") && has(&words, "--verbose"), "{words:?}");
}

#[test]
fn help_and_the_version_need_no_file_without_faults() {
    let file = file("[proxy]\nlisten = 'nowhere\n");
    for line in ["mitmcraft proxy --help", "mitmcraft -V", "mitmcraft proxy -h x", "mitmcraft"] {
        assert_eq!(completed(line, &[], &file), words(line, Some(&file)));
    }
    fails("mitmcraft proxy x", &[], Some(&file));
}

#[test]
fn a_variable_of_one_verb_beats_that_of_all_and_is_none_of_the_others() {
    let variables = [("MITMCRAFT_TIMEOUT", "7"), ("MITMCRAFT_PING__TIMEOUT", "9")];
    let ping = held("mitmcraft ping localhost", &variables, None, "timeout");
    assert_eq!(ping, "timeout = \"9\"  # env MITMCRAFT_PING__TIMEOUT");
    let query = held("mitmcraft query localhost", &variables, None, "timeout");
    assert_eq!(query, "timeout = \"7\"  # env MITMCRAFT_TIMEOUT");
}

#[test]
fn a_variable_of_a_name_of_its_own_counts_last_of_them_and_before_the_file() {
    let file = file("[proxy]\nkey-log = 'file.log'\n");
    let shared = ("MINECRAFT_KEY_LOG_FILE", "shared.log");
    let line = "mitmcraft proxy localhost";
    let key_log = held(line, &[shared], Some(&file), "key-log");
    assert_eq!(key_log, "key-log = \"shared.log\"  # env MINECRAFT_KEY_LOG_FILE");
    let ours = [shared, ("MITMCRAFT_KEY_LOG", "ours.log")];
    let key_log = held(line, &ours, Some(&file), "key-log");
    assert_eq!(key_log, "key-log = \"ours.log\"  # env MITMCRAFT_KEY_LOG");
}

#[test]
fn every_variable_has_one_meaning_a_verb() {
    let all = Setting::all(&command());
    assert!(all.len() > 20, "the walk has found the options");
    for setting in &all {
        for variable in setting.variables() {
            let same = all.iter().filter(|other| {
                let near = other.verb() == setting.verb() || other.verb().is_empty();
                near && other.variables().contains(&variable)
            });
            assert_eq!(same.count(), 1, "{variable}");
            let own = variable == "MINECRAFT_KEY_LOG_FILE";
            assert!(own || variable.starts_with(PREFIX), "{variable}");
        }
    }
}

#[test]
fn every_fault_of_a_file_is_told_with_its_place_and_what_was_meant() {
    let file = file(
        "colour = 'never'\nlisten = 'x'\n\n[proxi]\n[proxy]\nlisten = 70000\nmax-sessions = '5'\n  \
         on-full = 'weit'\nkeep-host = 1\nwrite = 5\nverbose = 300\nlistne = 'a'\n",
    );
    let error = fails("mitmcraft proxy localhost", &[], Some(&file));
    let at = |line: usize, column: usize| format!(" --> {}:{line}:{column}\n", file.display());
    for (line, column, said) in [
        (1, 1, "unknown key `colour`"),
        (2, 1, "unknown key `listen`"),
        (4, 2, "unknown key `proxi`"),
        (
            6,
            10,
            "`listen`: invalid address `70000`: expected an IP address and a port, such as `25566`, `127.0.0.1:25566` or `[::]:25566`",
        ),
        (7, 16, "`max-sessions` must be an integer, not string"),
        (8, 13, "`on-full`: cannot be `weit`"),
        (9, 13, "`keep-host` must be true or false, not integer"),
        (10, 9, "`write` must be text, not integer"),
        (11, 11, "`verbose` must be a count such as 1, not integer"),
        (12, 1, "unknown key `listne`"),
    ] {
        let whole = format!("error: {said}\n{}", at(line, column));
        assert!(error.contains(&whole), "{whole} in {error}");
    }
    for hint in ["`color`?", "it belongs in `[proxy]`", "`proxy`?", "`wait`?", "`listen`?"] {
        assert!(error.contains(hint), "{hint} in {error}");
    }
    let broken = self::file("[proxy\nlisten = 'a'\n");
    assert!(fails("mitmcraft demo", &[], Some(&broken)).contains(":1:7"), "a fault of TOML");
}

#[test]
fn a_variable_that_cannot_be_is_named() {
    for (variable, value, said) in [
        (
            "MITMCRAFT_LISTEN",
            "x",
            "MITMCRAFT_LISTEN: invalid address `x`: expected an IP address and a port",
        ),
        ("MITMCRAFT_QUIET", "maybe", "MITMCRAFT_QUIET: `maybe` is neither `true` nor `false`"),
        ("MITMCRAFT_VERBOSE", "x", "MITMCRAFT_VERBOSE: `x` is not a count such as `2`"),
        ("MITMCRAFT_ON_FULL", "weit", "cannot be `weit`; did you mean `wait`?"),
        ("MITMCRAFT_CONFIG", "/no/such/file", "cannot read the configuration file /no/such/file"),
    ] {
        let error = fails("mitmcraft proxy localhost", &[(variable, value)], None);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_variable_that_sets_nothing_is_told_and_an_empty_one_is_none() {
    let variables = [("MITMCRAFT_LISTN", "x"), ("MITMCRAFT_WRITE", ""), ("MITMCRAFTY", "x")];
    let settings = load("mitmcraft demo", &variables, None);
    assert_eq!(
        settings.unknown_variables,
        ["MITMCRAFT_LISTN sets nothing: did you mean MITMCRAFT_LISTEN?"]
    );
}

#[test]
fn what_is_printed_reads_back_to_the_same() {
    let source = file(
        "[proxy]\nwrite = [\"a\\\"\\u007f\\n.jsonl\"]\nverbose = 1\nmax-frame = 65536\nmax-sessions = 0x10\n",
    );
    let values = |file: &PathBuf| {
        let settings = load("mitmcraft", &[], Some(file));
        let held = settings.effective().unwrap();
        let without_origin = |line: &str| {
            line.rsplit_once("  # ").map_or_else(|| line.to_owned(), |(value, _)| value.to_owned())
        };
        held.lines().map(without_origin).collect::<Vec<_>>()
    };
    let first = values(&source);
    assert!(first.contains(&"write = [\"a\\\"\\u007f\\n.jsonl\"]".to_owned()), "{first:?}");
    assert!(first.contains(&"max-sessions = 16".to_owned()), "{first:?}");
    assert_eq!(values(&file(&first.join("\n"))), first);
}

#[test]
fn every_option_that_has_a_default_can_be_set_to_it_everywhere() {
    let all = Setting::all(&command());
    let is_list = |it: &Setting| matches!(it.arg.get_action(), ArgAction::Append);
    for setting in all.iter().filter(|it| !it.default().is_empty() && !is_list(it)) {
        let variables = setting.variables();
        let default = setting.default();
        let variable = [(variables[0].as_str(), default[0].as_str())];
        let settings = load("mitmcraft", &variable, None);
        let held = settings.effective().unwrap();
        let origin = format!("  # env {}", variables[0]);
        assert!(held.lines().any(|line| line.ends_with(&origin)), "{}", variables[0]);
    }
}

#[test]
fn secrets_are_not_printed() {
    let mut command = command();
    command = command.mut_subcommand("proxy", |proxy| {
        proxy.arg(clap::Arg::new("access_token").long("access-token"))
    });
    let variables = [("MITMCRAFT_ACCESS_TOKEN".into(), "hush".into())];
    let words = words("mitmcraft proxy localhost", None);
    let held = Settings::load(command, words, variables).effective().unwrap();
    assert!(!held.contains("hush"), "{held}");
    assert!(held.lines().any(|line| line.starts_with("# access-token is set")), "{held}");
}

fn held(line: &str, variables: &[(&str, &str)], file: Option<&PathBuf>, key: &str) -> String {
    let held = load(line, variables, file).effective().unwrap();
    let start = format!("{key} ");
    held.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
}

fn completed(line: &str, variables: &[(&str, &str)], file: &PathBuf) -> Vec<OsString> {
    load(line, variables, Some(file)).complete().unwrap()
}

fn fails(line: &str, variables: &[(&str, &str)], file: Option<&PathBuf>) -> String {
    format!("{:#}", load(line, variables, file).complete().unwrap_err())
}

fn load(line: &str, variables: &[(&str, &str)], file: Option<&PathBuf>) -> Settings {
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
    // Stands in for the file that whoever runs the tests may have.
    let empty = self::file("");
    let none = ("MITMCRAFT_CONFIG".into(), empty.as_os_str().to_owned());
    let variables: Vec<(OsString, OsString)> = [none].into_iter().chain(variables).collect();
    Settings::load(Cli::command(), words(line, file), variables)
}

fn words(line: &str, file: Option<&PathBuf>) -> Vec<OsString> {
    let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    if let Some(file) = file {
        words.splice(1..1, ["--config".into(), file.into()]);
    }
    words
}

fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

fn file(text: &str) -> Scratch {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("mitmcraft-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    Scratch(path)
}

/// A file that goes with its test.
struct Scratch(PathBuf);

impl std::ops::Deref for Scratch {
    type Target = PathBuf;

    fn deref(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_typed_option_without_effect_is_refused() {
    let said = |line: &str, variables: &[(&str, &str)]| {
        let settings = load(line, variables, None);
        settings.check_effects().err().map(|error| error.to_string())
    };
    for (line, option) in [
        ("proxy h --rotate 1M", "`--rotate` has no effect without `--write` or `--filters`"),
        ("proxy h --write-where chat", "`--write-where` has no effect without"),
        ("replay server a.jsonl --no-body", "`--no-body` has no effect without `--write`"),
        ("decode a.pcap --format pcapng", "`--format` has no effect without `--write -`"),
        ("proxy h -w a.pcapng --format pcapng", "`--format` has no effect without `--write -`"),
        ("ping h --overwrite", "`--overwrite` has no effect without `--icon`"),
        (
            "proxy h --account Steve",
            "`--account` has no effect without `--auth account` or `--auth verify`",
        ),
        (
            "proxy h --auth account --as-account",
            "`--as-account` has no effect without `--auth verify`",
        ),
    ] {
        let error = said(&format!("mitmcraft {line}"), &[]).unwrap_or_default();
        assert!(error.starts_with(option), "{line}: {error}");
    }
    for line in [
        "proxy h --rotate 1M -w a.jsonl",
        "proxy h --no-body -f rules.toml",
        "proxy h -w - --format pcapng",
        "convert a.jsonl - --format pcapng --overwrite",
        "login --account Steve",
        "proxy h --auth verify --as-account",
    ] {
        assert_eq!(said(&format!("mitmcraft {line}"), &[]), None, "{line}");
    }
    assert_eq!(said("mitmcraft proxy h --rotate 1M", &[("MITMCRAFT_WRITE", "a.jsonl")]), None);
    assert_eq!(said("mitmcraft proxy h", &[("MITMCRAFT_ROTATE", "1M")]), None);
}
