use std::sync::Arc;

use bytes::Bytes;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol};
use thiserror::Error;

use crate::filter::{EditError, EditPath};
use crate::lang::Expr;

/// The packets that a program decides on, and what becomes of those on which it does not.
#[derive(Debug, Clone)]
pub struct Asking {
    /// The condition, which sees packets as they came, before any rule.
    pub condition: Expr,
    /// What becomes of a packet on which the program does not decide.
    pub otherwise: Otherwise,
}

impl Asking {
    /// Returns whether the program may have to decide on packets of a type.
    pub(crate) fn asks_about(&self, protocol: &Arc<Protocol>, kind: &PacketType) -> bool {
        let (state, direction) = (kind.state(), kind.direction());
        self.condition.decide(protocol, state, direction, Some(kind)) != Some(false)
    }
}

/// What becomes of a packet on which a program should have decided and has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// It goes on, and rules are applied to it as to any other packet.
    Pass,
    /// It goes nowhere, and its session ends.
    Close,
}

/// A packet that waits until a program has decided; answered by
/// [`Input::Ruled`](super::Input::Ruled).
#[derive(Debug, Clone)]
pub struct Question {
    /// The question's number in its session.
    pub number: u64,
    /// The packet as it came.
    pub packet: Packet,
}

/// The decision of a program on a packet.
#[derive(Debug, Clone)]
pub struct Ruling {
    pub(crate) verdict: RuledVerdict,
    pub(crate) sends: Vec<RuledSend>,
    /// Bytes of the answer that it was read from.
    pub(crate) size: usize,
}

/// What becomes of the packet itself.
#[derive(Debug, Clone)]
pub(crate) enum RuledVerdict {
    Pass,
    Drop,
    /// These fields are set.
    Set(Vec<(EditPath, serde_json::Value)>),
    /// Another packet of the same state and direction goes instead.
    Replace(RuledPacket),
}

/// A packet as a program gives it.
#[derive(Debug, Clone)]
pub(crate) enum RuledPacket {
    /// A packet of that name, or of the same type, with these fields.
    Fields(Option<String>, serde_json::Value),
    /// Id and fields.
    Body(Bytes),
}

/// An additional packet to send.
#[derive(Debug, Clone)]
pub(crate) struct RuledSend {
    pub(crate) direction: Direction,
    /// `true` if it is sent before the packet that was decided on, not after.
    pub(crate) before: bool,
    pub(crate) packet: RuledPacket,
}

/// The reason why a program has not decided on a packet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unruled {
    /// The program has failed.
    #[error("the program {0}")]
    Failed(Arc<str>),
    /// The program is not running: it has failed before.
    #[error("the program has failed and is not running again yet")]
    Down,
    /// Its answer cannot be carried out.
    #[error("its answer cannot be carried out: {0}")]
    Unfit(RulingError),
    /// The session has ended.
    #[error("the session ended")]
    Ended,
}

/// The reason why the decision of a program cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RulingError {
    /// A packet cannot be made or changed that way.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The packet would become one that the session follows.
    #[error("the packet would become one that changes the connection")]
    Drives,
    /// An additional packet is one that the session follows.
    #[error("a packet to send would change the connection")]
    SendDrives,
}

/// The name of the program in records, in the place of a rule's.
pub(crate) const PIPE: &str = "pipe";
