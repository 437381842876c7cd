use crate::capture::is_device;
use mitmcraft_protocol::packet::{Packet, dimension_ceiling};
use mitmcraft_protocol::schema::{Release, Value};
use mitmcraft_protocol::wire::Tag;

/// A dimension of a world, as the server names it: `minecraft:overworld`; up to 1.15 its number is known, and those of the
/// game have their later names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dimension {
    /// The name that the server sent, which tells dimensions apart.
    pub(super) sent: String,
    /// The name in the world, with its namespace, or `DIM5`.
    pub(super) name: String,
    /// The type of the dimension, if the server names it.
    pub(super) kind: Option<String>,
    /// The height at which its ceiling ends, if it has one.
    pub(super) ceiling: Option<i32>,
}

impl Dimension {
    /// The dimension of packets before anything says where the player is.
    pub(super) fn overworld() -> Self {
        Self::named(OVERWORLD.to_owned())
    }

    fn named(name: String) -> Self {
        let ceiling = (name == NETHER).then_some(NETHER_CEILING);
        Self { sent: name.clone(), name, kind: None, ceiling }
    }

    /// Reads where a `login` or a `respawn` brings the player; `None` for other packets.
    pub(super) fn read(packet: &Packet) -> Option<Self> {
        let kind = packet.kind()?;
        if !matches!(&**kind.name(), "login" | "respawn") {
            return None;
        }
        let fields = packet.value().ok()?;
        let release = packet.context().protocol.release();
        let state = fields.get("worldState");
        let name = state.and_then(|it| it.get("name")).or_else(|| fields.get("worldName"));
        if release >= Release::V1_16_RC1 {
            let name = name.and_then(Value::as_text)?;
            let own = Self { sent: sent_name(name), ..Self::named(safe(name)) };
            let of = state.unwrap_or(&fields);
            let kind = of.get("worldType").or_else(|| of.get("dimension")).map(Value::plain);
            return Some(match kind {
                Some(Value::Nbt(description)) => own.described(&description.root),
                Some(Value::Int(number)) => {
                    let sent = packet.context().registries.name(DIMENSION_TYPE, *number);
                    own.typed(sent, packet)
                }
                kind => own.typed(kind.and_then(Value::as_text), packet),
            });
        }
        let name = match fields.get("dimension").and_then(Value::as_int)? {
            0 => OVERWORLD.to_owned(),
            -1 => NETHER.to_owned(),
            1 => END.to_owned(),
            number => format!("DIM{number}"),
        };
        Some(Self::named(name))
    }

    /// Returns the dimension with the type of a name.
    fn typed(self, kind: Option<&str>, packet: &Packet) -> Self {
        let kind = kind.map(safe);
        let sent = kind.as_deref().and_then(|it| packet.context().registries.ceiling(it));
        let own = (kind.as_deref() == Some(NETHER)).then_some(NETHER_CEILING);
        Self { kind, ceiling: sent.or(own).or(self.ceiling), ..self }
    }

    /// Returns the dimension with the type of a description, from 1.16.2 to 1.18.2.
    fn described(self, description: &Tag) -> Self {
        let Tag::Compound(fields) = description else { return self };
        // Types of the game have effects of the same name.
        let kind = match fields.get("effects") {
            Some(Tag::Text(name)) => Some(safe(&String::from_utf8_lossy(name))),
            _ => None,
        };
        Self { kind, ceiling: dimension_ceiling(description), ..self }
    }

    /// Chooses another name if a dimension in `others` has it, or it is that of a dimension of the game.
    pub(super) fn make_unique(&mut self, others: &[Self]) {
        let is_taken = |name: &str| {
            let is_games = [OVERWORLD, NETHER, END].contains(&name) && self.sent != name;
            is_games || others.iter().any(|it| it.name == name)
        };
        let mut names = (others.len()..).map(|number| format!("{}_{number}", self.name));
        if is_taken(&self.name)
            && let Some(name) = names.find(|name| !is_taken(name))
        {
            self.name = name;
        }
    }

    /// Returns the folder with the regions, in the layout of a version.
    pub(super) fn folder(&self, release: Release) -> String {
        let (space, path) = self.name.split_once(':').unwrap_or(("minecraft", &self.name));
        match &*self.name {
            _ if release >= Release::V26_1 => format!("dimensions/{space}/{path}/region"),
            OVERWORLD => "region".to_owned(),
            NETHER => "DIM-1/region".to_owned(),
            END => "DIM1/region".to_owned(),
            name if !name.contains(':') => format!("{name}/region"),
            _ => format!("dimensions/{space}/{path}/region"),
        }
    }

    /// Returns the name of the type: that of the dimension itself if it is one of the game's.
    pub(super) fn kind(&self) -> &str {
        let own = [OVERWORLD, NETHER, END].into_iter().find(|it| *it == self.name);
        own.or_else(|| [NETHER, END].into_iter().find(|it| Some(*it) == self.kind.as_deref()))
            .unwrap_or(OVERWORLD)
    }
}

/// Returns a name that a server sent, cut to a maximum length; the default namespace is that of the game.
pub(super) fn sent_name(name: &str) -> String {
    let space = if name.contains(':') { "" } else { "minecraft:" };
    space.chars().chain(name.chars()).take(MAX_SENT).collect()
}

/// Returns a name that a server sent as one that is a path on every system: other characters become `_`.
fn safe(name: &str) -> String {
    let (space, path) = name.split_once(':').unwrap_or(("minecraft", name));
    let clean = |text: &str| -> String {
        let allowed = |it: char| matches!(it, 'a'..='z' | '0'..='9' | '_' | '-');
        let text = text.chars().take(MAX_NAME);
        let text: String = text.map(|it| if allowed(it) { it } else { '_' }).collect();
        if text.is_empty() || is_device(&text) { format!("_{text}") } else { text }
    };
    format!("{}:{}", clean(space), clean(path))
}

pub(super) const OVERWORLD: &str = "minecraft:overworld";
pub(super) const NETHER: &str = "minecraft:the_nether";
pub(super) const END: &str = "minecraft:the_end";

/// The registry of the types of dimensions.
const DIMENSION_TYPE: &str = "minecraft:dimension_type";

/// The height at which the ceiling of the nether ends.
const NETHER_CEILING: i32 = 128;

/// Characters of each part of a name in the world.
const MAX_NAME: usize = 64;

/// Characters that tell names apart.
const MAX_SENT: usize = 1000;
