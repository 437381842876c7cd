//! Maps of packets made by hand, whose pictures are read back by their bytes.

use std::io::{Cursor, Read as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Crc;
use flate2::read::ZlibDecoder;

use super::*;
use crate::capture::{Entry, Event, EventKind, Sink as _, Summary, open_capture};
use crate::world::LeftOut;
use crate::world::tests::{change, chunk, login, login_of, packet, state, string};
use mitmcraft_protocol::schema::Catalog;

/// A picture: its width, its pixels, and its palette.
struct Picture {
    width: usize,
    pixels: Vec<u8>,
    palette: Vec<[u8; 3]>,
}

impl Picture {
    fn read(png: &[u8]) -> Self {
        let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
        let int = |at: &[u8]| u32::from_be_bytes(at[..4].try_into().unwrap());
        let (mut parts, mut data) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let length = int(rest) as usize;
            let (name, bytes) = (&rest[4..8], &rest[8..8 + length]);
            let mut crc = Crc::new();
            crc.update(&rest[4..8 + length]);
            assert_eq!(crc.sum(), int(&rest[8 + length..]));
            match name {
                b"IDAT" => data.extend_from_slice(bytes),
                name => parts.push((String::from_utf8(name.to_vec()).unwrap(), bytes.to_vec())),
            }
            rest = &rest[12 + length..];
        }
        let names: Vec<&str> = parts.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["IHDR", "PLTE", "tRNS", "IEND"]);
        let (width, height) = (int(&parts[0].1) as usize, int(&parts[0].1[4..]) as usize);
        let mut rows = Vec::new();
        ZlibDecoder::new(&*data).read_to_end(&mut rows).unwrap();
        assert_eq!(rows.len(), (width + 1) * height);
        let rows = rows.chunks(width + 1).map(|row| row.split_first().unwrap());
        let pixels = rows.flat_map(|(filter, row)| {
            assert_eq!(*filter, 0);
            row.iter().copied()
        });
        let palette = parts[1].1.as_chunks().0.to_vec();
        assert_eq!(parts[2].1, [0; 4]);
        Self { width, pixels: pixels.collect(), palette }
    }

    fn at(&self, x: usize, z: usize) -> u8 {
        self.pixels[z * self.width + x]
    }
}

fn maps(entries: &[Entry]) -> MapReport {
    maps_within(usize::MAX, entries)
}

/// Makes maps that take about as much memory.
fn maps_within(memory: usize, entries: &[Entry]) -> MapReport {
    let mut writer = MapWriter::new(Cursor::new(Vec::new()), memory);
    entries.iter().for_each(|entry| writer.write(entry).unwrap());
    writer.finish().unwrap()
}

fn picture(map: &WorldMap) -> Picture {
    let mut png = Vec::new();
    map.write_png(&mut png).unwrap();
    Picture::read(&png)
}

/// A player's position in 1.20.3, or where the server puts the player.
fn place(session: u64, seconds: u64, x: f64, z: f64) -> Entry {
    let fields = [x, 70.0, z].map(f64::to_be_bytes).concat();
    packet(session, 765, seconds, "position", &[&fields[..], &[0; 10]].concat())
}

