//! The commands in groups, as `mitmcraft --help` and the man page list them.

use std::fmt::Write as _;

use clap::Command;

/// The groups of commands.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("Watch and record", &["demo", "proxy", "view", "show"]),
    ("Work with captures", &["convert", "stats", "diff", "decode", "explain", "replay"]),
    ("Test servers and clients", &["lint", "expect", "regress", "check"]),
    ("Look up", &["ping", "query", "protocols"]),
    (
        "Accounts and set-up",
        &[
            "login",
            "logout",
            "jvm-args",
            "config",
            "wireshark",
            "lua-types",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// Makes the help of `command` list its subcommands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut help = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        let _ = write!(help, "\n{header}{group}:{header:#}\n");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(help, "  {literal}{:<13}{literal:#}{about}", command.get_name());
        }
    }
    let _ = write!(help, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(help)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group_and_in_its_order() {
        let command = Cli::command();
        let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(all, grouped);
        assert_eq!(grouped.iter().collect::<BTreeSet<_>>().len(), grouped.len());
    }

    #[test]
    fn the_help_lists_the_groups_with_a_short_line_for_each_command() {
        let help = Cli::command().render_help().to_string();
        for (group, names) in GROUPS {
            let (_, list) = help.split_once(&format!("\n{group}:\n")).unwrap();
            for (line, name) in list.lines().zip(*names) {
                assert_eq!(line.split_whitespace().next(), Some(*name), "{help}");
                assert!(line.len() > 15 && line.chars().count() <= 80, "{line}");
            }
        }
    }
}
