use super::Session;
use crate::capture::Entry;
use crate::filter::Pipeline;
use crate::link::{Engine, Input, Output, Side};
use crate::packet::Timestamp;

impl Engine for Session {
    fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.handle(at, input);
    }

    fn set_pipeline(&mut self, pipeline: Pipeline) {
        self.set_pipeline(pipeline);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.poll_output()
    }

    fn take_entries(&mut self, into: &mut Vec<Entry>) {
        self.take_entries(into);
    }

    fn advance(&mut self, side: Side, count: usize) {
        self.advance(side, count);
    }

    fn pending(&self, side: Side) -> &[u8] {
        self.pending(side)
    }

    fn wants_read(&self, side: Side) -> bool {
        self.wants_read(side)
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.poll_timeout()
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn timed_out(&self) -> Option<String> {
        self.timed_out()
    }
}
