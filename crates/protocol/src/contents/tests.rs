//! Chunks of every era, written by a second implementation of their formats, and hostile ones.

mod summaries;
mod versions;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value as Json, json};

use super::{BiomeMap, Contents, ContentsError};
use crate::codec::Frame;
use crate::packet::{Content, Context, Packet, SentRegistries, Timestamp};
use crate::schema::{Catalog, Direction, Family, Release, State, Value};
use crate::wire::write_varint;

fn packet(version: i32, name: &str, fields: &Json) -> Packet {
    packet_in(release(version), State::Play, name, fields, &Arc::default())
}

/// Returns the version with a number: of Alpha up to 6, but 5 is 1.7.
fn release(version: i32) -> Release {
    let family = if version <= 6 && version != 5 { Family::Alpha } else { Family::Java };
    Release::new(family, version)
}

/// Makes a packet of a session in which the server has sent registries.
fn packet_in(
    release: Release,
    state: State,
    name: &str,
    fields: &Json,
    registries: &Arc<SentRegistries>,
) -> Packet {
    let catalog = Catalog::embedded();
    let protocol = catalog.find_in(release.family(), release.number()).unwrap().protocol;
    let kind = protocol.named(state, Direction::Clientbound, name).unwrap();
    let known: BTreeSet<String> =
        protocol.layout(kind, 6).into_iter().map(|field| field.path).collect();
    let mut fields = fields.clone();
    retain(&mut fields, "", &known);
    let body = protocol.encode(kind, &Value::from_json(&fields)).unwrap();
    let context = Context {
        version: Some(release.number()),
        registries: Arc::clone(registries),
        ..Context::new(1, Timestamp(0), "127.0.0.1:50000".parse().unwrap(), Arc::clone(&protocol))
    };
    let content = match release.family() {
        Family::Java => Content::Frame(Frame::from_body(body.into())),
        _ => Content::Frame(Frame::bare(body.into())),
    };
    let (at, way) = (Timestamp(0), Direction::Clientbound);
    Packet::new(context.into(), 1, at, way, state, content)
}

/// Removes the fields that the version does not have.
fn retain(fields: &mut Json, path: &str, known: &BTreeSet<String>) {
    match fields {
        Json::Object(map) if path.is_empty() || !map.contains_key("type") => {
            let path =
                |name: &str| format!("{path}{}{name}", if path.is_empty() { "" } else { "." });
            map.retain(|name, _| known.contains(&path(name)));
            map.iter_mut().for_each(|(name, value)| retain(value, &path(name), known));
        }
        Json::Array(items) => {
            items.iter_mut().for_each(|item| retain(item, &format!("{path}[*]"), known));
        }
        _ => {}
    }
}

fn read(version: i32, name: &str, fields: &Json) -> Result<Contents, ContentsError> {
    read_of(release(version), name, fields)
}

fn read_of(release: Release, name: &str, fields: &Json) -> Result<Contents, ContentsError> {
    Contents::read(&packet_in(release, State::Play, name, fields, &Arc::default())).unwrap()
}

fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn zlib(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    base64(&encoder.finish().unwrap())
}

/// The blocks of a section: `kinds` different states, in no order.
fn states(seed: u32, kinds: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..4096).map(|_| next() % kinds).collect()
}

fn light_of(seed: u32) -> Vec<u8> {
    states(seed, 256).iter().take(2048).map(|it| *it as u8).collect()
}

fn nibbles(values: &[u32]) -> Vec<u8> {
    values.chunks(2).map(|pair| (pair[0] & 15 | pair[1] << 4) as u8).collect()
}

/// Packs numbers into longs from the lowest bit up.
fn longs(values: &[u32], bits: usize, straddles: bool) -> Vec<u64> {
    let mut longs: Vec<u64> = Vec::new();
    let mut used = 64;
    for value in values {
        if used == 64 || !straddles && used + bits > 64 {
            longs.push(0);
            used = 0;
        }
        *longs.last_mut().unwrap() |= u64::from(*value) << used;
        let written = bits.min(64 - used);
        used += written;
        if written < bits {
            longs.push(u64::from(*value) >> written);
            used = bits - written;
        }
    }
    longs
}

