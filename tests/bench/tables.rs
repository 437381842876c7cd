//! The cost of the first use of a version, which compiles its tables:
//! `cargo bench --bench tables`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};

use mitmcraft_protocol::schema::Catalog;

fn main() {
    let begun = Instant::now();
    let catalog = Catalog::embedded();
    println!("the file is read in {:?}", begun.elapsed());
    let versions: Vec<i32> = catalog.versions().map(|(version, _)| version).collect();
    let mut times: Vec<(Duration, i32)> = versions
        .iter()
        .map(|version| {
            let begun = Instant::now();
            assert!(catalog.find(*version).unwrap().exact);
            (begun.elapsed(), *version)
        })
        .collect();
    times.sort_unstable();
    let (slowest, version) = times[times.len() - 1];
    let all: Duration = times.iter().map(|(time, _)| *time).sum();
    println!(
        "{} versions compile in {all:?}: the median in {:?}, the slowest ({version}) in {slowest:?}",
        times.len(),
        times[times.len() / 2].0
    );
}
