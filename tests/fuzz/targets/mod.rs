//! Fuzz targets: functions that take any bytes and panic if a promise of the library is broken.
//!
//! The plain program (`cargo run --example fuzz`) and cargo-fuzz (`tests/fuzz/Cargo.toml`) both
//! run these.

#![allow(clippy::unwrap_used, reason = "a target that cannot go on has found something")]
#![allow(unreachable_pub)]

mod bytes;
mod captures;
mod decoder;
mod descriptions;
mod encryption;
mod features;
mod files;
mod language;
mod nbt;
mod ping;
mod pipe;
mod preamble;
mod query;
mod schema;
mod scripts;
mod seeds;
mod session;

pub use features::Features;

/// A fuzz target.
#[allow(dead_code, reason = "cargo-fuzz has inputs and words of its own")]
pub struct Target {
    /// The name used on the command line.
    pub name: &'static str,
    /// Runs one input. Returns what the input has led to.
    pub run: fn(&[u8]) -> Features,
    /// Returns the inputs that mutation starts from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that mutation inserts.
    pub words: &'static [&'static str],
}

/// All targets.
pub const ALL: &[Target] = &[
    Target { name: "session", run: session::run, seeds: session::seeds, words: session::WORDS },
    Target { name: "decoder", run: decoder::run, seeds: decoder::seeds, words: &[] },
    Target { name: "encryption", run: encryption::run, seeds: encryption::seeds, words: &[] },
    Target { name: "schema", run: schema::run, seeds: schema::seeds, words: &[] },
    Target { name: "nbt", run: nbt::run, seeds: nbt::seeds, words: nbt::WORDS },
    Target { name: "rules", run: language::rules, seeds: language::files, words: language::WORDS },
    Target {
        name: "expressions",
        run: language::expression,
        seeds: language::expressions,
        words: language::WORDS,
    },
    Target { name: "scripts", run: scripts::run, seeds: scripts::seeds, words: &[] },
    Target { name: "captures", run: captures::run, seeds: captures::seeds, words: files::WORDS },
    Target { name: "recordings", run: files::recording, seeds: files::seeds, words: &[] },
    Target { name: "ping", run: ping::run, seeds: ping::seeds, words: ping::WORDS },
    Target { name: "pipe", run: pipe::run, seeds: pipe::seeds, words: pipe::WORDS },
    Target { name: "query", run: query::run, seeds: query::seeds, words: &[] },
    Target { name: "preamble", run: preamble::run, seeds: preamble::seeds, words: preamble::WORDS },
    Target {
        name: "descriptions",
        run: descriptions::run,
        seeds: descriptions::seeds,
        words: descriptions::WORDS,
    },
];

/// Runs a target by name, for cargo-fuzz.
#[allow(dead_code, reason = "the plain program looks targets up itself")]
pub fn run(name: &str, input: &[u8]) {
    let target = ALL.iter().find(|target| target.name == name).expect("a target of that name");
    (target.run)(input);
}
