use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

use mitmcraft_engine::capture::{CreateOptions, Entry, Sink, write_sink};
use mitmcraft_engine::link::{Engine as _, Input, Side};
use mitmcraft_protocol::packet::Timestamp;

use super::playing::playing;
use super::support;
use super::traffic::{THRESHOLD, Traffic};

/// Prints what reading captures of a million packets of the play mix takes, as a table.
///
/// A file of each format is made by the session itself. `cat` is the floor; tcpdump, where it is
/// installed, reads the pcapng without decoding a packet.
pub fn print(rounds: usize) {
    let [jsonl, pcapng] = ["jsonl", "pcapng"].map(|ending| {
        let path = support::scratch_file("million").with_extension(ending);
        write(&path, ending);
        path
    });
    let [jsonl, pcapng] = [&jsonl, &pcapng].map(|path| support::text(path));
    let mitmcraft = support::mitmcraft();
    let ours = mitmcraft.get_program().to_str().unwrap();
    let commands = [
        ("`cat`, JSONL", format!("cat {jsonl}")),
        ("`cat`, pcapng", format!("cat {pcapng}")),
        ("`tcpdump -r`, pcapng", format!("tcpdump -n -r {pcapng} -w -")),
        ("`stats`, JSONL", format!("{ours} stats {jsonl}")),
        ("`stats`, pcapng", format!("{ours} stats {pcapng}")),
        ("`diff` of the two", format!("{ours} diff {jsonl} {pcapng}")),
    ];
    let mut measured = commands.each_ref().map(|_| Vec::new());
    for _ in 0..rounds {
        for ((_, command), measured) in commands.iter().zip(&mut measured) {
            measured.push(run(command));
        }
    }
    let size = |path: &str| fs::metadata(path).unwrap().len() as f64 / 1e6;
    println!(
        "\nReading: a capture of {} million packets of the play mix, JSONL {:.0} MB, pcapng {:.0} MB\n",
        MILLION / 1_000_000,
        size(jsonl),
        size(pcapng),
    );
    println!("| command | seconds | CPU, seconds |");
    println!("| --- | --- | --- |");
    for ((name, _), mut measured) in commands.iter().zip(measured) {
        measured.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (wall, cpu) = measured[measured.len() / 2];
        println!("| {name} | {wall:.2} | {cpu:.2} |");
    }
    for path in [jsonl, pcapng] {
        fs::remove_file(path).unwrap();
    }
}

/// Runs a command without its output. Returns its seconds, and those of processor time.
fn run(command: &str) -> (f64, f64) {
    let begun = Instant::now();
    let script = format!("{command} >/dev/null 2>&1 || [ $? = 127 ]; times");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    let times = String::from_utf8(output.stdout).unwrap();
    // The second line is that of the shell's children: `0m1.587s 0m0.346s`.
    let seconds = |text: &str| -> f64 {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    let cpu = times.lines().nth(1).unwrap().split_whitespace().map(seconds).sum();
    (wall, cpu)
}

/// Records a session.
fn write(path: &std::path::Path, format: &str) {
    let mut session = playing(i32::try_from(THRESHOLD).unwrap());
    let options = CreateOptions::default();
    let file = Box::new(File::create(path).unwrap());
    let mut sink = write_sink(file, format.parse().unwrap(), &options).unwrap();
    let traffic = Traffic::play_of(100_000);
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = 1_795_177_864_000_000_000;
    for _ in 0..MILLION / traffic.frames() {
        // As much as a socket gives at once.
        for read in traffic.bytes().chunks(1000) {
            at += 1_234_567;
            session.handle(Timestamp(at), Input::Received(Side::Server, read));
            let count = session.pending(Side::Client).len();
            session.advance(Side::Client, count);
            session.take_entries(&mut entries);
            entries.drain(..).for_each(|entry| sink.write(&entry).unwrap());
        }
    }
    sink.finish().unwrap();
    std::io::stdout().flush().unwrap();
}

/// Number of packets.
const MILLION: usize = 1_000_000;
