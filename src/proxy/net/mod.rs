//! Sockets: who comes in, where they go, and the task that drives each session.

mod arrival;
mod ask;
mod connect_error;
mod descriptors;
mod driver;
mod engine_runner;
mod incoming_client;
mod lan;
mod listener;
mod preamble;
mod query;
mod refusal_error;
mod replay;
mod replay_client;
mod route;
mod server;
mod server_connection;
mod transfers;
mod upstream;

pub use ask::{AskError, ping, query};
pub use connect_error::ConnectError;
pub use descriptors::raise_descriptor_limit;
pub(super) use driver::close;
pub use engine_runner::EngineRunner;
pub use lan::LanAnnouncer;
pub(crate) use listener::Accepted;
pub use listener::Listener;
pub use preamble::{Addresses, Excerpt, Preamble, PreambleError, PreambleRead, PreambleVersion};
pub use query::{QueryProxy, QueryProxyOptions};
pub use refusal_error::RefusalError;
pub use replay::ReplayServer;
pub use replay_client::ReplayClient;
pub use server::{PipelineFactory, Proxy, ProxyOptions, Stop, Totals};
pub use server_connection::ServerConnection;
pub use upstream::{Resolver, UpstreamError, UpstreamName};
