//! Statistics, comparison and redaction of captures.
//!
//! [`Stats`] is a [`Sink`](crate::capture::Sink) that counts entries in bounded memory; its [`Report`]
//! is a table, JSON or a chart. [`Differ`] compares two captures, [`LegDiffer`] the two legs of one.
//! [`Redactor`] makes captures safe to share.

mod channels;
mod chart;
mod counting_sink;
mod counts_by_packet;
mod diagnostic_counts;
mod diff;
mod exchange;
mod followed_states;
mod join;
mod lag;
mod named_counts;
mod packet_counts;
mod redact;
mod report;
mod report_json;
mod round_trips;
mod stats;
mod timeline;
mod undecoded;
mod version_check;

pub use channels::Channels;
pub use counting_sink::{CountingSink, SessionCounts};
pub use counts_by_packet::{CountedPacket, CountsByPacket};
pub use diagnostic_counts::DiagnosticCounts;
pub use diff::{
    Change, DiffSide, Differ, Difference, EqualPairs, Ignore, IgnoreError, LegDiffer, TickDiffer,
};
pub(crate) use diff::{ends_tick, entity_ids, fingerprint};
pub use exchange::{Exchange, ExchangeRole};
pub use followed_states::FollowedStates;
pub(crate) use join::{Join, Waiting, game_mode};
pub use join::{JoinCheck, StuckJoin};
pub use lag::{
    Lag, LagEvidence, LagFinding, LagPlace, LagReport, Measured, Share, ShareKind, Ticks,
};
pub use named_counts::NamedCounts;
pub use packet_counts::PacketCounts;
pub use redact::{RedactSink, Redactor};
pub use report::{Report, Sort, share};
pub use round_trips::{RoundTrip, RoundTrips};
pub use stats::Stats;
pub use timeline::{Bin, Series, Timeline};
pub use undecoded::{UndecodedCounts, UndecodedPacket};
pub use version_check::{MismatchCause, ServerVersion, VersionCheck, VersionMismatch};