#[test]
fn columns_have_the_colour_of_their_highest_block_and_shades_by_height_and_depth() {
    let name = |name| state(765, name);
    let mut entries = vec![login(1, "minecraft:overworld")];
    entries.push(chunk(1, 765, 1, (0, 0), name("stone")));
    let put = |entries: &mut Vec<Entry>, x, y, z, block| {
        entries.push(change(1, 765, 2, [x, y, z], name(block)));
    };
    // The stone ends at -49. Over it: a step up and down again, a torch, glass, dyed blocks.
    put(&mut entries, 3, -40, 4, "grass_block");
    put(&mut entries, 4, -40, 4, "torch");
    put(&mut entries, 5, -40, 4, "glass");
    put(&mut entries, 6, 300, 4, "red_wool");
    put(&mut entries, 7, -48, 4, "dark_oak_planks");
    // Water of one, four, seven and twelve blocks; then a hole through it.
    for (x, depth) in [(8, 1), (9, 4), (10, 7), (11, 12)] {
        (0..depth).for_each(|down| put(&mut entries, x, -20 - down, 8, "water"));
    }
    put(&mut entries, 9, -22, 8, "air");
    let report = maps(&entries);
    assert_eq!((report.left_out, report.maps.len()), (LeftOut::default(), 1));
    let map = &report.maps[0];
    assert_eq!((map.name(), map.chunks(), map.origin()), ("minecraft:overworld", 1, (0, 0)));
    assert_eq!(map.size(), (16, 16));
    let picture = picture(map);
    let [grass, stone, water, red, brown] = [1, 11, 12, 28, 26];
    // Flat land has the middle shade.
    assert_eq!([picture.at(0, 0), picture.at(1, 0)], [stone * 4 + 1; 2]);
    assert_eq!([picture.at(3, 4), picture.at(3, 5)], [grass * 4 + 2, stone * 4]);
    assert_eq!([picture.at(4, 4), picture.at(5, 4)], [stone * 4 + 1; 2]);
    assert_eq!([picture.at(6, 4), picture.at(7, 4)], [red * 4 + 2, brown * 4 + 2]);
    // One block: light. Two, and 0.2 for the odd column. Seven. Twelve: dark.
    let shades = [8, 9, 10, 11].map(|x| picture.at(x, 8).wrapping_sub(water * 4));
    assert_eq!(shades, [2, 2, 1, 0]);
    // Only the brightest shade has the colour itself.
    let rgb = |byte: u8| picture.palette[usize::from(byte)];
    assert_eq!(rgb(grass * 4 + 2), [0x7f, 0xb2, 0x38]);
    assert_eq!(rgb(grass * 4 + 1), [0x6d, 0x99, 0x30]);
    assert_eq!(rgb(grass * 4), [0x59, 0x7d, 0x27]);
}

#[test]
fn what_was_never_sent_is_transparent_and_paths_are_lines() {
    let stone = state(765, "stone");
    let entries = [
        login(1, "minecraft:overworld"),
        chunk(1, 765, 1, (-1, 0), stone),
        chunk(1, 765, 1, (1, 1), stone),
        place(1, 2, -10.5, 3.5),
        place(1, 3, -4.5, 3.5),
        // Somewhere else, off the map, and back on it.
        place(1, 4, 900.0, 900.0),
        place(1, 5, 20.5, 20.5),
    ];
    let report = maps(&entries);
    let map = &report.maps[0];
    assert_eq!((map.origin(), map.size()), ((-16, 0), (48, 32)));
    let picture = picture(map);
    let stone = 11 * 4 + 1;
    assert_eq!([picture.at(16, 0), picture.at(40, 15), picture.at(0, 16)], [0; 3]);
    assert_eq!([picture.at(0, 0), picture.at(47, 31)], [stone; 2]);
    let row: Vec<u8> = (4..14).map(|x| picture.at(x, 3)).collect();
    assert_eq!(row, [stone, 248, 248, 248, 248, 248, 249, 249, 249, stone]);
    assert_eq!([picture.at(36, 20), picture.at(37, 21), picture.at(38, 20)], [249, 249, stone]);
}

#[test]
fn each_player_has_a_path_that_ends_with_the_session() {
    let stone = state(765, "stone");
    let close = |session: u64| {
        let of = login(session, "minecraft:overworld");
        let (context, at, kind) = (of.context(), of.at(), EventKind::Close(Summary::default()));
        Entry::Event(Event { context: Arc::clone(context), at, kind })
    };
    let mut entries = vec![login(1, "minecraft:overworld"), login(2, "minecraft:overworld")];
    entries.extend((0..4).map(|x| chunk(1, 765, 1, (x, 0), stone)));
    // Two players take turns, and a third one has the number of the first.
    entries.extend([place(1, 2, 4.5, 2.5), place(2, 2, 4.5, 12.5)]);
    entries.extend([place(1, 3, 20.5, 2.5), place(2, 3, 20.5, 12.5)]);
    entries.extend([close(1), login(1, "minecraft:overworld"), place(1, 4, 40.5, 2.5)]);
    let report = maps(&entries);
    let picture = picture(&report.maps[0]);
    let marked = |z: usize| -> Vec<usize> {
        (0..64).filter(|x| [248, 249].contains(&picture.at(*x, z))).collect()
    };
    assert_eq!(marked(2), (4..=21).chain(39..=41).collect::<Vec<_>>());
    assert_eq!(marked(12), (4..=21).collect::<Vec<_>>());
    assert_eq!((5..=9).flat_map(marked).count(), 0, "no line from one player to the other");
}

