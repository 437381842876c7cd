//! A dissector for an unmodified Wireshark, in Lua: the type trees as tables, every field with its
//! name and type, and an interpreter that walks packets as [`Protocol::walk`] does.

mod fields;
mod meanings;
mod tables;

use std::fmt::Write as _;
use std::sync::Arc;

use crate::packet::TRANSLATIONS;
use crate::schema::{Family, Protocol, Release};
use fields::{Fields, LEVELS};
use tables::quoted;

/// Writes a Wireshark dissector of these versions in Lua, from Alpha on. It is registered for `ports`; connections
/// on other ports are recognised by their handshake.
#[must_use]
pub fn write_dissector(protocols: &[Arc<Protocol>], ports: &[u16]) -> String {
    let mut fields = Fields::default();
    let mut versions: Vec<&Protocol> = protocols.iter().map(|it| &**it).collect();
    versions.sort_by_key(|protocol| (protocol.family() == Family::Java, protocol.release()));
    versions.dedup_by_key(|protocol| protocol.release());
    for protocol in &versions {
        fields.add(protocol);
    }
    let names: Vec<&str> = versions.iter().map(|protocol| protocol.name()).collect();
    let mut out = format!(
        "-- A Wireshark dissector for Minecraft: Java Edition, {}.\n\
         -- Made by mitmcraft {}; to use it, copy it to Wireshark's folder of personal Lua plugins,\n\
         -- or run `tshark -X lua_script:FILE`.\n\n",
        names.join(", "),
        env!("CARGO_PKG_VERSION"),
    );
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let _ = writeln!(out, "local PORTS = {{ {} }}", ports.join(", "));
    let _ = writeln!(out, "-- Names in a field's path below the packet's; deeper ones are shared.");
    let _ = writeln!(out, "local LEVELS = {LEVELS}");
    let _ =
        writeln!(out, "-- Bytes of NBT that are shown as a tree, and elements of a list in it.");
    let _ = writeln!(out, "local MAX_NBT, MAX_SHOWN = {MAX_NBT}, {MAX_SHOWN}");
    let _ = writeln!(out, "local MAX_FRAME = {MAX_FRAME}");
    let _ = writeln!(out, "local VERSIONS, ORDER = {{}}, {{}}");
    let _ = writeln!(out, "-- Versions before 1.7, by numbers of their own.");
    let _ = writeln!(out, "local OLD = {{}}");
    let snapshots = Release::snapshots().map(|(release, first)| format!("{{{release},{first}}},"));
    let _ = writeln!(out, "local SNAPSHOTS = {{{}}}", snapshots.collect::<String>());
    let _ = writeln!(out, "-- What the most common translations say.");
    let texts =
        TRANSLATIONS.iter().map(|(key, text)| format!("[{}]={}", quoted(key), quoted(text)));
    let _ = writeln!(out, "local TRANSLATIONS = {{{}}}", texts.collect::<Vec<_>>().join(","));
    out.push_str("local FIELDS = [[\n");
    fields.write(&mut out);
    out.push_str("]]\n\n");
    for protocol in versions {
        tables::write(&mut out, protocol);
    }
    let newer: Vec<_> =
        protocols.iter().filter(|it| it.family() == Family::Java).cloned().collect();
    meanings::write(&mut out, &newer);
    out.push_str(INTERPRETER);
    out
}

const INTERPRETER: &str = include_str!("interpreter.lua");

const MAX_NBT: usize = 16 << 10;
const MAX_SHOWN: usize = 1000;

/// The longest frame; a larger length means that the stream is another protocol.
const MAX_FRAME: usize = 16 << 20;
