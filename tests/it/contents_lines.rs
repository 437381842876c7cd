//! Chunks as lines of text: the names of their blocks, and light by height.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use mitmcraft_engine::text::contents_lines;
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use serde_json::{Value as Json, json};

fn packet(version: i32, name: &str, fields: &Json) -> Packet {
    let catalog = Catalog::embedded();
    let alpha = version == 6;
    let protocol =
        if alpha { catalog.alpha(version) } else { catalog.find(version).unwrap() }.protocol;
    let kind = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
    let body = protocol.encode(kind, &Value::from_json(fields)).unwrap();
    let content = if alpha { Frame::bare(body.into()) } else { Frame::from_body(body.into()) };
    let client = "127.0.0.1:50000".parse().unwrap();
    let mut context = Context::new(1, Timestamp(0), client, protocol);
    context.version = Some(version);
    let (at, direction) = (Timestamp(0), Direction::Clientbound);
    Packet::new(context.into(), 1, at, direction, State::Play, Content::Frame(content))
}

fn zlib(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    BASE64_STANDARD.encode(encoder.finish().unwrap())
}

fn nibbles(values: &[u8]) -> Vec<u8> {
    values.chunks(2).map(|pair| pair[0] & 15 | pair[1] << 4).collect()
}

#[test]
fn the_data_of_blocks_is_named_up_to_1_7() {
    // Each with its data: wheat that is ripe, water that falls, a source, and stone, whose data says nothing.
    let (types, metadata) = ([59, 9, 8, 1], [7, 8, 0, 7]);
    let bytes = [&types[..], &nibbles(&metadata), &[0; 4]].concat();
    let fields = json!({"x": 0, "y": 0, "z": 0, "sizeX": 0, "sizeY": 3, "sizeZ": 0,
        "compressedChunkData": zlib(&bytes)});
    let lines = contents_lines(&packet(6, "map_chunk", &fields), true).join("\n");
    assert!(lines.contains("wheat 1 (stage 8 of 8, ripe 1)"), "{lines}");
    assert!(lines.contains("water 1 (falling 1)"), "{lines}");
    assert!(lines.contains("stone 1") && !lines.contains("stone 1 ("), "{lines}");

    let ids = vec![59; 4096];
    let data = [&ids[..], &nibbles(&vec![3; 4096]), &[0; 4096], &[0; 256]].concat();
    let fields = json!({"x": -9, "z": 12, "groundUp": true, "bitMap": 1, "addBitMap": 0,
        "compressedChunkData": zlib(&data)});
    let lines = contents_lines(&packet(5, "map_chunk", &fields), true).join("\n");
    assert!(lines.contains("wheat 4096 (stage 4 of 8 4096)"), "{lines}");
}

#[test]
fn light_without_blocks_is_shown_by_height() {
    let arrays = |count: usize| vec![BASE64_STANDARD.encode([0x77; 2048]); count];
    let fields = json!({"chunkX": -9, "chunkZ": 12, "skyLightMask": [0b10111],
        "blockLightMask": [0b10], "emptySkyLightMask": [0b11_1111_1111_1111_1111_1110_1000],
        "emptyBlockLightMask": [0], "skyLight": arrays(4), "blockLight": arrays(1)});
    let lines = contents_lines(&packet(763, "update_light", &fields), false);
    assert_eq!(
        lines,
        [
            "contents: chunk -9,12, block light of 1 section, sky light of 4 sections",
            "    block light: y -64 to -49",
            "    sky light: y -80 to -33, -16 to -1",
        ]
    );
}
