//! Encryption and accounts with real clients and real servers on both sides of the proxy: who
//! verifies whom, and which secrets are stored.

use crate::support::{Program, assert_same, capture_of, end, read_lines, scratch_file, text};
use mitmcraft_protocol::codec::KeyLogLine;
use serde_json::{Value as Json, json};

#[test]
fn a_key_log_has_a_line_for_each_leg_and_only_its_owner_can_read_it() {
    let mut server = Program::node("server.js", &["--port", "0", "--encrypt", "--sessions", "2"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let key_log = scratch_file("keys.log");
    let mut proxy = Program::proxy(&upstream, &["--key-log", text(&key_log)]);
    let port = proxy.listening().to_string();
    for _ in 0..2 {
        Program::node("client.js", &["--port", &port]).succeed();
    }
    server.succeed();
    proxy.interrupt();
    proxy.succeed();
    let lines = std::fs::read_to_string(&key_log).unwrap();
    let mut challenges: Vec<_> =
        lines.lines().map(|line| line.parse::<KeyLogLine>().unwrap().challenge).collect();
    challenges.sort_unstable();
    challenges.dedup();
    assert_eq!(challenges.len(), 4, "two sessions of two legs, each with a token of its own");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&key_log).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

/// A player's account, as the account services know it.
pub(crate) struct Player {
    pub(crate) name: &'static str,
    pub(crate) id: &'static str,
    pub(crate) token: &'static str,
}

pub(crate) const STEVE: Player = Player {
    name: "Steve",
    id: "b50ad385829d3141a2167e7d7539ba7f",
    token: "steves-own-access-token",
};
const ALEX: Player = Player {
    name: "Alex",
    id: "0123456789abcdef0123456789abcdef",
    token: "alexs-own-access-token",
};
const MARC: Player = Player {
    name: "Marc",
    id: "fedcba9876543210fedcba9876543210",
    token: "marcs-own-access-token",
};

/// The account services, and their addresses.
pub(crate) fn services(options: &[&str]) -> (Program, String) {
    let known =
        [STEVE, ALEX, MARC].map(|it| json!({ "name": it.name, "id": it.id, "token": it.token }));
    let known = Json::from(known.to_vec()).to_string();
    let mut services = Program::node("accounts.js", &[&["--accounts", &known], options].concat());
    let scheme = if options.contains(&"--untrusted") { "https" } else { "http" };
    let url = format!("{scheme}://127.0.0.1:{}", services.port());
    (services, url)
}

/// The proxy with Steve's access token.
pub(crate) struct Online {
    proxy: Program,
    capture: std::path::PathBuf,
    pcapng: std::path::PathBuf,
    keys: std::path::PathBuf,
    screen: std::path::PathBuf,
}

impl Online {
    pub(crate) fn start(upstream: &str, url: &str, options: &[&str]) -> Self {
        let files = ["o.jsonl", "o.pcapng", "o.keys", "o.screen", "o.token", "o.toml"];
        let [capture, pcapng, keys, screen, token, rules] = files.map(scratch_file);
        std::fs::write(&token, format!("{}\n", STEVE.token)).unwrap();
        std::fs::write(&rules, RULES).unwrap();
        let who = format!("{}:{}", STEVE.name, STEVE.id);
        let mut arguments = vec!["proxy", upstream, "-l", "127.0.0.1:0", "-vv"];
        arguments.extend(["-w", text(&capture), "-w", text(&pcapng), "--key-log", text(&keys)]);
        arguments.extend(["--session-server", url, "-f", text(&rules)]);
        arguments.extend(["--access-token-file", text(&token), "--profile", &who]);
        arguments.extend(options);
        // The screen goes to a file: a pipe without a reader would block the proxy.
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "out=$1; shift; exec \"$0\" \"$@\" > \"$out\""]);
        command.arg(crate::support::program()).arg(&screen).args(&arguments);
        command.env("NO_COLOR", "1");
        Self { proxy: Program::start("mitmcraft", command), capture, pcapng, keys, screen }
    }

    pub(crate) fn port(&mut self) -> String {
        self.proxy.listening().to_string()
    }

    /// Ends the run and returns the capture's lines. Fails if a secret was written or printed.
    pub(crate) fn finish(self) -> Vec<Json> {
        self.proxy.interrupt();
        let (_, stderr) = self.proxy.succeed_with_errors();
        let screen = std::fs::read(&self.screen).unwrap();
        assert!(screen.windows(16).any(|it| it == b"encryption_begin"));
        let capture = std::fs::read(&self.capture).unwrap();
        let pcapng = std::fs::read(&self.pcapng).unwrap();
        let written = [screen, stderr.into_bytes(), capture, pcapng];
        let mut secrets = vec![STEVE.token.as_bytes().to_vec()];
        for line in std::fs::read_to_string(&self.keys).unwrap().lines() {
            let key: KeyLogLine = line.parse().unwrap();
            secrets.extend([key.secret.to_vec(), line.as_bytes()[9..].to_vec()]);
        }
        for secret in &secrets {
            for text in &written {
                assert!(!text.windows(secret.len()).any(|it| it == secret), "a secret is message");
            }
        }
        read_lines(&self.capture)
    }
}

