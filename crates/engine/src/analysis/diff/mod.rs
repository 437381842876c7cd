//! Compares two captures, or the two legs of one, packet by packet and field by field.
//!
//! [`Differ`] takes the entries of both while they are read. Each direction of a session is aligned
//! separately, since the interleaving differs from run to run, and in a window of bounded size: first
//! by equal packets, then between those by packets of the same name, whose fields are compared.
//! [`Ignore`] lists the differences that do not count.

mod aligner;
mod differ;
mod difference;
mod display;
mod entities;
mod fields;
mod ignore;
mod item;
mod legs;
mod ticks;

pub use differ::{DiffSide, Differ};
pub use difference::{Change, Difference};
pub(crate) use entities::entity_ids;
pub use fields::EqualPairs;
pub use ignore::{Ignore, IgnoreError};
pub(crate) use item::fingerprint;
pub use legs::LegDiffer;
pub use ticks::TickDiffer;
pub(crate) use ticks::ends_tick;
