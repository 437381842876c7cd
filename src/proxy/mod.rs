//! Sockets, tasks, threads, the clock and chance. It decides nothing about the protocol.

mod account_store;
mod ask;
mod authority;
mod clock;
mod driver;
mod http;
mod key_log;
mod keys;
mod log;
mod log_sinks;
mod notices;
mod numbers;
mod query;
mod reload;
mod replay;
mod replay_client;
mod server;
mod transfers;
mod upstream;

pub use account_store::{AccountStore, AccountsError, Keeper, walk};
pub use ask::{AskError, ping, query};
pub use authority::{Authority, Tokens};
pub use clock::Clock;
pub use http::{Http, HttpError};
pub use key_log::KeyLog;
pub use log::{LogFault, LogHandle, LogOptions, LogWriter, NamedSink, OnError, OnFull};
pub use notices::Notices;
pub use numbers::SessionNumbers;
pub use query::{QueryProxy, QueryProxyOptions};
pub use reload::{FilterFiles, LoadError, Loaded, Watch, factory};
pub use replay::ReplayServer;
pub use replay_client::ReplayClient;
pub use server::{PipelineFactory, Proxy, ProxyOptions, Stop, Totals};
pub use upstream::{Resolver, UpstreamError, UpstreamName};
