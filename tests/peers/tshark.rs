//! A stock Wireshark reads the captures without reporting a problem.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use mitmcraft_engine::capture::{
    Entry, PcapSink, PcapngReader, PcapngSink, Record, Sink, Views, Wire, WireKind, WireLeg,
};
use mitmcraft_protocol::packet::Content;
use mitmcraft_protocol::schema::{Catalog, Role};
use mitmcraft_protocol::wire::write_varint;
use serde_json::json;

use crate::support::game::hello;
use crate::support::samples::*;
use crate::support::{Program, root, text};

#[test]
fn wireshark_reports_no_problem_in_a_capture() {
    let file = capture("faults.pcapng");
    let frames = count(&file, &[]);
    assert!(frames > 400, "{frames}");
    assert_eq!(listed(&file, "tcp.analysis.flags"), "");
    assert_eq!(listed(&file, "_ws.malformed"), "");
    assert_eq!(listed(&file, "_ws.expert.severity >= warning"), "");
    let checked = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let sums = |filter| count(&file, &[&checked[..], &["-Y", filter]].concat());
    assert_eq!(sums("tcp.checksum.status == good"), frames);
    let v4 = sums("ip");
    assert_eq!(sums("ip.checksum.status == good"), v4);
    assert!(v4 > 50 && frames - v4 > 50, "both IPv4 and IPv6");
}

/// More sessions than one address has ports, 20 of them open at once.
#[test]
fn wireshark_keeps_the_sessions_of_one_address_apart_however_many_there_are() {
    let file = path("crowd.pcapng");
    let mut sink = PcapngSink::new(File::create(&file).unwrap()).unwrap();
    let mut open: Vec<Stage> = Vec::new();
    let sessions = 20_000;
    for id in 1..=sessions {
        let mut stage = Stage::new(id, "127.0.0.1:51234", "192.0.2.7:25565");
        let now = stage.at;
        stage.open();
        stage.body(Serverbound, Play, &[0x00, 0x05]);
        open.push(stage);
        let ends = if id == sessions { open.len() } else { open.len().saturating_sub(20) };
        if let Some(stage) = open.last_mut() {
            stage.entries.drain(..).for_each(|entry| sink.write(&entry).unwrap());
        }
        for mut stage in open.drain(..ends) {
            stage.at = now;
            stage.body(Clientbound, Play, &[0x00, 0x05]);
            stage.close("over");
            stage.entries.iter().for_each(|entry| sink.write(entry).unwrap());
        }
    }
    sink.finish().unwrap();
    assert_eq!(listed(&file, "tcp.analysis.flags"), "");
    let streams = tshark(
        &file,
        &["-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0", "-T", "fields", "-e", "tcp.stream"],
    );
    let mut streams: Vec<&str> = streams.lines().collect();
    streams.sort_unstable();
    streams.dedup();
    assert_eq!(streams.len() as u64, sessions);
    assert_eq!(count(&file, &["-Y", "tcp.flags.fin == 1"]) as u64, 2 * sessions);
}

/// One wrong guess cannot be prevented from within a file: a keep-alive `03 00 80 01` is claimed by
/// Q.931, which then waits for 32 KiB. A dissector registered on the port takes precedence.
#[test]
fn wireshark_shows_bytes_that_no_other_protocol_claims() {
    let file = capture("protocols.pcapng");
    let stock = tshark(&file, &["-q", "-z", "io,phs"]);
    // `http` claims a session after one packet that is a valid request.
    for protocol in protocols(&stock) {
        let known = ["data", "eth", "http", "ip", "ipv6", "pkt_comment", "tcp", "tcp.segments"];
        assert!(known.contains(&protocol), "{stock}");
    }
    let registered = ["-d", "tcp.port==25565,data", "-d", "tcp.port==41000,data"];
    let stream = |filter| count(&file, &[&registered[..], &["-Y", filter]].concat());
    assert_eq!(stream("tcp.len > 0 && !data"), 0);
    assert_eq!(stream("data"), stream("tcp.len > 0"));
}

