use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use mitmcraft::proxy::{OnFull, UpstreamName};
use mitmcraft_engine::lang::amount::{Period, Size};

use crate::cli::accounts::AccountOptions;
use crate::cli::args::{
    CaptureOptions, Choice, Condition, Control, ExpectOptions, HighlightOptions, Interactive,
    Lines, Memory, Pipe, PreambleSide, Protocols, Quiet, Timeout, Verbose, Web, listen_address,
    one_of,
};

/// Relay clients to a server: decode, show and record every packet
#[derive(Debug, Args)]
#[command(after_help = "Examples:
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
  mitmcraft proxy mc.example.org -w - --format pcapng | wireshark -k -i -

Then add the address after `-l`, or localhost:25566, to the server list of the game. With \
`--lan`, the proxy already appears there, under Multiplayer.")]
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
    pub(super) captures: CaptureOptions,

    /// Record to a folder of Parquet files, `date=2026-11-21/host=NAME/part-….parquet`, which DuckDB, Spark and
    /// Trino read. A part is added every minute or 64 MiB. `--keep` limits the parts, and what a run that
    /// was killed has left is added by the next one
    #[arg(long, value_name = "DIR")]
    pub(super) lake: Option<PathBuf>,

    /// The name of this proxy in the lake [default: the machine's]
    #[arg(long, value_name = "NAME", requires = "lake")]
    pub(super) lake_host: Option<String>,

    /// Apply the rules in a filter file, or a script in Lua if its name ends in `.lua`. It is reloaded when
    /// it changes; a filter file's expectations judge the sessions (repeatable, in order)
    #[arg(short, long, visible_alias = "script", value_name = "FILE")]
    pub(super) filters: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) expect: ExpectOptions,

    #[command(flatten)]
    pub(super) pipe: Pipe,

    #[command(flatten)]
    pub(super) web: Web,

    #[command(flatten)]
    pub(super) control: Control,

    #[command(flatten)]
    pub(super) interactive: Interactive,

    #[command(flatten)]
    pub(super) highlights: HighlightOptions,

    #[command(flatten)]
    pub(super) condition: Condition,

    #[command(flatten)]
    pub(super) verbose: Verbose,

    #[command(flatten)]
    pub(super) lines: Lines,

    #[command(flatten)]
    pub(super) quiet: Quiet,

    #[command(flatten)]
    pub(super) accounts: AccountOptions,

    /// Append the keys of each encrypted connection to a key log, one per line, for `decode` and
    /// other programs. A new file can be read by its owner only
    #[arg(long, value_name = "FILE", env = "MINECRAFT_KEY_LOG_FILE")]
    pub(super) key_log: Option<PathBuf>,

    /// Leave the host and port in the handshake as the client sent them
    #[arg(long)]
    pub(super) keep_host: bool,

    /// Forward a server's Transfer unchanged: the client then connects to the new server directly
    #[arg(long)]
    pub(super) no_follow_transfers: bool,

    /// Largest frame to decode, at most 128M; larger frames are forwarded without being decoded
    #[arg(long, value_name = "SIZE", default_value_t = Size(2 << 20))]
    pub(super) max_frame: Size,

    #[command(flatten)]
    pub(super) memory: Memory,

    /// Maximum number of concurrent sessions; further clients are refused
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(super) max_sessions: usize,

    /// On SIGTERM, refuse new players, let the present ones play for up to this time, and then end
    /// the run. A second signal ends it at once
    #[arg(long, value_name = "TIME", value_parser = Period::positive)]
    pub(super) drain: Option<Period>,

    /// What to do if captures or the screen cannot keep up
    #[arg(long, value_name = "ACTION", default_value = "wait", value_parser = one_of(ON_FULL))]
    pub(super) on_full: OnFull,

    /// Timeouts, each a duration or `none`: `connect` for connecting to the server, `login` for
    /// silence before the game begins, `idle` for silence during the game
    #[arg(
        long,
        value_name = "NAME=DURATION",
        value_delimiter = ',',
        default_value = "connect=30,login=120,idle=none"
    )]
    pub(super) timeout: Vec<Timeout>,

    #[command(flatten)]
    pub(super) protocols: Protocols,

    /// Also relay and record the UDP Query protocol, listening on this address
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(super) query: Option<SocketAddr>,

    /// The server of `--query`, `host[:port]` [default: the host and port of UPSTREAM]
    #[arg(long, value_name = "ADDR", requires = "query")]
    pub(super) query_upstream: Option<UpstreamName>,

    /// Accept connections that the firewall redirects here (REDIRECT, DNAT), and connect each to its
    /// original destination. Linux only
    #[arg(long)]
    pub(super) transparent: bool,

    /// Use HAProxy's PROXY protocol: `in` expects a header from every client, `out` sends one to the
    /// server (version 2, `out=v1` for version 1)
    #[arg(long, value_name = "SIDE", value_delimiter = ',')]
    pub(super) proxy_protocol: Vec<PreambleSide>,

    /// Serve metrics for Prometheus at `http://ADDR/metrics`; port 0 picks a free port
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    pub(super) metrics: Option<SocketAddr>,

    /// On a terminal, show every packet, including those that repeat many times a second
    #[arg(long)]
    pub(super) no_collapse: bool,
}

/// What to do if captures or the screen cannot keep up.
const ON_FULL: &[Choice<OnFull>] = &[
    ("wait", "Slow the sessions down, so that nothing is lost", OnFull::Wait),
    ("drop", "Leave entries out, and count them", OnFull::Drop),
];
