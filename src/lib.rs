//! A transparent man-in-the-middle proxy and packet logger for Minecraft: Java Edition, as a
//! library.
//!
//! The `mitmcraft` program is a thin shell over this crate. Use the crate to write filters and
//! capture formats of your own, to read captures in a test, to embed the proxy in another program,
//! or to decode and encode packets of any version from 1.7.2 to 26.3 and of Alpha.
//! It is not a bot framework: it knows what packets look like and how a connection changes state,
//! but nothing of the game's rules.
//!
//! # Where to start
//!
//! | to | start with |
//! | --- | --- |
//! | decode or encode a packet | [`schema::Catalog`], [`schema::Protocol`], [`schema::Value`] |
//! | turn a TCP stream into frames | [`codec::Leg`], [`codec::Frame`] |
//! | read a capture | [`capture::open_capture`], [`capture::Entry`], [`packet::Packet`] |
//! | write a format of your own | [`capture::Sink`] (`examples/packet_count.rs`) |
//! | change packets on their way | [`filter::Filter`] (`examples/shout.rs`), [`filter::RuleSet`] |
//! | select packets by an expression | [`lang::Expr`] |
//! | run a session without sockets | [`session::Session`], [`link::Engine`] |
//! | run the proxy | `proxy::Proxy`, with the feature `proxy` |
//!
//! # Layers
//!
//! Each module uses only modules above it in this table; a test enforces that. All modules up to
//! `view` are sans-IO: callers pass bytes, time and random numbers in as arguments. The exceptions
//! are [`capture`], which creates, rotates and deletes files, and [`store`], which has a spool file.
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
//! | [`lang`] | the expression language |
//! | [`filter`] | filters, their verdicts, and rules from filter files |
//! | [`capture`] | records of what was seen, sinks, and capture files |
//! | [`text`] | records as text, for a terminal |
//! | [`analysis`] | statistics, differences and redaction of captures |
//! | [`auth`] | accounts and session services |
//! | [`link`] | the interface between an engine and its driver, and what all engines share |
//! | [`session`] | the man in the middle: one client and its server |
//! | [`ping`] | Server List Ping of every generation |
//! | [`query`] | the Query protocol |
//! | [`decode`] | sessions from recordings of tcpdump and Wireshark |
//! | [`replay`] | recorded sessions played to a client or a server, or through filters |
//! | [`store`] | entries held for browsing, and conditions evaluated over them |
//! | [`control`] | what people do with running sessions, for any user interface |
//! | [`view`] | what user interfaces show: the list, searches, conversation, statistics |
//! | `proxy` | sockets, tasks, DNS, HTTP and metrics (feature `proxy`) |
//! | `web` | the interface in a browser (feature `proxy`) |
//! | `tui` | the terminal interface (feature `proxy`) |
//! | `demo` | an embedded server and client (feature `proxy`) |
//!
//! # Features
//!
//! `proxy` (default) adds everything that touches the network or the terminal, and the
//! program itself. Without it the crate has no I/O dependency.
//!
//! # Decoding a frame
//!
//! ```
//! use mitmcraft::codec::{Decoder, Limits, Unit};
//! use mitmcraft::schema::{Catalog, Direction, State, Value};
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
//!
//! # A session in memory
//!
//! A [`session::Session`] does no I/O: its driver passes in what happened and carries out what it
//! asks for. This driver has no sockets, so both peers are byte strings.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mitmcraft::capture::Entry;
//! use mitmcraft::codec::Frame;
//! use mitmcraft::filter::Pipeline;
//! use mitmcraft::link::{Engine, Input, Output, Side, Upstream};
//! use mitmcraft::packet::Timestamp;
//! use mitmcraft::schema::{Catalog, Direction, State, Value};
//! use mitmcraft::session::{Config, Session, Start};
//!
//! // Packets of a status request, as client and server send them.
//! let protocol = Catalog::embedded().by_name("1.8.9").expect("1.8.9 is embedded");
//! let packet = |state, direction, name, fields: Value| {
//!     let packet = protocol.named(state, direction, name).expect("a packet of 1.8");
//!     let body = protocol.encode(packet, &fields).expect("all fields are there");
//!     Frame::from_body(body.into()).wire().to_vec()
//! };
//! let handshake = Value::map([
//!     ("protocolVersion", 47.into()),
//!     ("serverHost", "localhost".into()),
//!     ("serverPort", 25566.into()),
//!     ("nextState", 1.into()),
//! ]);
//! let client = [
//!     packet(State::Handshaking, Direction::Serverbound, "set_protocol", handshake),
//!     packet(State::Status, Direction::Serverbound, "ping_start", Value::map([])),
//! ];
//! let response = Value::map([("response", r#"{"description":"hi"}"#.into())]);
//! let server = packet(State::Status, Direction::Clientbound, "server_info", response);
//!
//! // A client has connected.
//! let at = Timestamp(1_700_000_000_000_000_000);
//! let upstream = Upstream { host: "mc.example.org".into(), port: 25565 };
//! let start = Start { session: 1, at, client: ([127, 0, 0, 1], 50000).into(), upstream };
//! let mut session = Session::new(Arc::new(Config::default()), start, Pipeline::default())
//!     .expect("the embedded catalog has protocol 47");
//!
//! // The session asks for its server; the driver reports that the connection is established.
//! assert_eq!(session.poll_output(), Some(Output::Connect));
//! session.handle(at, Input::Connected(([192, 0, 2, 1], 25565).into()));
//!
//! // Bytes from the client are forwarded to the server.
//! session.handle(at, Input::Received(Side::Client, &client.concat()));
//! let forwarded = session.pending(Side::Server).to_vec();
//! session.advance(Side::Server, forwarded.len());
//! assert!(forwarded.ends_with(&client[1]));
//!
//! // The response is forwarded to the client, byte for byte.
//! session.handle(at, Input::Received(Side::Server, &server));
//! assert_eq!(session.pending(Side::Client), server);
//! session.advance(Side::Client, server.len());
//!
//! // All packets were recorded.
//! let mut entries = Vec::new();
//! session.take_entries(&mut entries);
//! let names: Vec<String> = entries
//!     .iter()
//!     .filter_map(|entry| match entry {
//!         Entry::Packet(record) => record.packet.kind().map(|kind| kind.name().to_string()),
//!         _ => None,
//!     })
//!     .collect();
//! assert_eq!(names, ["set_protocol", "set_protocol", "ping_start", "server_info"]);
//! ```
//!
//! The handshake is recorded twice: as received, and with the host of the upstream server that
//! replaced the proxy's.

// In the order of the layers. The blank lines keep rustfmt from sorting them.

pub mod wire;

pub mod schema;

pub mod codec;

pub mod packet;

pub mod meaning;

pub mod contents;

pub mod wireshark;

pub mod lang;

pub mod filter;

pub mod capture;

pub mod text;

pub mod analysis;

pub mod auth;

pub mod link;

pub mod session;

pub mod ping;

pub mod query;

pub mod decode;

pub mod replay;

pub mod store;

pub mod control;

pub mod view;

#[cfg(feature = "proxy")]
pub mod proxy;

#[cfg(feature = "proxy")]
pub mod web;

#[cfg(feature = "proxy")]
pub mod tui;

#[cfg(feature = "proxy")]
pub mod demo;
