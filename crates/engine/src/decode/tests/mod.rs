//! Recordings made in memory: whole conversations of the game, cut into segments, disordered,
//! fragmented, in every link type and file format.

mod files;
mod links;
mod sessions;
mod streams;
mod talk;

use std::net::SocketAddr;

use super::*;
use crate::capture::{Entry, EventKind};
use crate::link::{PerSide, Side};
use mitmcraft_protocol::packet::{RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};
use talk::{CLIENT, MILLISECOND, SERVER, Seg, Talk, captured, ipv4, ipv6};

/// Decodes a recording; returns a word for each packet and event, and the notices.
fn read(
    packets: impl IntoIterator<Item = CapturedPacket>,
    options: TrafficOptions,
) -> (Vec<String>, Vec<DecodeNotice>) {
    let mut traffic = Traffic::new(options);
    let (mut entries, mut notices) = (Vec::new(), Vec::new());
    for packet in packets {
        traffic.handle(&packet);
        traffic.take_entries(&mut entries);
        notices.extend(traffic.take_notices());
    }
    traffic.finish();
    traffic.take_entries(&mut entries);
    notices.extend(traffic.take_notices());
    (entries.iter().map(word).collect(), notices)
}

fn word(entry: &Entry) -> String {
    let session = entry.context().session;
    match entry {
        Entry::Event(event) => match &event.kind {
            EventKind::Close(summary) => format!("{session} close: {}", summary.reason),
            kind => format!("{session} {}", kind.name()),
        },
        Entry::Packet(record) => {
            let packet = &record.packet;
            let arrow = if packet.direction() == Direction::Serverbound { ">" } else { "<" };
            match (packet.kind(), packet.error()) {
                (Some(known), None) => {
                    let mut json = Vec::new();
                    packet.write_json(&mut json).unwrap();
                    let json = String::from_utf8(json).unwrap();
                    format!("{session} {arrow} {} {json}", known.name())
                }
                (_, error) => format!("{session} {arrow} ! {}", error.unwrap()),
            }
        }
    }
}

/// The first session, between the addresses of a [`Talk`].
fn first_connection() -> DecodedConnection {
    let [client, server] = [(CLIENT, 50_000), (SERVER, 25_565)]
        .map(|(host, port)| SocketAddr::new(host.parse().unwrap(), port));
    DecodedConnection { session: 1, client, server }
}

fn default() -> TrafficOptions {
    TrafficOptions::default()
}

/// The words for a session without disturbances.
fn undisturbed() -> Vec<String> {
    let (words, notices) = read(Talk::whole(1400, None).packets(), default());
    assert_eq!(notices, []);
    assert_eq!(words[..2], ["1 open", &words[1]]);
    assert!(words[1].starts_with("1 > set_protocol {\"protocolVersion\":47"), "{}", words[1]);
    assert_eq!(words.iter().filter(|word| word.contains("keep_alive")).count(), 40);
    assert_eq!(words.iter().filter(|word| word.contains("> chat")).count(), 20);
    assert_eq!(words.last().unwrap(), "1 close: closed by the client");
    words
}
