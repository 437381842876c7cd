//! A fuzzer on stable Rust: `cargo run --example fuzz -- --help`.
//!
//! It starts a process per target. A process writes each input to a file before it runs it, so that
//! whatever ends it (a panic, a stack overflow, the kernel, a loop without end), the input is known.
//!
//! cargo-fuzz runs the same targets with coverage as its guide and is the better tool for hours, but it has
//! to be installed and builds everything with its own flags. This program and its mutator (430 lines
//! together) need no install and no second build, so that every `tests/run` fuzzes each target for 5 s.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
#![allow(clippy::unwrap_used, reason = "a program that cannot go on panics")]

mod kept;
mod mutator;
mod targets;

use std::collections::HashSet;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mutator::Mutator;
use targets::Target;

const HELP: &str = "\
Runs fuzz targets, as many at a time as there are processors.

usage: fuzz [TARGET..] [--seconds N] [--seed N] [--fresh]
       fuzz --replay TARGET FILE
       fuzz --corpus FOLDER [TARGET..]
       fuzz --keep FOLDER [TARGET..]
       fuzz --list

Without TARGET, all of them. --seconds is per target [default: 5]. The same seed makes the same
inputs [default: 1]; --fresh takes another one. --replay runs one input. --corpus writes the inputs
that mutation starts from, in a folder per target, as cargo-fuzz wants them; --keep adds the
shortest inputs of such folders to those, in tests/fuzz/corpus.
";

fn main() -> ExitCode {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
        match &*argument {
            "--seconds" => options.seconds = value().parse().unwrap(),
            "--seed" => options.seed = value().parse().unwrap(),
            "--fresh" => options.seed = u64::from(std::process::id()) << 32 | now(),
            "--replay" => options.replay = Some((find(&value()), value().into())),
            "--corpus" => options.corpus = Some(value().into()),
            "--keep" => options.keep = Some(value().into()),
            "--child" => options.child = Some(value().into()),
            "--list" => options.list = true,
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            name => options.targets.push(find(name)),
        }
    }
    if options.targets.is_empty() {
        options.targets = targets::ALL.iter().collect();
    }
    if options.list {
        options.targets.iter().for_each(|target| println!("{}", target.name));
    } else if let Some((target, file)) = &options.replay {
        let input = std::fs::read(file).unwrap();
        (target.run)(&input);
        println!("{}: {} bytes pass", target.name, input.len());
    } else if let Some(folder) = &options.corpus {
        options.targets.iter().for_each(|target| write_corpus(target, &folder.join(target.name)));
    } else if let Some(folder) = &options.keep {
        options.targets.iter().for_each(|target| kept::keep(target, &folder.join(target.name)));
    } else if let Some(current) = &options.child {
        fuzz(options.targets[0], &options, current);
    } else {
        return supervise(&options);
    }
    ExitCode::SUCCESS
}

struct Options {
    targets: Vec<&'static Target>,
    seconds: u64,
    seed: u64,
    list: bool,
    replay: Option<(&'static Target, PathBuf)>,
    corpus: Option<PathBuf>,
    keep: Option<PathBuf>,
    /// The file that a process for one target writes its inputs to.
    child: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            seconds: 5,
            seed: 1,
            list: false,
            replay: None,
            corpus: None,
            keep: None,
            child: None,
        }
    }
}

fn find(name: &str) -> &'static Target {
    let target = targets::ALL.iter().find(|target| target.name == name);
    target.unwrap_or_else(|| panic!("no target `{name}`: see --list"))
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(now.unwrap().subsec_nanos())
}

fn write_corpus(target: &Target, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (number, seed) in kept::inputs(target).iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
    }
}

