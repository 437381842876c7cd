//! tcpdump records real sessions next to the proxy, and `decode` recovers from the recording what the
//! proxy itself captured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{Program, read_lines, scratch_file, text, wait_for};
use serde_json::Value as Json;

#[test]
fn a_recording_of_an_offline_session_equals_the_proxys_capture() {
    let played = play(&["--threshold", "256", "--small"]);
    let decoded = decode(&played.recording, &[]);
    compare(&played, &decoded);
    // The written file is a valid capture.
    let shown = Program::mitmcraft(&["show", text(&decoded.file)]).succeed();
    assert!(shown.contains("kick_disconnect"), "{shown}");
    // Wireshark with the dissector agrees.
    for port in [played.client_leg, played.server_leg] {
        dissect(&played.recording, port, &decoded.leg(port));
    }
}

#[test]
fn an_encrypted_session_needs_the_key_log_to_equal_the_proxys_capture() {
    let played = play(&["--threshold", "64", "--encrypt", "--small"]);
    // One line per leg.
    let keys = std::fs::read_to_string(&played.keys).unwrap();
    assert_eq!(keys.lines().count(), 2, "{keys}");
    let decoded = decode(&played.recording, &["--keys", text(&played.keys)]);
    assert!(!decoded.stderr.contains("warning"), "{}", decoded.stderr);
    compare(&played, &decoded);
    // So does what the proxy itself says has crossed its sockets: nothing was encrypted again on the way.
    let decoded = decode(&played.wire, &["--keys", text(&played.keys)]);
    assert!(!decoded.stderr.contains("warning"), "{}", decoded.stderr);
    compare(&played, &decoded);
    // Both interfaces show it.
    crate::web::shows_a_recording(&played.recording, &played.keys);
    crate::screen::shows_a_recording(&played.recording, &played.keys);

    let decoded = decode(&played.recording, &[]);
    for leg in [played.client_leg, played.server_leg] {
        let leg = decoded.leg(leg);
        let response = leg.iter().position(|line| is(line, "serverbound", "encryption_begin"));
        let response = response.unwrap();
        let after = &leg[response + 1..];
        assert!(after.len() > 20, "{}", after.len());
        for line in after {
            let error = line["error"].as_str().unwrap();
            assert!(error.contains("no key log has the verify token `"), "{error}");
        }
    }
    assert_eq!(decoded.stderr.matches("no key log has the verify token `").count(), 2);
    // The dissector stops at the same place.
    let stream = format!("tcp.port == {}", played.server_leg);
    let fields = ["packet".to_owned(), "encrypted".to_owned()];
    let shown = tshark(&played.recording, &stream, &fields);
    let login = ["set_protocol", "login_start", "encryption_begin", "encryption_begin"];
    assert_eq!(shown[0], login);
    assert!(shown[1].len() > 10);
}

/// A session through the proxy, recorded next to it.
struct Played {
    recording: PathBuf,
    /// The proxy's own recording of the bytes on its sockets.
    wire: PathBuf,
    keys: PathBuf,
    capture: Vec<Json>,
    /// The ports that the client and the proxy connected to.
    client_leg: u16,
    server_leg: u16,
}

fn play(server_options: &[&str]) -> Played {
    let mut server = Program::node("server.js", &[&["--port", "0"], server_options].concat());
    let server_leg = server.port();
    let (capture, recording) = (scratch_file("proxy.jsonl"), scratch_file("tcpdump.pcap"));
    let upstream = format!("127.0.0.1:{server_leg}");
    let (keys, wire) = (scratch_file("keys.txt"), scratch_file("wire.pcapng"));
    let options = ["-w", text(&capture), "-w", text(&wire), "--pcap-view", "wire"];
    let mut proxy =
        Program::proxy(&upstream, &[&options[..], &["--key-log", text(&keys)]].concat());
    let client_leg = proxy.listening();

    let filter = format!("tcp port {server_leg} or tcp port {client_leg}");
    let mut command = Command::new("tcpdump");
    command.args(["-i", "lo", "-s", "0", "-U", "-B", "16384", "-w", text(&recording)]);
    let mut tcpdump = Program::start("tcpdump", {
        command.args(["-Z", "root", &filter]);
        command
    });
    tcpdump.wait_for_error("listening on");

    let client = Program::node("client.js", &["--port", &client_leg.to_string()]).succeed();
    assert!(client.contains("see you"), "{client}");
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    wait_for_ends(&recording);
    tcpdump.interrupt();
    tcpdump.succeed();
    Played { recording, wire, keys, capture: read_lines(&capture), client_leg, server_leg }
}

/// Waits until the recording has the ends of both connections: tcpdump writes a little later.
fn wait_for_ends(recording: &Path) {
    let ended = wait_for(|| {
        let ended = Command::new("tcpdump")
            .args(["-r", text(recording), "-n", "tcp[tcpflags] & (tcp-fin|tcp-rst) != 0"])
            .output()
            .unwrap();
        String::from_utf8_lossy(&ended.stdout).lines().count() >= 4
    });
    assert!(ended, "the recording has no ends of connections");
}

/// The output of `decode` for a recording.
struct Decoded {
    file: PathBuf,
    lines: Vec<Json>,
    stderr: String,
}

