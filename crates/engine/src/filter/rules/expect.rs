use std::time::Duration;

use super::bound::{Bound, RateBound};
use crate::lang::{Expr, Formula};

/// An expectation of a filter file: what the packets of a session, or of a run, must be like.
///
/// [`Judge`](crate::expect::Judge) judges it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Expect {
    /// The name, unique in its file.
    pub name: String,
    /// The line of the file in which it begins, from 1.
    pub line: usize,
    /// The packets of which each begins a judgement; if `None`, the session or the run begins one.
    pub after: Option<Expr>,
    /// The longest duration of a judgement; if `None`, it lasts to the end of the session or the run.
    pub within: Option<Duration>,
    /// The packets of which the first ends a judgement; it does not count itself.
    pub until: Option<Expr>,
    /// What becomes of a judgement that `within` or `until` has not ended when the session or the run ends.
    pub at_end: AtEnd,
    /// The values in which the packets of a judgement must be equal.
    pub same: Vec<Formula>,
    /// The scope of a judgement.
    pub per: Per,
    /// The requirement.
    pub wanted: Wanted,
}

/// What becomes of a judgement of an [`Expect`] that is open when its session or run ends, and would fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AtEnd {
    /// It does not count.
    #[default]
    Skip,
    /// It has passed.
    Pass,
    /// It has failed.
    Fail,
}

/// The scope of an [`Expect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Per {
    /// The packets of one session.
    #[default]
    Session,
    /// The packets of all sessions of a run.
    Run,
}

/// The requirement of an [`Expect`].
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Bounds on the packets that match `when`; at least one bound.
    Packets {
        /// The condition.
        when: Expr,
        /// Bound on their number.
        count: Option<Bound>,
        /// Bound on the sum of their bodies, in bytes.
        bytes: Option<Bound>,
        /// Bound on each second.
        rate: Option<RateBound>,
    },
    /// The first packets that match these conditions, at least two, come in this order.
    Order(Vec<Expr>),
}
