use std::fmt;
use std::str::FromStr;

use mitmcraft_protocol::schema::UnknownName;

/// The views that a pcapng file has. `docs/capture-formats.md` describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Views {
    /// Sessions as TCP connections without encryption and compression.
    pub plain: bool,
    /// Each entry decoded, as a tree that Wireshark shows without a plugin.
    pub json: bool,
    /// The bytes as they crossed the proxy's two connections.
    pub wire: bool,
}

impl Views {
    /// Only the view `plain`.
    pub const PLAIN: Self = Self { plain: true, json: false, wire: false };

    const NONE: Self = Self { plain: false, json: false, wire: false };

    /// All views.
    pub const ALL: Self = Self { plain: true, json: true, wire: true };
}

impl FromStr for Views {
    type Err = UnknownName;

    /// Parses names separated by commas: `plain,json`.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut views = Self::NONE;
        for name in text.split(',') {
            match name.trim() {
                "plain" => views.plain = true,
                "json" => views.json = true,
                "wire" => views.wire = true,
                "all" => views = Self::ALL,
                other => return Err(UnknownName(other.into())),
            }
        }
        Ok(views)
    }
}

impl fmt::Display for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(self.plain, "plain"), (self.json, "json"), (self.wire, "wire")];
        let names: Vec<&str> = names.into_iter().filter(|(is, _)| *is).map(|(_, it)| it).collect();
        f.write_str(&names.join(","))
    }
}
