//! The program as an external capture ("extcap") of Wireshark, which starts it through a link in its folder, with
//! options of its own (`doc/extcap.adoc` of Wireshark): they ask for interfaces, their options and a capture.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{CommandFactory as _, Parser};

use crate::cli::Cli;
use crate::cli::output::Output;

/// Record a session for Wireshark
#[derive(Debug, Parser)]
#[command(name = "mitmcraft")]
pub(in crate::cli) struct Extcap {
    #[arg(long)]
    extcap_interfaces: bool,
    #[arg(long)]
    extcap_version: Option<String>,
    #[arg(long)]
    extcap_interface: Option<String>,
    #[arg(long)]
    extcap_dlts: bool,
    #[arg(long)]
    extcap_config: bool,
    #[arg(long, allow_hyphen_values = true)]
    extcap_capture_filter: Option<String>,
    #[arg(long)]
    extcap_cleanup_postkill: bool,
    #[arg(long)]
    capture: bool,
    #[arg(long)]
    fifo: Option<PathBuf>,
    #[arg(long, allow_hyphen_values = true)]
    server: Option<String>,
    #[arg(long)]
    listen: Option<String>,
    #[arg(long)]
    auth: Option<String>,
}

impl Extcap {
    /// Parses the command line, which begins with the program's name. Returns `None` if it is not one of Wireshark's.
    ///
    /// # Errors
    /// An option that is unknown.
    pub(in crate::cli) fn parse_line(words: &[OsString]) -> Option<clap::error::Result<Self>> {
        let first = words.get(1)?.to_str()?;
        let is_extcap = first.starts_with("--extcap-") || first == "--capture";
        is_extcap.then(|| Self::try_parse_from(words))
    }

    /// Answers a question of Wireshark. For a capture, makes the FIFO the standard output, and returns the command
    /// line of the proxy that writes to it: Wireshark ends it by a signal, or by closing the FIFO.
    pub(in crate::cli) fn answer(&self, output: &Output) -> anyhow::Result<Option<Vec<OsString>>> {
        if self.extcap_interfaces {
            output.line(&format!("extcap {{version={VERSION}}}{{display=mitmcraft}}"))?;
            let name = "Minecraft: Java Edition, through mitmcraft";
            output.line(&format!("interface {{value={INTERFACE}}}{{display={name}}}"))?;
            return Ok(None);
        }
        match self.extcap_interface.as_deref() {
            Some(INTERFACE) => {}
            Some(other) => bail!("no interface `{other}`: there is `{INTERFACE}`"),
            None => bail!("no interface: `--extcap-interface {INTERFACE}`"),
        }
        if self.capture {
            let Some(fifo) = &self.fifo else {
                bail!("no FIFO to write the capture to: `--fifo FILE`");
            };
            if !self.filter().is_empty() {
                bail!(NO_FILTERS);
            }
            make_stdout(fifo).with_context(|| format!("cannot write to `{}`", fifo.display()))?;
            return Ok(Some(self.proxy_line()));
        }
        if self.extcap_dlts {
            output.line("dlt {number=1}{name=EN10MB}{display=Ethernet}")?;
        } else if self.extcap_config {
            for line in options().lines() {
                output.line(line)?;
            }
        } else if !self.filter().is_empty() {
            // Text on stdout says why a filter is invalid.
            output.line(NO_FILTERS)?;
        }
        Ok(None)
    }

    /// Returns the command line that records to stdout what Wireshark asked for.
    fn proxy_line(&self) -> Vec<OsString> {
        let mut words = vec!["mitmcraft", "proxy", "--quiet", "--write", "-", "--format", "pcapng"];
        for (option, value) in [("--listen", &self.listen), ("--auth", &self.auth)] {
            words.extend(value.iter().filter(|it| !it.is_empty()).flat_map(|it| [option, it]));
        }
        // Without a server, that of the configuration file is used.
        words.extend(self.server.iter().filter(|it| !it.is_empty()).flat_map(|it| ["--", it]));
        words.into_iter().map(OsString::from).collect()
    }

    fn filter(&self) -> &str {
        self.extcap_capture_filter.as_deref().unwrap_or_default()
    }
}

/// Returns the options of the interface, with the values of the command line's options.
fn options() -> String {
    let mut lines = format!(
        "arg {{number=0}}{{call=--server}}{{display=Server}}{{type=string}}{{required=true}}\
         {{placeholder=mc.example.org}}{{tooltip=host or host:port of the server}}\n\
         arg {{number=1}}{{call=--listen}}{{display=Listen on}}{{type=string}}\
         {{default={}}}{{tooltip=Address to which the game connects}}\n\
         arg {{number=2}}{{call=--auth}}{{display=Accounts}}{{type=selector}}\
         {{tooltip=How the two connections are authenticated}}",
        default_of("listen"),
    );
    let default = default_of("auth");
    for mode in proxy_option("auth").get_possible_values() {
        let name = mode.get_name();
        let help = mode.get_help().map(ToString::to_string).unwrap_or_default();
        // The notation has no escape for braces.
        let help = help.replace(['{', '}'], "");
        let default = name == default;
        lines.push_str(&format!(
            "\nvalue {{arg=2}}{{value={name}}}{{display={name}: {help}}}{{default={default}}}"
        ));
    }
    lines
}

fn default_of(option: &str) -> String {
    let values = proxy_option(option);
    let first = values.get_default_values().first();
    first.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
}

fn proxy_option(id: &str) -> clap::Arg {
    let mut command = Cli::command();
    command.build();
    let proxy = command.find_subcommand("proxy").expect("`proxy` is a command");
    let found = proxy.get_arguments().find(|it| it.get_id() == id);
    found.expect("`proxy` has the option").clone()
}

#[cfg(unix)]
fn make_stdout(fifo: &Path) -> std::io::Result<()> {
    let fifo = std::fs::OpenOptions::new().write(true).open(fifo)?;
    Ok(rustix::stdio::dup2_stdout(&fifo)?)
}

/// Standard output can be replaced only on Unix.
#[cfg(not(unix))]
fn make_stdout(_: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

const INTERFACE: &str = "mitmcraft";

const VERSION: &str = env!("CARGO_PKG_VERSION");

const NO_FILTERS: &str = "no capture filters here: use a display filter, such as `minecraft`";

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(line: &str) -> Vec<OsString> {
        let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Extcap::parse_line(&line).unwrap().unwrap().proxy_line()
    }

    #[test]
    fn only_lines_of_wireshark_are_taken() {
        for line in ["mitmcraft", "mitmcraft proxy --capture", "mitmcraft --color never"] {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(Extcap::parse_line(&line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn a_capture_is_a_proxy_with_the_options_of_the_interface() {
        let capture = "mitmcraft --capture --extcap-interface mitmcraft --fifo f";
        let words = "mitmcraft proxy --quiet --write - --format pcapng";
        assert_eq!(proxy(capture).join(" ".as_ref()), *words);
        let line = proxy(&format!("{capture} --server mc:1 --listen 25570 --auth client"));
        let expected = format!("{words} --listen 25570 --auth client -- mc:1");
        assert_eq!(line.join(" ".as_ref()), *expected);
        Cli::command().try_get_matches_from(line).unwrap();
    }

    #[test]
    fn the_options_have_the_defaults_of_the_proxy() {
        let text = options();
        assert!(
            text.contains(
                "{call=--listen}{display=Listen on}{type=string}{default=127.0.0.1:25566}"
            )
        );
        assert!(text.contains("{value=offline}{display=offline: No authentication"), "{text}");
        assert_eq!(text.matches("{default=true}").count(), 1, "{text}");
    }
}
