use serde_json::Value as Json;
use thiserror::Error;

use super::session_service::{CALLS, check_url};
use super::{Secret, SessionService, UrlError};

/// The web services that games call, and the paths at which the proxy serves them:
/// `http://HOST/KEY/SERVICE/..`. No other address can be reached through it. `http://HOST/KEY/` is the
/// address of the API of authlib-injector.
#[derive(Debug, Clone)]
pub struct GameServices {
    /// Host and port, as a request names them.
    host: String,
    /// The first part of all paths, which only the user of the proxy and the game know.
    key: Secret,
    session: SessionService,
    /// The other services, each with the address of the real one.
    others: Vec<(&'static ServiceLayout, String)>,
    /// Address of the document that lists the addresses of all services.
    discovery: String,
    /// Address of what authlib-injector has to know of the operator; `None` for Mojang, which has no such
    /// document.
    metadata: Option<String>,
}

/// The parts of a request that decide where it goes.
#[derive(Debug, Clone, Copy)]
pub struct GameRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The `Host` header.
    pub host: Option<&'a str>,
    /// `true` if there is an `Origin` header, as browsers send it for web pages.
    pub from_page: bool,
}

/// Destination of a game's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GameRoute {
    /// A request to the first of these addresses, or to the next if that does not know it (404).
    Pass(Vec<String>),
    /// A session service's join, sent as in `Pass`; the account has joined if the service accepts it.
    Join(Vec<String>),
    /// A request to this address, whose answer lists the addresses of the services.
    Discovery(String),
    /// A request of authlib-injector to this address, or answered by the proxy.
    Metadata(Option<String>),
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GameRefusal {
    /// A web page has sent it.
    #[error("this address is for the game, not for web pages")]
    WebPage,
    /// It was sent to another host name.
    #[error("this address is for the game on this machine")]
    Host,
    /// It names no path of a game service.
    #[error("not found")]
    NotFound,
}

impl GameServices {
    /// Creates the services behind `host`, the address and port at which the proxy serves them, and the
    /// path `key`. `session_server` is the address of the session service: if it is not Mojang's, the other
    /// services are those beside it (`/session` and `/services`, `/account`, `/auth`; or authlib-injector's
    /// `/sessionserver` and `/minecraftservices`, `/api`, `/authserver`), so that no token goes to another
    /// operator.
    ///
    /// # Errors
    /// If the address of the session service is invalid.
    pub fn new(host: String, key: Secret, session_server: &str) -> Result<Self, UrlError> {
        let session = SessionService::new(session_server)?;
        let url = check_url(session_server)?;
        let url = url.strip_suffix(CALLS).unwrap_or(url);
        let drasl = url.strip_suffix("/session");
        let root = drasl.or_else(|| url.strip_suffix("/sessionserver")).unwrap_or(url);
        let base = |of: &ServiceLayout| match drasl {
            _ if url == SessionService::MOJANG => of.mojang.to_owned(),
            Some(_) => format!("{root}/{}", of.drasl),
            None => format!("{root}/{}", of.injector),
        };
        let discovery = match url {
            SessionService::MOJANG => DISCOVERY.to_owned(),
            _ => format!("{root}/discovery/minecraft/client"),
        };
        let metadata = match url {
            SessionService::MOJANG => None,
            _ if drasl.is_some() => Some(format!("{root}/authlib-injector")),
            _ => Some(format!("{root}/")),
        };
        let others = KNOWN.iter().map(|service| (service, base(service))).collect();
        Ok(Self { host, key, session, others, discovery, metadata })
    }

    /// Returns the JVM arguments with which a game finds the services here. A version of the game ignores
    /// all of them if one that it reads is missing, so all are there.
    #[must_use]
    pub fn jvm_arguments(&self) -> String {
        let names =
            self.others.iter().map(|(service, _)| service.name).chain([SESSION, "discovery"]);
        let hosts = names.map(|name| format!(" -Dminecraft.api.{name}.host={}", self.place(name)));
        std::iter::once("-Dminecraft.api.env=custom".to_owned()).chain(hosts).collect()
    }

