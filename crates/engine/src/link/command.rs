use std::time::Duration;

use bytes::Bytes;

use crate::lang::Expr;
use mitmcraft_protocol::schema::Direction;

/// A command of a person to a running session; see [`Input::Command`](super::Input::Command).
#[derive(Debug, Clone)]
pub struct Command {
    /// The number that the command's [`Report`](super::Report) repeats.
    pub number: u64,
    /// The thing to be done.
    pub action: Action,
}

/// The content of a [`Command`].
#[derive(Debug, Clone)]
pub enum Action {
    /// Hold the packets that match from now on; `None` holds no more. Packets that are held already
    /// stay so.
    Break(Option<Breakpoint>),
    /// Decide what becomes of held packets. Of several, those that are not held any more are left out.
    Decide {
        /// The packets' numbers among those held in their session.
        held: Vec<u64>,
        /// The decision about each of them.
        decision: Decision,
    },
    /// Forward everything that is held, in order.
    ForwardAll,
    /// Send packets of the proxy's own.
    Send(Transmission),
    /// Send no more packets of the [`Send`](Self::Send) whose command has this number; `None` stops all of them.
    Stop(Option<u64>),
    /// End the session, and show the player this text.
    Kick(String),
}

/// The packets that are held before they are forwarded.
#[derive(Debug, Clone)]
pub struct Breakpoint {
    /// The condition, which sees packets as they came, before any rule.
    pub condition: Expr,
    /// `true` if later packets overtake a held one where the game bears it. Otherwise they wait
    /// behind it.
    pub overtaken: bool,
}

/// A decision on a held packet.
#[derive(Debug, Clone)]
pub enum Decision {
    /// It goes on, and rules are applied to it as to any other packet.
    Forward,
    /// It is not forwarded.
    Drop,
    /// This goes instead, and no rule changes it.
    Edit(Payload),
}

/// The content of a packet as a person gives it.
#[derive(Debug, Clone)]
pub enum Payload {
    /// The fields, in the form that captures have them.
    Fields(serde_json::Value),
    /// Id and fields as bytes.
    Body(Bytes),
}

/// Packets of the proxy's own, at a person's wish.
#[derive(Debug, Clone)]
pub struct Transmission {
    /// The direction in which they go.
    pub direction: Direction,
    /// The name of the packet in the session's version; not needed with [`Payload::Body`].
    pub packet: Option<String>,
    /// The content.
    pub payload: Payload,
    /// How many there are.
    pub times: u32,
    /// The time from one to the next.
    pub interval: Duration,
    /// The number of the packet of this session that is sent again, if it is one.
    pub resent: Option<u64>,
}
