//! The parts that every engine between two sockets is made of, sans-IO: the end of a connection,
//! the path from a judgement to the wire and the records, detection, handshake and key exchange,
//! and the interface between an [`Engine`] and its driver.

mod command;
mod command_error;
mod delay;
mod delivery;
mod detect;
mod end;
mod endpoint;
mod engine;
mod farewell;
mod guard;
mod handshake;
mod hold_queue;
mod io;
mod key_exchange;
mod network_error;
mod notice;
mod opening;
mod peer_engine;
mod per_side;
mod preamble;
mod recorder;
mod report;
mod ruling;
#[cfg(test)]
mod tests;
mod transfer;
mod upstream;

pub use command::{Action, Breakpoint, Command, Decision, Payload, Transmission};
pub use command_error::CommandError;
pub(crate) use delay::{DelayQueue, Emission};
pub(crate) use delivery::{Decided, Decider, Delivery, Wire, datagram, framed};
pub use detect::is_minecraft;
pub(crate) use detect::{Detected, any_unframed, behind_preambles, detect, detect_last, urgent};
pub(crate) use end::{End, MAX_BURST, MAX_PENDING};
pub use endpoint::Endpoint;
pub use engine::Engine;
pub(crate) use farewell::SHUTTING_DOWN;
pub use farewell::{LegacyPingForm, disconnect_body, farewell, ping_answer, status_body};
pub(crate) use guard::Guard;
pub use guard::signature_warning;
pub(crate) use handshake::{ANY_VERSION, Handshake};
pub(crate) use hold_queue::{Asked, Hold, HoldQueue, Waiting};
pub use io::{Input, Output, Side};

pub use key_exchange::{Answer, Exchange, KeyMaterial, Opened, Request, RequestVariant};
pub use network_error::NetworkError;
pub use notice::Notice;
pub use opening::Opening;
pub use peer_engine::PeerEngine;
pub use per_side::PerSide;
pub use preamble::{Addresses, Excerpt, Preamble, PreambleError, PreambleRead, PreambleVersion};
pub(crate) use recorder::{CUT_OFF, Recorder};
pub use report::{Release, Report};
pub use ruling::{Asking, Otherwise, Question, Ruling, RulingError, Unruled};
pub(crate) use ruling::{PIPE, RuledPacket, RuledSend, RuledVerdict};
pub use transfer::Transfer;
pub use upstream::Upstream;
