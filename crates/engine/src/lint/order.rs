use std::collections::BTreeSet;

use super::{Fault, LintRule};
use mitmcraft_protocol::meaning::{NeededRegistries, needs_world};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Role, State, Value};
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
    /// The UUIDs of the boss bars that the server has added; at most [`MAX_BARS`].
    bars: BTreeSet<u128>,
    /// `true` if the server has sent a code of conduct in this configuration.
    has_conduct: bool,
    /// The number of the next message of a player, since 1.21.5; `None` if it is not known.
    next_message: Option<i64>,
}

impl Order {
    /// Takes the number of the next packet of a session, in either direction.
    pub(super) fn number(&mut self, seq: u64) {
        // Packets that were held back get their numbers when they go on.
        self.has_gaps |= seq > self.last + 1;
        self.last = self.last.max(seq);
    }

    /// Returns whether packets are missing.
    pub(super) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Takes the next packet of the server, and returns what is wrong with its place in the session.
    pub(super) fn take(&mut self, packet: &Packet) -> Option<Fault> {
        match packet.role() {
            Some(Role::LoginSuccess) => {
                self.has_entered = true;
                self.has_world = false;
            }
            Some(Role::FinishConfiguration) => {
                (self.has_world, self.has_conduct) = (false, false);
                let is_whole = self.has_entered && !self.has_gaps;
                return if is_whole { self.missing_registries(packet) } else { None };
            }
            Some(Role::JoinGame) => {
                self.has_world = true;
                self.next_message = Some(0);
                return self.missing_registries(packet);
            }
            _ => {}
        }
        let kind = packet.kind()?;
        if packet.state() == State::Configuration && &**kind.name() == "registry_data" {
            self.take_registry(packet);
        }
        if self.has_entered
            && !self.has_gaps
            && let Some(fault) = self.fault(packet, kind.name())
        {
            return Some(fault);
        }
        let is_early = self.has_entered && !self.has_gaps && !self.has_world;
        let reason = "the packet needs a world, but comes before Join Game";
        (is_early && needs_world(packet.context().protocol.release(), kind))
            .then(|| Fault::new(LintRule::OrderWrong, reason))
    }

    /// Returns what is wrong with a packet after those that came before it.
    fn fault(&mut self, packet: &Packet, name: &str) -> Option<Fault> {
        match (packet.state(), name) {
            (State::Configuration, "code_of_conduct") => {
                let reason = "a second code of conduct comes in one configuration";
                std::mem::replace(&mut self.has_conduct, true)
                    .then(|| Fault::new(LintRule::OrderWrong, reason))
            }
            (State::Play, "player_chat") => {
                let index = packet.value().ok()?.get("globalIndex")?.as_int()?;
                let wanted = self.next_message.replace(index.wrapping_add(1))?;
                let reason = || format!("message {index} comes where {wanted} is next");
                let field = Some("globalIndex".to_owned());
                (index != wanted)
                    .then(|| Fault { field, ..Fault::new(LintRule::OrderWrong, reason()) })
            }
            (State::Play, "boss_bar") => {
                let fields = packet.value().ok()?;
                let bar = fields.get("entityUUID")?.as_uuid()?;
                let action = fields.get("action")?.as_int()?;
                let can_know = self.bars.len() < MAX_BARS;
                let is_known = self.bars.contains(&bar);
                if action == ADD && can_know {
                    self.bars.insert(bar);
                }
                let reason = "the packet changes a boss bar that was never added";
                let field = Some("entityUUID".to_owned());
                let changes = !matches!(action, ADD | REMOVE);
                (changes && can_know && !is_known)
                    .then(|| Fault { field, ..Fault::new(LintRule::OrderWrong, reason) })
            }
            _ => None,
        }
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

    /// Returns the first registry that the game needs for a packet and has no entries of.
    fn missing_registries(&self, packet: &Packet) -> Option<Fault> {
        let needed = NeededRegistries::of(packet.context().protocol.release(), packet.kind()?);
        needed.filter_map(|(field, needed)| self.missing(packet, field, needed)).next()
    }

    fn missing(&self, packet: &Packet, field: &str, needed: &NeededRegistries) -> Option<Fault> {
        let inside: BTreeSet<String>;
        let sent = if field.is_empty() {
            &self.registries
        } else {
            inside = registries_of(packet.value().ok()?.get(field)?).collect();
            &inside
        };
        let name = needed.names.iter().find(|name| !sent.contains(*name))?;
        let reason = format!("the server has sent no entries of the registry `{name}`");
        let field = Some(field.to_owned()).filter(|field| !field.is_empty());
        let fault = Fault::new(LintRule::RegistryMissing, reason);
        Some(Fault { certain: needed.certain, field, ..fault })
    }
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

/// The actions of `boss_bar` that need no bar.
const ADD: i64 = 0;
const REMOVE: i64 = 1;

/// The most boss bars that are known; with more, none is called unknown.
const MAX_BARS: usize = 4096;
