//! The interface in a browser: Chromium on a session of real peers.

use std::fs;
use std::path::Path;

use crate::support::{Program, read_lines, root, scratch_file, text};

#[test]
fn a_browser_shows_a_session_while_it_is_played_and_everything_on_the_page_works() {
    let log = scratch_file("server.log");
    let options =
        ["--port", "0", "--threshold", "64", "--encrypt", "--sessions", "4", "--allow-quit"];
    let mut server = Program::node("server.js", &[&options[..], &["--log", text(&log)]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let rules = scratch_file("rules.toml");
    let slots = "[[rule]]\nname = 'slots'\nwhen = 'held_item_slot and serverbound'\ntag = 'slot'\n";
    fs::write(&rules, slots).unwrap();
    let capture = scratch_file("noted.pcapng");
    let options = ["--web", "127.0.0.1:0", "-f", text(&rules)];
    let more = scratch_file("more.toml");
    fs::write(&more, format!("# more rules\n{}", "# a line\n".repeat(200))).unwrap();
    let options = [&options[..], &["-f", text(&more), "-w", text(&capture)]].concat();
    let mut proxy = Program::proxy(&upstream, &options);
    let port = proxy.listening().to_string();
    let line = proxy.wait_for_error("in a browser");
    let url = line.split_whitespace().find(|word| word.starts_with("http:")).unwrap().to_owned();
    let folder = scratch_file("screens");
    fs::create_dir_all(&folder).unwrap();
    let mut browser = Program::node(
        "web.js",
        &["--url", &url, "--folder", text(&folder), "--rules", text(&rules)],
    );
    assert_eq!(browser.event()["event"], "ready");

    let client = Program::node("client.js", &["--port", &port]).succeed();
    assert!(client.contains("see you"), "{client}");
    browser.tell("played");
    assert_eq!(browser.event()["event"], "armed");
    // Its packets are held, dropped, edited and sent by the browser.
    let client = Program::node("client.js", &["--port", &port]).succeed();
    assert!(client.contains("see you"), "{client}");
    // One packet is held until the end while later ones pass, and a rule that was saved on the page acts.
    assert_eq!(browser.event()["event"], "changed");
    let client = Program::node("client.js", &["--port", &port]).succeed();
    assert!(client.contains("see you"), "{client}");
    // The player is kicked while the last packet is held.
    assert_eq!(browser.event()["event"], "holding");
    let client = Program::node("client.js", &["--port", &port]).succeed();
    assert!(client.contains("out of <here>") && !client.contains("see you"), "{client}");
    server.succeed();
    browser.succeed();
    let log = read_lines(&log);
    let arrived_in = |session: u64, name: &str| -> Vec<&str> {
        let ours = log.iter().filter(|it| it["conn"] == session && it["name"] == name);
        ours.map(|it| it["body"].as_str().unwrap()).collect()
    };
    let arrived = |name: &str| arrived_in(1, name);
    let mut slots = arrived("held_item_slot");
    // The server's own is the first.
    slots.retain(|body| body.len() == 6);
    slots.sort_unstable();
    assert_eq!(slots, ["090005", "090007", "090007"]);
    assert_eq!(arrived("look"), [""; 0]);
    assert_eq!(arrived("client_command").len(), 1);
    let third: Vec<&str> = log
        .iter()
        .filter(|it| it["conn"] == 2)
        .filter_map(|it| it["name"].as_str())
        .filter(|name| ["look", "client_command", "block_dig"].contains(name))
        .collect();
    // The client sent the held one first.
    assert_eq!(third, ["block_dig", "block_dig", "client_command", "look"]);
    let said = |it: &&str| it.ends_with("627965");
    assert_eq!(arrived_in(2, "chat").iter().filter(|it| said(it)).count(), 1);
    assert_eq!(arrived_in(3, "chat").iter().filter(|it| said(it)).count(), 0, "it was held");
    assert!(!arrived_in(3, "chat").is_empty());
    // By the rule; sent again as it was; changed; as bytes.
    let mut slots = arrived_in(2, "held_item_slot");
    slots.retain(|body| body.len() == 6);
    assert_eq!(slots, ["090006", "090003", "090008", "090004"]);
    proxy.interrupt();
    proxy.succeed();
    // What was marked and commented on is in the capture.
    let shown = Program::mitmcraft(&["convert", text(&capture), "-"]).succeed();
    let lines = shown.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let noted: Vec<_> = lines.filter(|it| it["comment"].to_string().contains("#marked")).collect();
    let told = |it: &serde_json::Value| it["fields"]["message"] == "hello from a real client";
    assert!(
        noted.iter().any(|it| told(it) && it["comment"] == "the <b>first</b> words; #marked"),
        "{noted:?}"
    );
    for name in ["packets", "packets-dark", "narrow"] {
        assert!(folder.join(format!("{name}.png")).exists(), "{name}");
    }
}

/// Views a recording of another program, which has an encrypted session, in a browser.
pub(crate) fn shows_a_recording(recording: &Path, keys: &Path) {
    let options = ["view", text(recording), "--keys", text(keys), "--web", "127.0.0.1:0"];
    let mut view = Program::mitmcraft(&options);
    let line = view.wait_for_error("in a browser");
    let url = line.split_whitespace().find(|word| word.starts_with("http:")).unwrap();
    Program::node("web.js", &["--url", url, "--recording", "1"]).succeed();
    view.interrupt();
    view.succeed();
}

#[test]
fn the_page_has_correct_types() {
    let page = root().join("src/web/page/main.js");
    let mut command = std::process::Command::new("node");
    command.arg(root().join("tests/real/node_modules/typescript/bin/tsc"));
    command.args(["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022"]);
    command.args(["--module", "es2022", "--moduleResolution", "bundler"]);
    command.args(["--lib", "es2022,dom,dom.iterable"]).arg(page);
    Program::start("tsc", command).succeed();
}

#[test]
fn the_modules_of_the_page_pass_their_unit_tests() {
    let folder = fs::read_dir(root().join("tests/real/page")).unwrap();
    let files = folder.map(|file| file.unwrap().path());
    let mut files: Vec<_> = files.filter(|it| text(it).ends_with(".test.mjs")).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let mut command = std::process::Command::new("node");
        command.args(["--test-reporter=tap", text(&file)]);
        let report = Program::start(text(&file), command).succeed();
        let count = |what: &str| -> Option<u32> {
            report.lines().find_map(|line| line.strip_prefix(what)?.parse().ok())
        };
        // A file that runs none has not passed.
        assert!(count("# pass ") > Some(0) && count("# pass ") == count("# tests "), "{report}");
    }
}
