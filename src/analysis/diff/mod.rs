//! Two captures compared, packet by packet and field by field, or the two legs of one.
//!
//! [`Differ`] takes the entries of both as they are read. Each session's directions are aligned for
//! themselves (how the two interleave differs from run to run), in a window of bounded size: first
//! on packets that are the same, then between those on packets of the same name, whose fields are
//! compared. [`Ignore`] says what does not count.

mod aligner;
mod differ;
mod difference;
mod display;
mod entities;
mod fields;
mod ignore;
mod item;
mod legs;

pub use differ::{DiffSide, Differ};
use difference::DifferenceOrder;
pub use difference::{Change, Difference};
pub use ignore::{Ignore, IgnoreError};
pub use legs::LegDiffer;
