//! The metrics page, read by an independent HTTP client.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, root, scratch_file, text};

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

#[test]
#[ignore = "needs the system's Prometheus: `tests/run --long`"]
fn prometheus_runs_the_queries_of_the_page_about_lag() {
    let [capture, config, data] = ["capture.jsonl", "prometheus.yml", "data"].map(scratch_file);
    let upstream = Upstream::answering();
    let options = ["--metrics", "127.0.0.1:0", "-w", text(&capture)];
    let mut proxy = Program::proxy(&upstream.address, &options);
    let port = proxy.listening();
    let url = proxy.wait_for_error("metrics on ").split("metrics on ").nth(1).unwrap().to_owned();
    let target = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    let jobs = format!("[{{job_name: mitmcraft, static_configs: [{{targets: ['{target}']}}]}}]");
    std::fs::write(&config, format!("global: {{scrape_interval: 1s}}\nscrape_configs: {jobs}\n"))
        .unwrap();
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", text(&config)));
    command.arg(format!("--storage.tsdb.path={}", text(&data)));
    command.arg("--web.listen-address=127.0.0.1:0");
    let mut prometheus = Program::start("prometheus", command);
    let said = prometheus.wait_for_error("msg=\"Listening on\" address=");
    let address = said.rsplit("address=").next().unwrap().trim().to_owned();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    assert_eq!(first_body(&mut client)[0], 2);
    let page = std::fs::read_to_string(root().join("docs/lag.md")).unwrap();
    let block = page.split("```promql\n").nth(1).unwrap().split("```").next().unwrap();
    let queries: Vec<&str> =
        block.lines().filter(|it| !it.is_empty() && !it.starts_with('#')).collect();
    assert_eq!(queries.len(), 4);
    for query in queries {
        let mut value = String::new();
        // Rates need two scrapes, and something to count between them.
        let found = (0..60).any(|_| {
            client.write_all(&[2, 0x7f, 0]).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            value = ask(&address, query);
            // Of a side to which nothing goes, there is no rate.
            value.split(' ').any(|it| it.parse().is_ok_and(f64::is_finite))
        });
        assert!(found, "{query}: {value}");
    }
    for program in [&prometheus, &proxy] {
        program.interrupt();
    }
    prometheus.succeed();
    proxy.succeed();
}

/// Asks Prometheus, and returns the values of all series; empty if there are none yet.
fn ask(address: &str, query: &str) -> String {
    let script = "import sys, json, urllib.request as r, urllib.parse as p\n\
                  a = r.urlopen(f'http://{sys.argv[1]}/api/v1/query?' + p.urlencode({'query': sys.argv[2]}))\n\
                  found = json.load(a)\n\
                  assert found['status'] == 'success', found\n\
                  sys.stdout.write(' '.join(it['value'][1] for it in found['data']['result']))";
    let mut python = Command::new("python3");
    python.args(["-c", script, address, query]).env_remove("http_proxy");
    Program::start("python3", python).succeed()
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
