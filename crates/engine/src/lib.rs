//! A man in the middle for Minecraft: Java Edition, without sockets: sessions that forward, filter and
//! record, and captures that are read, compared and replayed.
//!
//! Callers pass bytes, time and random numbers in, and carry out what is asked of them. The one
//! exception is `capture::files`, which creates, rotates and deletes files. The `mitmcraft` crate
//! has the driver with sockets, and the program.
//!
//! # Where to start
//!
//! | to | start with |
//! | --- | --- |
//! | run a session without sockets | [`session::Session`], [`link::Engine`] |
//! | change packets on their way | [`filter::Filter`], [`filter::RuleSet`] |
//! | select packets by an expression | [`lang::Expr`] |
//! | read a capture | [`capture::open_capture`], [`capture::Entry`] |
//! | write a format of your own | [`capture::Sink`] |
//! | judge sessions by expectations | [`expect::Judge`] |
//! | replay a session | [`replay`] |
//!
//! # Layers
//!
//! Each module uses only modules above it in this table, and `mitmcraft-protocol`; a test enforces that.
//!
//! | module | contents |
//! | --- | --- |
//! | [`lang`] | the expression language |
//! | [`filter`] | filters, their verdicts, and rules from filter files |
//! | [`script`] | filters in Lua |
//! | [`capture`] | records of what was seen, sinks, and capture files |
//! | [`text`] | records as text, for a terminal |
//! | [`report`] | findings, as text, JSON, JUnit's XML and annotations |
//! | [`expect`] | expectations of filter files, judged |
//! | [`analysis`] | statistics, differences and redaction of captures |
//! | [`world`] | worlds of the game, made of the chunks in captures |
//! | [`auth`] | accounts and session services |
//! | [`link`] | the interface between an engine and its driver, and what all engines share |
//! | [`pipe`] | packets on which a program decides, as lines of JSON |
//! | [`session`] | the man in the middle: one client and its server |
//! | [`ping`] | Server List Ping of every generation |
//! | [`query`] | the Query protocol |
//! | [`decode`] | sessions from recordings of tcpdump and Wireshark |
//! | [`replay`] | recorded sessions played to a client or a server, or through filters |
//! | [`regress`] | how a server behaves differently from a recorded one |
//! | [`lint`] | what a server sends, judged as the game would |
//! | [`explain`] | how sessions ended, and the likely cause |
//!
//! # A session in memory
//!
//! A [`session::Session`] does no I/O: its driver passes in what happened and carries out what it
//! asks for. This driver has no sockets, so both peers are byte strings.
//!
//! ```
//! use std::sync::Arc;
//!
//! use mitmcraft_engine::capture::Entry;
//! use mitmcraft_protocol::codec::Frame;
//! use mitmcraft_engine::filter::Pipeline;
//! use mitmcraft_engine::link::{Engine, Input, Output, Side, Upstream};
//! use mitmcraft_protocol::packet::Timestamp;
//! use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
//! use mitmcraft_engine::session::{Config, Session, Start};
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

pub mod lang;

pub mod filter;

pub mod script;

pub mod capture;

pub mod text;

pub mod report;

pub mod expect;

pub mod analysis;
pub mod world;

pub mod auth;

pub mod link;

pub mod pipe;

pub mod session;

pub mod ping;

pub mod query;

pub mod decode;

pub mod replay;

pub mod lint;
pub mod regress;

pub mod explain;
