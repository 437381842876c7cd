//! Text of anyone - peers, captures, filter files, scripts - on stdout and stderr: it controls no terminal and
//! makes no line of its own.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::LazyLock;

use mitmcraft_protocol::codec::Leg;
use mitmcraft_protocol::schema::{Direction, State, Value};
use mitmcraft_protocol::wire::is_unseen;
use serde_json::json;

use crate::support::game::{Upstream, body, first_body, hello};
use crate::support::{Program, mitmcraft, read_lines, root, scratch_file, text, wait_for};

/// Characters that move the cursor, colour, hide or reorder text, set the title or the clipboard, and lines that
/// look like those of the program or like commands to the service that runs it.
const HOSTILE: &str = "\u{7}\u{8}\u{1b}[2J\u{1b}[8m\u{1b}]0;pwned\u{7}\u{1b}]52;c;cHduZWQ=\u{7}\u{7f}\u{9b}31m\u{202e}\
                       \u{2066}\u{200b}\u{2028}\u{2029}\r\n::error file=evil::pwned\nerror: fake";

const MARK: &str = "pwned";

/// Asserts that nothing of a hostile text has an effect, and that it was printed at all if `quotes`.
fn harmless(what: &str, printed: &str, quotes: bool) {
    let unfit = |char: char| is_unseen(char) && !matches!(char, '\n' | '\t');
    let line = printed.lines().find(|line| line.contains(unfit));
    assert!(line.is_none(), "{what}: {line:?}");
    for begin in ["::error file=evil", "error: fake"] {
        assert!(!printed.lines().any(|line| line.trim().starts_with(begin)), "{what}: {printed}");
    }
    assert!(!quotes || printed.contains(MARK), "{what}: {printed}");
}

/// Runs a command line, and returns everything that it prints. With colours, those of the program are left out.
fn printed(arguments: &[&str], colors: bool) -> String {
    let mut command = mitmcraft();
    command.args(arguments).stdin(std::process::Stdio::null());
    if colors {
        command.env_remove("NO_COLOR").args(["--color", "always"]);
    }
    let output = command.output().unwrap();
    let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if colors {
        // Hidden text is no colour of the program.
        assert!(!text.contains("\u{1b}[8m"), "{arguments:?}: {text}");
        text = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&text, "").into_owned();
    }
    text
}

/// Returns a string of TOML.
fn toml(text: &str) -> String {
    let chars = text.chars().map(|char| format!("\\U{:08X}", u32::from(char)));
    format!("\"{}\"", chars.collect::<String>())
}

