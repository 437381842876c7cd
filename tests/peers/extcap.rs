//! `wireshark --install`, with the system's tshark.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::game::{Upstream, hello};
use crate::support::{Program, mitmcraft, scratch_file, text, wait_for};

#[test]
fn a_session_is_recorded_from_the_list_of_interfaces() {
    let home = home("live");
    let (status, said) = install(&home, &[]).finish();
    assert!(status.success(), "{said}");
    let interfaces = Program::start("tshark", tshark(&home, &["-D"])).succeed();
    assert!(interfaces.contains(". mitmcraft (Minecraft: Java Edition"), "{interfaces}");

    let server = Upstream::answering();
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let arguments = [
        "-i",
        "mitmcraft",
        "-o",
        &format!("extcap.mitmcraft.server:{}", server.address),
        "-o",
        &format!("extcap.mitmcraft.listen:{listen}"),
        "-l",
        "-Y",
        "minecraft",
        "-d",
        &format!("tcp.port=={},minecraft", server.address.rsplit(':').next().unwrap()),
        "-T",
        "fields",
        "-e",
        "minecraft.packet",
    ];
    let mut tshark = Program::start("tshark", tshark(&home, &arguments));
    let mut client = None;
    let connected = wait_for(|| {
        client = TcpStream::connect(&listen).ok();
        client.is_some() || tshark.has_ended()
    });
    let Some(mut client) = client else {
        panic!("{connected}: nothing listens on {listen}: {}", tshark.errors());
    };
    client.write_all(&hello(2)).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.extend(tshark.line().split(',').map(str::to_owned));
    }
    assert_eq!(seen, ["set_protocol", "login_start", "success"]);
    tshark.interrupt();
    let (status, _, errors) = tshark.finish_with_errors();
    assert!(status.success() && !errors.contains("rror"), "{errors}");
    assert!(wait_for(|| TcpStream::connect(&listen).is_err()), "the proxy has not ended");
}

#[test]
fn a_capture_that_cannot_begin_says_why() {
    let home = home("faults");
    let (status, said) = install(&home, &[]).finish();
    assert!(status.success(), "{said}");
    for (option, said) in [
        ("extcap.mitmcraft.listen:nowhere", "invalid address `nowhere`"),
        ("extcap.mitmcraft.server:mc.example.org:port", "expected `host`, `host:port`"),
    ] {
        let server = ["-o", "extcap.mitmcraft.server:127.0.0.1:1"];
        let arguments = [&["-i", "mitmcraft"][..], &server, &["-o", option]].concat();
        let tshark = Program::start("tshark", tshark(&home, &arguments));
        let (_, _, errors) = tshark.finish_with_errors();
        assert!(errors.contains(said), "{errors}");
    }
}

#[test]
fn files_of_others_are_replaced_only_if_that_is_asked_for() {
    let home = home("others");
    let local = home.join(".local/lib/wireshark");
    let (script, link) = (local.join("plugins/minecraft.lua"), local.join("extcap/mitmcraft"));
    for theirs in [&script, &link] {
        let _ = fs::remove_dir_all(&local);
        fs::create_dir_all(theirs.parent().unwrap()).unwrap();
        fs::write(theirs, "precious").unwrap();
        let (status, _, said) = install(&home, &[]).finish_with_errors();
        assert_eq!(status.code(), Some(2));
        assert!(said.contains(&format!("`{}` exists and is not from mitmcraft", text(theirs))));
        assert_eq!(fs::read_to_string(theirs).unwrap(), "precious");
        let others = [&script, &link].into_iter().filter(|it| *it != theirs);
        others.for_each(|other| assert!(!other.exists(), "{}", text(other)));
    }
    let (status, said) = install(&home, &["--overwrite"]).finish();
    assert!(status.success(), "{said}");
    // Its own files are replaced without a question.
    let said = install(&home, &[]).succeed();
    let old = home.join(".config/wireshark/extcap/mitmcraft");
    assert_eq!(
        said,
        format!("wrote {}\nlinked {}\nlinked {}\n", text(&script), text(&link), text(&old))
    );
}

fn home(name: &str) -> PathBuf {
    let home = scratch_file(name);
    fs::create_dir_all(&home).unwrap();
    home
}

fn install(home: &Path, options: &[&str]) -> Program {
    let mut command = mitmcraft();
    command.args(["wireshark", "1.8.9", "--install"]).args(options);
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    Program::start("mitmcraft", command)
}

fn tshark(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("tshark");
    command.args(arguments).env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command
}
