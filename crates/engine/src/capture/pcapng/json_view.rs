//! The view `json`: entries as Upper PDUs for Wireshark's built-in JSON dissector.

use std::net::IpAddr;

use super::super::{Describe, Entry};
use crate::capture::jsonl::{Form, write_entry};
use crate::capture::pcap::{Endpoints, endpoints};
use crate::filter::floor;
use mitmcraft_protocol::schema::Direction;

/// Makes packets of link type 252: tags (Wireshark, `epan/exported_pdu.h`) followed by JSON.
#[derive(Debug)]
pub(super) struct JsonView {
    describe: Describe,
    json: Vec<u8>,
    info: String,
}

impl JsonView {
    pub(super) fn new(describe: Describe) -> Self {
        Self { describe, json: Vec::new(), info: String::new() }
    }

    /// Replaces the content of `out` by an entry's packet.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, entry: &Entry) {
        out.clear();
        self.info.clear();
        (self.describe)(&mut self.info, entry);
        let direction = entry.record().map(|record| record.packet.direction());
        put(out, DISSECTOR, b"json");
        put_ends(out, direction.unwrap_or(Direction::Serverbound), &endpoints(entry.context()));
        let name = name(entry);
        put(out, PROTOCOL_COLUMN, &name.as_bytes()[..floor(&name, MAX_NAME)]);
        put(out, INFO_COLUMN, &self.info.as_bytes()[..floor(&self.info, MAX_INFO)]);
        put(out, END, &[]);
        self.json.clear();
        write_entry(&mut self.json, entry, Form::NoBody(None));
        if self.json.len() > MAX_JSON {
            self.json = shorten(&self.json);
        }
        if self.json.len() > MAX_JSON {
            self.json.clear();
            write_entry(&mut self.json, entry, Form::Outline);
        }
        out.extend_from_slice(&self.json);
    }
}

/// The text of the Protocol column; Wireshark before 4.2 has no tag for the Info column.
fn name(entry: &Entry) -> String {
    match entry {
        Entry::Packet(record) => record.name_or("no packet"),
        Entry::Event(event) => format!("session {}", event.kind.name()),
    }
}

fn put_ends(out: &mut Vec<u8>, direction: Direction, ends: &Endpoints) {
    let (from, to) = match direction {
        Direction::Serverbound => (ends.client, ends.server),
        Direction::Clientbound => (ends.server, ends.client),
    };
    for (address, v4, v6) in [(from, IPV4_SOURCE, IPV6_SOURCE), (to, IPV4_TARGET, IPV6_TARGET)] {
        match address.ip() {
            IpAddr::V4(ip) => put(out, v4, &ip.octets()),
            IpAddr::V6(ip) => put(out, v6, &ip.octets()),
        }
    }
    put(out, PORT_TYPE, &TCP.to_be_bytes());
    put(out, SOURCE_PORT, &u32::from(from.port()).to_be_bytes());
    put(out, TARGET_PORT, &u32::from(to.port()).to_be_bytes());
}

/// Appends a tag, its value padded to whole words.
fn put(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    let length = value.len().next_multiple_of(4);
    out.extend_from_slice(&tag.to_be_bytes());
    let short = u16::try_from(length).expect("texts are cut before they are put");
    out.extend_from_slice(&short.to_be_bytes());
    out.extend_from_slice(value);
    out.resize(out.len() + length - value.len(), 0);
}

/// Returns the JSON with long strings cut.
fn shorten(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(MAX_JSON);
    let mut rest = json;
    while let Some(quote) = rest.iter().position(|byte| *byte == b'"') {
        out.extend_from_slice(&rest[..=quote]);
        rest = &rest[quote + 1..];
        let (mut end, mut cut) = (0, None);
        while let Some(byte) = rest.get(end).filter(|byte| **byte != b'"') {
            if end >= MAX_STRING && cut.is_none() && byte & 0xc0 != 0x80 {
                cut = Some(end);
            }
            end += match (byte, rest.get(end + 1)) {
                (b'\\', Some(b'u')) => 6,
                (b'\\', _) => 2,
                _ => 1,
            };
        }
        let end = end.min(rest.len());
        out.extend_from_slice(&rest[..cut.unwrap_or(end)]);
        if cut.is_some() {
            out.extend_from_slice("…".as_bytes());
        }
        let closed = rest.len().min(end + 1);
        out.extend_from_slice(&rest[end..closed]);
        rest = &rest[closed..];
    }
    out.extend_from_slice(rest);
    out
}

const END: u16 = 0;
const DISSECTOR: u16 = 12;
const IPV4_SOURCE: u16 = 20;
const IPV4_TARGET: u16 = 21;
const IPV6_SOURCE: u16 = 22;
const IPV6_TARGET: u16 = 23;
const PORT_TYPE: u16 = 24;
const SOURCE_PORT: u16 = 25;
const TARGET_PORT: u16 = 26;
const PROTOCOL_COLUMN: u16 = 33;
/// Known since Wireshark 4.2; 4.0 ignores it.
const INFO_COLUMN: u16 = 36;

/// The port type of TCP.
const TCP: u32 = 2;

/// Greatest length of the JSON in bytes: with the tags it fits the 262,144 bytes of a packet that
/// Wireshark reads.
const MAX_JSON: usize = 260_000;

/// Bytes to which strings are cut if the JSON is too long.
const MAX_STRING: usize = 1000;

/// Greatest length of the Protocol column in bytes.
const MAX_NAME: usize = 60;

/// Greatest length of the Info column in bytes.
const MAX_INFO: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_strings_are_cut_and_the_rest_stays_json() {
        let long = "\\u001b\"\u{fc}".repeat(2000);
        let json = serde_json::json!({"a": [long, "short"], "b\"": {"c": 1}}).to_string();
        let short = shorten(json.as_bytes());
        assert!(short.len() < 1200, "{}", short.len());
        let read: serde_json::Value = serde_json::from_slice(&short).unwrap();
        let front = read["a"][0].as_str().unwrap().strip_suffix('…').unwrap().to_owned();
        assert!(long.starts_with(&front) && front.len() > 600);
        assert_eq!((&read["a"][1], &read["b\""]["c"]), (&"short".into(), &1.into()));
        assert_eq!(shorten(b"{\"a\":\"b\\\\\"}"), b"{\"a\":\"b\\\\\"}");
    }
}