/// Writes a container of `release`.
fn container(
    out: &mut Vec<u8>,
    release: Release,
    values: &[u32],
    least: usize,
    most: usize,
    all: usize,
) {
    let palette: Vec<u32> = Vec::from_iter(BTreeSet::from_iter(values.iter().copied()));
    let bits = (usize::BITS - (palette.len() - 1).leading_zeros()) as usize;
    let bits = if release >= Release::V1_18 && bits == 0 { 0 } else { bits.max(least) };
    let direct = bits > most;
    let bits = if direct { all } else { bits };
    out.push(bits as u8);
    let places: Vec<u32> = match (bits, direct) {
        (0, _) => {
            write_varint(out, values[0] as i32);
            Vec::new()
        }
        (_, true) => {
            if release < Release::V1_13 {
                out.push(0);
            }
            values.to_vec()
        }
        _ => {
            write_varint(out, palette.len() as i32);
            palette.iter().for_each(|it| write_varint(out, *it as i32));
            values.iter().map(|it| palette.binary_search(it).unwrap() as u32).collect()
        }
    };
    let longs = longs(&places, bits, release < Release::V1_16_RC1);
    if release < Release::V1_21_5 {
        write_varint(out, longs.len() as i32);
    }
    longs.iter().for_each(|long| out.extend_from_slice(&long.to_be_bytes()));
}

/// The numbers of the sections in a chunk up to 1.17.
const SECTIONS: [i32; 3] = [0, 3, 15];

fn check(contents: &Contents, sections: &[(i32, Vec<u32>)], lights: bool, sky: bool) {
    let [column] = &*contents.columns else { panic!("{contents:?}") };
    assert_eq!((column.x, column.z), (-9, 12));
    let with_blocks: Vec<_> = column.sections.iter().filter(|it| it.blocks.is_some()).collect();
    assert_eq!(with_blocks.len(), sections.len());
    for (number, states) in sections {
        for (index, state) in states.iter().enumerate().step_by(37) {
            let index = index as i32;
            let (x, z, y) = (index & 15, index >> 4 & 15, index >> 8);
            let (x, y, z) = (-144 + x, number * 16 + y, 192 + z);
            assert_eq!(contents.state(x, y, z), Some(*state), "{x} {y} {z}");
        }
        let section = with_blocks.iter().find(|it| it.origin[1] == number * 16).unwrap();
        assert_eq!(section.states().flatten().collect::<Vec<_>>(), *states);
        assert_eq!(section.block_light.as_deref(), lights.then(|| light_of(7)).as_deref());
        assert_eq!(section.sky_light.as_deref(), sky.then(|| light_of(8)).as_deref());
    }
    for (x, y, z) in [(-145, 0, 192), (-144, 400, 192), (-144, 0, 208), (0, 0, 0), (i32::MIN, 0, 0)]
    {
        assert_eq!(contents.state(x, y, z), None);
    }
}

#[test]
fn a_region_of_alpha_is_read_by_its_order() {
    let (width, height, depth) = (3, 5, 2);
    let volume = width * height * depth;
    let ids: Vec<u8> = (0..volume as u8).collect();
    let data: Vec<u8> = (0..volume / 2).map(|it| (it as u8) << 4 | 1).collect();
    let bytes = [ids, data, vec![0x21; volume / 2], vec![0x43; volume / 2]].concat();
    let fields = |data: &[u8]| {
        json!({"x": 35, "y": 70, "z": -20, "sizeX": width - 1, "sizeY": height - 1,
            "sizeZ": depth - 1, "compressedChunkData": zlib(data)})
    };
    let contents = read(6, "map_chunk", &fields(&bytes)).unwrap();
    // The document: index = y + z * height + x * height * depth.
    for (x, y, z, index) in [(0, 0, 0, 0), (0, 4, 0, 4), (0, 0, 1, 5), (1, 0, 0, 10), (2, 4, 1, 29)]
    {
        let data = if index % 2 == 0 { 1 } else { index / 2 };
        let state = index << 4 | data;
        assert_eq!(contents.state(35 + x, 70 + y, -20 + z), Some(state), "{x} {y} {z}");
    }
    let section = &contents.columns[0].sections[0];
    assert_eq!(section.light(35, 70, -20), (Some(1), Some(3)));
    assert_eq!(section.light(35, 71, -20), (Some(2), Some(4)));
    assert_eq!((contents.columns[0].x, contents.columns[0].z), (2, -2));
    assert_eq!(contents.block(35, 72, -20).as_deref(), Some("grass"));
    // Index 9 is flowing lava with the data 4, 8 flowing water with 1.
    assert_eq!(contents.data_name(9 << 4), Some("source".into()));
    assert_eq!(contents.data_name(9 << 4 | 8), Some("falling".into()));
    assert_eq!(contents.data_name(59 << 4 | 7), Some("stage 8 of 8, ripe".into()));
    assert_eq!(contents.data_name(1 << 4 | 7), None);
    let summary = contents.summary();
    assert_eq!((summary.volume, summary.blocks, summary.sections), (30, 29, 1));
    let short = read(6, "map_chunk", &fields(&bytes[..60])).unwrap_err();
    assert_eq!(short, ContentsError::Size { found: 60, expected: 75 });
    assert!(matches!(
        read(6, "map_chunk", &fields(&[&bytes[..], &[0; 9]].concat())),
        Err(ContentsError::Inflate(_))
    ));
}

