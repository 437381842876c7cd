use std::time::Duration;

use thiserror::Error;

use super::AnswerError;

/// A failure of the program that decides on packets. The text continues "the program".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// It could not be started again, for this reason.
    #[error("cannot be started: {0}")]
    NotStarted(String),
    /// It has ended, in this way.
    #[error("has ended ({0})")]
    Ended(String),
    /// It took longer than this for a packet.
    #[error("took longer than {} s for a packet", .0.as_secs_f64())]
    TooSlow(Duration),
    /// It wrote a line that is not an answer.
    #[error("wrote a line that is not an answer: {reason}: `{line}`")]
    NotAnswer {
        /// The beginning of the line.
        line: String,
        /// The reason.
        reason: AnswerError,
    },
    /// It answered a question that was never asked.
    #[error("answered {0}, which was not asked")]
    UnknownId(u64),
    /// It answered a question twice.
    #[error("answered {0} twice")]
    AnsweredTwice(u64),
    /// It wrote this many bytes without a line feed.
    #[error("wrote {0} bytes without a line feed")]
    EndlessLine(usize),
}
