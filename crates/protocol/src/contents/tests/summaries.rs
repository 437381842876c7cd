//! What changed blocks, chunks and light say to people and filters: names, heights, blocks by place.

use super::*;
use crate::contents::Missing;
use crate::meaning::meanings;

#[test]
fn changes_of_blocks_say_what_is_where() {
    let alpha = json!({"chunkX": -1, "chunkZ": 2, "coordinates": [{"x": 8, "z": 7, "y": 4},
        {"x": 0, "z": 15, "y": 127}], "types": [1, 54], "metadata": [0, 3]});
    let old = json!({"chunkX": -1, "chunkZ": 2, "dataLength": 8,
        "records": [{"metadata": 0, "blockId": 1, "y": 4, "z": 7, "x": 8},
            {"metadata": 3, "blockId": 54, "y": 127, "z": 15, "x": 0}]});
    let packed = |stone: i32, chest: i32| {
        json!({"chunkX": -1, "chunkZ": 2, "records": [
            {"horizontalPos": 0x87, "y": 4, "blockId": stone},
            {"horizontalPos": 0x0f, "y": 127, "blockId": chest}]})
    };
    let section = json!({"chunkCoordinates": {"x": -1, "z": 2, "y": 0}, "notTrustEdges": true,
        "records": [1 << 12 | 8 << 8 | 7 << 4 | 4]});
    for (version, fields) in [
        (6, alpha),
        (5, old),
        (47, packed(16, 54 << 4 | 3)),
        (340, packed(16, 54 << 4 | 3)),
        (404, packed(1, 1729)),
        (754, section.clone()),
        (765, section),
    ] {
        let packet = packet(version, "multi_block_change", &fields);
        let block = |x, y, z| Contents::block_in(&packet, x, y, z);
        assert_eq!(block(-8, 4, 39).as_deref(), Some("stone"), "{version}");
        assert_eq!(block(-8, 5, 39), None, "{version}");
        if version < 754 {
            assert_eq!(block(-16, 127, 47).as_deref(), Some("chest"), "{version}");
        }
    }
    for (version, number) in [(6, 7), (5, 7), (47, 7 << 4), (404, 33), (765, 79)] {
        let at = json!({"x": -8, "y": 4, "z": 39});
        let fields = json!({"location": at, "type": number, "metadata": 0});
        let packet = packet(version, "block_change", &fields);
        let found = Contents::block_in(&packet, -8, 4, 39);
        assert_eq!(found.as_deref(), Some("bedrock"), "{version}");
        assert_eq!(Contents::block_in(&packet, 0, 4, 39), None);
    }
}

#[test]
fn the_data_of_blocks_is_named_up_to_1_7() {
    // Each with its data: wheat that is ripe, water that falls, a source, and stone, whose data says nothing.
    let (types, metadata) = ([59, 9, 8, 1], [7, 8, 0, 7]);
    let place = json!({"x": 1, "z": 2, "y": 3});
    let fields = json!({"chunkX": 0, "chunkZ": 0, "coordinates": vec![place; 4], "types": types,
        "metadata": metadata});
    let told = meanings(&packet(6, "multi_block_change", &fields), None);
    let of = |place: &str| told.iter().find(|(it, _)| it == place).map(|(_, text)| &**text);
    assert_eq!(of("types[0]"), Some("wheat"));
    assert_eq!(of("metadata[0]"), Some("stage 8 of 8, ripe"));
    assert_eq!(of("metadata[1]"), Some("falling"));
    assert_eq!(of("metadata[2]"), Some("source"));
    assert_eq!(of("metadata[3]"), None);

    // 1.8 has other packets.
    let contents = read(
        47,
        "map_chunk",
        &json!({"x": 0, "z": 0, "groundUp": true, "bitMap": 0,
        "chunkData": ""}),
    );
    assert_eq!(contents.unwrap().data_name(59 << 4 | 3), None);
}