const RULES: &str = r##"
[[rule]]
name = "louder"
when = 'serverbound and chat and message == "hello from a real client"'
set = { message = '=upper(message)' }

[[rule]]
name = "quieter"
when = 'clientbound and chat and message contains "HELLO FROM"'
set = { "message#/with/1" = "hello from a real client" }
"##;

/// A verified client plays on a verifying server through the proxy: everything is played, rewritten in
/// both directions, and recorded.
fn plays_online(services_options: &[&str], path: &str, options: &[&str], encrypted: bool) {
    let (_services, url) = services(services_options);
    let url = format!("{url}{path}");
    let (server_log, client_log) = (scratch_file("server.log"), scratch_file("client.log"));
    let service = if services_options.contains(&"--prefix") {
        format!("{url}/sessionserver")
    } else {
        url.clone()
    };
    let asked = ["--session-server", &service, "--threshold", "64", "--log", text(&server_log)];
    let mut server = Program::node("server.js", &[&["--port", "0"], &asked[..]].concat());
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut online = Online::start(&upstream, &url, options);
    let port = online.port();
    let account = ["--name", STEVE.name, "--uuid", STEVE.id, "--token", STEVE.token];
    let known = ["--port", &port, "--session-server", &service, "--log", text(&client_log)];
    let client = Program::node("client.js", &[&known[..], &account].concat()).succeed();
    assert!(
        client.contains(r#"{"event":"echo","message":"hello from a real client"}"#),
        "{client}"
    );
    assert!(client.contains(&format!("\"encrypted\":{encrypted}")), "{client}");
    let output = server.succeed();
    assert!(output.contains(r#""name":"Steve","encrypted":true"#), "{output}");
    assert!(output.contains("HELLO FROM A REAL CLIENT"), "{output}");

    let lines = online.finish();
    for (direction, sent, received) in
        [("serverbound", &client_log, &server_log), ("clientbound", &server_log, &client_log)]
    {
        let came = capture_of(&lines, direction, &["pass", "drop", "rewrite"]);
        let went = capture_of(&lines, direction, &["pass", "send"]);
        let [sent, received] = [sent, received].map(|log| end(&read_lines(log), direction));
        assert_same(&format!("{direction}, sent"), &sent, &came);
        assert_same(&format!("{direction}, received"), &received, &went);
    }
}

#[test]
fn a_real_server_verifies_the_account_of_the_proxy() {
    plays_online(&[], "", &["--auth", "account"], true);
}

#[test]
fn a_real_client_is_verified_by_the_proxy_and_the_account_by_the_server() {
    let prefix = ["--prefix", "/api/yggdrasil/sessionserver"];
    plays_online(&prefix, "/api/yggdrasil", &["--auth", "verify"], true);
}

#[test]
fn a_client_whose_leg_is_plain_plays_on_a_server_in_online_mode() {
    plays_online(&["--down", "1"], "", &["--auth", "account", "--plain-client"], false);
}

/// Returns the message to a client that cannot play, and the close event's reason.
fn refused(services_options: &[&str], options: &[&str], who: &Player) -> (String, String) {
    let (_services, url) = services(services_options);
    let asked = ["--port", "0", "--session-server", &url, "--sessions", "0"];
    let mut server = Program::node("server.js", &asked);
    let upstream = format!("127.0.0.1:{}", server.port());
    let mut online = Online::start(&upstream, &url, options);
    let port = online.port();
    let account = ["--name", who.name, "--uuid", who.id, "--token", who.token];
    let known = ["--port", &port, "--session-server", &url];
    let (status, message) = Program::node("client.js", &[&known[..], &account].concat()).fail();
    assert_eq!(status.code(), Some(1));
    let lines = online.finish();
    let closed = lines.iter().rfind(|line| line["event"] == "close").unwrap();
    (message, closed["reason"].as_str().unwrap().to_owned())
}

#[test]
fn players_see_why_their_accounts_are_rejected() {
    let (message, reason) = refused(&[], &["--auth", "verify"], &ALEX);
    for text in [&message, &reason] {
        assert!(text.contains("`Alex` is verified, but the account is `Steve`"), "{text}");
    }
    let (message, reason) =
        refused(&["--status", "403"], &["--auth", "account", "--plain-client"], &STEVE);
    for text in [&message, &reason] {
        assert!(text.contains("forbid multiplayer"), "{text}");
    }
}

#[test]
fn without_an_account_the_close_reason_explains_online_mode() {
    let (_services, url) = services(&[]);
    let asked = ["--port", "0", "--session-server", &url, "--sessions", "0"];
    let mut server = Program::node("server.js", &asked);
    let upstream = format!("127.0.0.1:{}", server.port());
    let capture = scratch_file("offline.jsonl");
    let mut proxy = Program::proxy(&upstream, &["-w", text(&capture)]);
    let port = proxy.listening().to_string();
    let (status, message) = Program::node("client.js", &["--port", &port]).fail();
    assert_eq!(status.code(), Some(1));
    proxy.wait_for_error("--auth account");
    proxy.interrupt();
    proxy.succeed();
    let lines = read_lines(&capture);
    let closed = lines.iter().rfind(|line| line["event"] == "close").unwrap();
    let reason = closed["reason"].as_str().unwrap();
    assert!(reason.contains("not logged in to one"), "{reason} {message}");
}

#[test]
fn a_device_code_login_plays_is_refreshed_and_is_removed_by_logout() {
    let (_services, url) = services(&["--lives", "60"]);
    let (state, endpoints) = (scratch_file("state"), scratch_file("endpoints.toml"));
    let stations = [
        ("device_code", "devicecode"),
        ("token", "token"),
        ("xbox", "xbox"),
        ("xsts", "xsts"),
        ("minecraft", "game"),
        ("profile", "minecraft/profile"),
    ];
    let lines = stations.map(|(name, path)| format!("{name} = \"{url}/{path}\"\n"));
    std::fs::write(&endpoints, lines.concat()).unwrap();
    let known = ["--auth-endpoints", text(&endpoints)];

    let login = Program::with_state(&state, &[&["login"], &known[..]].concat());
    let (status, output) = login.fail();
    assert_eq!(status.code(), Some(2));
    assert!(output.contains("--client-id"), "{output}");

    let login =
        Program::with_state(&state, &[&["login", "--client-id", "app"], &known[..]].concat());
    let (out, output) = login.succeed_with_errors();
    assert!(output.contains("https://login.example/link and enter WXYZ-1234"), "{output}");
    assert!(output.contains("logged in as `Steve`"), "{output}");
    let message = out + &output;
    assert!(!message.contains("secret") && !message.contains(STEVE.token), "{output}");
    assert!(!message.replace('-', "").contains(STEVE.id), "{output}");
    let kept = state.join("accounts.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept), mode(&state)), (0o600, 0o700));
    }
    let before = std::fs::read_to_string(&kept).unwrap();
    assert!(before.contains("refresh-secret-1") && before.contains(STEVE.token));

    // The token is valid for a minute: it is refreshed before use.
    let mut server =
        Program::node("server.js", &["--port", "0", "--session-server", &url, "--allow-quit"]);
    let upstream = format!("127.0.0.1:{}", server.port());
    let options = ["-l", "127.0.0.1:0", "-q", "--auth", "account", "--session-server", &url];
    let arguments = [&["proxy", &upstream], &options[..], &known].concat();
    let mut proxy = Program::with_state(&state, &arguments);
    let port = proxy.listening().to_string();
    Program::node("client.js", &["--port", &port, "--name", "Bot"]).succeed();
    assert!(server.succeed().contains(r#""name":"Steve","encrypted":true"#));
    proxy.interrupt();
    proxy.succeed();
    assert!(std::fs::read_to_string(&kept).unwrap().contains("refresh-secret-2"));

    let (status, output) = Program::with_state(&state, &["logout", "--account", "Alex"]).fail();
    assert_eq!(status.code(), Some(2), "{output}");
    Program::with_state(&state, &["logout"]).succeed();
    assert!(!std::fs::read_to_string(&kept).unwrap().contains("secret"));
    let (status, _) = Program::with_state(&state, &["logout"]).fail();
    assert_eq!(status.code(), Some(1));
}

/// Returns the events of a server in online mode and of its players, each of whom lends the account of the
/// game to the proxy; `players` is made of the address of the account services. Fails if a token was written or
/// printed.
fn lends(version: &str, services_options: &[&str], players: impl Fn(&str) -> Json) -> Vec<Json> {
    lends_to(version, &[], services_options, players)
}

/// Returns the events that [`lends`] returns, of a server with `server_options`.
fn lends_to(
    version: &str,
    server_options: &[&str],
    services_options: &[&str],
    players: impl Fn(&str) -> Json,
) -> Vec<Json> {
    let (_services, url) = services(services_options);
    let players = players(&url).to_string();
    let options = ["--version", version, "--session-server", &url, "--players", &players];
    let mut online = Program::node("online.js", &[server_options, &options].concat());
    let upstream = format!("127.0.0.1:{}", online.port());
    let (state, capture) = (scratch_file("lent"), scratch_file("lent.jsonl"));
    let options = ["-l", "127.0.0.1:0", "--auth", "client", "--auth-listen", "127.0.0.1:0", "-q"];
    let known = ["--session-server", &url, "-w", text(&capture)];
    let arguments = [&["proxy", &upstream], &options[..], &known].concat();
    let mut proxy = Program::with_state(&state, &arguments);
    let port = proxy.listening();
    let line = proxy.wait_for_error("through 127.0.0.1:");
    let address = line.split("through ").nth(1).unwrap().split(": ").next().unwrap();
    let key = std::fs::read_to_string(state.join("auth-endpoint")).unwrap();
    let endpoint = format!("http://{address}/{}/session", key.trim());
    online.tell(&json!({ "port": port, "endpoint": endpoint }).to_string());
    let events = online.succeed();
    proxy.interrupt();
    let (stdout, stderr) = proxy.succeed_with_errors();
    let written = std::fs::read_to_string(&capture).unwrap() + &stdout + &stderr;
    for player in [STEVE, ALEX, MARC] {
        assert!(!written.contains(player.token), "a token was written");
    }
    let line = format!("-Dminecraft.api.session.host={endpoint}");
    let warned = stderr.contains("has not lent its account") && stderr.contains(&line);
    let written = std::fs::read_to_string(&capture).unwrap() + &stdout;
    assert!(!written.contains(key.trim()), "the path of the endpoint was written");
    assert_eq!(stderr.contains(key.trim()), warned, "the path of the endpoint was printed");
    let events = events.lines().map(|line| serde_json::from_str(line).unwrap());
    events.chain([json!({ "event": "end", "warned": warned, "stderr": stderr })]).collect()
}

/// A player as `online.js` takes it.
fn player(who: &Player) -> Json {
    json!({ "name": who.name, "id": who.id, "token": who.token })
}

fn told<'a>(events: &'a [Json], name: &str) -> &'a str {
    let left = events.iter().find(|it| it["event"] == "left" && it["name"] == name);
    left.unwrap_or_else(|| panic!("{events:?}"))["told"].as_str().unwrap_or_default()
}

#[test]
fn players_play_at_the_same_time_with_the_accounts_that_their_games_lend() {
    for version in ["1.8.8", "1.12.2", "1.20.4", "26.3"] {
        let events = lends(version, &[], |_| [STEVE, ALEX, MARC].iter().map(player).collect());
        for player in [STEVE, ALEX, MARC] {
            let joined =
                events.iter().find(|it| it["event"] == "joined" && it["name"] == player.name);
            let joined = joined.unwrap_or_else(|| panic!("{version}: {events:?}"));
            assert_eq!(joined["id"], player.id);
            assert_eq!(joined["encrypted"], true);
            assert!(told(&events, player.name).contains("bye"), "{version}: {events:?}");
        }
        assert_eq!(events.last().unwrap()["warned"], false);
    }
}

#[test]
fn what_a_player_signs_with_the_key_of_the_lent_account_is_verified_by_the_server() {
    for version in ["1.19.2", "1.20.4", "26.3"] {
        let mut forger = player(&MARC);
        forger["forged"] = true.into();
        let players = |_: &str| json!([player(&STEVE), player(&ALEX), forger]);
        let events = lends_to(version, &["--signed"], &[], players);
        let heard = |who: &Player| {
            events.iter().find(|it| it["event"] == "heard" && it["name"] == who.name)
        };
        for player in [STEVE, ALEX] {
            let heard = heard(&player).unwrap_or_else(|| panic!("{version}: {events:?}"));
            assert_eq!(heard["message"], format!("I am {}", player.name));
            assert_eq!(heard["verified"], true, "{version}: {heard}");
            assert_ne!(heard["signature"], "");
        }
        assert_eq!(heard(&MARC), None, "{version}");
        let dismissed =
            events.iter().find(|it| it["event"] == "dismissed" && it["name"] == MARC.name);
        let why = dismissed.unwrap()["why"].as_str().unwrap();
        assert_eq!(why, "multiplayer.disconnect.invalid_public_key_signature", "{version}");
    }
}

#[test]
fn a_verified_player_signs_with_the_key_of_the_account_on_a_server_that_wants_it() {
    for (says, keeps) in [("", true), ("true", true), ("false", false)] {
        let (_services, url) = services(&[]);
        let players = json!([player(&STEVE), player(&ALEX)]).to_string();
        let options = ["--version", "1.19.2", "--session-server", &url, "--players", &players];
        let options = [&options[..], &["--signed", "--says", says]].concat();
        let mut server = Program::node("online.js", &options);
        let upstream = format!("127.0.0.1:{}", server.port());
        let mut online = Online::start(&upstream, &url, &["--auth", "verify"]);
        let port = online.port();
        server.tell(&json!({ "port": port, "endpoint": url }).to_string());
        let events = server.succeed();
        let events: Vec<Json> =
            events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let heard: Vec<_> = events.iter().filter(|it| it["event"] == "heard").collect();
        if keeps {
            assert_eq!(heard.len(), 1, "{says}: {events:?}");
            assert_eq!(heard[0]["message"], "I am Steve");
            assert_eq!(heard[0]["verified"], true);
        } else {
            // It wants the key all the same.
            assert!(heard.is_empty(), "{events:?}");
            assert!(told(&events, "Steve").contains("missing_public_key"), "{events:?}");
        }
        let alex = told(&events, "Alex");
        assert!(alex.contains("`Alex` is verified, but the account is `Steve`"), "{says}: {alex}");
        let lines = online.finish();
        let first = |line: &&Json| {
            line["comment"].as_str().is_some_and(|it| it.contains("who is not verified yet"))
        };
        assert_eq!(lines.iter().filter(first).count(), usize::from(keeps), "{says}");
    }
}

#[test]
fn nobody_plays_with_an_account_that_the_own_game_has_not_lent() {
    let with = |who: &Player, key: &str, value: &str| {
        let mut player = player(who);
        player[key] = value.into();
        player
    };
    let players = |url: &str| {
        json!([
            with(&ALEX, "as", "Steve"),
            with(&MARC, "token", STEVE.token),
            with(&STEVE, "service", url)
        ])
    };
    let events = lends("1.8.8", &[], players);
    assert!(!events.iter().any(|it| it["event"] == "joined"), "{events:?}");
    // The server asks for Steve, and Alex has joined.
    assert!(told(&events, "Alex").to_lowercase().contains("verify"), "{events:?}");
    assert!(told(&events, "Marc").contains("Invalid token"), "{events:?}");
    assert!(told(&events, "Steve").contains("`mitmcraft jvm-args`"), "{events:?}");
    assert_eq!(events.last().unwrap()["warned"], true);
}

#[test]
fn a_player_whose_token_has_expired_is_told_and_so_is_the_user() {
    let events =
        lends("1.20.4", &["--expired", ALEX.token], |_| [STEVE, ALEX].iter().map(player).collect());
    assert!(told(&events, "Steve").contains("bye"), "{events:?}");
    assert!(!events.iter().any(|it| it["event"] == "joined" && it["name"] == "Alex"));
    assert!(told(&events, "Alex").contains("Unauthorized"), "{events:?}");
    let stderr = events.last().unwrap()["stderr"].as_str().unwrap();
    assert!(stderr.contains("a game cannot join a server: the game's access token"), "{stderr}");
}

#[test]
fn a_player_for_whom_the_session_service_is_slow_holds_up_no_other() {
    // The service answers Alex when the server has verified the two others.
    let events = lends("1.20.4", &["--slow", ALEX.token], |_| {
        [ALEX, STEVE, MARC].iter().map(player).collect()
    });
    for player in [STEVE, MARC, ALEX] {
        assert!(told(&events, player.name).contains("bye"), "{events:?}");
    }
}

#[test]
fn a_session_service_with_a_certificate_that_nobody_trusts_gets_no_token() {
    let events = lends("1.8.8", &["--untrusted"], |_| [STEVE].iter().map(player).collect());
    assert!(!events.iter().any(|it| it["event"] == "joined"), "{events:?}");
    assert!(told(&events, "Steve").contains("certificate"), "{events:?}");
    let stderr = events.last().unwrap()["stderr"].as_str().unwrap();
    assert!(stderr.contains("certificate"), "{stderr}");
}

#[test]
fn a_game_is_told_that_the_session_service_is_down() {
    let events = lends("1.8.8", &["--down", "-1"], |_| [STEVE].iter().map(player).collect());
    assert!(!events.iter().any(|it| it["event"] == "joined"), "{events:?}");
    assert_ne!(told(&events, "Steve"), "", "{events:?}");
    let stderr = events.last().unwrap()["stderr"].as_str().unwrap();
    assert!(stderr.contains("is down (status 503)"), "{stderr}");
}
