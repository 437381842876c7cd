//! Bytes to frames and back, for one leg.
//!
//! A [`Decoder`] decrypts and delimits what a peer sends, an [`Encoder`] frames and encrypts what
//! goes to it, and a [`Leg`] is both. A [`Frame`] is forwarded as the bytes that were received;
//! its body is inflated only when somebody asks for it.
//!
//! ```text
//! without compression:  | length  VarInt | body: id, fields                         |
//! with a threshold:     | length  VarInt | 0 VarInt         | body                  |  shorter
//!                       | length  VarInt | body size VarInt | body, deflated (zlib) |  not shorter
//! ```
//!
//! The length counts all that follows it. With a cipher, all of this is encrypted.
//!
//! Before 1.7 there are no frames: a [`Bare`] finds the end of each packet by what it consists of.
//!
//! Source: `protocol-1.8.zh.txt`, the packet format with and without compression; `errata.md`,
//! "frames" (the length counts the data length too; a body of exactly the threshold is compressed).

mod bare;
mod cipher;
mod decoder;
mod deflater;
mod encoder;
mod error;
mod frame;
mod inflater;
mod key_log;
mod key_ring;
mod leg;
mod limits;
mod unit;

pub use bare::Bare;
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::CodecError;
pub use frame::Frame;
pub use inflater::Inflater;
pub use key_log::{KeyLogError, KeyLogLine};
pub use key_ring::KeyRing;
pub use leg::Leg;
pub use limits::Limits;
pub use unit::Unit;