/// Returns a string of Lua.
fn lua(text: &str) -> String {
    let chars = text.chars().map(|char| format!("\\u{{{:x}}}", u32::from(char)));
    format!("\"{}\"", chars.collect::<String>())
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch_file(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Filters that say hostile things in every way that they have.
static RULES: LazyLock<PathBuf> = LazyLock::new(|| {
    let text = toml(HOSTILE);
    file(
        "rules.toml",
        &format!(
            "[[rule]]\nname = {text}\nwhen = 'chat'\ncomment = {text}\ntag = {text}\n\
             [[expect]]\nname = {text}\nwhen = 'chat'\nnever = true\n"
        ),
    )
});

static SCRIPT: LazyLock<PathBuf> = LazyLock::new(|| {
    let text = lua(HOSTILE);
    file(
        "script.lua",
        &format!(
            "local evil = {text}\n\
             on('chat', function(p) log(evil, '\\xff') p:comment(evil) p:tag(evil) end)\n\
             on('chat', function(p) error(evil) end)\n\
             on('chat', function(p) p[evil] = evil end)\n\
             on('chat', function(p, s) s:send('client', evil, {{}}) end)\n\
             on_open(function() print(evil) end)\n"
        ),
    )
});

/// A capture whose names and texts are hostile.
static CAPTURE: LazyLock<PathBuf> = LazyLock::new(|| {
    let script = file(
        "make.lua",
        &format!(
            "local evil = {}\non('chat and clientbound', function(p) p.message = {{text = evil}} end)\n\
             on('chat and serverbound', function(p) p.message = evil end)\n\
             on('kick_disconnect', function(p) p.reason = {{text = evil}} end)\n",
            lua(HOSTILE)
        ),
    );
    let (plain, capture) = (root().join("captures/session-1.8.jsonl"), scratch_file("made.jsonl"));
    let arguments =
        ["replay", "filters", text(&plain), "--script", text(&script), "-q", "-w", text(&capture)];
    Program::mitmcraft(&arguments).succeed();
    let mut lines = read_lines(&capture);
    for line in &mut lines {
        for key in ["player", "reason", "upstream"] {
            if line[key].is_string() {
                line[key] = HOSTILE.into();
            }
        }
    }
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file("hostile.jsonl", &lines)
});

#[test]
fn no_verb_prints_anything_that_a_terminal_interprets() {
    let (rules, script, capture) = (text(&RULES), text(&SCRIPT), text(&CAPTURE));
    let plain = root().join("captures/session-1.8.jsonl");
    let plain = text(&plain);
    // What the parsers of TOML, of expressions and of Lua quote.
    let raw = HOSTILE.replace('\n', "");
    let quoted = toml(HOSTILE);
    let faulty = [
        file("raw.toml", &format!("[[rule]]\nwhen = 'nonsense' # {raw}\n")),
        file("syntax.toml", &format!("[[rule]]\nwhen = {raw}\n")),
        file("key.toml", &format!("[[rule]]\n{quoted} = 1\nwhen = 'chat'\n")),
        file("when.toml", &format!("[[rule]]\nwhen = {quoted}\n")),
        file("path.toml", &format!("[[rule]]\nwhen = 'chat'\nset = {{ {quoted} = 1 }}\n")),
        file("matches.toml", "[[rule]]\nwhen = 'chat and message matches \"(\\\\n[\"'\n"),
        file("syntax.lua", &format!("local x = 1 + -- {raw}\n")),
        file("string.lua", &format!("on(\"{raw}\" nonsense, print)\n")),
        file("error.lua", &format!("error({})\n", lua(HOSTILE))),
        file("when.lua", &format!("on({}, print)\n", lua(HOSTILE))),
        file("mention.lua", &format!("on('chat', function(p) p.mesage = 1 end) -- {raw}\n")),
    ];
    for colors in [false, true] {
        for faulty in &faulty {
            let faulty = text(faulty);
            let quotes = ["raw.", "syntax.toml", "error."].iter().any(|it| faulty.contains(it));
            harmless(faulty, &printed(&["check", faulty], colors), quotes);
            let arguments = ["replay", "filters", plain, "-f", faulty, "-q"];
            harmless(faulty, &printed(&arguments, colors), quotes);
        }
        for (arguments, quotes) in [
            (&["check", rules][..], false),
            (&["check", script], false),
            (&["expect", capture, "-f", rules], true),
            (&["expect", capture, "-f", rules, "--json"], true),
            (&["expect", capture, "-f", rules, "--annotations", "github"], true),
            (&["replay", "filters", capture, "-f", rules, "--script", script], true),
            (&["replay", "filters", capture, "-f", rules, "--script", script, "-q"], true),
            (&["show", capture], true),
            (&["show", capture, "-v"], true),
            (&["show", capture, "-vv", "-Y", "chat"], true),
            (&["show", capture, "--fields", "message,time", "-Y", "chat"], true),
            (&["show", capture, "-Y", HOSTILE], true),
            (&["show", HOSTILE], true),
            (&["stats", capture], true),
            (&["stats", capture, "--json"], true),
            (&["stats", capture, "--lag"], false),
            (&["diff", plain, capture], true),
            (&["diff", plain, capture, "--json"], true),
            (&["lint", "--capture", capture], false),
            (&["lint", "--capture", capture, "--json"], false),
            (&["explain", capture], false),
            (&["explain", capture, "--json"], false),
            (&["convert", capture, HOSTILE], false),
            (&["protocols", HOSTILE], true),
        ] {
            harmless(&format!("{arguments:?}"), &printed(arguments, colors), quotes);
        }
    }
}

/// A server that refuses every login with a hostile reason, and whose status is hostile too.
fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                let count = socket.read(&mut bytes).unwrap_or(0);
                // The last byte of the handshake says what the client wants.
                let status = count > 0 && bytes[usize::from(bytes[0])] == 1;
                let mut leg = Leg::default();
                let text = json!({ "text": HOSTILE });
                let (state, name, field, value) = match status {
                    true => (
                        State::Status,
                        "server_info",
                        "response",
                        json!({
                            "version": { "name": HOSTILE, "protocol": 47 },
                            "players": { "max": 1, "online": 1, "sample": [{ "name": HOSTILE, "id": "" }] },
                            "description": text,
                        }),
                    ),
                    false => (State::Login, "disconnect", "reason", text),
                };
                let value = Value::map([(field, Value::from(&*value.to_string()))]);
                leg.encoder.send(&body(state, Direction::Clientbound, name, value));
                let _ = socket.write_all(leg.encoder.pending());
                let _ = socket.read(&mut bytes);
            });
        }
    });
    address
}

#[test]
fn the_words_of_a_server_are_no_lines_of_their_own() {
    let server = refusing();
    let plain = root().join("captures/session-1.8.jsonl");
    for (arguments, quotes) in [
        (&["replay", "client", text(&plain), &server][..], true),
        (&["replay", "client", text(&plain), &server, "--expect"], true),
        (&["regress", text(&plain), &server], true),
        (&["ping", &server], true),
        (&["ping", &server, "--json"], true),
        (&["lint", &server, "--for", "1.8.9"], false),
    ] {
        harmless(&format!("{arguments:?}"), &printed(arguments, false), quotes);
    }
}

#[test]
fn what_a_run_says_of_its_peers_rules_and_scripts_is_escaped() {
    let upstream = Upstream::answering();
    let mut proxy = Program::proxy(
        &upstream.address,
        &["-f", text(&RULES), "--script", text(&SCRIPT), "--annotations", "github"],
    );
    let port = proxy.listening();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all(&hello(2)).unwrap();
    first_body(&mut client);
    let mut leg = Leg::default();
    let said = Value::map([("message", Value::from(HOSTILE))]);
    leg.encoder.send(&body(State::Play, Direction::Serverbound, "chat", said));
    client.write_all(leg.encoder.pending()).unwrap();
    assert!(wait_for(|| proxy.errors().contains("script.lua:3: ")), "{}", proxy.errors());
    drop(client);
    proxy.interrupt();
    assert!(wait_for(|| proxy.has_ended()));
    let errors = proxy.errors();
    let (_, stdout) = proxy.finish();
    harmless("the proxy", &format!("{errors}{stdout}"), true);
    let logged =
        errors.lines().filter(|line| line.starts_with("warning: ") && line.ends_with("fake \\xff"));
    assert_eq!(logged.count(), 1, "bytes are text: {errors}");
}
