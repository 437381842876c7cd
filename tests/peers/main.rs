//! Tests with other programs: node-minecraft-protocol and its relatives, mcstatus, tshark, tcpdump,
//! jq, DuckDB, pandas.
//! `tests/run` installs them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod alpha;
mod azalea;
mod chunks;
mod control;
mod decode;
mod dissector;
mod expect;
#[cfg(unix)]
mod extcap;
mod formats;
mod haproxy;
mod lag;
mod lake;
mod lan;
mod limbo;
mod linear;
mod lint;
mod metrics;
mod old;
mod online;
mod other;
mod ping;
mod pipe;
mod real;
mod real_packets;
mod recipes;
mod regress;
mod replay;
mod rules;
mod screen;
mod script;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod testing_a_server;
mod tshark;
mod types;
mod versions;
mod web;
mod worlds;
