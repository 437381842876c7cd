//! The interface in a browser: Chromium on a session of real peers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::support::{Program, read_lines, root, scratch_file, text};

/// A server, a proxy with a page, and a browser that uses some parts of it.
struct Stage {
    server: Program,
    /// The log of the server.
    log: PathBuf,
    proxy: Program,
    port: String,
    capture: PathBuf,
    /// The folder of the configuration.
    config: PathBuf,
    browser: Program,
    /// Pictures of the page.
    pictures: PathBuf,
}

impl Stage {
    /// Opens a page that has no packets yet; without filter files if there are no `rules`. The browser runs the parts that `parts` names once it is told to.
    fn open(parts: &[&str], sessions: &str, rules: &str) -> Self {
        let log = scratch_file("server.log");
        let options = ["--port", "0", "--threshold", "64", "--encrypt", "--allow-quit"];
        let more = ["--quiet", "--sessions", sessions, "--log", text(&log)];
        let mut server = Program::node("server.js", &[&options[..], &more].concat());
        let file = scratch_file("rules.toml");
        fs::write(&file, rules).unwrap();
        let other = scratch_file("more.toml");
        fs::write(&other, format!("# more rules\n{}", "# a line\n".repeat(200))).unwrap();
        let capture = scratch_file("noted.pcapng");
        let files = ["-w", text(&capture), "-f", text(&file), "-f", text(&other)];
        let files = if rules.is_empty() { &files[..2] } else { &files[..] };
        let upstream = format!("127.0.0.1:{}", server.port());
        let config = scratch_file("config");
        fs::create_dir_all(&config).unwrap();
        let options = [&["--web", "127.0.0.1:0"], files].concat();
        let mut proxy = Program::proxy_with_config(&config, &upstream, &options);
        let port = proxy.listening().to_string();
        let url = page_of(&mut proxy);
        let pictures = scratch_file("pictures");
        fs::create_dir_all(&pictures).unwrap();
        let places = ["--url", &url, "--port", &port];
        let options =
            [&places[..], &["--folder", text(&pictures), "--rules", text(&file)]].concat();
        let mut browser = Program::node("web.js", &[&options[..], parts].concat());
        assert_eq!(browser.event()["event"], "ready");
        Self { server, log, proxy, port, capture, config, browser, pictures }
    }

    /// Plays a session; returns what the client reports.
    fn play(&self) -> String {
        Program::node("client.js", &["--port", &self.port]).succeed()
    }

    fn play_to_the_end(&self) {
        let client = self.play();
        assert!(client.contains("see you"), "{client}");
    }

    /// Lets the browser begin, and waits until it is ready for a session.
    fn arm(&mut self) {
        self.browser.tell("begin");
        assert_eq!(self.browser.event()["event"], "armed");
    }

    /// Waits until all parts have passed. Returns what arrived at the server, and the capture.
    fn finish(self) -> (Vec<Json>, PathBuf) {
        self.browser.succeed();
        self.server.succeed();
        self.proxy.interrupt();
        self.proxy.succeed();
        (read_lines(&self.log), self.capture)
    }
}

/// Returns the URL that a program has printed for its page.
fn page_of(program: &mut Program) -> String {
    let line = program.wait_for_error("in a browser");
    line.split_whitespace().find(|word| word.starts_with("http:")).unwrap().to_owned()
}

/// Returns the bodies of the packets with a name that arrived in a session.
fn arrived<'a>(log: &'a [Json], session: u64, name: &str) -> Vec<&'a str> {
    let ours = log.iter().filter(|it| it["conn"] == session && it["name"] == name);
    ours.map(|it| it["body"].as_str().unwrap()).collect()
}

/// Returns the slots that arrived in a session, without the server's own.
fn slots(log: &[Json], session: u64) -> Vec<&str> {
    let mut slots = arrived(log, session, "held_item_slot");
    slots.retain(|body| body.len() == 6);
    slots
}

/// Returns how often the player said the last words of a session.
fn farewells(log: &[Json], session: u64) -> usize {
    arrived(log, session, "chat").iter().filter(|body| body.ends_with("627965")).count()
}

#[test]
fn a_browser_shows_the_packets_of_a_session_while_it_is_played() {
    let mut stage = Stage::open(&["--parts", "packets"], "1", COUNTED);
    stage.play_to_the_end();
    stage.browser.tell("played");
    stage.finish();
}

#[test]
fn everything_around_the_list_of_packets_works_in_a_browser() {
    let mut stage = Stage::open(&["--parts", "panels"], "1", COUNTED);
    stage.play_to_the_end();
    stage.browser.tell("played");
    let pictures = stage.pictures.clone();
    stage.finish();
    for name in ["packets", "packets-dark", "narrow"] {
        assert!(pictures.join(format!("{name}.png")).exists(), "{name}");
    }
}

