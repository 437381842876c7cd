//! Everything that does I/O: sockets, tasks, threads, DNS, HTTP, the clock and random numbers. It makes
//! no decision about the protocol.

mod accounts;
mod caught;
mod clock;
mod color_store;
mod control;
mod kept_secret;
mod log;
mod metrics;
mod net;
mod notices;
mod numbers;
mod pipe;
mod private_file;
mod response;
mod rules;
mod source_file;

pub(crate) use accounts::random_key;
pub use accounts::{
    AccountStore, AccountsError, AuthEndpoint, Authority, Http, HttpError, Keeper, LentJoins,
    Tokens, walk,
};
pub use caught::caught;
pub use clock::Clock;
pub use color_store::{ColorStore, ColorsError};
pub use control::{Attachment, ControlHandle, HeldNews};
pub use kept_secret::{KeptSecretError, endpoint_key, kept_token};
pub use log::{
    Compactor, IncidentCounts, IncidentNotice, IncidentOptions, IncidentRecorder, KeyLog,
    LakeNotice, LogFault, LogHandle, LogOptions, LogView, LogWriter, NamedSink, OnError, OnFull,
    PassedCounts, StoreSink,
};
pub use metrics::{Metrics, MetricsServer, Trouble};
pub(crate) use net::{Accepted, Newcomers};
pub use net::{
    AskError, ConnectError, EngineRunner, LanAnnouncer, Listener, PipelineFactory, Proxy,
    ProxyOptions, QueryProxy, QueryProxyOptions, RefusalError, ReplayClient, Resolver,
    ServerConnection, Stop, UpstreamError, UpstreamName, ping, query, raise_descriptor_limit,
    serve_replay,
};
pub use notices::{Notices, RunNotice};
pub use numbers::SessionNumbers;
pub use pipe::{PipeCommand, PipeHandle};
pub(crate) use response::response;
pub use rules::{
    FileFault, FileFaultKind, FilterFiles, LoadError, Loaded, RuleEditor, SaveError, Watch,
    check_filters, factory,
};
pub use source_file::{read_source, write_source};
