use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Command};
use mitmcraft::proxy::{OnFull, UpstreamName};
use mitmcraft_engine::lang::amount::{Period, Size};

use crate::cli::accounts::AccountOptions;
use crate::cli::args::{
    CaptureOptions, Choice, Condition, Control, ExpectOptions, HighlightOptions, Interactive,
    Lines, Memory, Pipe, PreambleSide, Protocols, Quiet, Recorder, Timeout, Verbose, Web,
    listen_address, one_of,
};

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(
    defer(brief),
    after_help = "Examples:
  mitmcraft proxy mc.example.org --lan
  mitmcraft proxy mc.example.org -w session.pcapng -w session.jsonl
  mitmcraft proxy mc.example.org --web --open
  mitmcraft proxy mc.example.org --auth client

Then add localhost:25566 to the server list of the game. With `--lan`, the proxy already appears there, under \
Multiplayer. `mitmcraft proxy --help` lists all options.",
    after_long_help = "Examples:
  mitmcraft proxy mc.example.org --lan
  mitmcraft proxy mc.example.org:25570 -w session.pcapng -w session.jsonl
  mitmcraft proxy [::1]:25565 -l 0.0.0.0:25566 -q
  mitmcraft proxy mc.example.org --web --open
  mitmcraft proxy mc.example.org --tui --intercept 'chat or chat_message'
  mitmcraft proxy mc.example.org --pipe 'python3 filter.py' --pipe-where 'serverbound and role.chat'
  mitmcraft proxy mc.example.org --control
  mitmcraft proxy mc.example.org --auth client
  mitmcraft proxy 10.0.0.5 --proxy-protocol in,out --metrics 127.0.0.1:9150 --timeout idle=10m
  mitmcraft proxy --transparent -l 0.0.0.0:25566
  mitmcraft proxy mc.example.org --lake lake --lake-host eu1 --keep 30d
  mitmcraft proxy mc.example.org --recorder 10m
  mitmcraft proxy mc.example.org -w - --format pcapng | wireshark -k -i -

Then add the address after `-l`, or localhost:25566, to the server list of the game. With \
`--lan`, the proxy already appears there, under Multiplayer."
)]
pub(crate) struct Arguments {
    /// The server: `host[:port]` or `[ipv6]:port`. Without a port, its SRV record is looked up, and
    /// 25565 is used if there is none. With `--transparent`, used for connections that were not
    /// redirected
    #[arg(required_unless_present = "transparent")]
    pub(super) upstream: Option<UpstreamName>,

