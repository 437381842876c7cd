//! Captures read by gzip, zstd and tshark.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{
    Program, convert, mitmcraft, refuses, root, scratch_file, show, text, wait_for,
};

#[test]
fn other_tools_unpack_what_was_packed() {
    let from = root().join("captures/session-1.8.jsonl");
    let bare = scratch_file("bare.jsonl");
    convert(&[text(&from), text(&bare)]);
    for (name, program) in [("x.jsonl.gz", "gzip"), ("x.jsonl.zst", "zstd")] {
        let packed = scratch_file(name);
        convert(&[text(&from), text(&packed)]);
        let output = Command::new(program).args(["-dc", text(&packed)]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == fs::read(&bare).unwrap(), "{program}");
    }
}

#[test]
fn wireshark_reads_a_capture_live_from_a_pipe() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let mut command = mitmcraft();
    command.args(["proxy", &address, "-l", "127.0.0.1:0", "-q", "-w", "-", "--format", "pcapng"]);
    let output = scratch_file("live.err");
    command.stdout(Stdio::piped()).stderr(File::create(&output).unwrap());
    let mut proxy = command.spawn().unwrap();
    let mut tshark = Command::new("tshark");
    tshark.args(["-i", "-", "-l", "-T", "fields", "-e", "tcp.payload", "-Y", "tcp.len > 0"]);
    tshark.env("LC_ALL", "C.UTF-8").stdin(proxy.stdout.take().unwrap());
    let mut tshark = Program::start_with("tshark", tshark);
    assert!(wait_for(|| fs::read_to_string(&output).unwrap().contains("listening on ")));
    let line = fs::read_to_string(&output).unwrap();
    let port = line.split("127.0.0.1:").nth(1).unwrap().split(',').next().unwrap();
    let mut client = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    for bytes in [&b"GET"[..], b"more"] {
        client.write_all(bytes).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(tshark.line(), hex, "it comes while the proxy runs");
    }
    let id = proxy.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(proxy.wait().unwrap().success());
    tshark.succeed();
}

#[test]
fn the_views_of_a_run_show_both_legs_and_read_back_once() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap();
    let (views, json) = (scratch_file("views-{player}.pcapng.gz"), scratch_file("views.jsonl"));
    let listen = address.to_string();
    let options = ["-w", text(&views), "-w", text(&json), "--pcap-view", "all"];
    let mut proxy = Program::proxy(&listen, &options);
    let port = proxy.listening();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(b"this is no game").unwrap();
    let (mut server, from_proxy) = upstream.accept().unwrap();
    server.write_all(b"nor is that").unwrap();
    server.shutdown(std::net::Shutdown::Write).unwrap();
    let mut got = String::new();
    client.read_to_string(&mut got).unwrap();
    assert_eq!(got, "nor is that");
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.read_to_end(&mut Vec::new()).unwrap();
    proxy.interrupt();
    proxy.succeed();
    let file = PathBuf::from(text(&views).replace("{player}", "unknown"));
    let (near, far) = (client.local_addr().unwrap().port(), from_proxy.port());
    let (game, asked) = ("this is no game", "nor is that");
    for (interface, from, to, output) in [
        ("wire client", near, port, game),
        ("wire client", port, near, asked),
        ("wire server", far, address.port(), game),
        ("wire server", address.port(), far, asked),
        ("plain", near, address.port(), game),
        ("plain", address.port(), near, asked),
    ] {
        let filter = format!(
            "frame.interface_name == \"{interface}\" and tcp.srcport == {from} and tcp.dstport == {to}"
        );
        let payload = tshark(&file, &format!("{filter} and tcp.len > 0"), "tcp.payload");
        let hex: String = output.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(payload.replace('\n', ""), hex, "{interface}, {from} to {to}");
        let ends = tshark(&file, &format!("{filter} and tcp.flags.fin == 1"), "frame.number");
        assert_eq!(ends.lines().count(), 1, "{interface}, {from} to {to}");
    }
    assert_eq!(tshark(&file, "tcp.analysis.flags or _ws.malformed", "frame.number"), "");
    assert_eq!(show(&file), show(&json));
    // All views that a capture without the wire has.
    let converted = scratch_file("converted.pcapng");
    let session = root().join("captures/session-1.8.jsonl");
    convert(&[text(&session), text(&converted), "--pcap-view", "all"]);
    assert_eq!(show(&converted), show(&session));
    let interfaces = tshark(&converted, "frame", "frame.interface_name");
    let interfaces: BTreeSet<&str> = interfaces.lines().collect();
    assert!(interfaces.contains("plain") && interfaces.contains("json"), "{interfaces:?}");
    assert!(!interfaces.iter().any(|name| name.contains("wire")), "{interfaces:?}");
    let output = refuses(&["convert", text(&json), "x.pcapng", "--pcap-view", "wire"]);
    assert!(output.contains("only `proxy` sees what crosses the wire"), "{output}");
    let output = refuses(&["convert", text(&json), "x.pcap", "--pcap-view", "json"]);
    assert!(output.contains("needs a `.pcapng` file"), "{output}");
}

/// Returns a field of the frames that a filter selects.
fn tshark(file: &Path, filter: &str, field: &str) -> String {
    let mut command = Command::new("tshark");
    command.args(["-r", text(file), "-Y", filter, "-T", "fields", "-e", field]);
    let output = command.env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
