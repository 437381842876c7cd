//! Sockets, tasks, threads, the clock and chance. It decides nothing about the protocol.

mod arrival;
mod ask;
mod clock;
mod driver;
mod guest;
mod key_log;
mod keys;
mod log;
mod log_sinks;
mod metrics;
mod notices;
mod numbers;
mod preamble;
mod query;
mod reload;
mod replay;
mod replay_client;
mod route;
mod server;
mod transfers;
mod upstream;
mod wire_tap;

pub use ask::{AskError, ping, query};
pub use clock::Clock;
pub use key_log::KeyLog;
pub use log::{LogFault, LogHandle, LogOptions, LogWriter, NamedSink, OnError, OnFull};
pub use metrics::{Metrics, MetricsOptions, MetricsServer, Trouble};
pub use notices::Notices;
pub use numbers::SessionNumbers;
pub use preamble::PreambleVersion;
pub use query::{QueryProxy, QueryProxyOptions};
pub use reload::{FilterFiles, LoadError, Loaded, Watch, factory};
pub use replay::ReplayServer;
pub use replay_client::ReplayClient;
pub use server::{PipelineFactory, Proxy, ProxyOptions, Stop, Totals};
pub use upstream::{Resolver, UpstreamError, UpstreamName};