#[test]
fn menus_and_the_palette_reach_every_action_in_a_browser() {
    let mut stage = Stage::open(&["--parts", "workbench"], "1", COUNTED);
    stage.play_to_the_end();
    stage.browser.tell("played");
    let config = stage.config.clone();
    stage.finish();
    let colors = fs::read_to_string(config.join("mitmcraft/colors.json")).unwrap();
    let colors: Json = serde_json::from_str(&colors).unwrap();
    assert_eq!(colors[5], serde_json::json!({ "color": "yellow", "where": "login_start" }));
}

#[test]
fn marks_and_comments_of_the_page_are_exported_and_kept_in_the_capture() {
    let mut stage = Stage::open(&["--parts", "notes"], "1", COUNTED);
    stage.play_to_the_end();
    stage.browser.tell("played");
    let capture = stage.finish().1;
    let shown = Program::mitmcraft(&["convert", text(&capture), "-"]).succeed();
    let lines = shown.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let noted: Vec<_> = lines.filter(|it| it["comment"].to_string().contains("#marked")).collect();
    let told = |it: &Json| it["fields"]["message"] == "hello from a real client";
    assert!(
        noted.iter().any(|it| told(it) && it["comment"] == "the <b>first</b> words; #marked"),
        "{noted:?}"
    );
}

#[test]
fn packets_are_held_dropped_edited_and_sent_from_the_page() {
    // A person holds the button for 100 ms.
    let pressed = ["--parts", "control", "--part", "control", "--hold", "100"];
    let mut stage = Stage::open(&pressed, "1", COUNTED);
    stage.arm();
    stage.play_to_the_end();
    let log = stage.finish().0;
    let mut slots = slots(&log, 0);
    slots.sort_unstable();
    assert_eq!(slots, ["090005", "090007", "090007"]);
    assert_eq!(arrived(&log, 0, "look"), [""; 0]);
    assert_eq!(arrived(&log, 0, "client_command").len(), 1);
}

#[test]
fn packets_overtake_a_held_one_and_are_sent_again_from_the_page() {
    let rules = format!("{COUNTED}\n{CHANGED}");
    let mut stage = Stage::open(&["--parts", "control", "--part", "overtaken"], "1", &rules);
    stage.arm();
    stage.play_to_the_end();
    let (log, capture) = stage.finish();
    let order: Vec<&str> = log
        .iter()
        .filter_map(|it| it["name"].as_str())
        .filter(|name| ["look", "client_command", "block_dig"].contains(name))
        .collect();
    // The client sent the held one first.
    assert_eq!(order, ["block_dig", "block_dig", "client_command", "look"]);
    assert_eq!(farewells(&log, 0), 1);
    // By the rule; sent again as it was; changed; as bytes; two at once.
    let sent = ["090006", "090003", "090008", "090004", "090003", "090008"];
    assert_eq!(slots(&log, 0), sent);
    shows_a_capture(&["view", text(&capture)], "sent");
}

#[test]
fn ten_thousand_packets_are_held_and_several_decided_on_at_once() {
    let mut stage =
        Stage::open(&["--parts", "live", "--part", "many", "--hold", "100"], "1", COUNTED);
    stage.browser.tell("begin");
    let log = stage.finish().0;
    let mut said = arrived(&log, 0, "chat");
    said.retain(|body| body.starts_with("01"));
    assert_eq!(said, ["010130"], "all others were dropped");
}

#[test]
fn what_is_sent_over_a_link_of_300_ms_is_what_is_seen() {
    let mut stage = Stage::open(&["--parts", "links", "--part", "slow"], "1", COUNTED);
    stage.browser.tell("begin");
    let log = stage.finish().0;
    assert_eq!(slots(&log, 0), ["090002", "090003", "090004", "090005", "090006", "090007"]);
    let mut said = arrived(&log, 0, "chat");
    said.retain(|body| body.starts_with("01"));
    assert_eq!(said, ["01074348414e474544"]);
}

#[test]
fn commands_over_a_link_of_300_ms_act_on_what_is_selected() {
    let mut stage = Stage::open(&["--parts", "links", "--part", "selected"], "1", COUNTED);
    stage.browser.tell("begin");
    let log = stage.finish().0;
    let mut said = arrived(&log, 0, "chat");
    said.retain(|body| body.starts_with("01"));
    let all = ["a", "b", "c", "X", "e", "f", "a", "b", "c"];
    assert_eq!(said, all.map(|it| format!("0101{:02x}", it.as_bytes()[0])));
}

#[test]
fn a_dead_link_is_noticed_and_everything_comes_back_with_another_one() {
    let mut stage = Stage::open(&["--parts", "links", "--part", "dead"], "1", COUNTED);
    stage.browser.tell("begin");
    stage.finish();
}

#[test]
fn what_is_sent_repeatedly_is_listed_with_its_progress_and_stopped() {
    let mut stage = Stage::open(&["--parts", "live", "--part", "repeated"], "2", COUNTED);
    stage.browser.tell("begin");
    let log = stage.finish().0;
    let sent = slots(&log, 0).len();
    assert!((13..1000).contains(&sent), "{sent}");
    assert!(slots(&log, 1).is_empty(), "no command goes to another session");
}

