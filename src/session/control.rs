use std::collections::VecDeque;

use bytes::Bytes;

use crate::codec::MemoryBudget;
use crate::link::{Breakpoint, HoldQueue, Report};
use crate::packet::Timestamp;
use crate::schema::{Direction, PerDirection, State};

/// What people hold in a session, and what they have it send.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) breakpoint: Option<Breakpoint>,
    pub(super) queues: PerDirection<HoldQueue>,
    pub(super) repeats: Vec<Repeat>,
    /// Numbers of the server's keep-alives that the proxy has answered. The client's answer to the
    /// proxy's own has the same number.
    pub(super) answered: VecDeque<i64>,
    /// The time of the first packet of the login.
    pub(super) login: Option<Timestamp>,
    pub(super) reports: VecDeque<Report>,
    /// The number of the packet that was held last.
    pub(super) held: u64,
}

/// A packet that is still to be sent a number of times.
#[derive(Debug)]
pub(super) struct Repeat {
    /// The number of the command that asked for it.
    pub(super) command: u64,
    pub(super) direction: Direction,
    /// The state that its id belongs to.
    pub(super) state: State,
    pub(super) body: Bytes,
    pub(super) comment: String,
    pub(super) left: u32,
    pub(super) interval: std::time::Duration,
    pub(super) next: Timestamp,
}

impl Control {
    pub(super) fn new(budget: &MemoryBudget) -> Self {
        Self {
            breakpoint: None,
            queues: PerDirection::from_fn(|_| HoldQueue::new(budget)),
            repeats: Vec::new(),
            answered: VecDeque::new(),
            login: None,
            reports: VecDeque::new(),
            held: 0,
        }
    }
}
