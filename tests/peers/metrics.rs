//! The metrics page, read by an independent HTTP client.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, scratch_file, text};

#[test]
fn prometheus_parses_the_metrics_and_they_contain_no_names() {
    let rules = scratch_file("rules.toml");
    std::fs::write(&rules, "[[rule]]\nname = \"mark\"\nwhen = 'login_start'\ntag = \"a\"\n")
        .unwrap();
    let upstream = Upstream::answering();
    let mut proxy =
        Program::proxy(&upstream.address, &["-f", text(&rules), "--metrics", "127.0.0.1:0"]);
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
        ("mitmcraft_players", 1.0),
        ("mitmcraft_rule_matched_total{rule=\"mark\"}", 1.0),
        ("mitmcraft_rule_acted_total{rule=\"mark\"}", 1.0),
        (
            "mitmcraft_packets_total{direction=\"clientbound\",state=\"login\",verdict=\"pass\"}",
            1.0,
        ),
        ("mitmcraft_bytes_total{direction=\"serverbound\",state=\"handshaking\"}", 10.0),
        ("mitmcraft_forward_seconds_count{to=\"client\"}", 1.0),
        ("mitmcraft_forward_seconds_bucket{to=\"client\",le=\"+Inf\"}", 1.0),
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

/// Requests the page as Prometheus does, with an independent HTTP client; also returns its type.
fn scrape(url: &str) -> String {
    let script = "import sys, urllib.request as r\n\
                  a = r.urlopen(sys.argv[1], timeout=300)\n\
                  assert a.status == 200\n\
                  assert a.headers['Content-Type'] == 'text/plain; version=0.0.4; charset=utf-8'\n\
                  sys.stdout.write(a.read().decode())";
    let mut python = Command::new("python3");
    python.args(["-c", script, url]).env_remove("http_proxy");
    Program::start("python3", python).succeed()
}

/// Parses the text format as strictly as its specification allows: each family has HELP and TYPE
/// before its samples and is contiguous, and no series occurs twice.
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
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            families.push((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let (family, kind) = families.last().unwrap();
        let part = name.strip_prefix(&**family).unwrap_or_else(|| panic!("{line}"));
        let parts: &[&str] = match &**kind {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(parts.contains(&part), "{line}");
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