#[test]
fn a_packet_with_a_field_of_1_mb_is_written_sent_and_looked_at() {
    let mut stage = Stage::open(&["--parts", "live", "--part", "large"], "1", COUNTED);
    stage.browser.tell("begin");
    stage.finish();
}

#[test]
fn statistics_and_timeline_go_on_while_they_are_shown() {
    let mut stage = Stage::open(&["--parts", "live", "--part", "counted"], "1", COUNTED);
    stage.browser.tell("begin");
    stage.finish();
}

#[test]
fn ten_thousand_messages_per_second_are_all_on_the_page() {
    let mut stage = Stage::open(&["--parts", "live", "--part", "flooded"], "1", COUNTED);
    stage.browser.tell("begin");
    stage.finish();
}

#[test]
fn presses_of_100_ms_hit_in_the_list_while_packets_come_in() {
    presses("list");
}

#[test]
fn presses_of_100_ms_hit_in_the_conversation_while_packets_come_in() {
    presses("conversation");
}

#[test]
fn presses_of_100_ms_hit_held_packets_while_packets_come_in() {
    presses("held");
}

/// Presses the mouse in a part of the page at 20 and at 2000 packets per second.
fn presses(part: &str) {
    for rate in ["walking", "crowded"] {
        let part = format!("{rate}_{part}");
        let mut stage = Stage::open(&["--parts", "live", "--part", &part], "2", COUNTED);
        stage.browser.tell("begin");
        stage.finish();
    }
}

#[test]
fn a_list_that_follows_can_always_be_read_and_has_the_newest_packet() {
    for part in ["200_0", "2000_50", "200_150", "2000_300"] {
        follows(part);
    }
}

#[test]
#[ignore = "takes minutes: `tests/run --long`"]
fn a_list_that_follows_can_be_read_at_every_rate_and_distance() {
    for rate in [20, 200, 2000] {
        for trip in [0, 50, 150, 300] {
            follows(&format!("{rate}_{trip}"));
        }
    }
}

/// Follows packets at a rate per second over a link with a round trip in milliseconds.
fn follows(part: &str) {
    let mut stage = Stage::open(&["--parts", "follow", "--part", part], "1", COUNTED);
    stage.browser.tell("begin");
    stage.finish();
}

#[test]
fn a_player_is_kicked_from_the_page_while_a_packet_is_held() {
    let mut stage = Stage::open(&["--parts", "control", "--part", "kicked"], "1", COUNTED);
    stage.arm();
    let client = stage.play();
    assert!(client.contains("out of <here>") && !client.contains("see you"), "{client}");
    let log = stage.finish().0;
    assert_eq!(farewells(&log, 0), 0, "it was held");
    assert!(!arrived(&log, 0, "chat").is_empty());
}

#[test]
fn filter_files_are_changed_on_the_page_and_act_on_the_next_session() {
    let mut stage = Stage::open(&["--parts", "rules", "--part", "rules"], "2", COUNTED);
    stage.play_to_the_end();
    stage.browser.tell("played");
    assert_eq!(stage.browser.event()["event"], "saved");
    stage.play_to_the_end();
    let log = stage.finish().0;
    assert_eq!([slots(&log, 0), slots(&log, 1)], [["090003"], ["090006"]]);
}

#[test]
fn a_rule_is_begun_on_a_page_without_filter_files_and_acts_on_the_next_session() {
    let mut stage = Stage::open(&["--parts", "rules", "--part", "first"], "2", "");
    stage.play_to_the_end();
    stage.browser.tell("played");
    assert_eq!(stage.browser.event()["event"], "saved");
    stage.play_to_the_end();
    let config = stage.config.clone();
    let log = stage.finish().0;
    assert_eq!([slots(&log, 0), slots(&log, 1)], [["090003"], ["090006"]]);
    let names = fs::read_dir(&config).unwrap().map(|it| it.unwrap().file_name());
    let names: Vec<_> = names.map(|it| it.to_string_lossy().into_owned()).collect();
    let rules = names.iter().filter(|it| it.starts_with("rules-") && it.ends_with(".toml"));
    assert_eq!(rules.count(), 1, "{names:?}");
}

/// A rule that changes nothing.
const COUNTED: &str =
    "[[rule]]\nname = 'slots'\nwhen = 'held_item_slot and serverbound'\ntag = 'slot'\n";

/// A rule that changes what the client sends.
const CHANGED: &str = "[[rule]]\nname = 'held_item_slot from a packet'\n\
                       when = 'serverbound and held_item_slot and slotId == 3'\n\
                       set = { slotId = 6 }\n";

/// Views a recording of another program, which has an encrypted session, in a browser.
pub(crate) fn shows_a_recording(recording: &Path, keys: &Path) {
    shows_a_capture(&["view", text(recording), "--keys", text(keys)], "recording");
}

fn shows_a_capture(view: &[&str], part: &str) {
    let mut view = Program::mitmcraft(&[view, &["--web", "127.0.0.1:0"]].concat());
    let url = page_of(&mut view);
    Program::node("web.js", &["--url", &url, "--parts", "recording", "--part", part]).succeed();
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
