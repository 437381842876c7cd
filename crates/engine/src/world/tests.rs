//! Worlds of packets made by hand, read back by their bytes.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read as _};
use std::path::Path;
use std::sync::Arc;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::dimension::Dimension;
use super::palette::pack;
use super::region::Region;
use super::region_file::{Added, RegionFile};
use super::storage::Storage;
use super::*;
use crate::capture::{Entry, Record, Sink as _, open_capture};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::contents::Contents;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, Family, Release, State};
use mitmcraft_protocol::wire::{Nbt, Reader, Tag};

#[derive(Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl WorldFiles for Files {
    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        assert!(self.0.insert(path.to_owned(), bytes.to_vec()).is_none(), "{path} twice");
        Ok(())
    }
}

impl Files {
    fn dat(&self, path: &str) -> Tag {
        let mut bytes = Vec::new();
        GzDecoder::new(&*self.0[path]).read_to_end(&mut bytes).unwrap();
        document(&bytes)
    }

    fn chunk(&self, path: &str, x: i32, z: i32) -> Option<Tag> {
        let region = &self.0[path];
        assert_eq!(region.len() % 4096, 0);
        let int = |at: usize| u32::from_be_bytes(region[at..at + 4].try_into().unwrap()) as usize;
        let place = int(((z & 31) * 32 + (x & 31)) as usize * 4);
        if place == 0 {
            return None;
        }
        let (first, sectors) = ((place >> 8) * 4096, place & 0xff);
        let length = int(first);
        assert!(length + 4 <= sectors * 4096 && length + 4 > (sectors - 1) * 4096);
        assert_eq!(region[first + 4], 2);
        let mut bytes = Vec::new();
        let packed = &region[first + 5..first + 4 + length];
        ZlibDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        Some(document(&bytes))
    }
}

fn document(bytes: &[u8]) -> Tag {
    let mut reader = Reader::new(bytes);
    let nbt = Nbt::read(&mut reader, true).unwrap().unwrap();
    assert!(reader.is_empty() && nbt.name.is_some_and(|name| name.is_empty()));
    nbt.root
}

fn get<'t>(tag: &'t Tag, path: &str) -> &'t Tag {
    path.split('/').fold(tag, |tag, name| match (tag, name.parse::<usize>()) {
        (Tag::List(list), Ok(index)) => &list.items[index],
        (Tag::Compound(compound), _) => {
            compound.get(name).unwrap_or_else(|| panic!("no {name} of {path} in {tag:?}"))
        }
        _ => panic!("no {name} in {tag:?}"),
    })
}

fn text(tag: &Tag) -> String {
    let Tag::Text(text) = tag else { panic!("{tag:?}") };
    String::from_utf8(text.to_vec()).unwrap()
}

/// The world of these entries.
fn world(entries: &[Entry]) -> Result<(Files, WorldReport), WorldError> {
    let mut writer = WorldWriter::new(Cursor::new(Vec::new()));
    entries.iter().for_each(|entry| writer.write(entry).unwrap());
    let mut files = Files::default();
    let report = writer.finish("A world", &mut files)?;
    Ok((files, report))
}

/// A packet of a session, `seconds` after its beginning.
pub(super) fn packet(session: u64, number: i32, seconds: u64, name: &str, fields: &[u8]) -> Entry {
    let protocol = Catalog::embedded().find(number).unwrap().protocol;
    let kind = protocol.named(State::Play, Direction::Clientbound, name).unwrap();
    let mut body = Vec::new();
    body.push(u8::try_from(kind.id()).unwrap());
    body.extend_from_slice(fields);
    let client = "192.0.2.1:50000".parse().unwrap();
    let context = Arc::new(Context::new(session, Timestamp(0), client, protocol));
    let content = Content::Frame(Frame::from_body(body.into()));
    let at = Timestamp(seconds * 1_000_000_000);
    let packet = Packet::new(context, 1, at, Direction::Clientbound, State::Play, content);
    assert!(packet.error().is_none(), "{name}: {:?}", packet.error());
    Entry::Packet(Record::passed(packet))
}

pub(super) fn string(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat()
}