/// The registries of a server with these dimension types: least y and height.
fn dimensions(version: i32, worlds: &[(i32, i32)]) -> Arc<SentRegistries> {
    let int = |value: &i32| json!({"type": "int", "value": value});
    let world =
        |(bottom, height): &(i32, i32)| json!({"min_y": int(bottom), "height": int(height)});
    let key = |place: usize| format!("my_mod:world_{place}");
    let fields = if version < 766 {
        let entry = |(place, it)| {
            json!({"name": {"type": "string", "value": key(place)}, "id": int(&(place as i32)),
                "element": {"type": "compound", "value": world(it)}})
        };
        let entries: Vec<Json> = worlds.iter().enumerate().map(entry).collect();
        json!({"codec": {"type": "compound", "value": {"minecraft:dimension_type": {
            "type": "compound", "value": {"value": {"type": "list", "value": {
                "type": "compound", "value": entries}}}}}}})
    } else {
        let entry = |(place, it)| json!({"key": key(place), "value": {"type": "compound", "value": world(it)}});
        let entries: Vec<Json> = worlds.iter().enumerate().map(entry).collect();
        json!({"id": "minecraft:dimension_type", "entries": entries})
    };
    let none = Arc::default();
    let sent = packet_in(release(version), State::Configuration, "registry_data", &fields, &none);
    assert!(SentRegistries::takes(&sent));
    Arc::new(SentRegistries::default().with(&sent))
}

#[test]
fn a_world_begins_where_its_dimension_type_says() {
    let chunk_of = |version, count: i32| {
        let sections: Vec<(i32, Vec<u32>)> =
            (0..count).map(|number| (number, states(number as u32, 17))).collect();
        chunk(version, &sections, true)
    };
    let lowest = |version, count, worlds: &[(i32, i32)]| {
        let registries = dimensions(version, worlds);
        let fields = chunk_of(version, count);
        let packet = packet_in(release(version), State::Play, "map_chunk", &fields, &registries);
        let contents = Contents::read(&packet).unwrap().unwrap();
        let lowest = contents.columns[0].sections[0].origin[1];
        // What filters ask for.
        assert!(Contents::block_in(&packet, -144, lowest, 192).is_some());
        assert!(Contents::block_in(&packet, -144, lowest - 1, 192).is_none());
        lowest
    };
    for version in [765, 766, 770, 775] {
        assert_eq!(lowest(version, 32, &[(-64, 384), (-256, 512), (0, 256)]), -256, "{version}");
        assert_eq!(lowest(version, 24, &[(0, 384), (-256, 512)]), 0, "{version}");
        // Two worlds that are as high, none that is, and none described.
        assert_eq!(lowest(version, 24, &[(0, 384), (-128, 384)]), -64, "{version}");
        assert_eq!(lowest(version, 16, &[(-64, 384)]), 0, "{version}");
        assert_eq!(lowest(version, 24, &[]), -64, "{version}");
    }
}

