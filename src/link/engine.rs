use super::{Input, Output, Side};
use crate::capture::Entry;
use crate::filter::Pipeline;
use crate::packet::Timestamp;

/// What a driver drives: something sans-IO that is told what happened and asked what to do.
pub trait Engine: Send {
    /// Takes what has happened at that moment.
    fn handle(&mut self, at: Timestamp, input: Input<'_>);

    /// Judges by these filters from the next packet on. What has no filters passes over it.
    fn set_pipeline(&mut self, pipeline: Pipeline) {
        let _ = pipeline;
    }

    /// What is to be done next, if anything.
    fn poll_output(&mut self) -> Option<Output>;

    /// Moves what was seen since the last call behind `into`.
    fn take_entries(&mut self, into: &mut Vec<Entry>);

    /// Says that so many of the [`pending`](Self::pending) bytes have been written.
    fn advance(&mut self, side: Side, count: usize);

    /// Bytes to be written to that side.
    fn pending(&self, side: Side) -> &[u8];

    /// Whether that side should be read now.
    fn wants_read(&self, side: Side) -> bool;

    /// When to be told [`Input::Timeout`], if nothing happens before.
    fn poll_timeout(&self) -> Option<Timestamp>;

    /// Whether nothing more will happen. What is pending is still to be written.
    fn is_over(&self) -> bool;
}

impl<E: Engine + ?Sized> Engine for &mut E {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        (**self).handle(at, input);
    }

    fn set_pipeline(&mut self, pipeline: Pipeline) {
        (**self).set_pipeline(pipeline);
    }

    fn poll_output(&mut self) -> Option<Output> {
        (**self).poll_output()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        (**self).take_entries(into);
    }

    fn advance(&mut self, side: Side, count: usize) {
        (**self).advance(side, count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        (**self).pending(side)
    }

    fn wants_read(&self, side: Side) -> bool {
        (**self).wants_read(side)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        (**self).poll_timeout()
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }
}
