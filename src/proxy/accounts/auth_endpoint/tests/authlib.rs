//! The requests of authlib, the library by which the game calls its services, as its sources and a run of
//! them show: each arrives at the service as it was sent.

use super::{JOIN, JOINED, Running, service, start};
use mitmcraft_engine::auth::{GameServices, Secret};

/// A version of authlib in a version of the game.
struct Authlib {
    game: &'static str,
    java: &'static str,
    /// The properties `minecraft.api.NAME.host` that it reads. It ignores all if one is missing.
    reads: &'static [&'static str],
    calls: &'static [Call],
}

/// A request: to the address in which property, or at which place of the discovery document.
struct Call(&'static str, &'static str, Auth, &'static str);

#[derive(Clone, Copy, PartialEq)]
enum Auth {
    None,
    Token,
    /// With the tag of the answer that the game has.
    TokenAndTag,
}

const JOINING: Call = Call("session", "POST /session/minecraft/join", Auth::None, JOIN);
const PROFILE: Call = Call(
    "session",
    "GET /session/minecraft/profile/b50ad385829d3141a2167e7d7539ba7f?unsigned=false",
    Auth::None,
    "",
);
const OLD_NAMES: Call = Call("account", "POST /profiles/minecraft", Auth::None, r#"["steve"]"#);
const NAMES: Call =
    Call("services", "POST /minecraft/profile/lookup/bulk/byname", Auth::None, r#"["steve"]"#);
const PRIVILEGES: Call = Call("services", "GET /privileges", Auth::Token, "");
const ATTRIBUTES: Call = Call("services", "GET /player/attributes", Auth::Token, "");
const BLOCKLIST: Call = Call("services", "GET /privacy/blocklist", Auth::Token, "");
const CERTIFICATES: Call = Call("services", "POST /player/certificates", Auth::Token, "");
const REPORT: Call =
    Call("services", "POST /player/report", Auth::Token, r#"{"version":1,"id":"x"}"#);
const KEYS: Call = Call("services", "GET /publickeys", Auth::None, "");
const EVENTS: Call = Call(
    "services",
    "POST /events",
    Auth::Token,
    r#"{"events":[{"source":"minecraft.java","name":"WorldLoaded","timestamp":1795346262,"data":{}}]}"#,
);

const ALL_FOUR: &[&str] = &["auth", "account", "session", "services"];

/// The versions at which what it reads or calls has changed.
const VERSIONS: [Authlib; 9] = [
    Authlib {
        game: "1.16 to 1.16.3, authlib 1.6.25",
        java: "Java/1.8.0_51",
        reads: &["auth", "account", "session"],
        calls: &[JOINING, PROFILE, OLD_NAMES],
    },
    Authlib {
        game: "1.16.4 to 1.17.1, authlib 2.1.28 to 2.3.31",
        java: "Java/16.0.1",
        reads: ALL_FOUR,
        calls: &[PRIVILEGES, BLOCKLIST, JOINING, PROFILE, OLD_NAMES],
    },
    Authlib {
        game: "1.18 to 1.18.2, authlib 3.2.38",
        java: "Java/17.0.1",
        reads: ALL_FOUR,
        calls: &[ATTRIBUTES, BLOCKLIST, JOINING, PROFILE, OLD_NAMES, EVENTS],
    },
    Authlib {
        game: "1.19 to 1.19.2, authlib 3.5.41 to 3.11.50",
        java: "Java/17.0.3",
        reads: ALL_FOUR,
        calls: &[ATTRIBUTES, BLOCKLIST, CERTIFICATES, JOINING, PROFILE, OLD_NAMES, EVENTS, REPORT],
    },
    Authlib {
        game: "1.19.3 to 1.20.1, authlib 3.16.29 to 4.0.43",
        java: "Java/17.0.8",
        reads: ALL_FOUR,
        calls: &[KEYS, ATTRIBUTES, BLOCKLIST, CERTIFICATES, JOINING, OLD_NAMES, EVENTS, REPORT],
    },
    Authlib {
        game: "1.20.2, authlib 5.0.47",
        java: "Java/17.0.8",
        reads: &["account", "session", "services"],
        calls: &[KEYS, ATTRIBUTES, BLOCKLIST, CERTIFICATES, JOINING, OLD_NAMES, EVENTS, REPORT],
    },
    Authlib {
        game: "1.20.3 to 1.21.8, authlib 5.0.51 to 6.0.54",
        java: "Java/21.0.7",
        reads: &["session", "services"],
        calls: &[KEYS, ATTRIBUTES, BLOCKLIST, CERTIFICATES, JOINING, PROFILE, NAMES, EVENTS],
    },
    Authlib {
        game: "1.21.9 to 26.2, authlib 7 to 9.0.75",
        java: "Java/25",
        reads: &["session", "services", "profiles"],
        calls: &[
            KEYS,
            ATTRIBUTES,
            CERTIFICATES,
            JOINING,
            Call(
                "profiles",
                "POST /minecraft/profile/lookup/bulk/byname",
                Auth::None,
                r#"["steve"]"#,
            ),
            Call("profiles", "GET /minecraft/profile/lookup/name/steve", Auth::None, ""),
            EVENTS,
        ],
    },
    Authlib {
        game: "26.3, authlib 10.0.77",
        java: "Java/25.0.1",
        reads: &["discovery"],
        calls: &[
            Call("authentication.getPublicKeys", "GET ", Auth::None, ""),
            Call("player.getAttributes", "GET ", Auth::Token, ""),
            Call("player.getBlocklist", "GET ", Auth::Token, ""),
            Call("player.getCertificates", "POST ", Auth::Token, ""),
            Call("session.join", "POST ", Auth::None, JOIN),
            Call("profiles.getManyByName", "POST ", Auth::None, r#"["steve"]"#),
            Call("player.getFriends", "GET ", Auth::TokenAndTag, ""),
            Call(
                "player.updateFriends",
                "PUT ",
                Auth::Token,
                r#"{"name":"alex","updateType":"ADD"}"#,
            ),
            Call("player.updatePresence", "POST ", Auth::TokenAndTag, r#"{"status":"ONLINE"}"#),
            Call(
                "player.updateAttributes",
                "POST ",
                Auth::Token,
                r#"{"friendsPreferences":{"friends":"ENABLED","acceptInvites":"DISABLED"}}"#,
            ),
            Call("player.sendReport", "POST ", Auth::Token, r#"{"version":1,"id":"x"}"#),
            Call("telemetry.sendEvents", "POST ", Auth::Token, r#"{"events":[]}"#),
        ],
    },
];

/// The list of services, as Mojang's is made, with the services of an operator.
const DISCOVERY: &str = r#"HTTP/1.1 200 OK
connection: close
content-type: application/json

{"environment":"prod","product":"minecraft","discovery":{
"authentication":{"endpoints":{"getPublicKeys":{"uri":"{url}/minecraftservices/publickeys"}}},
"session":{"endpoints":{"join":{"uri":"{url}/sessionserver/session/minecraft/join"}}},
"player":{"endpoints":{
"updatePresence":{"uri":"{url}/minecraftservices/presence"},
"sendReport":{"uri":"{url}/minecraftservices/player/report"},
"getAttributes":{"uri":"{url}/minecraftservices/player/attributes"},
"updateAttributes":{"uri":"{url}/minecraftservices/player/attributes"},
"getFriends":{"uri":"{url}/minecraftservices/friends"},
"updateFriends":{"uri":"{url}/minecraftservices/friends"},
"getCertificates":{"uri":"{url}/minecraftservices/player/certificates"},
"getBlocklist":{"uri":"{url}/minecraftservices/privacy/blocklist"}}},
"profiles":{"endpoints":{"getManyByName":{"uri":"{url}/api/profiles/minecraft"}}},
"telemetry":{"endpoints":{"sendEvents":{"uri":"{url}/minecraftservices/events"}}}}}"#;

#[tokio::test]
async fn every_request_of_every_authlib_arrives_unchanged() {
    for Authlib { game, java, reads, calls } in &VERSIONS {
        let discovers = reads.contains(&"discovery");
        let mut answers = vec![JOINED; calls.len()];
        if discovers {
            answers.insert(0, DISCOVERY);
        }
        let (url, requests) = service(answers.leak());
        let running = start(&format!("{url}/sessionserver")).await;
        let services =
            GameServices::new(running.address.to_string(), Secret::new("k3y"), &url).unwrap();
        let line = services.jvm_arguments();
        let property = |name: &str| {
            let of = format!("-Dminecraft.api.{name}.host=http://{}", running.address);
            let found = line.split(' ').find_map(|it| it.strip_prefix(&of));
            found.unwrap_or_else(|| panic!("{game} reads {name}, which {line} has not")).to_owned()
        };
        let here: Vec<_> = reads.iter().map(|name| property(name)).collect();
        let mut document = serde_json::Value::Null;
        if discovers {
            let answer = running.ask(&format!("GET {}", here[0]), &headers(java, "GET"), "").await;
            assert!(requests.recv().unwrap().starts_with("GET /discovery/minecraft/client "));
            let (_, json) = answer.split_once("\r\n\r\n").unwrap();
            document = serde_json::from_str(json).unwrap();
        }
        for Call(place, line, auth, body) in *calls {
            let (method, path) = line.split_once(' ').unwrap();
            let (target, real) = if discovers {
                let (service, endpoint) = place.split_once('.').unwrap();
                let uri = |json: &serde_json::Value, base: &str| {
                    let uri = &json["discovery"][service]["endpoints"][endpoint]["uri"];
                    let path = uri.as_str().and_then(|uri| uri.strip_prefix(base));
                    path.unwrap_or_else(|| panic!("{place}: {json}")).to_owned()
                };
                let (_, json) = DISCOVERY.split_once("\n\n").unwrap();
                let real = uri(&serde_json::from_str(json).unwrap(), "{url}/");
                (uri(&document, &format!("http://{}", running.address)), real)
            } else {
                let real = REAL.iter().find(|(name, _)| name == place).unwrap().1;
                (property(place) + path, real.to_owned() + path)
            };
            let mut headers = headers(java, method);
            if *auth != Auth::None {
                headers += "Authorization: Bearer ey.token\r\n";
            }
            if *auth == Auth::TokenAndTag {
                headers += "If-None-Match: \"7\"\r\n";
            }
            arrives(
                &running,
                game,
                &format!("{method} {target}"),
                &headers,
                body,
                &requests,
                &real,
            )
            .await;
        }
        assert!(running.joins.take("-1f").is_some(), "{game}");
    }
}

/// The paths of the real services of this operator.
const REAL: [(&str, &str); 4] = [
    ("session", "sessionserver"),
    ("services", "minecraftservices"),
    ("account", "api"),
    ("profiles", "api"),
];

/// The headers that Java and authlib send with each request.
fn headers(java: &str, method: &str) -> String {
    let with_body =
        if method == "GET" { "" } else { "Content-Type: application/json; charset=utf-8\r\n" };
    format!(
        "{with_body}Cache-Control: no-cache\r\nPragma: no-cache\r\nUser-Agent: {java}\r\n\
         Accept: text/html, image/gif, image/jpeg, */*; q=0.2\r\nConnection: keep-alive\r\n"
    )
}

/// Sends a request, and checks what arrives at `real`.
async fn arrives(
    running: &Running,
    game: &str,
    line: &str,
    headers: &str,
    body: &str,
    requests: &std::sync::mpsc::Receiver<String>,
    real: &str,
) {
    let answer = running.ask(line, headers, body).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{game}: {line}: {answer}");
    let request = requests.recv().unwrap();
    let (head, arrived) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(arrived, body, "{game}: {line}");
    let (first, arrived) = head.split_once("\r\n").unwrap();
    let method = line.split(' ').next().unwrap();
    assert_eq!(first, format!("{method} /{real} HTTP/1.1"), "{game}: {line}");
    // Names in any case and order; those of the connection are of two connections.
    let sorted = |headers: &str| {
        let fields = headers.lines().map(|line| line.split_once(": ").unwrap());
        let fields = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let ours = ["host", "connection", "content-length"];
        let mut fields: Vec<_> = fields.filter(|(name, _)| !ours.contains(&&**name)).collect();
        fields.sort();
        fields
    };
    assert_eq!(sorted(arrived), sorted(headers), "{game}: {line}");
}