    /// Returns the JVM argument with which a game before 1.16 finds the services here: authlib-injector
    /// replaces the addresses in it. `jar` is its file.
    #[must_use]
    pub fn injector_argument(&self, jar: &str) -> String {
        format!("-javaagent:{jar}={}", self.root())
    }

    /// Returns the address that authlib-injector is given, as a path on the host.
    #[must_use]
    pub fn api_location(&self) -> Secret {
        Secret::new(format!("/{}/", self.key.expose()))
    }

    /// Decides where a request goes.
    ///
    /// # Errors
    /// The reason to refuse it.
    pub fn route(&self, request: GameRequest<'_>) -> Result<GameRoute, GameRefusal> {
        if request.from_page {
            return Err(GameRefusal::WebPage);
        }
        if request.host != Some(&self.host) {
            return Err(GameRefusal::Host);
        }
        self.find(request.method, request.target).ok_or(GameRefusal::NotFound)
    }

    /// Replaces the addresses of the services in the discovery document by those here; `None` if it is not
    /// JSON.
    #[must_use]
    pub fn rewrite_discovery(&self, document: &[u8]) -> Option<String> {
        let mut document: Json = serde_json::from_slice(document).ok()?;
        let others = self.others.iter().map(|(service, base)| (base.clone(), service.name));
        let session = self.session.addresses("").into_iter().map(|base| (base, SESSION));
        let mut places: Vec<_> =
            others.chain(session).map(|(base, name)| (base, self.place(name))).collect();
        // One address may be below another.
        places.sort_by_key(|(base, _)| std::cmp::Reverse(base.len()));
        replace(&mut document, &places);
        Some(document.to_string())
    }

    fn find(&self, method: &str, target: &str) -> Option<GameRoute> {
        let rest = target.strip_prefix('/')?.strip_prefix(self.key.expose())?;
        if matches!(rest, "" | "/") && method == "GET" {
            return Some(GameRoute::Metadata(self.metadata.clone()));
        }
        let rest = rest.strip_prefix('/')?;
        if rest == "discovery" && method == "GET" {
            return Some(GameRoute::Discovery(self.discovery.clone()));
        }
        let (name, _) = rest.split_once('/')?;
        let below = &rest[name.len()..];
        let first = first_part(below)?;
        if !METHODS.contains(&method) {
            return None;
        }
        if [SESSION, INJECTOR_SESSION].contains(&name) {
            let urls = self.session.addresses(below);
            let joins = below.strip_prefix(CALLS) == Some("/join") && method == "POST";
            let route = if joins { GameRoute::Join(urls) } else { GameRoute::Pass(urls) };
            return SESSION_PATHS.contains(&first).then_some(route);
        }
        let mut others = self.others.iter();
        let (service, base) = others.find(|(it, _)| [it.name, it.injector].contains(&name))?;
        let known = service.paths.contains(&first);
        known.then(|| GameRoute::Pass(vec![format!("{base}{below}")]))
    }

    /// Returns the address at which a service is found here.
    fn place(&self, name: &str) -> String {
        format!("{}{name}", self.root())
    }

    fn root(&self) -> String {
        format!("http://{}/{}/", self.host, self.key.expose())
    }
}

/// Returns the first part of the path in a target; `None` if a URL library could take the target for
/// another one.
fn first_part(target: &str) -> Option<&str> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_.~".contains(char);
    let mut parts = path.strip_prefix('/')?.split('/');
    let fits = parts.clone().all(|part| part.chars().all(plain) && part != "." && part != "..");
    let asks = query.chars().all(|char| plain(char) || "%&=+,:@!$'()*;/?".contains(char));
    parts.next().filter(|_| fits && asks)
}

