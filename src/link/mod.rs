//! What every engine between two sockets is made of: detection, handshake, delayed packets, and the
//! interface by which a driver feeds an [`Engine`] and obeys it.

mod delay;
mod detect;
mod disconnect;
mod engine;
mod handshake;
mod io;
mod key_exchange;
mod transfer;
mod upstream;

pub(crate) use delay::{DelayQueue, Emission};
pub use detect::is_minecraft;
pub(crate) use detect::{Detected, Old, detect, detect_last, urgent};
pub(crate) use disconnect::disconnect_body;
pub use engine::Engine;
pub(crate) use handshake::Handshake;
pub use io::{Input, Output, Side};
pub use key_exchange::KeyMaterial;
pub(crate) use key_exchange::{Answer, Asked, Exchange, Opened, Request, open_secret};
pub use transfer::Transfer;
pub use upstream::Upstream;
