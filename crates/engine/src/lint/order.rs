use std::collections::BTreeSet;

use super::{Fault, LintRule};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Release, Role, State, Value};
use mitmcraft_protocol::wire::Tag;

/// The order of the packets of a server that lead into the game.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The number of the session's last packet; 0 before the first.
    last: u64,
    /// `true` if packets are missing, so that nothing is known of what was not sent.
    has_gaps: bool,
    /// `true` once the server has let the player into the game's states.
    has_entered: bool,
    /// `true` if the game has a world.
    has_world: bool,
    /// The registries with entries that the server has sent.
    registries: BTreeSet<String>,
}

impl Order {
    /// Takes the number of the next packet of a session, in either direction.
    pub(super) fn number(&mut self, seq: u64) {
        // Packets that were held back get their numbers when they go on.
        self.has_gaps |= seq > self.last + 1;
        self.last = self.last.max(seq);
    }

    /// Takes the next packet of the server, and returns what is wrong with its place in the session.
    pub(super) fn take(&mut self, packet: &Packet) -> Option<Fault> {
        match packet.role() {
            Some(Role::LoginSuccess) => {
                self.has_entered = true;
                self.has_world = false;
            }
            Some(Role::FinishConfiguration) => {
                let fault = self.missing_registries(packet);
                self.has_world = false;
                return fault;
            }
            Some(Role::JoinGame) => {
                self.has_world = true;
                return self.missing_in_codec(packet);
            }
            _ => {}
        }
        let name = packet.kind()?.name();
        match packet.state() {
            State::Configuration if &**name == "registry_data" => self.take_registry(packet),
            State::Play if self.has_entered && !self.has_gaps && !self.has_world => {
                let reason = "the packet needs a world, but comes before Join Game";
                let needs_world = NEEDS_WORLD.contains(&&**name);
                return needs_world.then(|| Fault::new(LintRule::OrderWrong, reason));
            }
            _ => {}
        }
        None
    }

    fn take_registry(&mut self, packet: &Packet) {
        let Ok(fields) = packet.value() else { return };
        if let Some(id) = fields.get("id").and_then(Value::as_text)
            && let Some(Value::List(entries)) = fields.get("entries").map(Value::plain)
            && !entries.is_empty()
        {
            self.registries.insert(id.to_owned());
        }
        if let Some(codec) = fields.get("codec") {
            self.registries.extend(registries_of(codec));
        }
    }

    /// Returns what the game lacks at the end of the configuration.
    fn missing_registries(&self, packet: &Packet) -> Option<Fault> {
        if !self.has_entered || self.has_gaps {
            return None;
        }
        let release = packet.context().protocol.release();
        missing(release, &NEEDED, &self.registries, None)
    }

    /// Returns what the game lacks in the registries of Join Game, from 1.16.2 to 1.20.1.
    fn missing_in_codec(&self, packet: &Packet) -> Option<Fault> {
        let release = packet.context().protocol.release();
        if !(Release::V1_16_2..Release::V1_20_2).contains(&release) {
            return None;
        }
        let fields = packet.value().ok()?;
        let sent = registries_of(fields.get("dimensionCodec")?).collect();
        missing(release, &NEEDED_IN_CODEC, &sent, Some("dimensionCodec"))
    }
}

/// Returns the first registry that the game needs and that was not sent.
fn missing(
    release: Release,
    needed: &[(Release, &str, bool)],
    sent: &BTreeSet<String>,
    field: Option<&str>,
) -> Option<Fault> {
    let is_missing =
        |(since, name, _): &&(Release, &str, bool)| *since <= release && !sent.contains(*name);
    let (_, name, certain) = needed.iter().find(is_missing)?;
    let reason = format!("the server has sent no entries of the registry `{name}`");
    let field = field.map(str::to_owned);
    let fault = Fault::new(LintRule::RegistryMissing, reason);
    Some(Fault { certain: *certain, field, ..fault })
}

/// Iterates over the registries with entries in a value that has all of them.
fn registries_of(codec: &Value) -> impl Iterator<Item = String> {
    let registries = match codec.plain() {
        Value::Nbt(nbt) => match &nbt.root {
            Tag::Compound(all) => Some(all),
            _ => None,
        },
        _ => None,
    };
    let entries = registries.into_iter().flat_map(|all| &all.entries);
    entries.filter_map(|(id, registry)| {
        let Tag::Compound(registry) = registry else { return None };
        let Some(Tag::List(list)) = registry.get("value") else { return None };
        (!list.items.is_empty()).then(|| String::from_utf8_lossy(id).into_owned())
    })
}

/// Packets with which the game changes its world or its player, which exist from Join Game on.
const NEEDS_WORLD: [&str; 16] = [
    "block_change",
    "entity_destroy",
    "entity_metadata",
    "map_chunk",
    "map_chunk_bulk",
    "multi_block_change",
    "named_entity_spawn",
    "position",
    "respawn",
    "spawn_entity",
    "spawn_entity_experience_orb",
    "spawn_entity_living",
    "spawn_entity_painting",
    "update_health",
    "window_items",
    "world_particles",
];

/// Registries that the game needs since a version, and whether that is certain.
const NEEDED: [(Release, &str, bool); 12] = [
    (Release::V1_20_2, "minecraft:dimension_type", true),
    (Release::V1_20_2, "minecraft:damage_type", true),
    (Release::V1_20_2, "minecraft:worldgen/biome", true),
    (Release::V1_20_5, "minecraft:wolf_variant", true),
    (Release::V1_21, "minecraft:painting_variant", false),
    (Release::V1_21_5, "minecraft:cat_variant", false),
    (Release::V1_21_5, "minecraft:chicken_variant", false),
    (Release::V1_21_5, "minecraft:cow_variant", false),
    (Release::V1_21_5, "minecraft:frog_variant", false),
    (Release::V1_21_5, "minecraft:pig_variant", false),
    (Release::V1_21_5, "minecraft:wolf_sound_variant", false),
    (Release::V1_21_11, "minecraft:zombie_nautilus_variant", true),
];

/// Registries that the game needs in Join Game.
const NEEDED_IN_CODEC: [(Release, &str, bool); 3] = [
    (Release::V1_16_2, "minecraft:dimension_type", true),
    (Release::V1_16_2, "minecraft:worldgen/biome", true),
    (Release::V1_19_4, "minecraft:damage_type", true),
];