/// Replaces the beginning of all texts that are addresses below one of `places`.
fn replace(json: &mut Json, places: &[(String, String)]) {
    match json {
        Json::String(text) => {
            let below = |base: &str| {
                text.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let found = places.iter().find_map(|(base, place)| Some((below(base)?, place)));
            if let Some((rest, place)) = found {
                *text = format!("{place}{rest}");
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, places)),
        Json::Object(fields) => fields.values_mut().for_each(|field| replace(field, places)),
        _ => {}
    }
}

/// A service other than the session service, as the operators of session services have it.
#[derive(Debug)]
struct ServiceLayout {
    /// Its name in the proxy's paths, and in the properties of the game.
    name: &'static str,
    /// Address of Mojang's.
    mojang: &'static str,
    /// Path beside a session server at `/session`, as Drasl has it.
    drasl: &'static str,
    /// Path beside a session server at `/sessionserver`: authlib-injector's form, and its name there.
    injector: &'static str,
    /// The first parts of its paths.
    paths: &'static [&'static str],
}

const KNOWN: [ServiceLayout; 4] = [
    ServiceLayout {
        name: "auth",
        mojang: "https://authserver.mojang.com",
        drasl: "auth",
        injector: "authserver",
        paths: &["authenticate", "refresh", "validate", "invalidate", "signout"],
    },
    ServiceLayout { name: "account", ..PROFILES },
    PROFILES,
    ServiceLayout {
        name: "services",
        mojang: "https://api.minecraftservices.com",
        drasl: "services",
        injector: "minecraftservices",
        paths: &[
            "publickeys",
            "player",
            "privileges",
            "privacy",
            "minecraft",
            "friends",
            "presence",
            "events",
        ],
    },
];

const PROFILES: ServiceLayout = ServiceLayout {
    name: "profiles",
    mojang: "https://api.mojang.com",
    drasl: "account",
    injector: "api",
    paths: &["profiles", "users", "user", "minecraft"],
};

/// Name of the session service.
const SESSION: &str = "session";

/// Name of the session service in the paths of authlib-injector.
const INJECTOR_SESSION: &str = "sessionserver";

/// The first parts of the session service's paths.
const SESSION_PATHS: [&str; 2] = ["session", "blockedservers"];

