//! Breaches of the game's rules that the body of a packet shows. `docs/diagnostics.md` lists them.

use std::sync::LazyLock;

use serde_json::value::RawValue;

use crate::packet::{Diagnostic, Diagnostics, Packet, component_packets, is_component};
use crate::schema::{
    Direction, Family, Flow, Leaf, Name, PacketType, Release, Scalar, Value, Visitor,
};

/// Returns what a peer would disconnect for. Decodes a packet only if its type can break a rule.
#[must_use]
pub fn diagnose(packet: &Packet) -> Diagnostics {
    let mut noted = packet.noted();
    let Some(kind) = packet.kind().filter(|kind| may_break(kind.name())) else { return noted };
    let release = packet.context().protocol.release();
    if release.family() == Family::Java && component_packets().any(|name| *name == **kind.name()) {
        let mut texts = InvalidJson { kind, release, names: Vec::new(), found: false };
        // What does not decode is no component.
        let _ = packet.walk(&mut texts);
        if texts.found {
            noted.insert(Diagnostic::JsonInvalid);
        }
    }
    if !can_break(kind) {
        return noted;
    }
    let Ok(fields) = packet.value() else { return noted };
    let checked = Checked { kind, release, fields: &fields };
    noted.and(Diagnostic::ALL.into_iter().filter(|it| checked.breaks(*it)).collect())
}

/// A decoded packet of a version.
struct Checked<'p> {
    kind: &'p PacketType,
    release: Release,
    fields: &'p Value,
}

impl Checked<'_> {
    fn breaks(&self, diagnostic: Diagnostic) -> bool {
        match diagnostic {
            Diagnostic::ChatTooLong => self.is_chat_too_long(),
            Diagnostic::DimensionInvalid => self.is_dimension_invalid(),
            Diagnostic::PositionOutOfRange => self.is_out_of_range(),
            Diagnostic::StanceIllegal => self.is_stance_illegal(),
            Diagnostic::HeldItemInvalid => {
                self.is("named_entity_spawn")
                    && self.int("currentItem").is_some_and(|item| item < 0)
            }
            Diagnostic::MetadataMissing => self.lacks_metadata(),
            Diagnostic::PaintingTitleTooLong => {
                let title = self.fields.get("title").and_then(Value::as_text);
                self.is("spawn_entity_painting")
                    && title.is_some_and(|title| title.chars().count() > MAX_PAINTING)
            }
            Diagnostic::TeamMemberTooLong => self.has_long_member(),
            Diagnostic::PackHashInvalid => self.is_pack_hash_invalid(),
            // Found without decoding the packet, or noted when it came.
            _ => false,
        }
    }

    fn is_chat_too_long(&self) -> bool {
        if self.kind.direction() != Direction::Serverbound {
            return false;
        }
        let (field, most) = match &**self.kind.name() {
            "chat" if self.release < Release::V1_11 => ("message", MAX_CHAT_OLD),
            "chat" | "chat_message" => ("message", MAX_CHAT),
            "chat_command" if self.release < Release::V1_20_5 => ("command", MAX_CHAT),
            _ => return false,
        };
        let text = self.fields.get(field).and_then(Value::as_text);
        // The game counts UTF-16 units.
        text.is_some_and(|text| text.encode_utf16().count() > most)
    }

    fn is_dimension_invalid(&self) -> bool {
        let known = match self.release.family() {
            Family::Alpha => -1..=0,
            Family::Legacy | Family::Java if self.release < Release::V1_16_RC1 => -1..=1,
            _ => return false,
        };
        matches!(&**self.kind.name(), "login" | "respawn")
            && self.int("dimension").is_some_and(|dimension| !known.contains(&dimension))
    }

    /// Up to 1.8 x and z have a limit; then y too, and yaw and pitch must be finite; from 1.17 on the game
    /// moves what is too far out back to its border. Vehicles have no limit of their own.
    fn is_out_of_range(&self) -> bool {
        let name = &**self.kind.name();
        let moves = matches!(name, "position" | "position_look" | "look" | "vehicle_move");
        if !moves
            || self.kind.direction() != Direction::Serverbound
            || self.release.family() != Family::Java
        {
            return false;
        }
        let old = self.release < Release::V1_9;
        let beyond = |axis: &str, most: f64| self.float(axis).is_some_and(|it| it.abs() > most);
        let is_finite = |field: &&str| self.float(field).is_none_or(f64::is_finite);
        if !["x", "y", "z"].iter().all(is_finite) || !old && !["yaw", "pitch"].iter().all(is_finite)
        {
            return true;
        }
        match name {
            "vehicle_move" => false,
            _ if old => beyond("x", BORDER_OLD) || beyond("z", BORDER_OLD),
            _ => {
                self.release < Release::V1_17
                    && ["x", "y", "z"].iter().any(|axis| beyond(axis, BORDER))
            }
        }
    }

    /// Only versions up to 1.7 have the height of the eyes in the packet.
    fn is_stance_illegal(&self) -> bool {
        let moves = matches!(&**self.kind.name(), "position" | "position_look");
        let (Some(stance), Some(y)) = (self.float("stance"), self.float("y")) else { return false };
        // A player who rides sends this instead of a height.
        let rides = y == RIDING && stance == RIDING;
        moves
            && self.kind.direction() == Direction::Serverbound
            && !rides
            && !STANCES.contains(&(stance - y))
    }

    fn lacks_metadata(&self) -> bool {
        let appears = matches!(&**self.kind.name(), "named_entity_spawn" | "spawn_entity_living");
        let metadata = self.fields.get("metadata").and_then(Value::as_list);
        self.release.family() == Family::Java
            && self.release < Release::V1_9
            && appears
            && metadata.is_some_and(<[Value]>::is_empty)
    }

    /// From 1.17 on a name may have any length.
    fn has_long_member(&self) -> bool {
        let teams = self.is("scoreboard_team") || self.is("teams");
        let long = |name: &Value| {
            name.as_text().is_some_and(|name| name.encode_utf16().count() > MAX_MEMBER)
        };
        let members = self.fields.get("players").and_then(Value::as_list);
        teams
            && self.release.family() == Family::Java
            && self.release < Release::V1_17
            && members.is_some_and(|names| names.iter().any(long))
    }

    /// A server that has no hash sends an empty text. Up to 1.8 the game compares the letters as they are.
    fn is_pack_hash_invalid(&self) -> bool {
        let packs = self.is("resource_pack_send") || self.is("add_resource_pack");
        let old = self.release < Release::V1_9;
        let digit = |byte: u8| byte.is_ascii_hexdigit() && !(old && byte.is_ascii_uppercase());
        let hash = self.fields.get("hash").and_then(Value::as_text);
        packs
            && self.release.family() == Family::Java
            && hash.is_some_and(|hash| {
                !(hash.is_empty() || hash.len() == HASH && hash.bytes().all(digit))
            })
    }

    fn is(&self, name: &str) -> bool {
        **self.kind.name() == *name && self.kind.direction() == Direction::Clientbound
    }

    fn int(&self, field: &str) -> Option<i64> {
        self.fields.get(field)?.as_int()
    }

    fn float(&self, field: &str) -> Option<f64> {
        match self.fields.get(field)?.plain() {
            Value::Float64(float) => Some(*float),
            Value::Float32(float) => Some((*float).into()),
            _ => None,
        }
    }
}

