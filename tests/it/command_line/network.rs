use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use serde_json::Value as Json;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, read_lines, refuses, scratch_file};

#[test]
fn metrics_are_what_prometheus_reads_and_tell_no_names() {
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "[[rule]]\nname = \"mark\"\nwhen = 'login_start'\ntag = \"a\"\n")
        .unwrap();
    let upstream = Upstream::answering();
    let mut proxy =
        proxy(&[&upstream.address, "-f", rules.to_str().unwrap(), "--metrics", "127.0.0.1:0"]);
    let port = proxy.listening();
    let url = proxy.wait_for_error("metrics on ").split("metrics on ").nth(1).unwrap().to_owned();
    let before = samples(&scrape(&url));
    assert_eq!(before["mitmcraft_sessions_total"], 0.0);
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    let page = scrape(&url);
    let after = samples(&page);
    for (name, least) in [
        ("mitmcraft_sessions_total", 1.0),
        ("mitmcraft_sessions_open", 1.0),
        ("mitmcraft_rule_matched_total{rule=\"mark\"}", 1.0),
        ("mitmcraft_rule_acted_total{rule=\"mark\"}", 1.0),
        (
            "mitmcraft_packets_total{direction=\"clientbound\",state=\"login\",verdict=\"pass\"}",
            1.0,
        ),
        ("mitmcraft_bytes_total{direction=\"serverbound\",state=\"handshaking\"}", 10.0),
    ] {
        assert!(after[name] >= least, "{name}: {}\n{page}", after[name]);
    }
    assert_eq!(after["mitmcraft_rule_failed_total{rule=\"mark\"}"], 0.0);
    assert_eq!(after["mitmcraft_log_entries_dropped_total"], 0.0);
    assert!(!page.contains("Steve") && !page.contains(&upstream.address), "{page}");
    assert!(after.len() < 120, "{} series", after.len());
    proxy.interrupt();
    proxy.succeed();
}

#[test]
fn clients_of_the_metrics_that_say_nothing_hold_up_no_session() {
    let upstream = Upstream::answering();
    let mut proxy = proxy(&[&upstream.address, "--metrics", "127.0.0.1:0"]);
    let port = proxy.listening();
    let url = proxy.wait_for_error("metrics on ");
    let address = url.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    proxy.interrupt();
    proxy.succeed();
    drop(silent);
}

#[test]
fn a_busy_metrics_port_is_named_with_a_free_one() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let said = refuses(&["proxy", "127.0.0.1:1", "-l", "127.0.0.1:0", "--metrics", &address]);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    assert!(said.contains("is free: `--metrics 127.0.0.1:"), "{said}");
}

#[test]
fn the_real_client_comes_through_two_proxies_by_the_proxy_protocol() {
    for version in ["out", "out=v1"] {
        let upstream = Upstream::answering();
        let capture = scratch_file("inner.jsonl");
        let mut inner =
            proxy(&[&upstream.address, "--proxy-protocol", "in", "-w", capture.to_str().unwrap()]);
        let towards = format!("127.0.0.1:{}", inner.listening());
        let mut outer = proxy(&[&towards, "--proxy-protocol", version]);
        let mut client = TcpStream::connect(("127.0.0.1", outer.listening())).unwrap();
        let address = client.local_addr().unwrap().to_string();
        client.write_all(&hello(2)).unwrap();
        assert_eq!(first_body(&mut client)[0], 2);
        for proxy in [outer, inner] {
            proxy.interrupt();
            proxy.succeed();
        }
        let lines = read_lines(&capture);
        assert_eq!(lines[0]["event"], "open");
        assert_eq!(lines[0]["client"], address.as_str(), "{version}");
        assert!(lines.iter().any(|line| line["packet"] == "login_start"), "{version}");
    }
}

#[test]
fn a_client_without_a_proxy_header_is_refused_and_that_is_recorded() {
    let upstream = Upstream::answering();
    let capture = scratch_file("refused.jsonl");
    let mut proxy =
        proxy(&[&upstream.address, "--proxy-protocol", "in", "-w", capture.to_str().unwrap()]);
    let port = proxy.listening();
    // A header and a login in one piece, cut anywhere, are as good as two.
    let whole = [b"PROXY TCP4 192.0.2.7 192.0.2.1 5 25565\r\n".to_vec(), hello(2)].concat();
    let mut good = TcpStream::connect(("127.0.0.1", port)).unwrap();
    good.write_all(&whole).unwrap();
    assert_eq!(first_body(&mut good)[0], 2);
    let mut bad = TcpStream::connect(("127.0.0.1", port)).unwrap();
    bad.write_all(&hello(2)).unwrap();
    let mut rest = Vec::new();
    let _ = bad.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{rest:?}");
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    assert_eq!(lines[0]["client"], "192.0.2.7:5");
    let reason = reason(&lines, 2);
    assert!(reason.contains("has no PROXY header: it begins with"), "{reason}");
}