impl Decoded {
    /// The packets of the connection to that port.
    fn leg(&self, port: u16) -> Vec<&Json> {
        let open = |line: &&Json| {
            let server = line["upstream"].as_str().unwrap_or_default();
            line["event"] == "open" && server.ends_with(&format!(":{port}"))
        };
        let session = &self.lines.iter().find(open).unwrap()["session"];
        let own = |line: &&Json| line.get("event").is_none() && line["session"] == *session;
        self.lines.iter().filter(own).collect()
    }
}

fn decode(recording: &Path, options: &[&str]) -> Decoded {
    let file = scratch_file("decoded.jsonl");
    let arguments = [&["decode", "-q", text(recording), "-w", text(&file)], options].concat();
    let (status, stderr) = Program::mitmcraft(&arguments).fail();
    assert!(status.success(), "{stderr}");
    Decoded { lines: read_lines(&file), file, stderr }
}

/// Compares each leg with the packets that the proxy received and sent on it.
fn compare(played: &Played, decoded: &Decoded) {
    for (port, serverbound, clientbound) in
        [(played.client_leg, CAME, WENT), (played.server_leg, WENT, CAME)]
    {
        let leg = decoded.leg(port);
        for (direction, verdicts) in [("serverbound", serverbound), ("clientbound", clientbound)] {
            let found: Vec<_> =
                leg.iter().filter(|line| line["dir"] == direction).map(|it| summary(it)).collect();
            let captured = played.capture.iter().filter(|line| {
                line["dir"] == direction
                    && line["verdict"].as_str().is_some_and(|it| verdicts.contains(&it))
            });
            let captured: Vec<_> = captured.map(summary).collect();
            assert!(found.len() > 20, "{}", found.len());
            for (index, (found, captured)) in found.iter().zip(&captured).enumerate() {
                let what = format!("{direction} packet {index} to port {port}");
                assert!(found == captured, "{what}: {}", decoded.stderr);
            }
            assert_eq!(found.len(), captured.len(), "{direction} to port {port}");
        }
    }
}

/// Checks that the dissector shows the packets of a connection, and some of their fields, as decoded.
fn dissect(recording: &Path, port: u16, leg: &[&Json]) {
    const FIELDS: [(&str, &str); 5] = [
        ("map_chunk", "x"),
        ("rel_entity_move", "dX"),
        ("set_slot", "slot"),
        ("set_protocol", "serverHost"),
        ("compress", "threshold"),
    ];
    for (direction, side) in [("serverbound", "dst"), ("clientbound", "src")] {
        let mut names = vec!["packet".to_owned(), "state".to_owned(), "undecoded".to_owned()];
        names.extend(FIELDS.map(|(packet, field)| format!("{packet}.{field}")));
        let shown = tshark(recording, &format!("tcp.{side}port == {port} && minecraft"), &names);
        let own = || leg.iter().filter(|line| line["dir"] == direction);
        let summary = |key: &str| own().map(|line| text_of(&line[key])).collect::<Vec<_>>();
        assert_eq!((&shown[0], &shown[1]), (&summary("packet"), &summary("state")));
        assert_eq!(shown[2], [""; 0]);
        for ((packet, field), shown) in FIELDS.iter().zip(&shown[3..]) {
            let own = own().filter(|line| line["packet"] == *packet);
            let summary: Vec<_> = own.map(|line| text_of(&line["fields"][field])).collect();
            assert_eq!(*shown, summary, "{packet}.{field}");
        }
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Every value of some fields of the dissector that tshark finds, without other settings,
/// in the frames selected by a display filter.
fn tshark(recording: &Path, filter: &str, fields: &[String]) -> Vec<Vec<String>> {
    static SCRIPT: OnceLock<PathBuf> = OnceLock::new();
    let script = SCRIPT.get_or_init(|| {
        let script = scratch_file("minecraft.lua");
        Program::mitmcraft(&["wireshark", "-o", text(&script)]).succeed();
        script
    });
    let stock = scratch_file("stock");
    let run = Command::new("tshark")
        .args(["-X", &format!("lua_script:{}", text(script)), "-r", text(recording)])
        .args(["-Y", filter, "-T", "fields", "-E", "aggregator=|"])
        .args(fields.iter().flat_map(|field| ["-e".to_owned(), format!("minecraft.{field}")]))
        .env("WIRESHARK_CONFIG_DIR", &stock)
        .env("HOME", &stock)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("install tshark (Debian: apt-get install tshark)");
    let complaints = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !complaints.contains("Lua"), "{complaints}");
    let mut values = vec![Vec::new(); fields.len()];
    for line in String::from_utf8(run.stdout).unwrap().lines() {
        for (values, found) in values.iter_mut().zip(line.split('\t')) {
            values.extend(found.split('|').filter(|it| !it.is_empty()).map(str::to_owned));
        }
    }
    values
}

/// The parts of a line that describe its packet, without times and places.
fn summary(line: &Json) -> [&Json; 6] {
    ["state", "id", "packet", "wire", "fields", "body"].map(|key| &line[key])
}

fn is(line: &Json, direction: &str, packet: &str) -> bool {
    line["dir"] == direction && line["packet"] == packet
}

/// Verdicts on packets that a peer sent, and on packets that were sent to one.
const CAME: &[&str] = &["pass", "drop", "rewrite"];
const WENT: &[&str] = &["pass", "send"];