fn protocols(hierarchy: &str) -> Vec<&str> {
    let lines = hierarchy.lines().filter(|line| line.contains("frames:"));
    lines.filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn every_session_is_a_separate_stream_of_its_plain_bytes() {
    let sessions = sessions();
    let file = capture("streams.pcapng");
    for (stream, entries) in sessions.iter().enumerate() {
        let followed = tshark(&file, &["-q", "-z", &format!("follow,tcp,raw,{stream}")]);
        let [mut client, mut server] = [String::new(), String::new()];
        for line in followed.lines() {
            match line.strip_prefix('\t') {
                Some(hex) => server.push_str(hex),
                None if line.bytes().all(|byte| byte.is_ascii_hexdigit()) => client.push_str(line),
                None => {}
            }
        }
        assert!(client == hex(&stream_of(entries, Serverbound)), "stream {stream}, client");
        assert!(server == hex(&stream_of(entries, Clientbound)), "stream {stream}, server");
    }
}

#[test]
fn times_are_exact_to_the_nanosecond() {
    let file = capture("times.pcapng");
    let times = tshark(&file, &["-T", "fields", "-e", "frame.time_epoch", "-Y", "tcp.len > 0"]);
    let mut expected = Vec::new();
    for entry in ordered(sessions()) {
        let Entry::Packet(record) = &entry else { continue };
        if streams(record) {
            let segments = plain(record).len().div_ceil(65_000);
            let nanos = entry.at().0;
            let time = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            expected.extend(std::iter::repeat_n(time, segments));
        }
    }
    assert_eq!(times.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn wireshark_reads_comments() {
    let file = capture("comments.pcapng");
    let comments = tshark(&file, &["-T", "fields", "-e", "frame.comment", "-Y", "frame.comment"]);
    assert!(comments.contains("made by the proxy"), "{comments}");
    assert!(comments.contains("rewritten by the proxy: replaces packet 1"), "{comments}");
    assert!(comments.contains("update_time, packet 13: dropped by the proxy"), "{comments}");
    assert!(comments.lines().count() < count(&file, &[]) / 5, "few frames have one");
}

#[test]
fn a_file_that_wireshark_has_filtered_and_saved_reads_back() {
    let file = capture("unfiltered.pcapng");
    let saved = path("saved.pcapng");
    tshark(&file, &["-Y", "tcp.stream == 1 && frame.len > 70", "-w", saved.to_str().unwrap()]);
    let reader = PcapngReader::new(File::open(&saved).unwrap(), Catalog::embedded());
    let entries: Vec<Entry> = reader.map(Result::unwrap).collect();
    assert!(entries.len() > 5);
    for entry in entries {
        let Entry::Packet(record) = entry else { panic!("{entry:?}") };
        assert_eq!(record.packet.context().session, 2);
    }
}

#[test]
fn query_is_written_as_datagrams_without_problems() {
    let file = path("query.pcapng");
    let mut sink = PcapngSink::new(File::create(&file).unwrap()).unwrap();
    let sessions = vec![
        queries(1, "127.0.0.1:51234", "192.0.2.7:25565"),
        queries(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
        everything(3, "127.0.0.1:51234", "192.0.2.7:25565"),
    ];
    for entry in ordered(sessions) {
        sink.write(&entry).unwrap();
    }
    sink.finish().unwrap();
    // Of each client: all but packets that a rule dropped or replaced, raw bytes, and oversized
    // frames.
    assert_eq!(count(&file, &["-Y", "udp"]), 2 * 10);
    let checked = ["-o", "udp.check_checksum:TRUE", "-Y", "udp.checksum.status == good"];
    assert_eq!(count(&file, &checked), 2 * 10);
    assert_eq!(listed(&file, "_ws.expert.severity >= warning or _ws.malformed"), "");
    assert!(count(&file, &["-Y", "tcp"]) > 20, "the streams are there too");
    let ends = ["-Y", "udp.length == 15", "-T", "fields", "-e", "udp.dstport", "-e", "udp.payload"];
    let asked = tshark(&file, &ends);
    assert_eq!(asked.lines().next(), Some("25565\tfefd0900000001"), "{asked}");
}

#[test]
fn wireshark_reads_classic_pcap() {
    let file = path("classic.pcap");
    let mut sink = PcapSink::new(File::create(&file).unwrap()).unwrap();
    for entry in ordered(sessions()) {
        sink.write(&entry).unwrap();
    }
    sink.finish().unwrap();
    assert_eq!(count(&file, &[]), count(&capture("beside.pcapng"), &[]));
    assert_eq!(listed(&file, "tcp.analysis.flags or _ws.expert.severity >= warning"), "");
    let kind = fs::read(&file).unwrap();
    assert_eq!(kind[..4], 0xa1b2_3c4d_u32.to_le_bytes());
}

/// Every entry is a packet of the view `json`, in which Wireshark's dissector finds its fields.
#[test]
fn the_json_view_is_a_tree_without_a_plugin() {
    let entries = ordered(sessions());
    let file = path("json.pcapng");
    write_views(&file, "json".parse().unwrap(), &entries);
    assert_eq!(count(&file, &[]), entries.len());
    assert_eq!(count(&file, &["-Y", "json"]), entries.len());
    assert_eq!(listed(&file, "_ws.malformed or _ws.expert"), "");
    let chat = "json.value.string == \"chat\" and exported_pdu.src_port == 51234 and ip.src";
    let fields = ["-e", "ip.src", "-e", "ip.dst", "-e", "_ws.col.Protocol"];
    let shown = tshark(&file, &[&["-Y", chat, "-T", "fields"][..], &fields].concat());
    assert!(shown.starts_with("127.0.0.1\t127.0.0.1\tchat/JSON\n"), "{shown}");
    let info = tshark(&file, &["-Y", chat, "-x"]);
    assert!(
        info.contains("play") && info.contains(" 0x01 chat messa"),
        "the tag that newer ones show is there: {info}"
    );
    let fields = tshark(
        &file,
        &["-Y", "json.path_with_value == \"/fields/x:-9\"", "-T", "fields", "-e", "frame.len"],
    );
    let longest = fields.lines().map(|size| size.parse::<usize>().unwrap()).max().unwrap();
    assert!(longest > 100_000, "{longest}");
    // Packets too long for Wireshark have their long strings truncated.
    assert!(fields.lines().count() > 10, "{fields}");
}

#[test]
fn several_views_in_one_file_read_back_once() {
    let entries = ordered(sessions());
    let (file, plain) = (path("views.pcapng"), capture("plain.pcapng"));
    write_views(&file, "plain,json".parse().unwrap(), &entries);
    assert_eq!(count(&file, &["-Y", "frame.interface_name == \"json\""]), entries.len());
    let in_plain = ["-Y", "frame.interface_name == \"plain\""];
    assert_eq!(count(&file, &in_plain), count(&plain, &[]));
    assert_eq!(listed(&file, "tcp.analysis.flags or _ws.malformed"), "");
    assert_eq!(listed(&file, "_ws.expert.severity >= warning"), "");
    for views in ["plain,json", "json"] {
        write_views(&file, views.parse().unwrap(), &entries);
        let read = PcapngReader::new(File::open(&file).unwrap(), Catalog::embedded());
        let read: Vec<Entry> = read.map(Result::unwrap).collect();
        assert_eq!(lines(&read), lines(&entries), "{views}");
    }
}

/// The bytes on the wire, on separate interfaces: both legs of an IPv4 and of an IPv6 session, and
/// one whose client's leg has the addresses of the view `plain`, as with a transparent proxy.
#[test]
fn the_wire_view_has_the_bytes_of_each_leg() {
    let entries = ordered(sessions());
    let file = path("wire.pcapng");
    let views: Views = "all".parse().unwrap();
    let mut sink = PcapngSink::with_views(
        File::create(&file).unwrap(),
        views,
        mitmcraft_engine::text::write_info,
    )
    .unwrap();
    assert!(sink.wants_wire());
    let legs = [
        (1, WireLeg::Client, "127.0.0.1:51234", "127.0.0.1:25566"),
        (1, WireLeg::Server, "127.0.0.1:40123", "127.0.0.1:25565"),
        (2, WireLeg::Client, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
        (2, WireLeg::Server, "[2001:db8::9]:40124", "[2001:db8::1]:25565"),
    ];
    let mut next = 1u32;
    let mut noise = |count: usize| -> Vec<u8> {
        let byte = |_| {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (next >> 24) as u8
        };
        (0..count).map(byte).collect()
    };
    let mut crossed = Vec::new();
    let at = |step: u64| mitmcraft_protocol::packet::Timestamp(OPENED + step * 1_000_000);
    for (session, leg, from, to) in legs {
        let wire = |step, kind| Wire {
            session,
            at: at(step),
            leg,
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            kind,
        };
        sink.wire(&wire(0, WireKind::Open)).unwrap();
        let mut sent = [Vec::new(), Vec::new()];
        for (step, size) in [1, 900, 65_000, 65_001, 300_000].into_iter().enumerate() {
            for direction in [Serverbound, Clientbound] {
                let bytes = noise(size);
                sent[usize::from(direction == Clientbound)].extend_from_slice(&bytes);
                let kind = WireKind::Bytes(direction, bytes.into());
                sink.wire(&wire(step as u64, kind)).unwrap();
            }
        }
        for direction in [Serverbound, Clientbound, Clientbound] {
            sink.wire(&wire(9, WireKind::End(direction))).unwrap();
        }
        crossed.push(sent);
    }
    for entry in &entries {
        sink.write(entry).unwrap();
    }
    sink.finish().unwrap();
    assert_eq!(listed(&file, "tcp.analysis.flags or _ws.malformed"), "");
    assert_eq!(listed(&file, "_ws.expert.severity >= warning"), "");
    let checked = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];
    let bad = "tcp.checksum.status == bad or ip.checksum.status == bad";
    assert_eq!(count(&file, &[&checked[..], &["-Y", bad]].concat()), 0);
    for (stream, sent) in crossed.iter().enumerate() {
        let interface = if stream % 2 == 0 { "wire client" } else { "wire server" };
        for (side, bytes) in [(Serverbound, &sent[0]), (Clientbound, &sent[1])] {
            let from = if side == Serverbound { "==" } else { "!=" };
            let filter = format!(
                "tcp.stream == {stream} and tcp.len > 0 and tcp.srcport {from} {} and \
                 frame.interface_name == \"{interface}\"",
                legs[stream].2.rsplit(':').next().unwrap(),
            );
            let shown = tshark(&file, &["-Y", &filter, "-T", "fields", "-e", "tcp.payload"]);
            assert!(shown.replace('\n', "") == hex(bytes), "{stream}, {side}");
        }
    }
    let read = PcapngReader::new(File::open(&file).unwrap(), Catalog::embedded());
    let read: Vec<Entry> = read.map(Result::unwrap).collect();
    assert_eq!(lines(&read), lines(&entries));
}

/// In the middle of another protocol's stream, bytes may look like a handshake.
#[test]
fn the_dissector_claims_streams_that_begin_with_a_handshake() {
    let file = path("claims.pcapng");
    let views: Views = "wire".parse().unwrap();
    let mut sink = PcapngSink::with_views(
        File::create(&file).unwrap(),
        views,
        mitmcraft_engine::text::write_info,
    )
    .unwrap();
    let alpha = b"\x02\0\x05Steve".to_vec();
    let spawn_position = b"\x06\0\0\0\0\0\0\0\x46\0\0\0\0".to_vec();
    let modern = hello(1);
    let foreign = b"SSH-2.0-OpenSSH".to_vec();
    let streams = [
        vec![(Serverbound, alpha), (Clientbound, spawn_position.clone())],
        vec![(Clientbound, spawn_position)],
        vec![(Serverbound, foreign), (Clientbound, modern.clone())],
        vec![(Serverbound, modern)],
    ];
    for (session, stream) in (1u64..).zip(streams) {
        let wire = |kind| Wire {
            session,
            at: mitmcraft_protocol::packet::Timestamp(OPENED + session * 1_000_000),
            leg: WireLeg::Client,
            from: format!("127.0.0.1:{}", 51_000 + session).parse().unwrap(),
            to: "127.0.0.1:41000".parse().unwrap(),
            kind,
        };
        sink.wire(&wire(WireKind::Open)).unwrap();
        for (direction, bytes) in stream {
            sink.wire(&wire(WireKind::Bytes(direction, bytes.into()))).unwrap();
        }
    }
    sink.finish().unwrap();
    let script = path("claims.lua");
    Program::mitmcraft(&["wireshark", "-o", text(&script), "--overwrite"]).succeed();
    let script = format!("lua_script:{}", text(&script));
    let fields = ["-X", &script, "-Y", "minecraft", "-T", "fields", "-e", "tcp.stream"];
    assert_eq!(tshark(&file, &fields), "0\n0\n3\n");
}

fn write_views(file: &Path, views: Views, entries: &[Entry]) {
    let mut sink = PcapngSink::with_views(
        File::create(file).unwrap(),
        views,
        mitmcraft_engine::text::write_info,
    )
    .unwrap();
    for entry in entries {
        sink.write(entry).unwrap();
    }
    sink.finish().unwrap();
}

/// A summary of the entries, for comparison.
fn lines(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| match entry {
        Entry::Packet(record) => {
            let (packet, outcome) = (&record.packet, record.outcome.name());
            let body = packet.body().map(|body| body.len()).unwrap_or_default();
            format!("{} {} {outcome} {body}", packet.context().session, packet.seq())
        }
        Entry::Event(event) => format!("{} {}", event.context.session, event.kind.name()),
    };
    entries.iter().map(line).collect()
}

/// Sessions of every kind: IPv4, IPv6, both, two between the same addresses, one with every packet
/// of the 1.8 document, one with much data in one direction.
fn sessions() -> Vec<Vec<Entry>> {
    vec![
        everything(1, "127.0.0.1:51234", "127.0.0.1:25565"),
        everything(2, "[2001:db8::7]:51234", "[2001:db8::1]:25565"),
        everything(3, "127.0.0.1:51234", "127.0.0.1:25565"),
        golden(4, "127.0.0.1:40000", "[::1]:25565"),
        bulk(5, "[::1]:40000", "[::1]:41000"),
    ]
}

fn golden(session: u64, client: &str, server: &str) -> Vec<Entry> {
    let text = fs::read_to_string(root().join("tests/golden/java-47.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let mut stage = Stage::new(session, client, server);
    stage.open();
    for packet in table["packet"].as_array().unwrap() {
        let word = |key: &str| packet[key].as_str().unwrap();
        for case in packet["case"].as_array().unwrap() {
            let digits: String = case["hex"].as_str().unwrap().split_whitespace().collect();
            let bytes: Vec<u8> = (0..digits.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
                .collect();
            let direction = word("direction").parse().unwrap();
            stage.body(direction, word("state").parse().unwrap(), &bytes);
        }
    }
    stage.close("over");
    stage.entries
}

/// Megabytes to the client, and keep-alives of each size in both directions.
fn bulk(session: u64, client: &str, server: &str) -> Vec<Entry> {
    let mut stage = Stage::new(session, client, server);
    stage.open();
    for size in [64_000, 64_998, 65_000, 65_002, 130_000, 262_144, 1_000_000] {
        stage.body(Clientbound, Play, &chunk(size));
        stage.body(Clientbound, Play, &chunk(size));
    }
    for id in [1, 128, 200, 16_383, 16_384, 1 << 21, 1 << 28, -1] {
        for direction in [Clientbound, Serverbound] {
            stage.packet(direction, Play, "keep_alive", json!({"keepAliveId": id}));
        }
    }
    stage.close("over");
    stage.entries
}

/// The sessions' entries, ordered by time.
fn ordered(sessions: Vec<Vec<Entry>>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = sessions.into_iter().flatten().collect();
    entries.sort_by_key(Entry::at);
    entries
}

fn capture(name: &str) -> PathBuf {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let path = path("whole.pcapng");
        let mut sink = PcapngSink::new(File::create(&path).unwrap()).unwrap();
        for entry in ordered(sessions()) {
            sink.write(&entry).unwrap();
        }
        sink.finish().unwrap();
        fs::read(path).unwrap()
    });
    let path = path(name);
    fs::write(&path, &*FILE).unwrap();
    path
}

/// The packets that a plain session contains.
fn streams(record: &Record) -> bool {
    let role = record.packet.kind().and_then(|packet| packet.role());
    let switch = [Role::EncryptionRequest, Role::EncryptionResponse, Role::SetCompression];
    record.outcome.went()
        && !role.is_some_and(|role| switch.contains(&role))
        && !plain(record).is_empty()
}

fn plain(record: &Record) -> Vec<u8> {
    match (record.packet.content(), record.packet.body()) {
        (Content::Frame(_), Ok(body)) => {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, body.len() as i32);
            bytes.extend_from_slice(&body);
            bytes
        }
        (Content::Frame(frame), Err(_)) => frame.wire().to_vec(),
        (Content::Raw(bytes, _), _) => bytes.to_vec(),
    }
}

fn stream_of(entries: &[Entry], direction: mitmcraft_protocol::schema::Direction) -> Vec<u8> {
    let records = entries.iter().filter_map(Entry::record);
    records
        .filter(|record| record.packet.direction() == direction && streams(record))
        .flat_map(plain)
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn count(file: &Path, args: &[&str]) -> usize {
    tshark(file, &[&["-T", "fields", "-e", "frame.number"], args].concat()).lines().count()
}

/// The first frames that a display filter selects.
fn listed(file: &Path, filter: &str) -> String {
    let fields = ["-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"];
    let found = tshark(file, &[&["-Y", filter][..], &fields].concat());
    found.lines().take(10).collect::<Vec<_>>().join("\n")
}

/// The output of tshark for a file, with default settings.
fn tshark(file: &Path, args: &[&str]) -> String {
    let run = Command::new("tshark")
        .args(["-r".as_ref(), file.as_os_str()])
        .args(args)
        .env("WIRESHARK_CONFIG_DIR", path("stock"))
        .env("HOME", path("stock"))
        .env("LC_ALL", "C.UTF-8")
        .output();
    let output = match run {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("install tshark (Debian: apt-get install tshark)")
        }
        other => other.unwrap(),
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    for line in complaints.lines() {
        assert!(line.contains("This could be dangerous"), "{complaints}");
    }
    String::from_utf8(output.stdout).unwrap()
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tshark");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}