#[test]
fn arrays_of_1_7_and_1_8_follow_one_another() {
    let sections: Vec<(i32, Vec<u32>)> =
        SECTIONS.map(|number| (number, states(number as u32, 1 << 12))).into();
    let mask = SECTIONS.iter().fold(0, |mask, number| mask | 1 << number);
    let biomes: Vec<u8> = (0..=255).collect();
    let all = |of: &dyn Fn(&[u32]) -> Vec<u8>| {
        sections.iter().flat_map(|(_, states)| of(states)).collect::<Vec<u8>>()
    };
    for sky in [true, false] {
        let lights = |_: &[u32]| light_of(7);
        let light = [all(&lights), if sky { all(&|_| light_of(8)) } else { vec![] }].concat();
        let shorts = all(&|it| it.iter().flat_map(|it| (*it as u16).to_le_bytes()).collect());
        let data = [&shorts[..], &light, &biomes].concat();
        let fields = json!({"x": -9, "z": 12, "groundUp": true, "bitMap": mask,
            "chunkData": base64(&data)});
        let contents = read(47, "map_chunk", &fields).unwrap();
        check(&contents, &sections, true, sky);
        assert_eq!(contents.columns[0].biomes, Some(BiomeMap::Bytes(biomes.clone().into())));

        // 12 bits of the number: 8, and 4 in a second array.
        let ids = all(&|it| it.iter().map(|it| (it >> 4) as u8).collect());
        let metadata = all(&nibbles);
        let add = vec![0x11; 2048];
        let data = [&ids[..], &metadata, &light, &add, &biomes].concat();
        let fields = json!({"x": -9, "z": 12, "groundUp": true, "bitMap": mask, "addBitMap": 8,
            "compressedChunkData": zlib(&data)});
        let contents = read(5, "map_chunk", &fields).unwrap();
        let mut expected = sections.clone();
        expected[1].1.iter_mut().for_each(|state| *state |= 1 << 12);
        check(&contents, &expected, true, sky);

        let two = |data: &[u8]| [data, data].concat();
        let meta = json!([{"x": -9, "z": 12, "bitMap": mask, "addBitMap": 0},
            {"x": 4, "z": -3, "bitMap": mask, "addBitMap": 0}]);
        let data = two(&[&shorts[..], &light, &biomes].concat());
        let fields = json!({"skyLightSent": sky, "meta": meta, "data": base64(&data)});
        let contents = read(47, "map_chunk_bulk", &fields).unwrap();
        assert_eq!(contents.columns.len(), 2);
        assert_eq!(contents.state(64, 0, -48), Some(sections[0].1[0]));
        assert_eq!(contents.state(-144 + 5, 255, 192), Some(sections[2].1[15 * 256 + 5]));
        let data = two(&[&ids[..], &metadata, &light, &biomes].concat());
        let fields = json!({"skyLightSent": sky, "meta": meta, "compressedChunkData": zlib(&data)});
        let contents = read(5, "map_chunk_bulk", &fields).unwrap();
        assert_eq!(contents.state(64, 48, -48), Some(sections[1].1[0]));
        assert_eq!(contents.summary().sections, 6);
    }
    let fields =
        json!({"x": -9, "z": 12, "groundUp": true, "bitMap": 1, "chunkData": base64(&[0; 9])});
    let error = read(47, "map_chunk", &fields).unwrap_err();
    assert_eq!(error.to_string(), "the data has 9 bytes, and its sections take 10496");
    let unload = json!({"x": -9, "z": 12, "groundUp": true, "bitMap": 0, "chunkData": ""});
    assert_eq!(read(47, "map_chunk", &unload).unwrap().summary().sections, 0);
}

