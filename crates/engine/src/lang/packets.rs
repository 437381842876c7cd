use std::fmt;

use mitmcraft_protocol::packet::Glob;
use mitmcraft_protocol::schema::{PacketType, Role, official_names};

/// The packets that a name in an expression stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Packets {
    /// Packets by their names in the tables.
    Named(Glob),
    /// Packets by their official names.
    Official(Glob),
    /// Packets by what they do, whatever a version calls them.
    Role(&'static RoleName),
}

/// A role as expressions name it: `chat` in `role.chat`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RoleName {
    pub(super) name: &'static str,
    /// The roles of the packets that it stands for.
    roles: &'static [Role],
}

impl Packets {
    pub(super) fn matches(&self, packet: &PacketType) -> bool {
        match self {
            Self::Named(glob) => glob.matches(packet.name()),
            Self::Official(glob) => packet.official_names().any(|name| glob.matches(name)),
            Self::Role(role) => packet.role().is_some_and(|it| role.roles.contains(&it)),
        }
    }

    /// Returns whether any of them has that name in the tables.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Named(glob) => glob.matches(name),
            Self::Official(glob) => {
                official_names().iter().any(|it| it.name == name && glob.matches(it.official))
            }
            Self::Role(role) => role.covers(name),
        }
    }
}

/// Writes the name as in an expression.
impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(glob) | Self::Official(glob) => f.write_str(glob.as_str()),
            Self::Role(role) => write!(f, "role.{}", role.name),
        }
    }
}

impl RoleName {
    /// All roles that expressions name; `docs/filters.md` lists them.
    pub(super) const ALL: &[Self] = &[
        Self { name: "chat", roles: &[Role::Chat, Role::PlayerChat] },
        Self { name: "command", roles: &[Role::Command] },
        Self { name: "disconnect", roles: &[Role::Disconnect] },
        Self { name: "join", roles: &[Role::JoinGame] },
        Self { name: "keep_alive", roles: &[Role::KeepAlive] },
        Self { name: "plugin_message", roles: &[Role::PluginMessage] },
        Self { name: "position", roles: &[Role::Teleport, Role::Movement] },
        Self { name: "resource_pack", roles: &[Role::ResourcePack] },
        Self { name: "spawn", roles: &[Role::Spawn] },
        Self { name: "title", roles: &[Role::Title] },
        Self { name: "transfer", roles: &[Role::Transfer] },
    ];

    pub(super) fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|role| role.name == name)
    }

    /// Returns whether it stands for packets with that name in the tables.
    pub(super) fn covers(&self, name: &str) -> bool {
        Role::all_of(name).any(|role| self.roles.contains(&role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mitmcraft_protocol::schema::{Catalog, Protocol, Release};

    fn has(role: &'static RoleName, protocol: &Protocol) -> bool {
        let role = Packets::Role(role);
        let has = protocol.packets().iter().any(|packet| role.matches(packet));
        let names = protocol.packets().iter().any(|packet| role.has(packet.name()));
        assert_eq!(has, names, "{role} {}", protocol.name());
        has
    }

    #[test]
    fn each_role_has_packets_in_every_version_of_the_game_that_has_it() {
        let catalog = Catalog::embedded();
        for protocol in catalog.protocols() {
            for role in RoleName::ALL {
                let since = match role.name {
                    "command" => Release::V1_19,
                    "resource_pack" | "title" => Release::V1_8,
                    "transfer" => Release::V1_20_5,
                    _ => Release::V1_7,
                };
                let (name, expected) = (protocol.name(), protocol.release() >= since);
                assert_eq!(has(role, protocol), expected, "{name} {}", role.name);
            }
        }
        for protocol in catalog.old().filter(|it| it.family().is_unframed_game()) {
            for role in RoleName::ALL {
                let later = ["command", "plugin_message", "resource_pack", "title", "transfer"];
                let name = protocol.name();
                // Plugin messages came with 1.1.
                let messages = protocol.release() >= Release::V1_1;
                assert_eq!(
                    has(role, &protocol),
                    !later.contains(&role.name) || messages && role.name == "plugin_message",
                    "{name} {}",
                    role.name
                );
            }
        }
    }
}
