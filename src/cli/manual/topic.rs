/// A page of the documentation.
#[derive(Debug)]
pub(in crate::cli) struct Topic {
    /// Its name in `help NAME`.
    pub(in crate::cli) name: &'static str,
    /// The subject, in a few words.
    pub(in crate::cli) about: &'static str,
    /// Section of the manual: 5 for formats, 7 for everything else.
    pub(in crate::cli) section: &'static str,
    /// The page, in Markdown.
    pub(in crate::cli) text: &'static str,
}

/// Returns a topic, whose page is `docs/FILE.md`.
macro_rules! topic {
    ($name:literal, $file:literal, $about:literal) => {
        topic!($name, $file, $about, "7")
    };
    ($name:literal, $file:literal, $about:literal, $section:literal) => {
        Topic {
            name: $name,
            about: $about,
            section: $section,
            text: include_str!(concat!("../../../docs/", $file, ".md")),
        }
    };
}

/// The topics of `help`, in the order in which they are listed: all guides. A page on a command has another name than the
/// command.
pub(in crate::cli) const TOPICS: [Topic; 28] = [
    topic!("filters", "filters", "The filter language, and files of rules"),
    topic!("captures", "captures", "The formats of captures, key by key", "5"),
    topic!("capture-formats", "capture-formats", "What each format of captures keeps", "5"),
    topic!("screens", "screens", "The page in the browser, and the terminal"),
    topic!("disconnected", "disconnected", "Why the game was disconnected"),
    topic!("login-packets", "login", "The login, packet by packet"),
    topic!("behind-proxies", "behind-proxies", "In front of, behind and between other proxies"),
    topic!("diagnostics", "diagnostics", "What a peer would disconnect for"),
    topic!("meanings", "meanings", "What the numbers in packets mean"),
    topic!("protocol-tables", "protocol-tables", "Tables of packets, and your own"),
    topic!("new-version", "new-version", "What to do when a version comes out"),
    topic!("versions", "versions", "Which versions were tried with which peers"),
    topic!("scripts", "scripts", "Scripts in Lua"),
    topic!("pipe", "pipe", "Programs that decide on packets"),
    topic!("control", "control", "The interface for programs"),
    topic!("expectations", "expectations", "Expectations of packets"),
    topic!("testing-a-server", "testing-a-server", "Testing a server that you write"),
    topic!("lint-guide", "lint", "The rules of `lint`, with their sources"),
    topic!("regress-guide", "regress", "Comparing two builds of a server"),
    topic!("replay-guide", "replay", "Playing a capture again"),
    topic!("decode-guide", "decode", "Recordings of tcpdump and Wireshark"),
    topic!("wireshark-guide", "wireshark", "The dissector for Wireshark"),
    topic!("analysis", "analysis", "Statistics, differences, and redaction"),
    topic!("lag", "lag", "Where lag comes from"),
    topic!("worlds", "worlds", "Worlds of the game, made of captures"),
    topic!("lake", "lake", "Months of captures in DuckDB and pandas"),
    topic!("online-mode", "online-mode", "Servers that verify accounts"),
    topic!("security", "security", "What an attacker can do, and what not"),
];
