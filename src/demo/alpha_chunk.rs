use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use super::message::Message;

/// The packet of Alpha's only chunk: 16 x 128 x 16 blocks of stone and grass, as ids, then nibbles of
/// metadata, light and sky light.
pub(super) fn alpha_chunk() -> Message {
    let (grass, dirt, stone, sign) = (2, 3, 1, 63);
    let mut data = Vec::with_capacity(BLOCKS * 5 / 2);
    for x in 0..16 {
        for z in 0..16 {
            data.extend((0..128).map(|y| match (x, y, z) {
                (8, 64, 10) => sign,
                (_, 64.., _) => 0,
                (_, 63, _) => grass,
                (_, 60.., _) => dirt,
                _ => stone,
            }));
        }
    }
    data.extend(std::iter::repeat_n(0, BLOCKS));
    data.extend(std::iter::repeat_n(0xff, BLOCKS / 2));
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(&data);
    let area = json!({ "x": 0, "y": 0, "z": 0, "sizeX": 15, "sizeY": 127, "sizeZ": 15 });
    let compressed = encoder.finish().unwrap_or_default();
    Message::new("map_chunk", area).with_bytes("compressedChunkData", compressed)
}

/// Blocks of a chunk.
const BLOCKS: usize = 16 * 128 * 16;