    /// Address to listen on, or a port of this machine; port 0 picks a free one
    #[arg(
        short,
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:25566",
        value_parser = listen_address
    )]
    pub(super) listen: SocketAddr,

    /// Announce the proxy in the game's multiplayer list, to games on this machine and, unless the
    /// proxy listens on a loopback address, on its network
    #[arg(long)]
    pub(super) lan: bool,

    #[command(flatten)]
    pub(super) protocols: Protocols,

    #[command(flatten, next_help_heading = RECORD)]
    pub(super) captures: CaptureOptions,

    /// Record to a folder of Parquet files, `date=2026-11-21/host=NAME/part-….parquet`, which DuckDB, Spark and
    /// Trino read. A part is added every minute or 64 MiB. `--keep` limits the parts, and what a run that
    /// was killed has left is added by the next one
    #[arg(long, value_name = "DIR", help_heading = RECORD)]
    pub(super) lake: Option<PathBuf>,

    /// The name of this proxy in the lake [default: the machine's]
    #[arg(long, value_name = "NAME", requires = "lake", help_heading = RECORD)]
    pub(super) lake_host: Option<String>,

    /// Append the keys of each encrypted connection to a key log, one per line, for `decode` and
    /// other programs. A new file can be read by its owner only
    #[arg(long, value_name = "FILE", env = "MINECRAFT_KEY_LOG_FILE", help_heading = RECORD)]
    pub(super) key_log: Option<PathBuf>,

    #[command(flatten, next_help_heading = RECORD)]
    pub(super) recorder: Recorder,

    #[command(flatten, next_help_heading = PRINT)]
    pub(super) condition: Condition,

    #[command(flatten, next_help_heading = PRINT)]
    pub(super) verbose: Verbose,

    #[command(flatten, next_help_heading = PRINT)]
    pub(super) quiet: Quiet,

    #[command(flatten, next_help_heading = PRINT)]
    pub(super) lines: Lines,

    /// On a terminal, show every packet, including those that repeat many times a second
    #[arg(long, help_heading = PRINT)]
    pub(super) no_collapse: bool,

    #[command(flatten, next_help_heading = BROWSE)]
    pub(super) web: Web,

    #[command(flatten, next_help_heading = BROWSE)]
    pub(super) interactive: Interactive,

    #[command(flatten, next_help_heading = BROWSE)]
    pub(super) highlights: HighlightOptions,

    /// Apply the rules in a filter file, or a script in Lua if its name ends in `.lua`. It is reloaded when
    /// it changes; a filter file's expectations judge the sessions (repeatable, in order)
    #[arg(short, long, visible_alias = "script", value_name = "FILE", help_heading = CHANGE)]
    pub(super) filters: Vec<PathBuf>,

    #[command(flatten, next_help_heading = CHANGE)]
    pub(super) pipe: Pipe,

    #[command(flatten, next_help_heading = CHANGE)]
    pub(super) control: Control,

    #[command(flatten, next_help_heading = "Test")]
    pub(super) expect: ExpectOptions,

    /// Judge what client and server send by the rules of the game, see `mitmcraft lint`. The first packet of each
    /// kind of fault is shown, and captures have all as comments
    #[arg(long, help_heading = "Test")]
    pub(super) lint: bool,

    #[command(flatten)]
    pub(super) accounts: AccountOptions,

    /// Leave the host and port in the handshake as the client sent them
    #[arg(long, help_heading = NETWORK)]
    pub(super) keep_host: bool,

    /// Forward a server's Transfer unchanged: the client then connects to the new server directly
    #[arg(long, help_heading = NETWORK)]
    pub(super) no_follow_transfers: bool,

    /// Timeouts, each a duration or `none`: `connect` for connecting to the server, `login` for
    /// silence before the game begins, `idle` for silence during the game
    #[arg(
        long,
        value_name = "NAME=DURATION",
        value_delimiter = ',',
        default_value = "connect=30,login=120,idle=none",
        help_heading = NETWORK
    )]
    pub(super) timeout: Vec<Timeout>,

    /// Also relay and record the UDP Query protocol, listening on this address
    #[arg(long, value_name = "ADDR", value_parser = listen_address, help_heading = NETWORK)]
    pub(super) query: Option<SocketAddr>,

    /// The server of `--query`, `host[:port]` [default: the host and port of UPSTREAM]
    #[arg(long, value_name = "ADDR", requires = "query", help_heading = NETWORK)]
    pub(super) query_upstream: Option<UpstreamName>,

    /// Accept connections that the firewall redirects here (REDIRECT, DNAT), and connect each to its
    /// original destination. Linux only
    #[arg(long, help_heading = NETWORK)]
    pub(super) transparent: bool,

    /// Use HAProxy's PROXY protocol: `in` expects a header from every client, `out` sends one to the
    /// server (version 2, `out=v1` for version 1)
    #[arg(long, value_name = "SIDE", value_delimiter = ',', help_heading = NETWORK)]
    pub(super) proxy_protocol: Vec<PreambleSide>,

    /// Serve metrics for Prometheus at `http://ADDR/metrics`; port 0 picks a free port
    #[arg(long, value_name = "ADDR", value_parser = listen_address, help_heading = SERVICE)]
    pub(super) metrics: Option<SocketAddr>,

    /// Maximum number of concurrent sessions; further clients are refused
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = SERVICE)]
    pub(super) max_sessions: usize,

    /// Largest frame to decode, at most 128M; larger frames are forwarded without being decoded
    #[arg(long, value_name = "SIZE", default_value_t = Size(2 << 20), help_heading = SERVICE)]
    pub(super) max_frame: Size,

    #[command(flatten, next_help_heading = SERVICE)]
    pub(super) memory: Memory,

    /// On SIGTERM, refuse new players, let the present ones play for up to this time, and then end
    /// the run. A second signal ends it at once
    #[arg(long, value_name = "TIME", value_parser = Period::positive, help_heading = SERVICE)]
    pub(super) drain: Option<Period>,

    /// What to do if captures or the screen cannot keep up
    #[arg(
        long,
        value_name = "ACTION",
        default_value = "wait",
        value_parser = one_of(ON_FULL),
        help_heading = SERVICE
    )]
    pub(super) on_full: OnFull,
}

// Sections of `--help`.
const RECORD: &str = "Record";
const PRINT: &str = "Print";
const BROWSE: &str = "Browse, hold and edit";
const CHANGE: &str = "Change packets";
const NETWORK: &str = "Network";
const SERVICE: &str = "As a service";

/// The options that `proxy -h` shows: those of a first evening.
const FIRST: &[&str] = &[
    "upstream",
    "listen",
    "lan",
    "write",
    "overwrite",
    "write_where",
    "condition",
    "verbose",
    "quiet",
    "web",
    "open",
    "tui",
    "intercept",
    "filters",
    "auth",
];

/// Leaves the options that are not in [`FIRST`] to `--help`.
fn brief(command: Command) -> Command {
    command.mut_args(|arg| {
        let shown = FIRST.contains(&arg.get_id().as_str());
        arg.hide_short_help(!shown)
    })
}

/// What to do if captures or the screen cannot keep up.
const ON_FULL: &[Choice<OnFull>] = &[
    ("wait", "Slow the sessions down, so that nothing is lost", OnFull::Wait),
    ("drop", "Leave entries out, and count them", OnFull::Drop),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_short_help_has_fifteen_options_and_names_the_long_one() {
        let mut command = Cli::command();
        command.build();
        let proxy = command.find_subcommand_mut("proxy").unwrap();
        let ids: BTreeSet<&str> = proxy.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        assert!(FIRST.iter().all(|id| ids.contains(id)), "{ids:?}");
        let [short, long] =
            [proxy.render_help(), proxy.render_long_help()].map(|it| it.to_string());
        let options = |help: &str| {
            let lines = help.lines().filter(|line| line.trim_start().starts_with('-'));
            lines.filter(|line| line.contains("--")).count()
        };
        assert_eq!(options(&short), 15, "{short}");
        assert!(options(&long) > 60, "{long}");
        assert!(short.contains("`mitmcraft proxy --help` lists all options"), "{short}");
        for section in [RECORD, PRINT, BROWSE, CHANGE, NETWORK, SERVICE] {
            assert!(long.contains(&format!("\n{section}:\n")), "{section}: {long}");
        }
    }
}
