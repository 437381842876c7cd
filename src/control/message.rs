use serde::Serialize;

use super::{ControlError, HeldContent, HeldPacket};
use mitmcraft_engine::link::{Action, Decision, Release};
use mitmcraft_protocol::schema::Direction;

/// A message to a user interface.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The answer to a request.
    Answer {
        /// The number of the request.
        id: Option<u64>,
        /// The answer.
        answer: Result<Answer, ControlError>,
    },
    /// A push to all interfaces.
    Push(Push),
}

/// The answer to a [`Request`](super::Request).
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is carried out.
    Done,
    /// The content of a held packet.
    Held(HeldContent),
    /// Held packets.
    List(HeldRows),
    /// The numbers of packets that are held and not decided on, and how many are in spans of numbers.
    Undecided(Vec<u64>, usize),
    /// As many packets were decided on.
    Decided(usize),
}

/// Some of the packets that are held, in the order in which they came.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeldRows {
    /// The index of the first one.
    pub start: usize,
    /// The number of all packets that are held.
    pub total: usize,
    /// The packets.
    pub packets: Vec<HeldPacket>,
    /// The index of the packet with the number that was asked for, or of the next one after it.
    pub anchor: Option<usize>,
}

/// The number of packets that are held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Holding {
    /// The packets that are held.
    pub total: usize,
    /// A number that changes when packets were decided on or released, but not when others are held.
    pub changes: u64,
    /// The `number` of the packet that was held last; 0 if none was.
    pub last: u64,
}

/// Something that happened to the running sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "push", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "ControlPush"))]
pub enum Push {
    /// The condition on packets to hold was set or cleared.
    Control {
        /// The condition on what is held; `None` if nothing is.
        #[serde(rename = "break")]
        condition: Option<BreakCondition>,
        /// The condition that was set when the last interface had gone. It holds nothing until it is set again.
        earlier: Option<BreakCondition>,
        /// The number of the interface that has set it; `None` if none has.
        by: Option<u64>,
        /// The number of attached interfaces.
        interfaces: usize,
    },
    /// A packet is held. Sent to the terminal only, as are `Decided` and `Released`. An interface that attaches gets one
    /// for each packet that is held already.
    #[cfg_attr(test, ts(skip))]
    Held(HeldPacket),
    /// A held packet was decided on; the decision takes effect when its turn comes.
    #[cfg_attr(test, ts(skip))]
    Decided {
        /// Its session.
        session: u64,
        /// Its number among those held in its session.
        held: u64,
        /// The decision.
        decision: Decided,
    },
    /// A packet is not held any more.
    #[cfg_attr(test, ts(skip))]
    Released {
        /// Its session.
        session: u64,
        /// Its number among those held in its session.
        held: u64,
        /// Its outcome, with the reason.
        how: Release,
    },
    /// A packet is sent repeatedly. Pushed when that begins, then at most twice a second, and when it ends. An
    /// interface that attaches gets this push for each that is still being sent.
    Sending(Sending),
    /// A command could not be carried out to its end.
    Message {
        /// The session.
        session: u64,
        /// The reason.
        text: String,
    },
}

impl Push {
    /// Returns `true` for what happens to one held packet.
    #[must_use]
    pub fn is_about_packet(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Decided { .. } | Self::Released { .. })
    }
}

/// A condition on what is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BreakCondition {
    /// The expression.
    #[serde(rename = "where")]
    pub condition: String,
    /// `true` if later packets overtake a held one where the game bears it.
    pub overtaken: bool,
}

/// A packet that is sent repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sending {
    /// Its number among everything that was sent in the run.
    pub number: u64,
    /// Its session.
    pub session: u64,
    /// Its direction.
    pub dir: Direction,
    /// Its name; `None` if its bytes were given.
    pub packet: Option<String>,
    /// The number of times that it is to be sent.
    pub times: u32,
    /// The packets that are still to be sent.
    pub left: u32,
    /// Milliseconds from one to the next.
    pub interval: f64,
    /// `true` if no more are sent: all were, or the rest was stopped.
    pub over: bool,
}

/// The decision of a person about a held packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Decided {
    /// It goes on.
    Forward,
    /// It does not go on.
    Drop,
    /// Something else goes instead.
    Edit,
}

impl Sending {
    /// Returns what an action repeats in a session, without its number; `None` if it repeats nothing.
    pub(super) fn new(session: u64, action: &Action) -> Option<Self> {
        let Action::Send(sent) = action else { return None };
        (sent.times > 1).then(|| Self {
            number: 0,
            session,
            dir: sent.direction,
            packet: sent.packet.clone(),
            times: sent.times,
            left: sent.times,
            interval: sent.interval.as_secs_f64() * 1000.0,
            over: false,
        })
    }
}

impl From<&Decision> for Decided {
    fn from(decision: &Decision) -> Self {
        match decision {
            Decision::Forward => Self::Forward,
            Decision::Drop => Self::Drop,
            Decision::Edit(_) => Self::Edit,
        }
    }
}

impl Decided {
    /// Returns `forward`, `drop` or `edit`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Drop => "drop",
            Self::Edit => "edit",
        }
    }
}
