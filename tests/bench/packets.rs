//! The cost of a packet's parts, on the packets of real games in `captures`: `cargo bench --bench packets`.
//!
//! For each capture, nanoseconds per packet and megabytes of bodies per second. Copying the bodies is the
//! floor.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mitmcraft_engine::capture::{Entry, open_capture};
use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Catalog, Flow, Leaf, Measure, Value, Visitor};

const ROUNDS: usize = 15;

fn main() {
    println!("{:<24} {:>8} {:>8} {:>9} {:>8}", "", "packets", "B each", "ns each", "MB/s");
    for path in captures() {
        let entries = open_capture(&path, Catalog::embedded()).unwrap();
        let records = entries.filter_map(|entry| match entry.unwrap() {
            Entry::Packet(record) => Some(record.packet),
            Entry::Event(_) => None,
        });
        let whole = |packet: &Packet| packet.error().is_none() && packet.size() > 0;
        let packets: Vec<Packet> = records.filter(whole).collect();
        println!("{}", path.file_name().unwrap().to_string_lossy());
        measure(&packets);
    }
}

/// Measures everything that is done with packets.
fn measure(packets: &[Packet]) {
    let bodies: Vec<_> = packets.iter().map(|packet| packet.body().unwrap()).collect();
    let values: Vec<Value> = packets.iter().map(|packet| packet.value().unwrap()).collect();
    let mut out = Vec::new();
    let mut legs = [Leg::default(), Leg::default()];
    legs.iter_mut().for_each(|leg| leg.set_cipher(b"0123456789abcdef"));
    legs[1].decoder.set_opaque();
    let each = |what: &str, run: &mut dyn FnMut(usize)| {
        let mut times: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let begun = Instant::now();
                (0..packets.len()).for_each(&mut *run);
                begun.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let bytes: usize = bodies.iter().map(|body| body.len()).sum();
        let (count, seconds) = (packets.len() as f64, times[ROUNDS / 2]);
        println!(
            "  {what:<22} {count:>8} {:>8.0} {:>9.0} {:>8.0}",
            bytes as f64 / count,
            seconds * 1e9 / count,
            bytes as f64 / 1e6 / seconds,
        );
    };
    each("copy", &mut |at| drop(black_box(bodies[at].to_vec())));
    each("skip", &mut |at| black_box(packets[at].walk(&mut Measure)).unwrap());
    each("walk", &mut |at| black_box(packets[at].walk(&mut Leaves::default())).unwrap());
    each("value", &mut |at| drop(black_box(packets[at].value())));
    each("JSON", &mut |at| {
        out.clear();
        packets[at].write_json(black_box(&mut out)).unwrap();
    });
    each("encode", &mut |at| {
        let protocol = &packets[at].context().protocol;
        black_box(protocol.encode(packets[at].kind().unwrap(), &values[at])).unwrap();
    });
    let [encrypts, decrypts] = &mut legs;
    each("encrypt", &mut |at| {
        encrypts.encoder.put(&bodies[at]);
        encrypts.encoder.advance(bodies[at].len());
    });
    each("decrypt", &mut |at| {
        decrypts.decoder.receive(&bodies[at]);
        black_box(decrypts.decoder.poll());
    });
}

/// Looks at every leaf.
#[derive(Default)]
struct Leaves(usize);

impl Visitor for Leaves {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.0 += black_box(leaf).span().len();
        Flow::Continue(())
    }
}

/// Returns the sessions of games, in order.
fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut sessions: Vec<PathBuf> = files
        .filter(|path| {
            name(path).starts_with("session-") && path.extension().is_some_and(|it| it == "jsonl")
        })
        .collect();
    sessions.sort();
    sessions
}
