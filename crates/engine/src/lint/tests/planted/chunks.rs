//! Faults of what packets say about themselves: chunks, maps and trees of commands.

use super::body::{Body, body, compound};
use super::packets::NOTHING;
use super::{Packet, Plant, Rule, game};
use mitmcraft_protocol::packet::Diagnostic;

/// A chunk whose last section has an array of another length than its palette asks for.
pub(crate) fn chunk(version: i32) -> Plant {
    let wrong = move |is_bad| chunk_of(version, is_bad, 0, 0, 0);
    Plant::new("section with a wrong array", Rule::ChunkInvalid, wrong)
}

/// Chunks whose last section has a block of nothing, or one that its palette does not have.
pub(super) fn blocks(version: i32) -> Vec<Plant> {
    if version < 107 {
        // Block 250 and biome 200, of which 1.8 has none.
        let with = |block: u8, biome: u8| {
            let blocks = [0xa0, block].repeat(4096);
            let data = body().raw(&blocks).raw(&[0; 2048 * 2]).raw(&[biome; 256]);
            vec![game(
                "map_chunk",
                body().i32(0).i32(0).i8(1).i16(1).marked(|it| it.counted(&data)),
            )]
        };
        return vec![
            Plant::new("block of nothing", Rule::ChunkInvalid, move |is_bad| {
                with(if is_bad { 0x0f } else { 0 }, 1)
            }),
            Plant::new("biome of nothing", Rule::ChunkInvalid, move |is_bad| {
                with(0, if is_bad { 200 } else { 255 })
            }),
        ];
    }
    let unknown = move |is_bad| chunk_of(version, false, if is_bad { NOTHING } else { 1 }, 0, 0);
    let beyond = move |is_bad| chunk_of(version, false, 1, if is_bad { 0x11 } else { 0 }, 0);
    let mut plants = vec![
        Plant::new("block of nothing", Rule::ChunkInvalid, unknown),
        Plant::new("block beyond the palette", Rule::ChunkInvalid, beyond),
    ];
    if version >= 764 {
        plants.push(Plant::new("biome that was not sent", Rule::ChunkInvalid, move |is_bad| {
            chunk_of(version, false, 1, 0, i32::from(is_bad))
        }));
    }
    plants
}

/// A chunk at 0, 0 whose last section has a palette of one block, as entries these bytes, and, since 1.18, a biome.
fn chunk_of(version: i32, is_bad: bool, block: i32, fill: u8, biome: i32) -> Vec<Packet> {
    let at = body().i32(0).i32(0);
    if version < 107 {
        // Blocks, light and sky light of a section, and the biomes.
        let size = 4096 * 2 + 2048 * 2 + 256 - i32::from(is_bad);
        let data = body().raw(&vec![0; size as usize]);
        let chunk = at.i8(1).i16(1).marked(|it| it.counted(&data));
        return vec![game("map_chunk", chunk)];
    }
    // 4096 blocks of 4 bits in 256 longs.
    let longs = |count: i32| body().varint(count).raw(&vec![fill; count as usize * 8]);
    let count = if is_bad { 255 } else { 256 };
    if version < 735 {
        let section = body().i8(4).varint(1).varint(block).raw(&longs(count).bytes);
        let data = section.raw(&[0; 4096]).raw(&[0; 256]);
        let chunk = at.i8(1).varint(1).marked(|it| it.counted(&data)).varint(0);
        return vec![game("map_chunk", chunk)];
    }
    let blocks = body().i16(0).i8(4).varint(1).varint(block);
    if version < 757 {
        let data = blocks.raw(&longs(count).bytes);
        let chunk = at.i8(1).varint(1).raw(&compound(version, &[]));
        let biomes = body().varint(1024).raw(&[0; 1024]);
        let chunk = chunk.raw(&biomes.bytes).marked(|it| it.counted(&data)).varint(0);
        return vec![game("map_chunk", chunk)];
    }
    // 24 sections: blocks and biomes, each of one kind but for the last blocks. Since 26.1 they have
    // the number of fluids too, and since 1.21.5 no lengths of arrays.
    let counts = |it: Body| if version >= 775 { it.i16(0).i16(0) } else { it.i16(0) };
    let has_lengths = version < 770;
    let single = |it: Body, number: i32| {
        let it = it.i8(0).varint(number);
        if has_lengths { it.varint(0) } else { it }
    };
    let mut data = body();
    for _ in 0..23 {
        data = single(single(counts(data), 0), 0);
    }
    data = counts(data).i8(4).varint(1).varint(block);
    data = if has_lengths { data.varint(count) } else { data };
    data = single(data.raw(&vec![fill; count as usize * 8]), biome);
    let heights = if version < 770 { compound(version, &[]) } else { vec![0] };
    let chunk = at.raw(&heights).marked(|it| it.counted(&data)).varint(0);
    let chunk = if version < 763 { chunk.i8(1) } else { chunk };
    // The sky's light in the lowest section, whose masks are bytes since 26.3.
    let lit = if version >= 777 { chunk.varint(1).i8(2) } else { chunk.varint(1).i64(2) };
    let lit = lit.varint(0).varint(0).varint(0);
    let lit = lit.varint(1).varint(2048).raw(&[0x77; 2048]);
    vec![game("map_chunk", lit.varint(0))]
}

/// Numbers that are beyond what the packet itself has.
pub(super) fn inside(version: i32) -> Vec<Plant> {
    let number = Rule::Diagnosed(Diagnostic::NumberInvalid);
    let mut plants = Vec::new();
    if version >= 393 {
        // The root with a command below it.
        let nodes = |child: i32| {
            let root = body().varint(2).i8(0).varint(1).marked(|it| it.varint(child));
            Body { mark: root.mark.clone(), ..root.i8(1).varint(0).text("a") }
        };
        plants.push(Plant::new("child that is no node", number, move |is_bad| {
            let tree = nodes(if is_bad { 9 } else { 1 });
            let mark = tree.mark.clone();
            vec![game("declare_commands", Body { mark, ..tree.varint(0) })]
        }));
        plants.push(Plant::new("root that is no node", number, move |is_bad| {
            let root = if is_bad { 2 } else { 0 };
            vec![game("declare_commands", nodes(1).marked(|it| it.varint(root)))]
        }));
    }
    if version >= 393 {
        plants.push(Plant::new("command that is redirected to itself", number, |is_bad| {
            let target = if is_bad { 1 } else { 0 };
            let root = body().varint(2).i8(0).varint(1).varint(1);
            let nodes = root.i8(9).varint(0).varint(target).text("a");
            vec![game("declare_commands", nodes.marked(|it| it.varint(0)))]
        }));
    }
    if version >= 755 {
        let map =
            |size: i8, at: i8| body().varint(1).i8(0).i8(0).i8(0).i8(size).i8(size).i8(at).i8(at);
        let length = Rule::Diagnosed(Diagnostic::LengthInvalid);
        plants.push(Plant::new("part of a map without its last column", length, move |is_bad| {
            let data = body().raw(&vec![7; if is_bad { 3 } else { 4 }]);
            vec![game("map", map(2, 0).marked(|it| it.counted(&data)))]
        }));
        plants.push(Plant::new("part of a map beyond its edge", number, move |is_bad| {
            let at = if is_bad { 127 } else { 126 };
            vec![game("map", map(2, at).marked(|it| it.counted(&body().raw(&[7; 4]))))]
        }));
    }
    plants
}
