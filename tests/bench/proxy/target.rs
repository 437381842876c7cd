use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::game::{Client, Hash, Server};
use super::page::Page;
use super::support::{self, Program};

/// A way from the server to the client.
pub struct Kind {
    pub name: String,
    pub sessions: usize,
    way: Way,
    encrypted: bool,
}

enum Way {
    Direct,
    Relay,
    /// With these options; another build of the program, if a path is given.
    Ours(Option<PathBuf>, Vec<String>),
    /// node-minecraft-protocol.
    Node,
    Quarry,
}

/// A running proxy with its clients.
pub struct Target {
    clients: Vec<Client>,
    /// `None` for the direct way.
    program: Option<Program>,
    capture: Option<PathBuf>,
    /// `true` if the traffic is framed again on the way.
    reframes: bool,
}

/// The result of a round.
pub struct Measured {
    /// Seconds until the last client had everything.
    pub wall: f64,
    /// Seconds of processor time that the proxy took.
    pub cpu: f64,
    /// Bytes written to the capture.
    pub written: f64,
    /// Seconds of a round trip.
    pub p50: f64,
    pub p99: f64,
}

impl Kind {
    fn new(name: &str, way: Way) -> Self {
        Self { name: name.to_owned(), sessions: 1, way, encrypted: false }
    }

    pub fn direct() -> Self {
        Self::new("direct", Way::Direct)
    }

    pub fn relay() -> Self {
        Self::new("relay", Way::Relay)
    }

    pub fn node() -> Self {
        Self::new("node-minecraft-protocol", Way::Node)
    }

    pub fn quarry() -> Self {
        Self::new("quarry", Way::Quarry)
    }

    /// `mitmcraft proxy -q` with more options; `{}` is a new path.
    pub fn ours(name: &str, options: &[&str]) -> Self {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        Self::new(name, Way::Ours(None, options))
    }

    /// Returns this target with another build; `None` if it is not mitmcraft.
    pub fn against(&self, build: &Path) -> Option<Self> {
        let Way::Ours(_, options) = &self.way else { return None };
        let way = Way::Ours(Some(build.to_owned()), options.clone());
        let name = format!("{} ({})", self.name, build.display());
        Some(Self { name, sessions: self.sessions, way, encrypted: self.encrypted })
    }

    pub fn encrypted(self) -> Self {
        Self { encrypted: true, ..self }
    }

    pub fn sessions(self, sessions: usize) -> Self {
        Self { sessions, ..self }
    }

    pub fn is_floor(&self) -> bool {
        matches!(self.way, Way::Direct | Way::Relay)
    }

    pub fn title(&self) -> String {
        let encrypted = if self.encrypted { ", encrypted" } else { "" };
        match self.sessions {
            1 => format!("{}{encrypted}", self.name),
            many => format!("{}{encrypted}, {many} sessions", self.name),
        }
    }
}

