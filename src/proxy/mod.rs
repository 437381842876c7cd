//! Sockets, tasks, threads, the clock and chance. It decides nothing about the protocol.

mod clock;
mod driver;
mod keys;
mod log;
mod reload;
mod server;
mod upstream;

pub use clock::Clock;
pub use log::{LogFault, LogHandle, LogOptions, LogWriter, NamedSink, OnFull};
pub use reload::{FilterFiles, LoadError, Loaded, Watch};
pub use server::{PipelineFactory, Proxy, ProxyOptions, Stop, Totals};
pub use upstream::{Resolver, UpstreamError, UpstreamName};
