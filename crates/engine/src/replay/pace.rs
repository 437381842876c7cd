/// The pace at which packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Packets wait until the recorded time has passed.
    pub timed: bool,
    /// Packets wait until the peer has sent what precedes them in the recording.
    pub ordered: bool,
}

impl Pace {
    /// At the recorded times, whatever the peer does.
    pub const RECORDED: Self = Self { timed: true, ordered: false };
    /// As soon as the peer has sent what precedes a packet.
    pub const LOCKSTEP: Self = Self { timed: false, ordered: true };
    /// Once the peer has sent what precedes a packet and the recorded time has passed.
    pub const FAITHFUL: Self = Self { timed: true, ordered: true };
    /// At once.
    pub const ASAP: Self = Self { timed: false, ordered: false };
}
