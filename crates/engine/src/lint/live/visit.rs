use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::Visitor;
use mitmcraft_protocol::schema::Protocol;

/// The visits to a server with one version: what the server let the player see, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Visit {
    /// The name of the version.
    pub version: String,
    /// The protocol number of the version.
    pub protocol: i32,
    /// `true` if the server must let this version in.
    pub is_demanded: bool,
    /// The stages that were reached.
    pub stages: BTreeSet<Stage>,
    /// The reason why the last connection ended.
    pub end: String,
}

/// A part of a visit that the server has let the client see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The server has answered the Server List Ping.
    Status,
    /// The server has accepted the login.
    Login,
    /// The configuration has ended, since 1.20.2.
    Configuration,
    /// The player is in the game.
    Join,
    /// The player has a position.
    Spawn,
    /// The server has moved the player, who asked for it.
    Teleport,
    /// The player has died.
    Death,
    /// The player has respawned.
    Respawn,
    /// The player has done everything, and has left.
    Leave,
}

impl Visit {
    /// Creates the visit of a version that has seen nothing yet.
    #[must_use]
    pub fn new(protocol: &Protocol, is_demanded: bool) -> Self {
        Self {
            version: protocol.newest_name().to_owned(),
            protocol: protocol.version(),
            is_demanded,
            stages: BTreeSet::new(),
            end: String::new(),
        }
    }

    /// Adds the stages and the end of a connection.
    pub fn add(&mut self, visitor: &Visitor) {
        self.stages.extend(&visitor.stages);
        visitor.end.clone_into(&mut self.end);
    }

    /// Returns whether the server has not let the player into the game.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        !self.stages.contains(&Stage::Join)
    }

    /// Returns whether the visit went wrong: the server has ended it, or has refused a version that it must
    /// let in.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        if self.is_refused() { self.is_demanded } else { !self.stages.contains(&Stage::Leave) }
    }

    /// Returns the visit as JSON.
    pub(in crate::lint) fn json(&self) -> Json {
        let stages: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        json!({
            "version": self.version,
            "protocol": self.protocol,
            "refused": self.is_refused(),
            "failed": self.has_failed(),
            "stages": stages,
            "end": self.end,
        })
    }

    /// Returns how the visit went, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { stages, end, .. } = self;
        let names = |stages: &[Stage]| {
            stages.iter().map(|stage| stage.name()).collect::<Vec<_>>().join(", ")
        };
        let reached: Vec<Stage> = stages.iter().copied().collect();
        let mut text = names(&reached);
        if self.is_refused() {
            let comma = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{comma}not let in: {end}");
        } else if self.has_failed() {
            let _ = write!(text, "; {end}");
        }
        let asked = [Stage::Spawn, Stage::Teleport, Stage::Death, Stage::Respawn];
        let missed: Vec<Stage> = asked.into_iter().filter(|it| !stages.contains(it)).collect();
        if stages.contains(&Stage::Leave) && !missed.is_empty() {
            let _ = write!(text, " (not seen: {})", names(&missed));
        }
        text
    }
}

impl Stage {
    /// Returns the stage's name: `status`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Login => "login",
            Self::Configuration => "configuration",
            Self::Join => "join",
            Self::Spawn => "spawn",
            Self::Teleport => "teleport",
            Self::Death => "death",
            Self::Respawn => "respawn",
            Self::Leave => "leave",
        }
    }
}