#[test]
fn sections_that_a_whole_chunk_leaves_out_are_air() {
    let sections = [(2, vec![16; 4096]), (5, vec![16; 4096])];
    for version in [47, 107, 340, 404, 477, 578, 754, 755, 756] {
        for (full, air) in [(true, Some("air")), (false, None)] {
            let mut fields = match version {
                47 => {
                    let size = 2 * (8192 + 4096) + if full { 256 } else { 0 };
                    let data = [&[16, 0].repeat(4096)[..], &vec![0; size - 8192]].concat();
                    json!({"x": -9, "z": 12, "bitMap": 0b100100, "chunkData": base64(&data)})
                }
                _ => chunk(version, &sections, true),
            };
            fields["groundUp"] = json!(full);
            // Only whole chunks have biomes behind their sections; since 1.17 all chunks are whole.
            if version >= 755 && !full {
                continue;
            }
            if !full && version >= 573 {
                fields.as_object_mut().unwrap().remove("biomes");
            }
            if !full && (107..573).contains(&version) {
                let data = BASE64_STANDARD.decode(fields["chunkData"].as_str().unwrap()).unwrap();
                let biomes = if version < 393 { 256 } else { 1024 };
                fields["chunkData"] = json!(base64(&data[..data.len() - biomes]));
            }
            let packet = packet(version, "map_chunk", &fields);
            let block = |x, y, z| Contents::block_in(&packet, x, y, z);
            let contents = Contents::read(&packet).unwrap().unwrap();
            assert_eq!(contents.columns[0].sections.len(), 2, "{version}");
            assert!(block(-144, 32, 192).is_some_and(|it| it != "air"), "{version}");
            for y in [0, 31, 48, 79, 96, 255] {
                assert_eq!(block(-144, y, 192).as_deref(), air, "{version}, y {y}");
                assert_eq!(block(-129, y, 207).as_deref(), air, "{version}, y {y}");
            }
            // Outside of the world, and of the chunk.
            for (x, y, z) in [(-144, -1, 192), (-144, 256, 192), (-145, 0, 192), (-144, 0, 208)] {
                assert_eq!(block(x, y, z), None, "{version}, {x} {y} {z}");
            }
        }
    }
    // Since 1.18 a chunk has all sections, and what is outside of it is not known.
    let fields = chunk(757, &(0..16).map(|it| (it, states(1, 2))).collect::<Vec<_>>(), true);
    assert_eq!(read(757, "map_chunk", &fields).unwrap().block(-144, 256, 192), None);
    // A chunk that is unloaded has no blocks, one without sections among several has only air.
    let fields = json!({"x": 0, "z": 0, "groundUp": true, "bitMap": 0, "chunkData": ""});
    let unloads = read(47, "map_chunk", &fields).unwrap();
    assert_eq!((unloads.columns[0].missing, unloads.block(0, 0, 0)), (Missing::Unloaded, None));
    let fields = json!({"skyLightSent": true, "meta": [{"x": 0, "z": 0, "bitMap": 0}],
        "data": base64(&[0; 256])});
    let air = read(47, "map_chunk_bulk", &fields).unwrap();
    assert_eq!(air.block(0, 0, 0).as_deref(), Some("air"));
}

#[test]
fn a_packet_is_read_once_for_all_its_blocks() {
    use crate::contents::lookup::reads::READS;

    let whole = |state: u32| {
        let sections: Vec<(i32, Vec<u32>)> =
            (-4..20).map(|number| (number, vec![state; 4096])).collect();
        chunk(765, &sections, true)
    };
    let first = packet(765, "map_chunk", &whole(1));
    let second = packet(765, "map_chunk", &whole(2));
    let at = json!({"x": -8, "y": 4, "z": 39});
    let change = packet(765, "block_change", &json!({"location": at, "type": 79}));
    let begin = READS.get();
    // Rules ask about the same packet, and about clones of it.
    for _ in 0..20 {
        for y in -64..320 {
            assert!(Contents::block_in(&first.clone(), -144, y, 192).is_some());
        }
    }
    assert_eq!(READS.get() - begin, 1);
    let found = |packet: &Packet| Contents::block_in(packet, -144, 0, 192);
    assert_eq!(found(&first).as_deref(), Some("stone"));
    assert_eq!(found(&second).as_deref(), Some("granite"));
    assert_eq!(READS.get() - begin, 2);
    for _ in 0..20 {
        assert_eq!(Contents::block_in(&change, -8, 4, 39).as_deref(), Some("bedrock"));
        assert_eq!(found(&change), None);
    }
    assert_eq!(READS.get() - begin, 3);
    // What the server has sent since says where the world begins.
    let fields = whole(1);
    let known =
        packet_in(release(765), State::Play, "map_chunk", &fields, &dimensions(765, &[(0, 384)]));
    assert!(Contents::block_in(&first, -144, -1, 192).is_some());
    assert_eq!(Contents::block_in(&known, -144, -1, 192), None);
    // A packet that is invalid is not read again either.
    let mut fields = whole(1);
    fields["chunkData"] = json!(base64(&[9; 40]));
    let invalid = packet(765, "map_chunk", &fields);
    let begin = READS.get();
    for y in 0..20 {
        assert_eq!(Contents::block_in(&invalid, -144, y, 192), None);
    }
    assert_eq!(READS.get() - begin, 1);
}