/// The packet that changes a block.
pub(super) fn change(session: u64, number: i32, seconds: u64, at: [i32; 3], state: u32) -> Entry {
    let [x, y, z] = at.map(|it| u64::from(it.cast_unsigned()));
    let position = (x & 0x3ff_ffff) << 38 | (z & 0x3ff_ffff) << 12 | y & 0xfff;
    let mut fields = position.to_be_bytes().to_vec();
    fields.extend(varint(state));
    packet(session, number, seconds, "block_change", &fields)
}

pub(super) fn varint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A chunk of 24 sections of `state` and air above, with one block entity, as it is sent since 1.20.2.
pub(super) fn chunk(
    session: u64,
    number: i32,
    seconds: u64,
    (x, z): (i32, i32),
    state: u32,
) -> Entry {
    let release = Release::new(Family::Java, number);
    let mut sections = Vec::new();
    for place in 0..24 {
        sections.extend_from_slice(&[0, 0]);
        if release >= Release::V26_1 {
            sections.extend_from_slice(&[0, 0]);
        }
        let counted: &[u8] = if release < Release::V1_21_5 { &[0] } else { &[] };
        sections.push(0);
        sections.extend(varint(if place == 0 { state } else { 0 }));
        sections.extend_from_slice(counted);
        sections.extend_from_slice(&[0, 1]);
        sections.extend_from_slice(counted);
    }
    let mut fields = [x.to_be_bytes(), z.to_be_bytes()].concat();
    fields.extend_from_slice(if release < Release::V1_21_5 { &[10, 0] } else { &[0] });
    fields.extend(varint(u32::try_from(sections.len()).unwrap()));
    fields.extend(sections);
    // A chest at 2, -64, 3 of the chunk, without data.
    fields.extend_from_slice(&[1, 0x23, 0xff, 0xc0, 1, 0]);
    // Sky light of the section below the world, and no other.
    fields.extend_from_slice(&[1]);
    let is_bytes = release >= Release::V26_3;
    fields.extend_from_slice(if is_bytes { &[1] } else { &[0, 0, 0, 0, 0, 0, 0, 1] });
    fields.extend_from_slice(&[0, 0, 0, 1, 0x80, 0x10]);
    fields.extend_from_slice(&[0x77; 2048]);
    fields.push(0);
    packet(session, number, seconds, "map_chunk", &fields)
}

pub(super) fn state(number: i32, name: &str) -> u32 {
    use mitmcraft_protocol::meaning::{RegistryKind, registry};
    let protocol = Catalog::embedded().find(number).unwrap().protocol;
    let blocks = registry(&protocol, RegistryKind::Block).unwrap();
    u32::try_from(*blocks.numbers(name).next().unwrap().start()).unwrap()
}

