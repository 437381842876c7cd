//! What players have sent and received, and what servers have saved, next to a capture.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};
use serde_json::Value as Json;
use sha1::{Digest as _, Sha1};

/// Checks that the packets of each session are, one after the other, the bytes that its player has sent and
/// received, without those with the names `except`.
pub(super) fn same_bytes(told: &[Json], packets: &[&Json], except: &[&str]) {
    let ends: Vec<&Json> = told.iter().filter(|it| it["event"] == "over").collect();
    assert_eq!(ends.len(), 2, "{told:?}");
    for end in ends {
        let player = |it: &&&Json| {
            let said = it["fields"]["username"].as_str().unwrap_or_default();
            it["packet"] == "handshake" && said.split(';').next() == end["name"].as_str()
        };
        let session = &packets.iter().find(player).unwrap()["session"];
        for (origin, hash) in [("server", "received"), ("client", "sent")] {
            let mut all = Sha1::new();
            for it in
                packets.iter().filter(|it| it["session"] == *session && it["origin"] == origin)
            {
                if !except.contains(&it["packet"].as_str().unwrap()) {
                    all.update(bytes(it));
                }
            }
            let all: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(all, end[hash], "{} {origin}", end["name"]);
        }
    }
}

/// Returns the chunks in which blocks have changed.
pub(super) fn changed(packets: &[&Json]) -> BTreeSet<(i32, i32)> {
    let place = |it: &Json, x: &str, z: &str| {
        let at = |path| it["fields"].pointer(path).unwrap().as_i64().unwrap() as i32;
        (at(x), at(z))
    };
    let changes = packets.iter().filter_map(|it| match it["packet"].as_str()? {
        "multi_block_change" => Some(place(it, "/chunkX", "/chunkZ")),
        "block_change" => {
            let (x, z) = place(it, "/location/x", "/location/z");
            Some((x >> 4, z >> 4))
        }
        _ => None,
    });
    changes.collect()
}

/// Reads the chunks of a recorded packet.
pub(super) fn contents(line: &Json) -> Contents {
    let version = line["protocol"].as_i64().unwrap() as i32;
    let protocol = Catalog::embedded().legacy(version).protocol;
    let context = Context {
        version: Some(version),
        ..Context::new(1, Timestamp(0), "192.0.2.1:50000".parse().unwrap(), protocol)
    };
    let content = Content::Frame(Frame::from_body(bytes(line).into()));
    let (direction, state) = (Direction::Clientbound, State::Play);
    let packet = Packet::new(Arc::new(context), 1, Timestamp(0), direction, state, content);
    Contents::read(&packet).unwrap().unwrap()
}

/// Reads the chunks of a folder of region files, by their coordinates: NBT.
pub(super) fn chunks(folder: &Path) -> HashMap<(i32, i32), Vec<u8>> {
    let mut chunks = HashMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut place = name.split('.').skip(1).map(|it| it.parse::<i32>());
        let (Some(Ok(x)), Some(Ok(z))) = (place.next(), place.next()) else { panic!("{name}") };
        let region = fs::read(&path).unwrap();
        for index in 0..1024 {
            let entry = u32::from_be_bytes(region[index * 4..][..4].try_into().unwrap());
            if entry == 0 {
                continue;
            }
            // Four bytes of length and one of the compression stand before the data.
            let packed = &region[(entry >> 8) as usize * 4096 + 5..];
            // mc173-server does not finish its streams: byte by byte, nothing before their end is lost.
            #[allow(
                clippy::unbuffered_bytes,
                reason = "a buffer would lose what comes before the error"
            )]
            let level = flate2::read::ZlibDecoder::new(packed).bytes();
            let level = level.map_while(Result::ok).collect();
            let index = index as i32;
            chunks.insert((x * 32 + index % 32, z * 32 + index / 32), level);
        }
    }
    chunks
}

/// Returns the half of a byte with this index.
pub(super) fn half(bytes: &[u8], index: usize) -> u8 {
    (bytes[index / 2] >> (index % 2 * 4)) & 15
}

fn bytes(packet: &Json) -> Vec<u8> {
    BASE64_STANDARD.decode(packet["body"].as_str().unwrap()).unwrap()
}
