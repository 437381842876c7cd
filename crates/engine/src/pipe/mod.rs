//! Packets on which a program decides, sans-IO.
//!
//! A session asks ([`Question`](crate::link::Question)), and the [`Broker`] of the run takes the questions of
//! the sessions in turn, numbers them, writes them as lines of JSON, and reads the answers. It knows what is
//! outstanding and until when. A program that ends, writes anything but answers or takes too long has failed: its
//! [`Fault`] is reported, every question gets it instead of an answer, and the program is started again
//! after a pause that grows.

mod answer;
mod back_off;
mod broker;
mod fault;
mod last_line;
mod lines;
#[cfg(test)]
mod tests;

pub use answer::AnswerError;
pub use broker::{Broker, BrokerAction, BrokerCounts};
pub use fault::Fault;