#[test]
fn palettes_of_every_version_are_read() {
    let versions = [
        76,
        107,
        340,
        393,
        404,
        477,
        578,
        710,
        734,
        754,
        SNAPSHOT + 15,
        755,
        757,
        765,
        769,
        770,
        774,
        775,
        777,
    ];
    for release in versions.map(release) {
        // A single state, palettes of 1, 4, 5 and 8 bits, and none.
        for kinds in [1, 2, 16, 17, 256, 8000] {
            let is_whole = release >= Release::V1_18;
            let numbers = if is_whole { (-4..20).collect() } else { SECTIONS.to_vec() };
            let sections: Vec<(i32, Vec<u32>)> =
                numbers.iter().map(|number| (*number, states(*number as u32, kinds))).collect();
            let lit = release < Release::V1_14;
            // Sky light is only in the overworld.
            for sky in [true, false].into_iter().take(if lit { 2 } else { 1 }) {
                let fields = chunk_of(release, &sections, sky);
                let contents = read_of(release, "map_chunk", &fields)
                    .unwrap_or_else(|error| panic!("{release:?}, {kinds} kinds: {error}"));
                check(&contents, &sections, lit, lit && sky);
                let summary = contents.summary();
                assert_eq!(summary.volume, sections.len() * 4096, "{release:?}");
                assert_eq!(summary.invalid, 0);
                let biomes: usize = summary.biomes.iter().map(|(_, count)| count).sum();
                let expected = match () {
                    () if is_whole => 24 * 64,
                    () if release >= Release::V1_15 => 1024,
                    () => 256,
                };
                assert_eq!(biomes, expected, "{release:?}");
            }
        }
    }
}

const SNAPSHOT: i32 = Catalog::FIRST_SNAPSHOT;

/// Iterates over all versions since 1.7.
fn java() -> impl Iterator<Item = Release> {
    Catalog::embedded().versions().map(|(number, _)| Release::new(Family::Java, number))
}

/// The fields of a `map_chunk` with these sections.
fn chunk(version: i32, sections: &[(i32, Vec<u32>)], sky: bool) -> Json {
    chunk_of(release(version), sections, sky)
}

/// The field that holds a bit set, of which these are the words.
fn bits(release: Release, words: &[u64]) -> Json {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if release > Release::new(Family::Java, 776) { json!(base64(&bytes)) } else { json!(words) }
}

fn chunk_of(release: Release, sections: &[(i32, Vec<u32>)], sky: bool) -> Json {
    let mut data = Vec::new();
    for (_, states) in sections {
        if release >= Release::V1_14 {
            let solid = states.iter().filter(|it| **it != 0).count() as u16;
            data.extend_from_slice(&solid.to_be_bytes());
        }
        if release >= Release::V26_1 {
            data.extend_from_slice(&[0, 0]);
        }
        let all = if release < Release::V1_13 { 13 } else { 14 };
        container(&mut data, release, states, 4, 8, all);
        if release < Release::V1_14 {
            data.extend(light_of(7));
            data.extend(if sky { light_of(8) } else { Vec::new() });
        }
        if release >= Release::V1_18 {
            let biomes: Vec<u32> = states.iter().take(64).map(|it| it % 60).collect();
            container(&mut data, release, &biomes, 1, 3, 6);
        }
    }
    match () {
        () if release < Release::V1_13 => data.extend((0..256).map(|it| (it % 40) as u8)),
        () if release < Release::V1_15 => {
            (0..256).for_each(|it: u32| data.extend_from_slice(&(it % 40).to_be_bytes()));
        }
        () => {}
    }
    let mask = sections.iter().fold(0, |mask: i64, (number, _)| mask | 1 << number.max(&0));
    let biomes: Vec<i32> = (0..1024).map(|it| it % 50).collect();
    let heightmaps = match () {
        () if release >= Release::V1_21_5 => json!([]),
        () if release >= Release::V1_20_2 => json!({"type": "compound", "value": {}}),
        () => json!({"type": "compound", "name": "", "value": {}}),
    };
    let mut fields = json!({"x": -9, "z": 12, "groundUp": true, "ignoreOldData": false,
        "bitMap": mask, "heightmaps": heightmaps, "biomes": biomes, "chunkData": base64(&data),
        "blockEntities": []});
    if release > Release::V1_16_4 {
        fields["bitMap"] = json!([mask]);
        // 21w07a.
        fields["primaryBitMask"] = json!([mask]);
    }
    if release >= Release::V1_18 {
        for name in ["skyLightMask", "blockLightMask", "emptySkyLightMask", "emptyBlockLightMask"] {
            fields[name] = bits(release, &[]);
        }
        fields["trustEdges"] = json!(true);
        fields["skyLight"] = json!([]);
        fields["blockLight"] = json!([]);
    }
    fields
}

