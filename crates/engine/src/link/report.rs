use serde::Serialize;

use super::CommandError;
use mitmcraft_protocol::packet::{Packet, Timestamp};

/// A message from a session to the people who control it.
#[derive(Debug, Clone)]
pub enum Report {
    /// A packet is held.
    Held {
        /// The packet's number among those held in its session, from 1.
        held: u64,
        /// The packet as it came.
        packet: Packet,
        /// The time since when it is held.
        since: Timestamp,
        /// Why later packets wait although they should overtake it.
        in_order: Option<&'static str>,
    },
    /// A packet is no longer held.
    Released {
        /// The packet's number among those held in its session.
        held: u64,
        /// The reason.
        how: Release,
    },
    /// The packets of a [`Send`](super::Action::Send) are being repeated. Reported at the beginning and at the end,
    /// and at most twice a second in between.
    Repeating {
        /// The command's number.
        command: u64,
        /// The packets that are still to be sent.
        left: u32,
        /// `true` if no more are sent: all were, or the rest was stopped.
        over: bool,
    },
    /// A command is carried out.
    Done {
        /// The command's number.
        command: u64,
    },
    /// A command is not carried out, or not to its end.
    Refused {
        /// The command's number.
        command: u64,
        /// The reason.
        error: CommandError,
    },
}

/// The reason why a packet is no longer held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "test-support", derive(ts_rs::TS))]
pub enum Release {
    /// It was forwarded, as a person decided.
    Forwarded,
    /// It was dropped, as a person decided.
    Dropped,
    /// It was replaced, as a person decided.
    Edited,
    /// It was forwarded because its peers would not have waited any longer.
    Impatience,
    /// It was forwarded because there was no memory for more packets behind it.
    Memory,
    /// It was forwarded because a packet that changes the state came past it.
    StateChange,
    /// It was forwarded because its session ended.
    Ended,
    /// It was dropped because its session ended.
    Lost,
}

impl Release {
    /// Returns the end of a sentence that begins with "held for 3 s".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Forwarded => "then forwarded",
            Self::Dropped => "then dropped",
            Self::Edited => "then edited",
            Self::Impatience => {
                "then forwarded: it stops the keep-alives, and its peers wait no longer than 30 s"
            }
            Self::Memory => "then forwarded: no memory is left for the packets after it",
            Self::StateChange => "then forwarded: the state changed",
            Self::Ended => "then forwarded: the session ended",
            Self::Lost => "then dropped: the session ended",
        }
    }
}
