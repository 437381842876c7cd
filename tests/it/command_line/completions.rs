//! Completions: the shells that they are for load them, and TAB is pressed.

use std::process::Command;

use crate::support::{Program, root, scratch_file, text};

/// Returns what a shell shows after each line and a TAB.
fn tab(shell: &str, lines: &[String]) -> Vec<String> {
    let script = scratch_file(&format!("completions.{shell}"));
    let printed = Program::mitmcraft(&["completions", shell]).succeed();
    std::fs::write(&script, printed).unwrap();
    let home = scratch_file(&format!("home-{shell}"));
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new("python3");
    command.args(["tests/real/tab.py", shell, text(&script), text(&home)]).args(lines);
    command.current_dir(root());
    let shown = Program::start("tab.py", command).succeed();
    let shown: Vec<String> =
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown.len(), lines.len(), "{shown:?}");
    for (line, shown) in lines.iter().zip(&shown) {
        let faults = ["_arguments", "invalid", "not found", "syntax error", "fish: "];
        let is_fault = faults.iter().any(|fault| shown.contains(fault));
        assert!(!is_fault, "{shell}: {line}: {shown}");
    }
    shown
}

/// Returns the commands, and each with the options that take a value.
fn commands() -> Vec<(String, Vec<String>)> {
    let help = Program::mitmcraft(&["--help"]).succeed();
    let is_command = |line: &&str| line.starts_with("  ") && !line.trim().starts_with('-');
    let listed = help.lines().filter(is_command).filter_map(|line| line.split_whitespace().next());
    let script = Program::mitmcraft(&["completions", "bash"]).succeed();
    let is_known = |name: &&str| script.contains(&format!("mitmcraft,{name})"));
    let names: Vec<&str> = listed.filter(is_known).collect();
    let of_command = |name: &str| {
        let help = Program::mitmcraft(&["help", name]).succeed();
        let takes = help.lines().filter_map(|line| {
            let (option, value) = line.trim().split_once(" <")?;
            let long = option.rsplit(' ').next()?;
            (long.starts_with("--") && !value.is_empty()).then(|| long.to_owned())
        });
        (name.to_owned(), takes.collect())
    };
    names.into_iter().map(of_command).collect()
}

#[test]
fn zsh_completes_every_command() {
    let commands = commands();
    assert!(commands.len() >= 25, "{commands:?}");
    let lines: Vec<String> =
        commands.iter().map(|(name, _)| format!("mitmcraft {name} --co")).collect();
    for (line, shown) in lines.iter().zip(tab("zsh", &lines)) {
        assert!(shown.contains("--color"), "{line}: {shown}");
    }
    let lines = [
        "proxy --lis",
        "proxy --pipe-t",
        "proxy --on-full ",
        "view --high",
        "rep",
        "proxy --on-full=w",
    ];
    let shown = tab("zsh", &lines.map(|line| format!("mitmcraft {line}")));
    let expected =
        ["--listen", "--pipe-timeout", "wait", "--highlight", "replay", "--on-full=wait"];
    for (shown, expected) in shown.iter().zip(expected) {
        assert!(shown.contains(expected), "{shown} without {expected}");
    }
}

/// Every option that takes a value, too. Part of `tests/run --long`, which installs fish.
#[test]
#[ignore = "needs fish, which `tests/run --long` installs"]
fn every_shell_completes_every_option() {
    for shell in ["bash", "fish", "zsh"] {
        let mut lines = Vec::new();
        for (name, options) in commands() {
            lines.push(format!("mitmcraft {name} --co"));
            lines.extend(options.iter().map(|option| format!("mitmcraft {name} {option} ")));
        }
        for (line, shown) in lines.iter().zip(tab(shell, &lines)) {
            let is_name = line.ends_with("--co");
            assert!(!is_name || shown.contains("--color"), "{shell}: {line}: {shown}");
        }
    }
}
