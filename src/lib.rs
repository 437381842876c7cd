//! A transparent man-in-the-middle proxy and packet logger for Minecraft: Java Edition, as a
//! library.
//!
//! The `mitmcraft` program is a thin shell over this crate and the two below it: `mitmcraft-protocol`
//! (packets as data) and `mitmcraft-engine` (sessions, filters, captures). Use this one to embed the
//! proxy or one of its user interfaces in another program; start with [`proxy::Proxy`]
//! (`examples/shout.rs`).
//!
//! # Layers
//!
//! Each module uses only modules above it in this table; a test enforces that. `control` and `view` are
//! sans-IO; [`store`] has a spool file.
//!
//! | module | contents |
//! | --- | --- |
//! | [`store`] | entries held for browsing, and conditions evaluated over them |
//! | [`control`] | what people do with running sessions, for any user interface |
//! | [`view`] | what user interfaces show: the list, searches, conversation, statistics |
//! | [`proxy`] | sockets, tasks, DNS, HTTP and metrics |
//! | [`web`] | the interface in a browser |
//! | [`tui`] | the terminal interface |

// In the order of the layers. The blank lines keep rustfmt from sorting them.

pub mod store;

pub mod control;

pub mod view;

pub mod proxy;

pub mod web;

pub mod tui;