#[test]
fn chunks_since_1_18_have_palettes_changes_and_block_entities() {
    for number in [765, 770, 774, 775, 776, 777] {
        let (stone, chest) = (state(number, "stone"), state(number, "chest"));
        let (files, report) = world(&[
            chunk(1, number, 1, (-1, 33), stone),
            change(1, number, 2, [-14, -64, 33 * 16 + 3], chest),
            change(1, number, 3, [-15, 319, 33 * 16], chest + 1),
            // Neither this chunk nor this height is known.
            change(1, number, 3, [100, 5, 100], stone),
            change(1, number, 3, [-15, 900, 33 * 16], stone),
        ])
        .unwrap();
        let later = number >= 775;
        let folder = if later { "dimensions/minecraft/overworld/region" } else { "region" };
        let path = format!("{folder}/r.-1.1.mca");
        let chunk = files.chunk(&path, -1, 33).unwrap();
        assert_eq!(files.chunk(&path, -2, 33), None);
        let release = Release::new(Family::Java, number);
        let version = Storage::get().data_version(release).unwrap();
        assert_eq!(get(&chunk, "DataVersion"), &Tag::Int(version.number));
        assert_eq!(text(get(&chunk, "Status")), "minecraft:full");
        let place = ["xPos", "yPos", "zPos"].map(|name| get(&chunk, name).as_int().unwrap());
        assert_eq!(place, [-1, -4, 33]);
        let Tag::List(sections) = get(&chunk, "sections") else { panic!() };
        // One of them is below the world, and has only light.
        assert_eq!(sections.items.len(), 25);
        assert_eq!(get(&sections.items[0], "Y"), &Tag::Byte(-5));
        assert_eq!(
            get(&sections.items[0], "SkyLight"),
            &Tag::ByteArray([0x77; 2048][..].to_vec().into())
        );
        let lowest = get(&sections.items[1], "block_states");
        match number {
            777 => {
                assert_eq!(text(get(lowest, "palette/0/")), "minecraft:stone");
                assert_eq!(text(get(lowest, "palette/1/id")), "minecraft:chest");
                assert_eq!(text(get(lowest, "palette/1/properties/facing")), "north");
            }
            _ => {
                assert_eq!(text(get(lowest, "palette/0/Name")), "minecraft:stone");
                assert_eq!(text(get(lowest, "palette/1/Name")), "minecraft:chest");
                assert_eq!(text(get(lowest, "palette/1/Properties/type")), "single");
            }
        }
        let Tag::LongArray(data) = get(lowest, "data") else { panic!() };
        assert_eq!(data.len(), 256);
        let index = 3 * 16 + 2;
        assert_eq!(data[index / 16], 1 << (index % 16 * 4));
        assert_eq!(data.iter().filter(|long| **long != 0).count(), 1);
        let second = get(&sections.items[2], "block_states/palette");
        match second {
            Tag::List(list) if number == 777 => assert_eq!(text(&list.items[0]), "minecraft:air"),
            list => assert_eq!(text(get(list, "0/Name")), "minecraft:air"),
        }
        assert!(text(get(&sections.items[2], "biomes/palette/0")).starts_with("minecraft:"));
        let entities = get(&chunk, "block_entities");
        let Tag::List(list) = entities else { panic!() };
        assert_eq!(list.items.len(), 2, "{entities:?}");
        for (place, [x, y, z]) in [(0, [-15, 319, 528]), (1, [-14, -64, 531])] {
            let entity = &list.items[place];
            assert_eq!(text(get(entity, "id")), "minecraft:chest");
            let at = ["x", "y", "z"].map(|name| get(entity, name).as_int().unwrap());
            assert_eq!(at, [x, y, z]);
        }
        assert_eq!(report.dimensions, [("minecraft:overworld".to_owned(), 1)]);
        assert_eq!(report.left_out.placeless, 5);
        let level = files.dat("level.dat");
        assert_eq!(text(get(&level, "Data/LevelName")), "A world");
        assert_eq!(get(&level, "Data/DataVersion"), &Tag::Int(version.number));
        let settings = match later {
            true => {
                get(&files.dat("data/minecraft/world_gen_settings.dat"), "data/dimensions").clone()
            }
            false => get(&level, "Data/WorldGenSettings/dimensions").clone(),
        };
        let generator = get(&settings, "minecraft:overworld/generator");
        assert_eq!(text(get(generator, "type")), "minecraft:flat");
        assert_eq!(text(get(generator, "settings/layers/0/block")), "minecraft:air");
        assert_eq!(files.0.len(), if later { 3 } else { 2 });
    }
}

#[test]
fn the_newest_sight_of_a_chunk_counts_in_whatever_order_captures_are_read() {
    let (stone, dirt) = (state(765, "stone"), state(765, "dirt"));
    let palette = |entries: &[Entry]| -> Vec<String> {
        let (files, _) = world(entries).unwrap();
        let chunk = files.chunk("region/r.0.0.mca", 0, 0).unwrap();
        let Tag::List(palette) = get(&chunk, "sections/1/block_states/palette") else { panic!() };
        palette.items.iter().map(|it| text(get(it, "Name"))).collect()
    };
    let [old, new] = [(1, stone), (2, dirt)].map(|(at, it)| chunk(at, 765, at, (0, 0), it));
    let early = change(1, 765, 1, [0, -64, 0], dirt);
    let late = change(2, 765, 3, [0, -64, 0], stone);
    let both = ["minecraft:stone", "minecraft:dirt"];
    assert_eq!(palette(&[old.clone(), early.clone()]), ["minecraft:dirt", "minecraft:stone"]);
    let order = [old.clone(), early.clone(), new.clone(), late.clone()];
    assert_eq!(palette(&order), both);
    assert_eq!(palette(&[new, late, old, early]), both);
}