#[test]
fn a_silent_client_is_let_go_after_the_login_timeout_and_the_reason_names_it() {
    let upstream = Upstream::answering();
    let capture = scratch_file("timeout.jsonl");
    let write = capture.to_str().unwrap();
    let mut proxy = proxy(&[&upstream.address, "--timeout", "login=0.2", "-w", write]);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    let told = proxy.wait_for_error("session 1 is closed");
    assert!(told.contains("(timeout `login`)"), "{told}");
    proxy.interrupt();
    proxy.succeed();
    let reason = reason(&read_lines(&capture), 1);
    assert_eq!(reason, "nothing came for 0.2 s (timeout `login`)");
}

#[test]
fn the_proxy_does_not_connect_to_itself() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let said = refuses(&["proxy", &free, "-l", &free]);
    assert!(said.contains("is where the proxy listens itself"), "{said}");
}

#[test]
fn a_connection_that_was_not_redirected_is_told_so() {
    let mut proxy = proxy(&["--transparent"]);
    let said = proxy.wait_for_error("listening on ");
    assert!(said.ends_with("forwarding to where each client was going"), "{said}");
    let mut client = TcpStream::connect(("127.0.0.1", proxy.listening())).unwrap();
    client.write_all(&hello(2)).unwrap();
    let answer = String::from_utf8_lossy(&first_body(&mut client)).into_owned();
    let reasons = ["was not redirected here", "was made to us"];
    assert!(reasons.iter().any(|reason| answer.contains(reason)), "{answer}");
    proxy.interrupt();
    proxy.succeed();
    let said = refuses(&["proxy"]);
    assert!(said.contains("UPSTREAM"), "{said}");
}

fn proxy(arguments: &[&str]) -> Program {
    let mut all = vec!["proxy", "-l", "127.0.0.1:0", "-q"];
    all.extend(arguments);
    Program::mitmcraft(&all)
}

fn reason(lines: &[Json], session: u64) -> String {
    let close = lines.iter().find(|line| line["event"] == "close" && line["session"] == session);
    close.unwrap()["reason"].as_str().unwrap().to_owned()
}

/// Asks as Prometheus does: by a real client of HTTP, which also says what type it got.
fn scrape(url: &str) -> String {
    let script = "import sys, urllib.request as r\n\
                  a = r.urlopen(sys.argv[1], timeout=30)\n\
                  assert a.status == 200\n\
                  assert a.headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8'\n\
                  sys.stdout.write(a.read().decode())";
    let mut python = Command::new("python3");
    python.args(["-c", script, url]).env_remove("http_proxy");
    Program::start("python3", python).succeed()
}

/// Reads the text format as strictly as its specification allows: each family has HELP and TYPE
/// before its samples, stands in one piece, and no series stands there twice.
fn samples(page: &str) -> HashMap<String, f64> {
    let mut samples = HashMap::new();
    let mut families: Vec<(String, String)> = Vec::new();
    let mut helped = String::new();
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(!text.is_empty() && !families.iter().any(|(it, _)| it == name), "{line}");
            helped = name.to_owned();
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, helped, "{line}");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            families.push((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        assert_eq!(name, families.last().unwrap().0, "{line}");
        let valid = |char: char| char.is_ascii_lowercase() || char == '_';
        assert!(name.chars().all(valid), "{line}");
        if let Some(labels) = series.strip_prefix(name).filter(|it| !it.is_empty()) {
            let labels = labels.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
            for label in labels.split(',') {
                let (label, value) = label.split_once('=').unwrap();
                assert!(label.chars().all(valid), "{line}");
                assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'));
            }
        }
        let value: f64 = value.parse().unwrap();
        assert!(value >= 0.0, "{line}");
        assert!(samples.insert(series.to_owned(), value).is_none(), "{line}");
    }
    assert!(families.len() > 10, "{page}");
    samples
}