/// The methods that the game uses.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Address of Mojang's list of services.
const DISCOVERY: &str = "https://discovery.minecraftservices.com/minecraft/client";

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:8767";

    fn services(session_server: &str) -> GameServices {
        GameServices::new(HOST.to_owned(), Secret::new("k3y"), session_server).unwrap()
    }

    fn route(method: &str, target: &str) -> Result<GameRoute, GameRefusal> {
        let request = GameRequest { method, target, host: Some(HOST), from_page: false };
        services(SessionService::MOJANG).route(request)
    }

    /// The address to which a request to Mojang's services goes.
    fn passed(method: &str, target: &str) -> String {
        match route(method, target) {
            Ok(GameRoute::Pass(urls) | GameRoute::Join(urls)) => urls[0].clone(),
            other => panic!("{target}: {other:?}"),
        }
    }

    #[test]
    fn each_service_is_reached_by_its_own_path() {
        for (method, path, url) in [
            (
                "GET",
                "session/session/minecraft/hasJoined?username=A&serverId=-1f",
                "https://sessionserver.mojang.com/session/minecraft/hasJoined?username=A&serverId=-1f",
            ),
            ("GET", "session/blockedservers", "https://sessionserver.mojang.com/blockedservers"),
            (
                "POST",
                "services/player/certificates",
                "https://api.minecraftservices.com/player/certificates",
            ),
            ("PUT", "services/friends", "https://api.minecraftservices.com/friends"),
            ("POST", "account/profiles/minecraft", "https://api.mojang.com/profiles/minecraft"),
            ("POST", "profiles/profiles/minecraft", "https://api.mojang.com/profiles/minecraft"),
            ("POST", "auth/validate", "https://authserver.mojang.com/validate"),
        ] {
            assert_eq!(passed(method, &format!("/k3y/{path}")), url);
        }
    }

    #[test]
    fn only_a_post_to_join_joins() {
        let joins = |method, path: &str| {
            matches!(route(method, &format!("/k3y/{path}")), Ok(GameRoute::Join(_)))
        };
        assert!(joins("POST", "session/session/minecraft/join"));
        for (method, path) in [
            ("GET", "session/session/minecraft/join"),
            ("POST", "session/session/minecraft/join2"),
            ("POST", "session/session/join"),
            ("POST", "services/minecraft/join"),
        ] {
            assert!(!joins(method, path), "{path}");
        }
    }

    #[test]
    fn nothing_but_the_paths_of_the_game_is_found() {
        for target in [
            "",
            "/",
            "/k3",
            "/k3y//",
            "/k3y?",
            "/k3yy/session/session/minecraft/join",
            "/session/session/minecraft/join",
            "/k3y/session",
            "/k3y/session/",
            "/k3y/session/other",
            "/k3y/session/session/../../secret",
            "/k3y/session/session/%2e%2e/secret",
            "/k3y/session/session/./secret",
            "/k3y/session/session\\..\\secret",
            "/k3y/session/session/a#b",
            "/k3y/session//session/minecraft/join",
            "/k3y/services/authentication/login_with_xbox",
            "/k3y/example.org/x",
            "/k3y/services@example.org/player",
            "/k3y/services.example.org/player",
            "http://example.org/k3y/session/session/minecraft/join",
            "example.org:443",
            "*",
        ] {
            for method in ["GET", "POST", "CONNECT"] {
                assert_eq!(route(method, target), Err(GameRefusal::NotFound), "{target}");
            }
        }
        for method in ["CONNECT", "OPTIONS", "TRACE", "get", ""] {
            let target = "/k3y/session/session/minecraft/join";
            assert_eq!(route(method, target), Err(GameRefusal::NotFound), "{method}");
        }
    }

    #[test]
    fn authlib_injector_finds_the_same_services_at_the_paths_of_its_api() {
        for (path, url) in [
            (
                "sessionserver/session/minecraft/profile/0?unsigned=false",
                "https://sessionserver.mojang.com/session/minecraft/profile/0?unsigned=false",
            ),
            ("sessionserver/blockedservers", "https://sessionserver.mojang.com/blockedservers"),
            ("api/profiles/minecraft", "https://api.mojang.com/profiles/minecraft"),
            ("authserver/validate", "https://authserver.mojang.com/validate"),
            (
                "minecraftservices/player/certificates",
                "https://api.minecraftservices.com/player/certificates",
            ),
        ] {
            assert_eq!(passed("GET", &format!("/k3y/{path}")), url);
        }
        let joined = route("POST", "/k3y/sessionserver/session/minecraft/join");
        assert!(matches!(joined, Ok(GameRoute::Join(_))), "{joined:?}");
        for target in ["/k3y", "/k3y/"] {
            assert_eq!(route("GET", target), Ok(GameRoute::Metadata(None)));
            assert_eq!(route("POST", target), Err(GameRefusal::NotFound));
        }
        for (session_server, url) in [
            ("https://d.org/session", "https://d.org/authlib-injector"),
            ("https://y.org/api/yggdrasil", "https://y.org/api/yggdrasil/"),
        ] {
            let services = services(session_server);
            let root =
                GameRequest { method: "GET", target: "/k3y/", host: Some(HOST), from_page: false };
            assert_eq!(services.route(root), Ok(GameRoute::Metadata(Some(url.to_owned()))));
            assert_eq!(
                services.injector_argument("a.jar"),
                "-javaagent:a.jar=http://127.0.0.1:8767/k3y/"
            );
        }
    }

    #[test]
    fn a_web_page_and_another_host_are_refused() {
        let services = services(SessionService::MOJANG);
        let target = "/k3y/services/publickeys";
        let request = GameRequest { method: "GET", target, host: Some(HOST), from_page: true };
        assert_eq!(services.route(request), Err(GameRefusal::WebPage));
        let hosts = ["127.0.0.1", "localhost:8767", "127.0.0.1:80", "evil.org", "127.0.0.1:8767."];
        for host in hosts.map(Some).into_iter().chain([None]) {
            let request = GameRequest { host, from_page: false, ..request };
            assert_eq!(services.route(request), Err(GameRefusal::Host), "{host:?}");
        }
    }

    #[test]
    fn all_services_are_those_of_the_operator_of_the_session_server() {
        for (session_server, session, services_base, discovery) in [
            (
                "https://d.org/session",
                "https://d.org/session/session/minecraft/join",
                "https://d.org/services/publickeys",
                "https://d.org/discovery/minecraft/client",
            ),
            (
                "https://y.org/api/yggdrasil/",
                "https://y.org/api/yggdrasil/sessionserver/session/minecraft/join",
                "https://y.org/api/yggdrasil/minecraftservices/publickeys",
                "https://y.org/api/yggdrasil/discovery/minecraft/client",
            ),
            (
                "http://127.0.0.1:1/sessionserver",
                "http://127.0.0.1:1/sessionserver/session/minecraft/join",
                "http://127.0.0.1:1/minecraftservices/publickeys",
                "http://127.0.0.1:1/discovery/minecraft/client",
            ),
        ] {
            let services = services(session_server);
            let ask = |method, target| {
                services.route(GameRequest { method, target, host: Some(HOST), from_page: false })
            };
            let Ok(GameRoute::Join(urls)) = ask("POST", "/k3y/session/session/minecraft/join")
            else {
                panic!();
            };
            assert_eq!(urls[0], session);
            let publickeys = ask("GET", "/k3y/services/publickeys");
            assert_eq!(publickeys, Ok(GameRoute::Pass(vec![services_base.to_owned()])));
            let document = ask("GET", "/k3y/discovery");
            assert_eq!(document, Ok(GameRoute::Discovery(discovery.to_owned())));
        }
    }

    #[test]
    fn the_discovery_document_names_the_addresses_here() {
        let document = br#"{"product":"minecraft","discovery":{
            "session":{"endpoints":{"join":{"uri":"https://sessionserver.mojang.com/session/minecraft/join"}}},
            "player":{"endpoints":{"getFriends":{"uri":"https://api.minecraftservices.com/friends"}}},
            "profiles":{"endpoints":{"getTexture":{"validUris":["https://textures.minecraft.net/texture/{textureId}"]}}},
            "odd":"https://api.minecraftservices.com.evil.org/friends"}}"#;
        let rewritten = services(SessionService::MOJANG).rewrite_discovery(document).unwrap();
        let json: Json = serde_json::from_str(&rewritten).unwrap();
        let found = &json["discovery"];
        assert_eq!(
            found["session"]["endpoints"]["join"]["uri"],
            "http://127.0.0.1:8767/k3y/session/session/minecraft/join"
        );
        assert_eq!(
            found["player"]["endpoints"]["getFriends"]["uri"],
            "http://127.0.0.1:8767/k3y/services/friends"
        );
        assert_eq!(
            found["profiles"]["endpoints"]["getTexture"]["validUris"][0],
            "https://textures.minecraft.net/texture/{textureId}"
        );
        assert_eq!(found["odd"], "https://api.minecraftservices.com.evil.org/friends");
        assert_eq!(services(SessionService::MOJANG).rewrite_discovery(b"<html>"), None);
    }

    #[test]
    fn the_jvm_arguments_name_every_service() {
        let here = "http://127.0.0.1:8767/k3y";
        let expected = format!(
            "-Dminecraft.api.env=custom -Dminecraft.api.auth.host={here}/auth \
             -Dminecraft.api.account.host={here}/account \
             -Dminecraft.api.profiles.host={here}/profiles \
             -Dminecraft.api.services.host={here}/services \
             -Dminecraft.api.session.host={here}/session \
             -Dminecraft.api.discovery.host={here}/discovery"
        );
        assert_eq!(services(SessionService::MOJANG).jvm_arguments(), expected);
    }
}
