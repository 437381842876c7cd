use std::any::Any;

use super::{Input, Output, Question, Report, Side};
use crate::capture::Entry;
use crate::filter::Pipeline;
use mitmcraft_protocol::packet::{Tally, Timestamp};

/// A connection handler without I/O. A driver tells it what happened and does what it asks for.
///
/// After each [`handle`](Self::handle) the driver takes all outputs and entries, writes what is
/// [`pending`](Self::pending) for each side as far as the socket accepts it, and then waits for the
/// sockets that [`wants_read`](Self::wants_read) names, or for
/// [`poll_timeout`](Self::poll_timeout). A driver of any engine gives it back as [`Any`].
pub trait Engine: Any + Send {
    /// Handles an input that happened at `at`. Time never goes backwards.
    fn handle(&mut self, at: Timestamp, input: Input<'_>);

    /// Replaces the filters from the next packet on. Engines without filters ignore it.
    fn set_pipeline(&mut self, pipeline: Pipeline) {
        let _ = pipeline;
    }

    /// Returns the next thing to be done, if any.
    fn poll_output(&mut self) -> Option<Output>;

    /// Returns the next thing that the people who control the engine are to know, if any. Engines that
    /// cannot be controlled have none.
    fn poll_report(&mut self) -> Option<Report> {
        None
    }

    /// Returns the next packet on which a program is to decide, if any; answered by [`Input::Ruled`].
    fn poll_question(&mut self) -> Option<Question> {
        None
    }

    /// Appends the entries recorded since the last call to `into`.
    fn take_entries(&mut self, into: &mut Vec<Entry>);

    /// Counts packets that are forwarded unchanged from now on, instead of recording them, where the
    /// engine can: nobody records them.
    fn start_tally(&mut self) {}

    /// Returns the counts of packets that were not recorded, which the driver drains; `None` if the
    /// engine records all.
    fn tally(&mut self) -> Option<&mut Tally> {
        None
    }

    /// Counts the first `count` of the [`pending`](Self::pending) bytes as written.
    fn advance(&mut self, side: Side, count: usize);

    /// Returns the bytes to be written to `side`.
    fn pending(&self, side: Side) -> &[u8];

    /// Returns whether `side` should be read now.
    fn wants_read(&self, side: Side) -> bool;

    /// Returns when to pass [`Input::Timeout`], if nothing else happens before.
    fn poll_timeout(&self) -> Option<Timestamp>;

    /// Returns whether ending now costs no player anything: the client has said nothing, or asks for the status.
    fn is_expendable(&self) -> bool {
        false
    }

    /// Returns whether handling an input may take long: filters have taken long lately, in any session.
    fn is_slow(&self, at: Timestamp) -> bool {
        let _ = at;
        false
    }

    /// Returns whether the engine is finished. Pending bytes are still to be written.
    fn is_over(&self) -> bool;
}