#[test]
fn captures_without_a_whole_chunk_make_no_world() {
    let error = |entries: &[Entry]| world(entries).err().unwrap().to_string();
    assert_eq!(error(&[]), "no whole chunk of 1.2 or later in the captures");
    assert!(error(&[change(1, 765, 2, [0, 0, 0], 1)]).starts_with("no whole chunk"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/session-alpha.jsonl");
    let entries: Vec<Entry> =
        open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
    assert!(error(&entries).ends_with("(those of older versions cannot be written)"));
}

#[test]
fn a_chunk_of_1_8_has_the_numbers_of_its_blocks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/session-1.8.jsonl");
    let entries: Vec<Entry> =
        open_capture(&path, Catalog::embedded()).unwrap().map(Result::unwrap).collect();
    let packets = entries.iter().filter_map(Entry::record);
    let sent = packets.filter_map(|record| Contents::read(&record.packet)).next().unwrap().unwrap();
    let column = &sent.columns[0];
    let (files, report) = world(&entries).unwrap();
    assert_eq!(report.left_out, LeftOut::default());
    let path = format!("region/r.{}.{}.mca", column.x >> 5, column.z >> 5);
    let chunk = files.chunk(&path, column.x, column.z).unwrap();
    assert_eq!(get(&chunk, "Level/TerrainPopulated"), &Tag::Byte(1));
    let Tag::List(sections) = get(&chunk, "Level/Sections") else { panic!() };
    let mut compared = 0;
    for section in &sections.items {
        let y = get(section, "Y").as_int().unwrap() as i32;
        let [Tag::ByteArray(blocks), Tag::ByteArray(data)] =
            ["Blocks", "Data"].map(|name| get(section, name))
        else {
            panic!()
        };
        for index in 0..4096usize {
            let [x, z] =
                [column.x * 16 + (index & 15) as i32, column.z * 16 + (index >> 4 & 15) as i32];
            let nibble = data[index / 2] >> (index % 2 * 4) & 15;
            let state = u32::from(blocks[index]) << 4 | u32::from(nibble);
            assert_eq!(sent.state(x, y * 16 + (index >> 8) as i32, z), Some(state));
            compared += 1;
        }
    }
    assert!(compared >= 4096);
    assert_eq!(sections.items.len(), column.sections.len());
    let level = files.dat("level.dat");
    assert_eq!(get(&level, "Data/version"), &Tag::Int(19133));
    let Tag::Compound(data) = get(&level, "Data") else { panic!() };
    assert!(data.get("DataVersion").is_none() && data.get("generatorOptions").is_some());
}

/// Chunks of 1.8 in one packet, each of one section of stone.
fn bulk(places: &[(i32, i32)]) -> Entry {
    let mut fields = vec![1];
    fields.extend(varint(u32::try_from(places.len()).unwrap()));
    for (x, z) in places {
        fields.extend_from_slice(&[x.to_be_bytes(), z.to_be_bytes()].concat());
        fields.extend_from_slice(&[0, 1]);
    }
    for _ in places {
        fields.extend_from_slice(&[16, 0].repeat(4096));
        fields.extend_from_slice(&[0xff; 4096 + 256]);
    }
    packet(1, 47, 1, "map_chunk_bulk", &fields)
}

/// Gives packets to a region that may keep `limit` bytes.
fn region(limit: usize, entries: &[Entry]) -> (Region, LeftOut) {
    let (mut region, mut left_out) = (Region::new((0, 0, 0)), LeftOut::default());
    region.limit = limit;
    for entry in entries {
        region.take(&entry.record().unwrap().packet, &mut left_out);
    }
    (region, left_out)
}

#[test]
fn chunks_that_come_in_one_packet_count_by_their_own_bytes() {
    let places: Vec<(i32, i32)> = (0..1024).map(|it| (it & 31, it >> 5)).collect();
    let bulks: Vec<Entry> = places.chunks(10).map(bulk).collect();
    // A 16th of the limit for chunks of one section, not of 16.
    let (region, left_out) = region(16 << 20, &bulks);
    assert_eq!((region.chunks.len(), left_out), (1024, LeftOut::default()));
    assert!((12 << 20..14 << 20).contains(&region.size), "{}", region.size);
}

#[test]
fn all_that_is_kept_of_a_region_is_bounded() {
    let number = 765;
    let limit = 256 << 10;
    let first = chunk(1, number, 1, (0, 0), state(number, "stone"));
    let entity = |place: u32| {
        // x and y.
        let position = (u64::from(place & 15) << 38 | u64::from(place >> 4)).to_be_bytes();
        // A string of 8 KiB in a tag without name.
        let nbt = [&[1, 10, 8, 0, 1, b'x', 0x20, 0][..], &[b'y'; 0x2000], &[0]].concat();
        packet(1, number, 2, "tile_entity_data", &[&position[..], &nbt].concat())
    };
    let height = |y: i32, x: i32| change(1, number, 2, [x & 15, y, x >> 4], 1);
    let light = |place: i32| {
        let mut fields = varint(place.cast_unsigned() & 31);
        fields.extend(varint(place.cast_unsigned() >> 5));
        fields.extend_from_slice(&[1, 1, 0, 0, 0, 0x80, 0x10]);
        fields.extend_from_slice(&[0x77; 2048]);
        packet(1, 754, 2, "update_light", &fields)
    };
    let entities = std::iter::once(first.clone()).chain((0..64).map(entity)).collect::<Vec<_>>();
    let changes = (-64..0).flat_map(|y| (0..256).map(move |x| (y, x)));
    let changes = std::iter::once(first).chain(changes.map(|(y, x)| height(y, x)));
    let lights: Vec<Entry> = (0..256).map(light).collect();
    for (what, entries) in
        [("entities", entities), ("changes", changes.collect()), ("lights", lights)]
    {
        let (kept, left_out) = region(usize::MAX, &entries);
        assert!(kept.size > 2 * limit && left_out == LeftOut::default(), "{what} {}", kept.size);
        let (kept, left_out) = region(limit, &entries);
        assert!((limit / 2..limit + 64).contains(&kept.size), "{what} {}", kept.size);
        assert!(left_out.too_many > 0, "{what}");
    }
}

#[test]
fn a_packet_is_kept_for_few_regions() {
    let places: Vec<(i32, i32)> = (0..20).map(|it| (it * 32, 0)).collect();
    let (_, report) = world(&[bulk(&places)]).unwrap();
    assert_eq!(report.dimensions, [("minecraft:overworld".to_owned(), 16)]);
    assert_eq!(report.left_out.too_many, 4);
}

#[test]
fn blocks_above_and_below_the_world_are_not_part_of_it() {
    let explosion = |y: f32| {
        let mut fields = [0.0, y, 0.0, 1.0].map(f32::to_be_bytes).concat();
        fields.extend_from_slice(&[0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0xff, 0]);
        fields.extend_from_slice(&[0; 12]);
        packet(1, 47, 2, "explosion", &fields)
    };
    let (files, _) = world(&[bulk(&[(0, 0)]), explosion(255.0), explosion(0.0)]).unwrap();
    let chunk = files.chunk("region/r.0.0.mca", 0, 0).unwrap();
    let Tag::List(sections) = get(&chunk, "Level/Sections") else { panic!() };
    let heights: Vec<_> = sections.items.iter().map(|it| get(it, "Y")).collect();
    assert_eq!(heights, [&Tag::Byte(0), &Tag::Byte(15)]);
    // Nor are block entities.
    let first = chunk_with_entity_at(900);
    let (region, _) = region(usize::MAX, &first);
    let known = region.chunks[&(0, 0)].block_entities.keys();
    assert_eq!(known.collect::<Vec<_>>(), [&[2, -64, 3]]);
}

fn chunk_with_entity_at(y: u64) -> [Entry; 2] {
    let fields = [&y.to_be_bytes()[..], &[1, 0]].concat();
    [chunk(1, 765, 1, (0, 0), 1), packet(1, 765, 2, "tile_entity_data", &fields)]
}

/// The packet that lets a player into a dimension of 1.20.3.
pub(super) fn login(session: u64, name: &str) -> Entry {
    login_of(session, "minecraft:overworld", name)
}

/// The packet that lets a player into a dimension of a type.
pub(super) fn login_of(session: u64, kind: &str, name: &str) -> Entry {
    let state = [&string(kind)[..], &string(name), &[0; 8], &[1, 1, 0, 0, 0, 0]].concat();
    let fields = [&[0, 0, 0, 7, 0, 0, 20, 10, 10, 0, 1, 0][..], &state].concat();
    packet(session, 765, 0, "login", &fields)
}

#[test]
fn dimensions_whose_names_differ_in_characters_that_no_path_has_stay_apart() {
    let mut entries = Vec::new();
    let names = ["ns:a/b", "ns:a_b", "the/nether", "minecraft:con", "ns:a/b"];
    for (session, name) in (1..).zip(names) {
        entries.push(login(session, name));
        entries.push(chunk(session, 765, 1, (session as i32, 0), 1));
    }
    let (files, report) = world(&entries).unwrap();
    let expected =
        [("ns:a_b", 2), ("ns:a_b_1", 1), ("minecraft:the_nether_2", 1), ("minecraft:_con", 1)];
    assert_eq!(report.dimensions, expected.map(|(name, count)| (name.to_owned(), count)));
    let folder = "dimensions/minecraft/the_nether_2/region";
    assert!(files.chunk(&format!("{folder}/r.0.0.mca"), 3, 0).is_some());
}

#[test]
fn the_spawn_is_the_newest_one_in_its_own_dimension() {
    let spawn = |seconds: u64, name: &str, at: u64| {
        let name = [&[u8::try_from(name.len()).unwrap()][..], name.as_bytes()].concat();
        let fields = [&name[..], &(at << 38 | at << 12 | at).to_be_bytes(), &[0; 8]].concat();
        packet(1, 774, seconds, "spawn_position", &fields)
    };
    let position = |seconds: u64, at: f64, flags: u8| {
        let mut fields = vec![1];
        fields.extend([at; 3].map(f64::to_be_bytes).concat());
        fields.extend_from_slice(&[0; 24 + 8 + 3]);
        fields.push(flags);
        packet(1, 774, seconds, "position", &fields)
    };
    let found = |more: &[Entry]| {
        let entries = [&[chunk(1, 774, 1, (0, 0), 1)], more].concat();
        let (files, _) = world(&entries).unwrap();
        let level = files.dat("level.dat");
        let Tag::IntArray(place) = get(&level, "Data/spawn/pos") else { panic!() };
        (text(get(&level, "Data/spawn/dimension")), place[0])
    };
    let nether = spawn(3, "minecraft:the_nether", 7);
    let overworld = spawn(2, "minecraft:overworld", 5);
    assert_eq!(found(&[nether, overworld]), ("minecraft:the_nether".to_owned(), 7));
    let own = "minecraft:overworld".to_owned();
    // That of a dimension of which nothing is known is no place in this world.
    let unknown = spawn(9, "other:world", 5);
    let [first, moved, later] = [(2, 10.5, 0), (3, 0.5, 1), (4, 20.5, 0x18)];
    let [first, moved, later] =
        [first, moved, later].map(|(at, to, flags)| position(at, to, flags));
    assert_eq!(found(&[unknown, first.clone(), moved.clone()]), (own.clone(), 10));
    assert_eq!(found(&[later, moved, first]), (own, 20));
}

#[test]
fn dimensions_of_a_server_are_paths_whatever_it_names_them() {
    let login = |name: &str| {
        let mut fields =
            [&[0, 0, 0, 7][..], &[0, 3, 0xff, 0], &[10, 0, 0, 0], &[10, 0, 0, 0]].concat();
        fields.push(u8::try_from(name.len()).unwrap());
        fields.extend_from_slice(name.as_bytes());
        fields.extend_from_slice(&[0; 8]);
        fields.extend_from_slice(&[1, 1, 0, 0, 0, 0]);
        let Entry::Packet(record) = packet(1, 754, 0, "login", &fields) else { panic!() };
        Dimension::read(&record.packet).unwrap()
    };
    let v1_16 = Release::V1_16_4;
    for (name, folder) in [
        ("minecraft:overworld", "region"),
        ("minecraft:the_nether", "DIM-1/region"),
        ("minecraft:the_end", "DIM1/region"),
        ("minecraft:my_world", "dimensions/minecraft/my_world/region"),
        ("../../etc:C:\\x/..", "dimensions/______etc/___x___/region"),
        (":", "dimensions/_/_/region"),
    ] {
        assert_eq!(login(name).folder(v1_16), folder, "{name}");
    }
    assert_eq!(
        login("minecraft:overworld").folder(Release::V26_1),
        "dimensions/minecraft/overworld/region"
    );
}

#[test]
fn numbers_are_packed_as_containers_read_them() {
    // The example of the protocol's documentation of 1.16: 5 bits, 12 numbers in a long.
    let numbers = [1, 2, 2, 3, 4, 4, 5, 6, 6, 4, 8, 0, 7, 4, 3, 13, 15, 16, 9, 14, 10, 12, 0, 2];
    let longs: Vec<u64> =
        pack(&numbers, 17, 4, false).into_iter().map(i64::cast_unsigned).collect();
    assert_eq!(longs, [0x0020_8631_4841_8841, 0x0101_8a72_60f6_8c87]);
    // That of 1.13: they go on in the next long.
    let longs: Vec<u64> = pack(&numbers, 17, 4, true).into_iter().map(i64::cast_unsigned).collect();
    assert_eq!(longs, [0x7020_8631_4841_8841, 0x0010_18a7_260f_68c8]);
    assert_eq!(pack(&[0; 4096], 1, 4, false), [0; 256]);
    assert_eq!(pack(&[1; 64], 2, 1, false), [-1]);
}

#[test]
fn a_chunk_beyond_255_sectors_gets_a_file_of_its_own_if_its_version_has_them() {
    let mut seed = 1u32;
    let large: Vec<u8> = (0..2 << 20)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        })
        .collect();
    let mut file = RegionFile::new();
    assert_eq!(file.add((0, 0), b"small", 7, true).unwrap(), Added::Inside);
    assert_eq!(file.add((1, 0), &large, 7, false).unwrap(), Added::TooLarge);
    let Added::Outside(packed) = file.add((-31, -32), &large, 7, true).unwrap() else { panic!() };
    let mut found = Vec::new();
    ZlibDecoder::new(&*packed).read_to_end(&mut found).unwrap();
    assert!(found == large);
    let bytes = file.into_bytes();
    assert_eq!(bytes.len(), 4 * 4096);
    assert_eq!(bytes[..8], [0, 0, 2, 1, 0, 0, 3, 1]);
    assert_eq!(bytes[3 * 4096..3 * 4096 + 5], [0, 0, 0, 1, 0x82]);
    assert_eq!(bytes[4096..4104], [0, 0, 0, 7, 0, 0, 0, 7]);
}

