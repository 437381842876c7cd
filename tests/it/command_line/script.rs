//! Scripts in Lua: `check`, `lua-types`, `replay filters`, and a run that reloads one.

use std::io::Write as _;
use std::net::TcpStream;

use crate::support::game::{Upstream, first_body, hello};
use crate::support::{Program, fails, root, scratch_file, text, wait_for};

#[test]
fn check_names_the_place_of_every_mistake() {
    let file = scratch_file("x.lua");
    for (script, wanted) in [
        ("on('chta', print)", "no packet `chta`"),
        ("on('chat and mesage == 1', print)", "did you mean `message`?"),
        ("on('chat', print", "')' expected"),
        ("local x = nil + 1", "attempt to perform arithmetic on a nil value"),
        ("onn('chat', print)", "attempt to call a nil value (global 'onn')"),
        ("while true do end", "ran for too long: an endless loop?"),
        ("every('soon', print)", "invalid duration `soon`"),
    ] {
        std::fs::write(&file, format!("\n{script}")).unwrap();
        let said = checked(&file);
        assert!(said.contains(&format!(" --> {}:2", text(&file))), "{script}: {said}");
        assert!(said.contains(wanted), "{script}: {said}");
    }
    std::fs::write(&file, "on('serverbound and chat', print)\nevery('5s', print)").unwrap();
    let said = Program::mitmcraft(&["check", text(&file)]).succeed();
    assert!(said.contains("1 callback"), "{said}");
}

fn checked(file: &std::path::Path) -> String {
    let (status, said) = Program::mitmcraft(&["check", text(file)]).finish();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

#[test]
fn the_examples_do_on_captures_what_they_say() {
    for (example, capture, wanted) in [
        (
            "answer",
            "1.12.2",
            &["✗ ", "message=\"!ping\"", "chat                 message=\"pong\""][..],
        ),
        ("brand", "1.8", &["payload={brand=\"proxied vanilla\"}", "brand translated"]),
        ("anti-spam", "1.8", &["rule `anti-spam.lua:7`: 3 matched"]),
        ("home", "1.8", &["rule `home.lua:9`: 0 matched"]),
    ] {
        let script = format!("examples/scripts/{example}.lua");
        let capture = format!("captures/session-{capture}.jsonl");
        let arguments = ["replay", "filters", &capture, "--script", &script];
        let mut command = crate::support::mitmcraft();
        command.args(arguments).current_dir(root());
        let output = command.output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{example}: {said}");
        for wanted in wanted {
            assert!(said.contains(wanted), "{example}: no {wanted} in\n{said}");
        }
    }
}

#[test]
fn the_types_name_the_functions_and_the_packets_of_a_version() {
    let types = Program::mitmcraft(&["lua-types", "1.8.9"]).succeed();
    for wanted in [
        "---@meta mitmcraft\n",
        "---@param call fun(packet: any, session: Session)\nfunction on(when, call) end\n",
        "---@class PlayServerboundChat : Packet\n---@field message string\n",
        "---@alias Nbt any\n",
    ] {
        assert!(types.contains(wanted), "no {wanted} in {} bytes", types.len());
    }
    let newest = Program::mitmcraft(&["lua-types"]).succeed();
    assert!(newest.contains("---@class PlayClientboundSystemChat : Packet\n"));
    assert!(fails(&["lua-types", "1.99"], 2).contains("unknown version `1.99`"));
}

/// The old one stays in force while the new one has an error.
#[test]
fn a_script_is_reloaded_when_its_file_changes() {
    let upstream = Upstream::answering();
    let script = scratch_file("x.lua");
    let version = |text: &str| format!("on_open(function(s) log('{text}') end)");
    std::fs::write(&script, version("one")).unwrap();
    let mut proxy = Program::proxy(&upstream.address, &["--script", text(&script)]);
    let port = proxy.listening();
    let log_in = || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(&hello(2)).unwrap();
        first_body(&mut client);
        client
    };
    let _first = log_in();
    proxy.wait_for_error("session 1: one");
    std::fs::write(&script, "on_open(").unwrap();
    proxy.wait_for_error("x.lua:1:");
    let _second = log_in();
    proxy.wait_for_error("session 2: one");
    std::fs::write(&script, version("two")).unwrap();
    // Sessions that are open hear it at their next packet or timer; new ones at once.
    assert!(wait_for(|| {
        let _next = log_in();
        proxy.errors().contains(": two")
    }));
    proxy.interrupt();
    proxy.succeed();
}