#[test]
fn light_of_its_own_is_read_with_and_without_blocks() {
    let arrays = |count: usize| vec![base64(&light_of(7)); count];
    for (version, lowest) in [(763, -4), (755, 0)] {
        // The section below the world, and two in it.
        let fields = json!({"chunkX": -9, "chunkZ": 12, "trustEdges": true, "skyLightMask": [0b111],
            "blockLightMask": [0b10], "emptySkyLightMask": [0b11_1111_1111_1111_1111_1111_1000],
            "emptyBlockLightMask": [0], "skyLight": arrays(3), "blockLight": arrays(1)});
        let contents = read(version, "update_light", &fields).unwrap();
        let sections = &contents.columns[0].sections;
        let found: Vec<_> = sections
            .iter()
            .map(|it| (it.origin[1] / 16, it.sky_light.is_some(), it.block_light.is_some()))
            .collect();
        let expected = [(lowest - 1, true, false), (lowest, true, true), (lowest + 1, true, false)];
        assert_eq!(found, expected, "{version}");
        let summary = contents.summary();
        assert_eq!((summary.sections, summary.lit), (0, [1, 3]));
    }
    let mut data = Vec::new();
    for _ in 0..3 {
        write_varint(&mut data, 2048);
        data.extend(light_of(9));
    }
    for version in [477, 735, 754] {
        let fields = |data: &[u8]| {
            json!({"chunkX": -9, "chunkZ": 12, "trustEdges": true, "skyLightMask": 0b110,
                "blockLightMask": 0b100, "emptySkyLightMask": 0, "emptyBlockLightMask": 0,
                "data": base64(data)})
        };
        let contents = read(version, "update_light", &fields(&data)).unwrap();
        let sections = &contents.columns[0].sections;
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[1].block_light.as_deref(), Some(&light_of(9)[..]));
        assert!(read(version, "update_light", &fields(&data[..2000])).is_err());
        let more = [&data[..], &[0]].concat();
        assert_eq!(
            read(version, "update_light", &fields(&more)).unwrap_err(),
            ContentsError::Rest { left: 1 }
        );
    }
}

