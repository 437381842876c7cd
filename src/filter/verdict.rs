use std::time::Duration;

use bytes::Bytes;

use crate::schema::Direction;

/// What a filter says of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it as it is.
    Pass,
    /// Do not forward it.
    Drop,
    /// Forward this body (id and fields) in its place.
    Replace(Bytes),
}

/// What is to be done besides: filters add to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// How the packet is logged.
    pub notes: Notes,
    /// Packets of our own.
    pub sends: Vec<Injection>,
    /// How many more times the packet is sent, as it is forwarded.
    pub copies: u32,
    /// How long it waits before it goes on.
    pub delay: Option<Delay>,
    /// Ends the session, and tells the player why.
    pub close: Option<String>,
}

/// How a packet is logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Not on the screen.
    pub hidden: bool,
    /// Not in captures.
    pub unrecorded: bool,
    /// How much of it the screen shows, if not as much as of the others.
    pub detail: Option<Detail>,
    /// Words about it, in captures and on the screen.
    pub comments: Vec<String>,
    /// Names that rules have given it.
    pub tags: Vec<String>,
    /// What is to happen to the capture that a rule writes.
    pub ring: Option<Ring>,
}

/// How much of a packet is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Its name.
    Name,
    /// All fields.
    Full,
    /// All fields and bytes.
    Hex,
}

/// What a rule says to the capture that rules write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Write from here on; what the ring holds comes first.
    Start,
    /// Write no more after this packet.
    Stop,
    /// Write what the ring holds, and this packet.
    Flush,
}

/// A packet of a filter's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// Which way it goes.
    pub direction: Direction,
    /// Before the packet that it is sent for, or after.
    pub before: bool,
    /// Id and fields; without a frame, the bytes as they are to go out.
    pub body: Bytes,
    /// Whether the body gets a frame.
    pub framed: bool,
}

/// How long a packet waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// From when it came.
    pub by: Duration,
    /// Whether packets that come later may overtake it.
    pub reorder: bool,
}