#[test]
fn data_versions_grow_with_versions_and_1_8_has_none() {
    let storage = Storage::get();
    let number = |protocol| {
        storage.data_version(Release::new(Family::Java, protocol)).map(|version| version.number)
    };
    assert_eq!(number(47), None);
    assert_eq!([107, 340, 754, 774, 777].map(number), [169, 1343, 2584, 4671, 5023].map(Some));
    let released: Vec<Release> = Catalog::embedded()
        .protocols()
        .map(|it| it.release())
        .filter(|it| !it.is_snapshot())
        .collect();
    let mut versions: Vec<(Release, i32)> = Vec::new();
    for release in released.into_iter().filter(|it| *it >= Release::V1_9) {
        versions.push((release, storage.data_version(release).unwrap().number));
    }
    versions.sort();
    assert!(versions.len() > 30 && versions.is_sorted_by_key(|(_, number)| *number));
    let entity = |block, release| storage.block_entity(block, release);
    assert_eq!(entity("oak_wall_hanging_sign", Release::V1_21), Some("hanging_sign"));
    assert_eq!(entity("piston_head", Release::V1_21), None);
    assert_eq!(entity("red_bed", Release::V26_1), Some("bed"));
    assert_eq!(entity("red_bed", Release::V26_3), None);
    assert_eq!(entity("bookshelf", Release::V26_3), None);
}