/// Runs all targets in processes of their own.
fn supervise(options: &Options) -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp/fuzz");
    std::fs::create_dir_all(&folder).unwrap();
    let most = thread::available_parallelism().map_or(1, usize::from);
    let mut waiting = options.targets.iter();
    let mut running: Vec<Run> = Vec::new();
    let mut failures = 0;
    loop {
        while running.len() < most {
            let Some(target) = waiting.next() else { break };
            running.push(Run::start(target, options, &folder));
        }
        if running.is_empty() {
            break;
        }
        running.retain_mut(|run| match run.poll(options) {
            None => true,
            Some(passed) => {
                failures += usize::from(!passed);
                false
            }
        });
        thread::sleep(Duration::from_millis(20));
    }
    if failures > 0 {
        eprintln!("fuzz: {failures} of {} targets failed", options.targets.len());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The process of a target.
struct Run {
    target: &'static Target,
    child: Child,
    current: PathBuf,
    begun: Instant,
}

impl Run {
    fn start(target: &'static Target, options: &Options, folder: &Path) -> Self {
        let current = folder.join(format!("{}-{}.current", target.name, std::process::id()));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--child").arg(&current).arg(target.name);
        command.args(["--seconds", &options.seconds.to_string()]);
        command.args(["--seed", &options.seed.to_string()]).env("RUST_BACKTRACE", "1");
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        Self { target, child, current, begun: Instant::now() }
    }

    /// Returns whether it has passed, once it has ended.
    fn poll(&mut self, options: &Options) -> Option<bool> {
        let why = match self.child.try_wait().unwrap() {
            Some(status) if status.success() => {
                let _ = std::fs::remove_file(&self.current);
                return Some(true);
            }
            Some(status) => status.to_string(),
            // Making the seeds takes a while too.
            None if self.begun.elapsed() < Duration::from_secs(options.seconds) + PATIENCE => {
                return None;
            }
            None => {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                format!("an input took more than {} s", PATIENCE.as_secs())
            }
        };
        let (name, seed) = (self.target.name, options.seed);
        let failed = self.current.with_file_name(format!("{name}-{seed}.failed"));
        let _ = std::fs::rename(&self.current, &failed);
        eprintln!("fuzz: {name} failed with seed {seed}: {why}");
        eprintln!(
            "fuzz: to repeat: cargo run --example fuzz -- --replay {name} {}",
            failed.display()
        );
        Some(false)
    }
}

/// Mutates and runs inputs of a target until the time is over.
fn fuzz(target: &Target, options: &Options, current: &Path) {
    let mut file = File::create(current).unwrap();
    let mut run = |input: &[u8]| {
        file.rewind().unwrap();
        file.write_all(input).unwrap();
        file.set_len(input.len() as u64).unwrap();
        let begun = Instant::now();
        ((target.run)(input), begun.elapsed())
    };
    let mut corpus = kept::inputs(target);
    let mut seen = HashSet::new();
    for seed in &corpus {
        seen.extend(run(seed).0.0);
    }
    let (seeds, mut runs, mut slowest) = (corpus.len(), 0_u64, Duration::ZERO);
    let mut mutator = Mutator::new(options.seed, target.words);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(options.seconds) {
        let input = mutator.make(&corpus);
        let (features, took) = run(&input);
        runs += 1;
        if took > slowest {
            slowest = took;
            if took > SLOW {
                std::fs::write(current.with_file_name(format!("{}.slow", target.name)), &input)
                    .unwrap();
            }
        }
        let before = seen.len();
        seen.extend(features.0);
        if seen.len() > before && corpus.len() < MOST {
            corpus.push(input);
        }
    }
    println!(
        "fuzz: {:<12} {runs:>9} inputs, {seeds:>4} + {:>4} kept, {:>5} features, slowest {slowest:.1?}",
        target.name,
        corpus.len() - seeds,
        seen.len(),
    );
}

/// Time after which an input is taken to have no end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time from which an input is kept for a look at it.
const SLOW: Duration = Duration::from_secs(1);

/// Inputs that are kept to be mutated.
const MOST: usize = 20_000;