#[test]
fn hostile_chunks_are_errors_and_take_no_memory() {
    let with = |version: i32, data: &[u8]| {
        let mut fields = chunk(version, &[], true);
        fields["chunkData"] = json!(base64(data));
        fields["bitMap"] = if version >= 755 { json!([1]) } else { json!(1) };
        read(version, "map_chunk", &fields)
    };
    let huge = [&[0x7f; 2][..], &[0xff, 0xff, 0xff, 0xff, 0x07]].concat();
    for (version, head) in [(340, &[5][..]), (404, &[5]), (754, &[0, 9, 5]), (765, &[0, 9, 5])] {
        let data = [head, &[0xff, 0xff, 0xff, 0xff, 0x07]].concat();
        let error = with(version, &data).unwrap_err();
        assert!(matches!(error, ContentsError::Palette { entries: i32::MAX, .. }), "{error}");
        assert_eq!(error.to_string(), "section 0: a palette of 2147483647 entries for 4096 blocks");
        let data = [head, &[1, 0, 0xff, 0xff, 0xff, 0xff, 0x07]].concat();
        let error = with(version, &data).unwrap_err();
        assert!(matches!(error, ContentsError::Longs { found: i32::MAX, .. }), "{error}");
        let wide = [&head[..head.len() - 1], &[33, 0]].concat();
        assert!(matches!(with(version, &wide), Err(ContentsError::Width { bits: 33, .. })));
        assert!(with(version, &huge).is_err());
    }
    // A number that is not in the palette.
    let mut data = vec![0, 9, 4, 1, 1, 0x80, 0x02];
    data.extend(vec![0xff; 2048]);
    data.extend([0, 1, 0]);
    let contents = with(765, &data).unwrap();
    assert_eq!(contents.summary().invalid, 4096);
    assert_eq!(contents.block(-144, 0, 192), None);
    // No bytes, and more sections than any world has.
    assert_eq!(with(765, &[]).unwrap().summary().sections, 0);
    let empty = [0, 0, 0, 0, 0, 0, 0, 0];
    assert!(matches!(with(765, &empty.repeat(257)), Err(ContentsError::Rest { .. })));
    // Every cut of a chunk.
    for version in [47, 340, 404, 578, 754, 765, 775] {
        let fields = chunk(version, &[(0, states(1, 40))], true);
        let whole = BASE64_STANDARD.decode(fields["chunkData"].as_str().unwrap()).unwrap();
        for end in (0..whole.len()).step_by(97) {
            let _ = with(version, &whole[..end]).map(|it| it.summary());
        }
    }
    // Zlib that inflates to more than the chunk.
    for size in [0usize, 20 << 20] {
        let fields = json!({"x": 0, "z": 0, "groundUp": true, "bitMap": 1, "addBitMap": 0,
            "compressedChunkData": zlib(&vec![0; size])});
        assert!(read(5, "map_chunk", &fields).is_err());
        let fields = json!({"x": 0, "y": 0, "z": 0, "sizeX": 255, "sizeY": 255, "sizeZ": 255,
            "compressedChunkData": zlib(&vec![0; size])});
        assert!(read(6, "map_chunk", &fields).is_err());
    }
    let far = json!({"x": i32::MAX, "z": i32::MIN, "groundUp": true, "bitMap": 65535,
        "chunkData": base64(&vec![0; 16 * (8192 + 4096) + 256])});
    assert_eq!(read(47, "map_chunk", &far).unwrap().summary().volume, 65536);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    #[test]
    fn no_bytes_cause_a_panic(
        version in proptest::sample::select(vec![47, 340, 404, 578, 754, 755, 765, 775]),
        data in proptest::collection::vec(proptest::num::u8::ANY, 0..600),
    ) {
        let mut fields = chunk(version, &[], true);
        fields["chunkData"] = json!(base64(&data));
        if let Ok(contents) = read(version, "map_chunk", &fields) {
            let _ = contents.summary();
        }
    }
}

/// The game's servers reserve more bytes for a chunk than they write.
#[test]
fn zeros_behind_the_last_section_are_not_sections() {
    let sections: Vec<(i32, Vec<u32>)> =
        (-4..20).map(|number| (number, states(number as u32, 17))).collect();
    for release in [765, 777].map(release) {
        let mut fields = chunk_of(release, &sections, true);
        let mut data = BASE64_STANDARD.decode(fields["chunkData"].as_str().unwrap()).unwrap();
        data.extend([0; 20]);
        fields["chunkData"] = json!(base64(&data));
        let error = read_of(release, "map_chunk", &fields);
        assert!(error.is_err(), "20 bytes are no number of sections");
        fields["emptySkyLightMask"] = bits(release, &[0x3ff_ffff]);
        let contents = read_of(release, "map_chunk", &fields).unwrap();
        check(&contents, &sections, false, false);
    }

    // Light up to a hill, as flying-squid sends it, and air above.
    for release in java().filter(|release| *release >= Release::V1_18) {
        for (hill, height) in [(-4..15, 24), (0..9, 16)] {
            let lowest = hill.start;
            let solid = hill.len();
            let sections: Vec<(i32, Vec<u32>)> = (lowest..lowest + height)
                .map(|number| (number, vec![u32::from(hill.contains(&number)); 4096]))
                .collect();
            let mut fields = chunk_of(release, &sections, true);
            fields["skyLightMask"] = bits(release, &[0]);
            fields["emptySkyLightMask"] = bits(release, &[(1u64 << (solid + 2)) - 1]);
            let contents = read_of(release, "map_chunk", &fields).unwrap();
            let found = &contents.columns[0].sections;
            assert_eq!(found.len(), height as usize, "{release:?}");
            assert_eq!(found[0].origin[1], lowest * 16, "{release:?}");
        }
    }
}