#[test]
fn maps_are_bounded_and_say_what_they_lack() {
    let stone = state(765, "stone");
    let mut entries = vec![login(1, "minecraft:overworld")];
    entries.extend((0..4).map(|x| chunk(1, 765, 1, (x, 0), stone)));
    let report = maps_within(3 * 1100, &entries);
    assert_eq!((report.maps[0].chunks(), report.lost_chunks), (3, 1));
    let mut paths = path::Paths::default();
    // Somewhere else each time: a path of its own.
    let places = (0..1 << 20).map(|at| [at * 100, 0, 0]);
    let kept = places.map(|at| paths.take(1, 0, at)).filter(|it| *it).count();
    assert_eq!(kept, (4_usize << 20).div_ceil(9));
}

#[test]
fn each_dimension_has_a_map_and_far_chunks_are_left_out() {
    let stone = state(765, "stone");
    let mut entries = vec![login(1, "minecraft:the_nether")];
    entries.extend((0..3).map(|x| chunk(1, 765, 1, (x, 0), stone)));
    entries.push(login(2, "minecraft:overworld"));
    entries.push(chunk(2, 765, 1, (7, 7), stone));
    entries.push(chunk(2, 765, 1, (8, 7), stone));
    entries.push(chunk(2, 765, 1, (1 << 20, 7), stone));
    let report = maps(&entries);
    let found: Vec<_> =
        report.maps.iter().map(|it| (it.name(), it.chunks(), it.far(), it.size())).collect();
    let expected =
        [("minecraft:overworld", 2, 1, (32, 16)), ("minecraft:the_nether", 3, 0, (48, 16))];
    assert_eq!(found, expected);
}

#[test]
fn under_a_ceiling_the_ground_is_seen() {
    let nether = |solid: i32| {
        let name = |name| state(765, name);
        let mut entries =
            vec![login(1, "minecraft:the_nether"), chunk(1, 765, 1, (0, 0), name("netherrack"))];
        let ceiling = (solid..128).map(|y| change(1, 765, 2, [0, y, 0], name("bedrock")));
        entries.extend(ceiling);
        picture(&maps(&entries).maps[0]).at(0, 0) >> 2
    };
    // The lowest section is of netherrack, 35, whose columns are seen whether there is a ceiling or not.
    assert_eq!([nether(128), nether(120)], [35, 35]);
    // Where nothing is free below it, the rock is what there is.
    assert_eq!(nether(-48), 35);
}

#[test]
fn ceilings_are_known_by_the_type_of_the_dimension_in_every_version() {
    let ceiling = |entry: &Entry| Entered::read(&entry.record().unwrap().packet).unwrap().ceiling;
    // The respawn into a world of a plugin.
    let respawn = |number: i32, kind: &[u8]| {
        let rest = match number {
            ..759 => 13,
            759 => 14,
            _ => 15,
        };
        let fields = [kind, &string("plugin:world"), &vec![0; rest]].concat();
        packet(1, number, 1, "respawn", &fields)
    };
    let nbt = |has_ceiling: u8| {
        let named = |kind: u8, name: &str| [&[kind, 0][..], &string(name)].concat();
        let effects = [&named(8, "effects")[..], &[0], &string("minecraft:the_nether")].concat();
        let flag = [&named(1, "has_ceiling")[..], &[has_ceiling]].concat();
        let height = [&named(3, "logical_height")[..], &[0, 0, 0, 96]].concat();
        [&[10, 0, 0][..], &effects, &flag, &height, &[0]].concat()
    };
    for number in [751, 754, 758] {
        assert_eq!(ceiling(&respawn(number, &nbt(1))), Some(96), "{number}");
        assert_eq!(ceiling(&respawn(number, &nbt(0))), None, "{number}");
    }
    for number in [736, 759, 763, 765] {
        assert_eq!(
            ceiling(&respawn(number, &string("minecraft:the_nether"))),
            Some(128),
            "{number}"
        );
        assert_eq!(ceiling(&respawn(number, &string("minecraft:overworld"))), None, "{number}");
    }
    assert_eq!(ceiling(&login(1, "minecraft:the_nether")), Some(128));
    assert_eq!(ceiling(&login_of(1, "minecraft:the_nether", "plugin:world")), Some(128));
    assert_eq!(ceiling(&login(1, "plugin:world")), None);
}

