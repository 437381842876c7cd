//! The cost of worlds and maps: `cargo bench -p mitmcraft-engine --bench worlds`.
//!
//! 10,000 chunks of 1.20.4, of hilly ground with ores and light, become a world on the disk and a map. Times are those of
//! the processor, of one core; memory is the most that the program has had by then.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mitmcraft_engine::capture::{Entry, Record, Sink as _};
use mitmcraft_engine::world::{MapWriter, WorldFiles, WorldWriter};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State};

/// Chunks in each direction.
const SIDE: i32 = 100;

fn main() {
    let protocol = Catalog::embedded().find(765).unwrap().protocol;
    let kind = protocol.named(State::Play, Direction::Clientbound, "map_chunk").unwrap();
    let id = u8::try_from(kind.id()).unwrap();
    let client = "192.0.2.1:50000".parse().unwrap();
    let context = Arc::new(Context::new(1, Timestamp(0), client, protocol));
    let chunks = || (0..SIDE).flat_map(|x| (0..SIDE).map(move |z| (x, z)));
    let entry = |x: i32, z: i32| {
        let content = Content::Frame(Frame::from_body(chunk(id, x, z)));
        let (context, at) = (Arc::clone(&context), Timestamp(1));
        let (direction, state) = (Direction::Clientbound, State::Play);
        Entry::Packet(Record::passed(Packet::new(context, 1, at, direction, state, content)))
    };
    let size: usize = chunks().map(|(x, z)| chunk(id, x, z).len()).sum();
    println!("{} chunks of {} bytes on average", SIDE * SIDE, size / (SIDE * SIDE) as usize);
    let making = spent(|| chunks().for_each(|(x, z)| drop(entry(x, z))));
    let folder = tempfile::tempdir().unwrap();
    let mut world = WorldWriter::new(tempfile::tempfile().unwrap());
    let seconds = spent(|| {
        chunks().for_each(|(x, z)| world.write(&entry(x, z)).unwrap());
        let mut files = Folder(folder.path().to_owned());
        let report = world.finish("bench", &mut files).unwrap();
        assert_eq!(report.dimensions[0].1, (SIDE * SIDE) as u64);
    });
    row("world", seconds - making);
    let mut map = MapWriter::new(tempfile::tempfile().unwrap(), usize::MAX);
    let seconds = spent(|| {
        chunks().for_each(|(x, z)| map.write(&entry(x, z)).unwrap());
        let report = map.finish().unwrap();
        assert_eq!(report.maps[0].size(), (1600, 1600));
        report.maps[0].write_png(&mut io::sink()).unwrap();
    });
    row("map", seconds - making);
}

fn row(what: &str, seconds: f64) {
    let chunks = f64::from(SIDE * SIDE);
    println!("{what:<8} {:>8.0} chunks/s {:>8.1} MiB", chunks / seconds, peak());
}

/// The body of a chunk: 24 sections, the lower ones of stone with ores and of ground, whose height depends on the place.
fn chunk(id: u8, x: i32, z: i32) -> Bytes {
    let mut seed =
        x.cast_unsigned().wrapping_mul(0x9e37_79b9) ^ z.cast_unsigned().wrapping_mul(0x85eb_ca6b);
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 16
    };
    let height = 6 + (f64::from(x) / 9.0).sin().mul_add(2.0, (f64::from(z) / 7.0).cos()) as i32;
    let mut sections = Vec::new();
    for section in 0..24 {
        if section > height {
            // Air, and plains.
            sections.extend_from_slice(&[0, 0, 0, 0, 0, 0, 39, 0]);
            continue;
        }
        sections.extend_from_slice(&[16, 0, 4, 12]);
        // Air, stone, dirt, grass and ores, as numbers of 1.20.4.
        for state in [0u16, 1, 2, 4, 6, 9, 10, 124, 125, 126, 127, 129] {
            sections.extend_from_slice(&varint(state.into()));
        }
        sections.extend_from_slice(&[0x80, 2]);
        for row in 0..256 {
            // One block in 16 is no stone, apart from the ground at the top.
            let ground: u64 =
                if section == height && row > 128 { 0 } else { 0x1111_1111_1111_1111 };
            let place = next() % 16 * 4;
            let other = u64::from(next() % 12) << place;
            sections.extend_from_slice(&(ground & !(15 << place) | other).to_be_bytes());
        }
        sections.extend_from_slice(&[0, 39, 0]);
    }
    let mut body = vec![id];
    body.extend_from_slice(&[x.to_be_bytes(), z.to_be_bytes()].concat());
    body.extend_from_slice(&[10, 0]);
    body.extend_from_slice(&varint(u32::try_from(sections.len()).unwrap()));
    body.extend_from_slice(&sections);
    // No block entities. Sky light of four sections, block light of two.
    body.push(0);
    for mask in [0xf0_u64 << 4, 0x30, 0, 0] {
        body.push(1);
        body.extend_from_slice(&mask.to_be_bytes());
    }
    for count in [4, 2] {
        body.push(count);
        for _ in 0..count {
            body.extend_from_slice(&[0x80, 0x10]);
            body.extend(
                (0..2048).map(|at| if at % 64 < 40 { 0xff } else { (next() & 0xff) as u8 }),
            );
        }
    }
    body.into()
}

fn varint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

struct Folder(PathBuf);

impl WorldFiles for Folder {
    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, bytes)
    }
}

/// Returns the seconds of processor time that the thread spends on something.
fn spent(run: impl FnOnce()) -> f64 {
    let nanoseconds = || {
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let before = nanoseconds();
    run();
    (nanoseconds() - before) / 1e9
}

/// Returns the most memory that the program has had, in MiB.
fn peak() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}
