//! Every packet with blocks or light in every version that has it: what is read of it, by its fields.

use super::*;

/// All versions that have blocks.
fn all() -> impl Iterator<Item = Release> {
    let old = Catalog::embedded().old().map(|protocol| protocol.release());
    java().chain(old.filter(|release| release.family().is_unframed_game()))
}

/// The state of stone: up to 1.12 its number and four bits of data.
fn stone(release: Release) -> u32 {
    if release < Release::V1_13 { 16 } else { 1 }
}

/// A chunk that has stone in its lowest section.
fn stone_chunk(release: Release) -> Json {
    if release < Release::V1_2 {
        let data = [vec![1; 4096], vec![0; 3 * 2048]].concat();
        return json!({"x": -144, "y": 0, "z": 192, "sizeX": 15, "sizeY": 15, "sizeZ": 15,
            "compressedChunkData": zlib(&data)});
    }
    let common =
        json!({"x": -9, "z": 12, "groundUp": true, "bitMap": 1, "addBitMap": 0, "unused": 0});
    let with = |name: &str, data: String| {
        let mut fields = common.clone();
        fields[name] = json!(data);
        fields
    };
    if release < Release::V1_8 {
        let data = [vec![1; 4096], vec![0; 3 * 2048 + 256]].concat();
        return with("compressedChunkData", zlib(&data));
    }
    if release == Release::V1_8 {
        let data = [[16, 0].repeat(4096), vec![0; 2 * 2048 + 256]].concat();
        return with("chunkData", base64(&data));
    }
    let state = |lowest| vec![if lowest { stone(release) } else { 0 }; 4096];
    let lowest = if release < Release::V1_18 { 0 } else { -4 };
    let count = if release < Release::V1_18 { 1 } else { 24 };
    let sections: Vec<_> = (lowest..lowest + count).map(|it| (it, state(it == lowest))).collect();
    chunk_of(release, &sections, true)
}

#[test]
fn a_chunk_of_stone_is_read_in_every_version() {
    let mut count = 0;
    for release in all() {
        let fields = stone_chunk(release);
        let packet = packet_in(release, State::Play, "map_chunk", &fields, &Arc::default());
        let contents = Contents::read(&packet).unwrap();
        let contents = contents.unwrap_or_else(|error| panic!("{release:?}: {error}"));
        let lowest = if release < Release::V1_18 { 0 } else { -64 };
        for y in lowest..lowest + 16 {
            let state = contents.state(-140, y, 199);
            assert_eq!(state, Some(stone(release)), "{release:?}");
        }
        // Of a whole chunk, what the packet leaves out is air; the boxes of Alpha are no whole chunks.
        let above = (release >= Release::V1_2).then_some(0);
        assert_eq!(contents.state(-140, lowest + 40, 199), above, "{release:?}");
        let section = contents.columns[0].sections.iter().find(|it| it.origin[1] == lowest);
        let section = section.unwrap();
        let lights = [&section.block_light, &section.sky_light].map(Option::is_some);
        assert_eq!(lights, [release < Release::V1_14; 2], "{release:?}");
        let biomes = contents.columns[0].biomes.is_some() || section.biomes.is_some();
        assert_eq!(biomes, release >= Release::V1_2, "{release:?}");
        let block = Contents::block_in(&packet, -140, lowest, 199);
        let named = contents.blocks.is_some();
        let expected = if named { "stone" } else { "block 1" }.to_owned();
        assert_eq!(block, Some(expected), "{release:?}");
        if named {
            assert_eq!(contents.summary().names, [("stone".to_owned(), 4096)], "{release:?}");
        }
        count += 1;
    }
    assert_eq!(count, 95);
}

#[test]
fn single_changes_are_read_in_every_version() {
    for release in all() {
        let number = if release < Release::V1_8 { 1 } else { i64::from(stone(release)) };
        let fields = json!({"location": {"x": -8, "y": 4, "z": 39}, "type": number, "metadata": 0});
        let change = packet_in(release, State::Play, "block_change", &fields, &Arc::default());
        let fields = match () {
            () if release < Release::V1_2 => json!({"chunkX": -1, "chunkZ": 2, "types": [1],
                "coordinates": [{"x": 8, "z": 7, "y": 4}], "metadata": [0]}),
            () if release < Release::V1_8 => json!({"chunkX": -1, "chunkZ": 2, "dataLength": 4,
                "records": [{"metadata": 0, "blockId": 1, "y": 4, "z": 7, "x": 8}]}),
            () if release < Release::V1_16_2 => json!({"chunkX": -1, "chunkZ": 2,
                "records": [{"horizontalPos": 0x87, "y": 4, "blockId": number}]}),
            () => json!({"chunkCoordinates": {"x": -1, "z": 2, "y": 0}, "notTrustEdges": true,
                "suppressLightUpdates": true, "records": [number << 12 | 8 << 8 | 7 << 4 | 4]}),
        };
        let several =
            packet_in(release, State::Play, "multi_block_change", &fields, &Arc::default());
        let known = crate::meaning::registry(
            &change.context().protocol,
            crate::meaning::RegistryKind::Block,
        );
        for packet in [change, several] {
            let found = Contents::block_in(&packet, -8, 4, 39);
            assert_eq!(found.as_deref(), known.map(|_| "stone"), "{release:?}");
        }
    }
}

#[test]
fn light_of_its_own_is_read_in_every_version() {
    let mut count = 0;
    for release in java().filter(|release| *release >= Release::V1_14) {
        let mut data = Vec::new();
        for _ in 0..2 {
            write_varint(&mut data, 2048);
            data.extend(light_of(9));
        }
        let mask = |word: u64| match release > Release::V1_16_4 {
            true => bits(release, &[word]),
            false => json!(word),
        };
        let arrays = json!([base64(&light_of(9))]);
        let fields = json!({"chunkX": -9, "chunkZ": 12, "trustEdges": true, "skyLightMask": mask(4),
            "blockLightMask": mask(2), "emptySkyLightMask": mask(0x3ff_fffb),
            "emptyBlockLightMask": mask(0), "skyLight": arrays, "blockLight": arrays,
            "data": base64(&data)});
        let contents = read_of(release, "update_light", &fields)
            .unwrap_or_else(|error| panic!("{release:?}: {error}"));
        let found: Vec<_> = contents.columns[0]
            .sections
            .iter()
            .map(|it| (it.origin[1] / 16, it.sky_light.is_some(), it.block_light.is_some()))
            .collect();
        let lowest = if release < Release::V1_18 { 0 } else { -4 };
        assert_eq!(found, [(lowest, false, true), (lowest + 1, true, false)], "{release:?}");
        count += 1;
    }
    assert!(count > 35, "{count}");
}
