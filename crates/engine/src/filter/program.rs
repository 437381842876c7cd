use std::any::Any;
use std::fmt::Debug;

use super::{Filter, RuleCount};

/// A filter file that is code, shared by all sessions.
pub trait Program: Debug + Send + Sync {
    /// Creates the filter of one session.
    fn filter(&self) -> Box<dyn Filter>;

    /// Returns the counts of each part of the program in all sessions so far.
    fn counts(&self) -> Vec<RuleCount>;

    /// Takes over the state of an earlier version of the file.
    fn carry_over(&mut self, from: &dyn Program);

    /// Returns the program for a downcast.
    fn as_any(&self) -> &dyn Any;
}