impl Target {
    pub fn start(kind: &Kind, server: &Server, hashes: &[Hash]) -> Self {
        let upstream = server.address.to_string();
        let (mut port, mut program, mut capture) = (server.address.port(), None, None);
        match &kind.way {
            Way::Direct => {}
            Way::Relay => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["relay", &upstream]);
                let relay = program.insert(Program::start("relay", command));
                port = relay.line().parse().unwrap();
            }
            Way::Node => port = program.insert(Program::node("relay.js", &[&upstream])).port(),
            Way::Quarry => {
                let root = support::root();
                let mut command = Command::new(root.join("target/tools/quarry/bin/python"));
                command.arg(root.join("tests/real/relay.py")).arg(&upstream);
                port = program.insert(Program::start("relay.py", command)).port();
            }
            Way::Ours(build, options) => {
                let path = support::scratch_file("capture");
                let options: Vec<String> =
                    options.iter().map(|it| it.replace("{}", support::text(&path))).collect();
                capture = options
                    .iter()
                    .position(|it| it == "-w")
                    .map(|it| PathBuf::from(&options[it + 1]));
                let records = options.iter().any(|it| it == "--recorder");
                let shows_page = options.iter().any(|it| it == "--web");
                let mut command = build.as_ref().map_or_else(support::mitmcraft, Command::new);
                command.args(["proxy", &upstream, "-l", "127.0.0.1:0", "-q"]).args(options);
                if records {
                    // The end of each session is an incident.
                    let folder = support::scratch_file("incidents");
                    fs::create_dir(&folder).unwrap();
                    command.current_dir(folder);
                }
                let proxy = program.insert(Program::start("mitmcraft", command));
                port = proxy.listening();
                if shows_page {
                    let line = proxy.wait_for_error("in a browser");
                    let url = line.split_whitespace().find(|word| word.starts_with("http:"));
                    Page::open(url.unwrap()).read_along();
                }
            }
        }
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let clients = (0..kind.sessions).map(|_| Client::login(address, kind.encrypted)).collect();
        let reframes = matches!(kind.way, Way::Node | Way::Quarry);
        let mut target = Self { clients, program, capture, reframes };
        // Caches are warm, and buffers have grown.
        target.measure(hashes);
        target
    }

    /// Returns the memory in bytes that a session takes, by that of many idle ones. Each has carried a
    /// packet.
    pub fn idle_memory(kind: &Kind, server: &Server) -> f64 {
        let mut target = Self::start(kind, server, &[]);
        let Some(first) = target.clients.pop() else { return 0.0 };
        let program = target.program.as_ref().expect("a floor with a process");
        let before = resident(program.id());
        let mut clients: Vec<Client> =
            (0..IDLE).map(|_| Client::login(first.address(), kind.encrypted)).collect();
        clients.iter_mut().for_each(Client::ping);
        (resident(program.id()) - before) / IDLE as f64
    }

    /// Plays a round: round trips, then the traffic.
    ///
    /// With several sessions, each gets all of it, and the figures are those of one.
    pub fn measure(&mut self, hashes: &[Hash]) -> Measured {
        let mut trips: Vec<f64> = (0..TRIPS)
            .map(|_| {
                let begun = Instant::now();
                self.clients[0].ping();
                begun.elapsed().as_secs_f64()
            })
            .collect();
        trips.sort_by(f64::total_cmp);
        self.settle();
        let (cpu, size) = (self.cpu(), self.size());
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for client in &mut self.clients {
                let reframes = self.reframes;
                scope.spawn(move || match reframes {
                    true => client.receive_frames(hashes.len()),
                    false => client.receive(hashes),
                });
            }
        });
        let wall = begun.elapsed().as_secs_f64();
        self.settle();
        let sessions = self.clients.len() as f64;
        let (cpu, written) = (self.cpu() - cpu, self.size() - size);
        Measured {
            wall: wall / sessions,
            cpu: cpu / sessions,
            written: written as f64 / sessions,
            p50: trips[TRIPS / 2],
            p99: trips[TRIPS * 99 / 100],
        }
    }

    /// Waits until the proxy has nothing to do: its log follows the traffic.
    fn settle(&self) {
        let mut last = self.cpu() + self.size() as f64;
        for _ in 0..2000 {
            std::thread::sleep(Duration::from_millis(if self.capture.is_some() { 30 } else { 5 }));
            let now = self.cpu() + self.size() as f64;
            if (now - last).abs() < 100e-6 {
                return;
            }
            last = now;
        }
    }

    /// Returns the processor time of the proxy so far, in seconds.
    fn cpu(&self) -> f64 {
        let Some(program) = &self.program else { return 0.0 };
        let tasks = fs::read_dir(format!("/proc/{}/task", program.id())).unwrap();
        tasks.map(|task| run_time(task.unwrap().path().join("schedstat"))).sum()
    }

    fn size(&self) -> u64 {
        let capture = self.capture.as_ref();
        capture.map_or(0, |path| fs::metadata(path).map_or(0, |file| file.len()))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(capture) = &self.capture {
            let _ = fs::remove_file(capture);
        }
    }
}

/// Returns the memory of a process in bytes.
fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

/// Returns the processor time of the calling thread, in seconds.
pub fn thread_cpu() -> f64 {
    run_time("/proc/thread-self/schedstat".into())
}

fn run_time(path: PathBuf) -> f64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    nanoseconds.unwrap_or_default() as f64 / 1e9
}

/// Number of idle sessions.
const IDLE: usize = 900;

/// Round trips per round.
const TRIPS: usize = 1000;
