//! Every packet of Minecraft: Java Edition as data, for bots, servers, proxies and tools: the layouts
//! of all versions from 1.7.2 to 26.3 and of Alpha, and the framing around them.
//!
//! Nothing here does I/O: bytes come in as slices, and go out as `Vec<u8>` or [`bytes::Bytes`]. The
//! crate knows what packets look like and what their numbers mean, but nothing of sessions and of the
//! game's rules; `mitmcraft-engine` follows connections.
//!
//! # Where to start
//!
//! | to | start with |
//! | --- | --- |
//! | decode or encode a packet | [`schema::Catalog`], [`schema::Protocol`], [`schema::Value`] |
//! | turn a TCP stream into frames, and back | [`codec::Decoder`], [`codec::Encoder`], [`codec::Frame`] |
//! | read NBT, VarInts and Java's strings | [`wire::Reader`] |
//! | name items, blocks and entities | [`meaning`] |
//! | read the blocks of a chunk | [`contents`] |
//! | see packets in Wireshark | [`wireshark`] |
//! | describe a version newer than this crate | [`derived`] |
//!
//! # Layers
//!
//! Each module uses only modules above it in this table; a test enforces that.
//!
//! | module | contents |
//! | --- | --- |
//! | [`wire`] | primitives: integers, VarInts, text encodings, NBT |
//! | [`schema`] | protocol descriptions: the layout of every packet of every version |
//! | [`codec`] | one leg: framing, compression, encryption |
//! | [`packet`] | the domain types: a packet with its context, origin and time |
//! | [`meaning`] | what values mean: names, units, flags |
//! | [`contents`] | blocks, light and biomes of packets with chunks |
//! | [`wireshark`] | the dissector for Wireshark |
//! | [`derived`] | versions newer than this program, from the game's reports |
//!
//! # Decoding a packet and encoding it again
//!
//! ```
//! use mitmcraft_protocol::codec::{Decoder, Limits, Unit};
//! use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
//!
//! // A chat message as a 1.8 client sends it: length, packet id 0x01, text.
//! let received = b"\x07\x01\x05hello";
//!
//! let mut decoder = Decoder::new(Limits::default());
//! decoder.receive(received);
//! let Some(Unit::Frame(frame)) = decoder.poll() else { panic!("the frame is complete") };
//!
//! let protocol = Catalog::embedded().by_name("1.8.9").expect("1.8.9 is embedded");
//! let body = frame.body()?;
//! let (packet, fields) = protocol.identify(State::Play, Direction::Serverbound, &body)?;
//! let value = protocol.decode(packet, &body, fields)?;
//!
//! assert_eq!(&**packet.name(), "chat");
//! assert_eq!(value.get("message").and_then(Value::as_text), Some("hello"));
//! assert_eq!(protocol.encode(packet, &value)?, body);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// In the order of the layers. The blank lines keep rustfmt from sorting them.

pub mod wire;

pub mod schema;

pub mod codec;

pub mod packet;

pub mod meaning;

pub mod contents;

pub mod wireshark;

pub mod derived;
