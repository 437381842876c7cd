//! A small landscape, in the chunk form of 1.8.
//!
//! `data/landscape.zlib` has its columns of chunks in the order in which they are sent: hills with
//! trees, a mountain of ores, which hardly compresses, and a column beyond the player's view. Of each
//! it has x, z and the bit map of the sections that are there (a byte each), then the data of the
//! packet: of each section 16 x 16 x 16 blocks of 16 bits, block light and sky light of 4 bits, and at
//! the end the biomes of the 16 x 16 places.
//!
//! Source: Protocol 1.8 document, sections Chunk Data (0x21) and Map Chunk Bulk (0x26).

use std::io::Read as _;
use std::sync::LazyLock;

use bytes::{Buf as _, Bytes};
use flate2::read::ZlibDecoder;
use serde_json::{Value as Json, json};

use super::message::Message;

/// A column of chunks as it is sent.
struct Column {
    x: i8,
    z: i8,
    /// The sections that are there, the lowest one in bit 0.
    bit_map: u8,
    data: Bytes,
}

/// Returns the packets of the columns around the player, several per packet and the mountain of ores by
/// itself.
pub(super) fn landscape() -> Vec<Message> {
    let [hills @ .., ores, _] = &COLUMNS[..] else { return Vec::new() };
    hills.chunks(COLUMNS_AT_ONCE).map(bulk).chain([alone(ores)]).collect()
}

/// Returns the packet of a column beyond those around the player.
pub(super) fn far_column() -> Vec<Message> {
    COLUMNS.last().map(alone).into_iter().collect()
}

fn alone(column: &Column) -> Message {
    let Column { x, z, bit_map, data } = column;
    let fields = json!({ "x": x, "z": z, "groundUp": true, "bitMap": bit_map });
    Message::new("map_chunk", fields).with_bytes("chunkData", data.clone())
}

fn bulk(columns: &[Column]) -> Message {
    let meta = |it: &Column| json!({ "x": it.x, "z": it.z, "bitMap": it.bit_map });
    let meta: Json = columns.iter().map(meta).collect();
    let data: Vec<u8> = columns.iter().flat_map(|column| &column.data).copied().collect();
    let message = Message::new("map_chunk_bulk", json!({ "skyLightSent": true, "meta": meta }));
    message.with_bytes("data", data)
}

/// The number of bytes of a column with that number of sections.
pub(super) fn column_size(sections: u32) -> usize {
    16 * 16 * (16 * 3 * sections as usize + 1)
}

static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let mut inflated = Vec::new();
    let read =
        ZlibDecoder::new(&include_bytes!("data/landscape.zlib")[..]).read_to_end(&mut inflated);
    read.expect("the embedded landscape is zlib");
    let mut rest = Bytes::from(inflated);
    let mut columns = Vec::new();
    while rest.has_remaining() {
        let (x, z, bit_map) = (rest.get_i8(), rest.get_i8(), rest.get_u8());
        let data = rest.split_to(column_size(bit_map.count_ones()));
        columns.push(Column { x, z, bit_map, data });
    }
    columns
});

/// Columns per packet, as the game's server sends them.
const COLUMNS_AT_ONCE: usize = 10;