#[test]
fn without_sections_below_a_ceiling_the_highest_one_is_the_ground() {
    // Up to 1.17, sections of air are not sent: there is one, of netherrack with a cave in it.
    let states: Vec<u8> =
        (0..4096).flat_map(|at| if at >> 8 == 4 { [0, 0] } else { [0x70, 0x05] }).collect();
    let fields = [&[0; 8][..], &[1, 0, 1]].concat();
    let data = [&states[..], &[0; 4096 + 256]].concat();
    let mut chunk = [&fields[..], &crate::world::tests::varint(data.len() as u32)].concat();
    chunk.extend(data);
    let mut login = vec![0, 0, 0, 7, 0, 0xff, 0, 20];
    login.extend([&string("default")[..], &[0]].concat());
    let entries = [packet(1, 47, 0, "login", &login), packet(1, 47, 1, "map_chunk", &chunk)];
    let mut terrain =
        Terrain::new(Entered::read(&entries[0].record().unwrap().packet).unwrap().ceiling);
    terrain.take(&entries[1].record().unwrap().packet, 0, 0);
    let found = terrain.seen(0, 0).unwrap().block(3, 3);
    assert_eq!(found, Some((15, "netherrack".to_owned())));
}

#[test]
fn tiles_are_parts_of_the_picture() {
    let (stone, dirt) = (state(765, "stone"), state(765, "dirt"));
    let mut entries: Vec<Entry> = (0..8)
        .flat_map(|x| (-1..8).map(move |z| (x, z)))
        .map(|(x, z)| chunk(1, 765, 1, (x, z), stone))
        .collect();
    entries.push(change(1, 765, 2, [5, -30, -1], dirt));
    entries.push(change(1, 765, 2, [60, -30, 60], dirt));
    let whole = picture(&maps(&entries).maps[0]);
    let mut terrain = Terrain::new(None);
    for entry in &entries {
        let packet = &entry.record().unwrap().packet;
        let sights = sights(packet);
        assert_eq!(sights.len(), 1);
        terrain.take(packet, sights[0].x, sights[0].z);
    }
    let all: std::collections::BTreeMap<_, _> = (0..8)
        .flat_map(|x| (-1..9).map(move |z| (x, z)))
        .filter_map(|place| Some((place, terrain.seen(place.0, place.1)?)))
        .collect();
    let drawn = tile(|x, z| all.get(&(x, z)).map(|it| &it.surface), 0, 0).unwrap();
    let drawn = Picture::read(&drawn);
    // The picture has a row of chunks more in the north.
    assert_eq!(drawn.pixels, whole.pixels[16 * 128..]);
    assert_eq!(drawn.at(5, 0) & 3, 0, "it is lower than what is north of the tile");
    assert_eq!(all[&(3, 3)].block(12, 12), Some((-30, "dirt".to_owned())));
    assert_eq!(tile(|_, _| None, 0, 0), None);
}

#[test]
fn the_sample_of_1_8_is_drawn() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/session-1.8.jsonl");
    let entries: Vec<Entry> =
        open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
    let report = maps(&entries);
    let picture = picture(&report.maps[0]);
    let rows = picture.pixels.chunks(picture.width);
    let rows: Vec<String> = rows
        .map(|row| row.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().join(" "))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}
