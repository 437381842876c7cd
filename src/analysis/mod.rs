//! What captures tell when they are counted and compared, and how they are made safe to share.
//!
//! [`Redactor`] replaces what nobody should know. [`Differ`] compares two captures, [`LegDiffer`] the two legs of one.
//! [`Stats`] is a [`Sink`](crate::capture::Sink) that counts what it is given, in memory that does
//! not grow with the capture; a [`Report`] of it is a table, JSON or a picture.

mod channels;
mod chart;
mod diff;
mod exchange;
mod redact;
mod report;
mod report_json;
mod round_trips;
mod stats;
mod summary;
mod timeline;
mod undecoded;

pub use channels::Channels;
pub use diff::{Change, DiffSide, Differ, Difference, Ignore, IgnoreError, LegDiffer};
pub use redact::{RedactSink, Redactor};
pub use report::{Report, Sort};
pub use round_trips::{RoundTrip, RoundTrips};
pub use stats::Stats;
pub(crate) use summary::packet_name;
pub use summary::{CountedPacket, CountingSink, CountsByPacket, PacketCounts, SessionCounts};
pub use timeline::{Bin, Series, Timeline};
pub use undecoded::{UndecodedCounts, UndecodedPacket};
