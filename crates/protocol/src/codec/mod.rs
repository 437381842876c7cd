//! Framing of one leg: bytes to frames and back, with compression and encryption.
//!
//! A [`Decoder`] decrypts and delimits what a peer sends, an [`Encoder`] frames and encrypts what
//! is sent to it, and a [`Leg`] is both. A [`Frame`] is forwarded as the bytes that were received;
//! its body is inflated only on request.
//!
//! ```text
//! without compression:  | length  VarInt | body: id, fields                         |
//! with a threshold:     | length  VarInt | 0 VarInt         | body                  |  shorter
//!                       | length  VarInt | body size VarInt | body, deflated (zlib) |  not shorter
//! ```
//!
//! The length counts everything after it. Encryption applies to all of these bytes.
//!
//! Before 1.7 there are no frames: a [`Bare`] measures each packet to find its end.
//!
//! Source: Protocol 1.8 document, section "Packet format", without and with compression. The game
//! differs from it in two points: the length also counts the data length, and a body of exactly the
//! threshold is compressed.

mod bare;
mod cipher;
mod ciphertext;
mod decoder;
mod deflater;
mod encoder;
mod error;
mod frame;
mod frame_view;
mod inflate_head;
mod inflater;
mod key_log;
mod key_ring;
mod leg;
mod limits;
mod memory;
mod unit;

pub use bare::Bare;
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::CodecError;
pub use frame::Frame;
pub use frame_view::FrameView;
pub use inflater::Inflater;
pub use key_log::{KeyLogError, KeyLogLine};
pub use key_ring::KeyRing;
pub use leg::Leg;
pub use limits::Limits;
pub use memory::{MemoryBudget, Reservation};
pub use unit::Unit;