/// A [`Visitor`] that looks for a text component that is not JSON.
struct InvalidJson<'p> {
    kind: &'p PacketType,
    release: Release,
    /// The names of the open containers and of the next value; `None` where there is none.
    names: Vec<Option<Name>>,
    found: bool,
}

impl InvalidJson<'_> {
    fn is_component(&self) -> bool {
        let names: Vec<&str> = self.names.iter().flatten().map(|name| &**name).collect();
        is_component(self.kind, self.release, &names.join("."))
    }

    fn open(&mut self) -> Flow {
        self.names.push(None);
        Flow::Continue(())
    }
}

impl Visitor for InvalidJson<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        if let Scalar::Text(bytes, _) = leaf.value
            && serde_json::from_slice::<&RawValue>(bytes).is_err()
            && self.is_component()
        {
            self.found = true;
            return Flow::Break(());
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        if let Some(last) = self.names.last_mut() {
            *last = Some(Name::clone(name));
        }
        Flow::Continue(())
    }

    fn open_map(&mut self, _at: usize) -> Flow {
        self.open()
    }

    fn open_list(&mut self, _at: usize, _count: Option<usize>) -> Flow {
        self.open()
    }

    fn close(&mut self, _at: usize) -> Flow {
        self.names.pop();
        Flow::Continue(())
    }
}

/// Returns `false` for most names of packets that cannot break a rule, which is faster than comparing
/// names: most packets have such a name.
fn may_break(name: &str) -> bool {
    static KNOWN: LazyLock<[u64; 8]> = LazyLock::new(|| {
        let mut known = [0; 8];
        for name in component_packets().chain(SERVERBOUND).chain(CLIENTBOUND) {
            let (word, bit) = trait_of(name);
            known[word] |= bit;
        }
        known
    });
    let (word, bit) = trait_of(name);
    KNOWN[word] & bit != 0
}

/// Returns one of 512 bits by the length and three letters of a name.
fn trait_of(name: &str) -> (usize, u64) {
    let bytes = name.as_bytes();
    let letter = |place: usize| usize::from(bytes.get(place).copied().unwrap_or_default());
    let (first, middle, last) =
        (letter(0), letter(bytes.len() / 2), letter(bytes.len().saturating_sub(1)));
    let number = (bytes.len() * 31) ^ (first * 7) ^ (middle * 3) ^ (last * 61);
    (number / 64 % 8, 1 << (number % 64))
}

/// Returns whether packets of a type can break a rule that their body shows.
fn can_break(kind: &PacketType) -> bool {
    let name = &**kind.name();
    match kind.direction() {
        Direction::Serverbound => SERVERBOUND.contains(&name),
        Direction::Clientbound => CLIENTBOUND.contains(&name),
    }
}

/// Packets of clients that are checked.
const SERVERBOUND: [&str; 7] =
    ["chat", "chat_command", "chat_message", "look", "position", "position_look", "vehicle_move"];

/// Packets of servers that are checked beside their text components.
const CLIENTBOUND: [&str; 9] = [
    "add_resource_pack",
    "login",
    "named_entity_spawn",
    "resource_pack_send",
    "respawn",
    "scoreboard_team",
    "spawn_entity_living",
    "spawn_entity_painting",
    "teams",
];

/// Greatest number of characters of a message.
const MAX_CHAT: usize = 256;
/// Greatest number of characters of a message up to 1.10.
const MAX_CHAT_OLD: usize = 100;

/// Greatest number of characters of the name of a painting.
const MAX_PAINTING: usize = 13;

/// Greatest number of characters of the name of a member of a team.
const MAX_MEMBER: usize = 40;

/// Digits of the hash of a resource pack.
const HASH: usize = 40;

/// Greatest distance from the origin, in blocks.
const BORDER: f64 = 3.0e7;
/// Greatest distance from the origin up to 1.8, in blocks, as its document states it.
const BORDER_OLD: f64 = 3.2e7;

/// Heights of the eyes above the feet.
const STANCES: std::ops::RangeInclusive<f64> = 0.1..=1.65;

/// Y and stance of a player who rides.
const RIDING: f64 = -999.0;
