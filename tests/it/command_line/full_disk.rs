//! Captures and lakes on a file system of their own, which is full while sessions are recorded.

use serde_json::Value as Json;

use crate::support::game::{Upstream, hello};
use crate::support::{Program, scratch_file, text};

/// Starts a script with the functions of [`FUNCTIONS`]. A file system of 1 MiB is mounted in the folder `name`.
fn start(name: &str, upstream: &Upstream, script: &str) -> Program {
    let (folder, beside) = (scratch_file(name), scratch_file(&format!("beside-{name}.jsonl")));
    std::fs::create_dir(&folder).unwrap();
    let hello: String = hello(2).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = std::process::Command::new("unshare");
    let script = format!("{FUNCTIONS}{script}");
    command.args(["--user", "--map-root-user", "--mount", "python3", "-c", &script]);
    command.args([text(&folder), text(&beside), env!("CARGO_BIN_EXE_mitmcraft")]);
    command.args([&upstream.address, &hello]);
    Program::start("unshare", command)
}

#[test]
fn what_is_missing_at_the_end_of_a_run_is_counted_exactly() {
    let upstream = Upstream::answering();
    let mut runs = start("full-captures", &upstream, CAPTURES);
    for output in ["one file", "a series", "sessions", "pcapng", "a lake"] {
        let run = runs.event();
        let said = run["said"].as_str().unwrap();
        assert!(said.contains("No space left on device"), "{output}: {said}");
        let missing = run["all"].as_u64().unwrap() - run["there"].as_u64().unwrap();
        // 20 sessions with four entries and more.
        assert!(missing > 80, "{output}: {run}");
        let sentence = format!("is incomplete: {missing} entries are missing from it");
        assert!(said.contains(&sentence), "{output}: {missing}: {said}");
        assert_eq!(run["code"], 1, "{output}");
    }
    runs.succeed();
}

#[test]
fn a_full_disk_loses_nothing_that_a_lake_had_before_and_the_next_run_adds_it() {
    let upstream = Upstream::answering();
    let mut runs = start("full-lake", &upstream, LAKE);
    let counts = |run: &Json| [&run["code"], &run["raw"], &run["parts"]].map(Json::as_u64);
    let full = runs.event();
    let said = full["said"].as_str().unwrap();
    assert_eq!(counts(&full), [Some(1), Some(1), Some(0)], "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let after = runs.event();
    let said = after["said"].as_str().unwrap();
    assert_eq!(counts(&after), [Some(0), Some(0), Some(2)], "{said}");
    assert!(said.contains("added 1 part that an earlier run had left"), "{said}");
    let shown = after["shown"].as_str().unwrap();
    assert!(shown.matches("login_start").count() >= 2, "{shown}");
    runs.succeed();
}

/// `run` records a session, fills the disk if it is to, and records others. What is recorded is in the capture
/// `beside` the full disk, too.
const FUNCTIONS: &str = r"
import glob, json, os, re, signal, socket, subprocess, sys, time
folder, beside, program, upstream, hello = sys.argv[1:]
subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], check=True)

def files(pattern):
    return glob.glob(folder + '/' + pattern, recursive=True, include_hidden=True)

def play(port):
    client = socket.create_connection(('127.0.0.1', port))
    client.sendall(bytes.fromhex(hello))
    assert client.recv(1)
    return client

def fill():
    with open(folder + '/filler', 'wb', buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(256))
        except OSError:
            pass

# The outputs are written in their order: what is beside was written to the disk before.
def wait_for_sessions(count):
    for _ in range(30000):
        if open(beside).read().count('login_start') >= count:
            return
        time.sleep(0.01)
    raise Exception(open(beside).read())

def run(options, full):
    command = [program, 'proxy', upstream, '-l', '127.0.0.1:0', '-q', *options, '-w', beside, '--overwrite']
    proxy = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = ''
    while not (listening := re.search(r'listening on 127\.0\.0\.1:(\d+)', said)):
        line = proxy.stderr.readline()
        assert line, said
        said += line
    port = int(listening[1])
    clients = [play(port)]
    wait_for_sessions(1)
    if full:
        fill()
        clients += [play(port) for _ in range(20)]
        wait_for_sessions(21)
    proxy.send_signal(signal.SIGINT)
    said += proxy.stderr.read()
    return {'code': proxy.wait(), 'said': said}

def entries(text):
    lines = [json.loads(line) for line in text.split('\n')[:-1]]
    return sum(line.get('event') not in ('capture', 'table') for line in lines)
";

/// Runs with each kind of output. `convert` reads what is not JSONL, and says that the end is cut off.
const CAPTURES: &str = r"
def there(path):
    if path.endswith('.jsonl'):
        return entries(open(path).read())
    convert = [program, 'convert', path, '-', '--format', 'jsonl']
    return entries(subprocess.run(convert, capture_output=True, text=True).stdout)

for options, pattern in [
    (['-w', folder + '/all.jsonl'], '*.jsonl'),
    (['-w', folder + '/all.jsonl', '--rotate', '1M'], '*.jsonl'),
    (['-w', folder + '/{session}.jsonl'], '*.jsonl'),
    (['-w', folder + '/all.pcapng'], '*.pcapng'),
    (['--lake', folder + '/lake', '--lake-host', 'eu1'], 'lake/.raw/eu1/*.jsonl'),
]:
    result = run(options, True)
    os.remove(folder + '/filler')
    result['all'] = entries(open(beside).read())
    result['there'] = sum(there(path) for path in files(pattern))
    subprocess.run(['rm', '-r', *files('*')], check=True)
    print(json.dumps(result), flush=True)
";

/// Records on a full disk, frees the disk, and records again.
const LAKE: &str = r"
def record(full):
    result = run(['--lake', folder, '--lake-host', 'eu1'], full)
    raw, parts = files('.raw/eu1/*.jsonl'), files('date=*/host=eu1/*.parquet')
    return {**result, 'raw': len(raw), 'parts': len(parts)}

print(json.dumps(record(True)), flush=True)
os.remove(folder + '/filler')
after = record(False)
shown = subprocess.run([program, 'show', folder], capture_output=True, text=True)
print(json.dumps({**after, 'shown': shown.stdout}), flush=True)
";
