//! The cost of forwarding without system calls: `cargo bench --bench forward`.
//!
//! A session in the game receives reads of 64 KiB full of frames, and its output and entries are
//! taken. The baseline copies the same bytes frame by frame. Rounds of each are
//! interleaved; the ratio of their medians is the only stable number on a busy machine.

#![allow(clippy::print_stdout, unreachable_pub)]

#[path = "shared/playing.rs"]
mod playing;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use mitmcraft_engine::link::{Engine as _, Input, Side};
use mitmcraft_engine::session::Session;
use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::packet::Timestamp;
use playing::playing;

const ROUNDS: usize = 31;
const READ: usize = 64 << 10;

fn main() {
    println!("{:<44} {:>10} {:>10} {:>7}", "frames", "ns/frame", "floor", "ratio");
    for (what, size, threshold) in [
        ("9 bytes", 7, -1),
        ("9 bytes, threshold 256", 7, 256),
        ("100 bytes", 98, -1),
        ("1000 bytes, deflated", 1000, 64),
    ] {
        let (reads, frames) = traffic(size, threshold);
        let mut ours = Vec::new();
        let mut floor = Vec::new();
        let mut session = playing(threshold);
        for _ in 0..ROUNDS {
            ours.push(forward(&mut session, &reads));
            floor.push(copy(&reads, size + 2));
        }
        let frames = frames as f64;
        let (ours, floor) = (median(ours) / frames, median(floor) / frames);
        println!("{what:<44} {ours:>10.1} {floor:>10.1} {:>7.1}", ours / floor);
    }
}

/// Fills reads with whole frames with bodies of that size.
fn traffic(size: usize, threshold: i32) -> (Vec<Vec<u8>>, usize) {
    let mut leg = Leg::default();
    leg.set_compression(usize::try_from(threshold).ok());
    // An entity's move, which does not affect the connection.
    let body: Vec<u8> = [0x15].into_iter().chain((0u8..255).cycle()).take(size).collect();
    let mut frames = 0;
    let mut reads = Vec::new();
    for _ in 0..16 {
        while leg.encoder.pending().len() < READ - size - 8 {
            leg.encoder.send(&body);
            frames += 1;
        }
        let read = leg.encoder.pending().to_vec();
        leg.encoder.advance(read.len());
        reads.push(read);
    }
    (reads, frames)
}

fn forward(session: &mut Session, reads: &[Vec<u8>]) -> Duration {
    let mut entries = Vec::new();
    let begun = Instant::now();
    for read in reads {
        session.handle(Timestamp(1), Input::Received(Side::Server, read));
        let count = black_box(session.pending(Side::Client)).len();
        session.advance(Side::Client, count);
        session.take_entries(&mut entries);
        black_box(&entries);
        entries.clear();
    }
    begun.elapsed()
}

fn copy(reads: &[Vec<u8>], size: usize) -> Duration {
    let begun = Instant::now();
    for read in reads {
        let mut out = BytesMut::new();
        for frame in read.chunks(size) {
            out.extend_from_slice(black_box(frame));
        }
        black_box(&out);
    }
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_nanos() as f64
}
