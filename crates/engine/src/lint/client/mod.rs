//! Judges what clients send as the game's client of that version would: tick by tick, and as answers to what
//! the server asks.
//!
//! Sessions are judged from their first packet on, up to a gap in the capture. What a client could not yet know
//! when it sent a packet is no fault: rules ask whether the server ever sent what would allow it.

mod answers;
mod clicks;
mod fields;
mod movement;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};

use super::{Fault, LintRule};
use crate::capture::Record;
use answers::Answers;
use clicks::{Clicks, Exempt};
use fields::Fields;
use mitmcraft_protocol::meaning::{Answer, ClientRow, FieldMeanings, is_unhurt, tick_rank};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::{Family, Name, Release, Role, State, Value};
use movement::Movement;
pub use rule::ClientRule;

/// The state of a session for the judgement of its client.
#[derive(Debug, Default)]
pub(super) struct Client {
    answers: Answers,
    movement: Movement,
    clicks: Clicks,
    /// The entity id of the player.
    player: Option<i64>,
    /// The entity id that the player had before the last Join Game.
    former_player: Option<i64>,
    /// `true` once the player was in creative mode.
    was_creative: bool,
    /// `true` once the player was a spectator.
    was_spectator: bool,
    /// The health of the player, once it is known.
    health: Option<f64>,
    /// `true` if the player died or saw the credits since the last respawn.
    may_respawn: bool,
    /// Whether the server has ever allowed the player to fly; `None` before it has said what the player may do.
    abilities: Option<bool>,
    /// The last two windows that the server has opened.
    windows: VecDeque<i64>,
    /// The last lectern that the server has opened.
    lectern: Option<i64>,
    /// `true` once the client has said that it opens its inventory.
    has_opened_inventory: bool,
    /// The packets that a connection has only once and that the client has sent.
    once: Vec<(State, Name)>,
    /// The states of windows that the server has sent; at most [`MAX_STATES`].
    states: HashSet<i64>,
    /// The places of the last signs whose editor the server has opened; at most [`MAX_SIGNS`].
    signs: VecDeque<Value>,
    /// The packets that the client must send next, before any others, in the configuration or the game.
    begin: &'static [&'static str],
    /// The time of the last signed message.
    said: Option<i64>,
    /// The number of signed messages that the server has sent.
    heard: i64,
    /// The number of signed messages that the client has acknowledged.
    acknowledged: i64,
    /// The number of the last request for completions.
    completion: Option<i64>,
}

impl Client {
    /// Takes a packet that the client has received, and returns the rules that the client breaks by then.
    pub(super) fn hear(&mut self, record: &Record) -> Vec<(Record, Fault)> {
        let packet = &record.packet;
        let Some(kind) = packet.kind() else { return Vec::new() };
        let release = packet.context().protocol.release();
        let is_join = packet.role() == Some(Role::JoinGame);
        let is_heard = packet.state() == State::Play && HEARD.contains(&&**kind.name());
        // Decoding takes longest.
        if !(is_join || is_heard || Answer::to(release, kind).is_some()) || !is_judged(packet) {
            return Vec::new();
        }
        self.answers.ask(record);
        if is_join {
            self.join(packet);
        }
        let mut found = Found { release, record, faults: Vec::new() };
        if is_join || !is_heard {
            return found.faults;
        }
        let Some(fields) = Fields::of(packet) else { return found.faults };
        self.movement.hear(kind.name(), &fields, self.player);
        match &**kind.name() {
            "respawn" => {
                self.note_mode(fields.mode());
                (self.may_respawn, self.health) = (false, None);
                self.clicks.enter_world();
            }
            "game_state_change" => match fields.text("reason") {
                Some("change_game_mode") => {
                    self.note_mode(fields.float("gameMode").map(|it| it as i64))
                }
                Some("win_game") => self.may_respawn = true,
                _ => {}
            },
            "update_health" => {
                self.health = fields.float("health");
                self.may_respawn |= self.health.is_some_and(|it| it <= 0.0);
            }
            "combat_event" => self.may_respawn |= fields.int("event") == Some(2),
            "death_combat_event" => self.may_respawn = true,
            "abilities" => {
                let may_fly = fields.int("flags").is_some_and(|it| it & 4 != 0);
                self.abilities = Some(self.abilities.unwrap_or(false) || may_fly);
            }
            "held_item_slot" => self.clicks.slot = None,
            "open_window" | "open_horse_window" => {
                if self.windows.len() == 2 {
                    self.windows.pop_front();
                }
                self.windows.extend(fields.int("windowId"));
                self.lectern = fields.int("windowId").filter(|_| is_lectern(packet, &fields));
            }
            "window_items" | "set_slot" if self.states.len() < MAX_STATES => {
                self.states.extend(fields.int("stateId"));
            }
            "open_sign_entity" => {
                if self.signs.len() == MAX_SIGNS {
                    self.signs.pop_front();
                }
                self.signs.extend(fields.get("location").cloned());
            }
            "player_chat" if fields.get("signature").is_some() => {
                self.heard += 1;
                let open = self.heard - self.acknowledged;
                if open == MAX_UNSEEN + 1 && release >= Release::V1_19_3 {
                    let reason = format!("{open} messages are not acknowledged");
                    found.add(ClientRule::ChatPending, None, reason);
                }
            }
            _ => {}
        }
        found.faults
    }

    /// Takes a packet that the client has sent, and returns the rules that it, or an earlier one, breaks. `type_of`
    /// returns the type of an entity, if the server has sent it.
    pub(super) fn say(
        &mut self,
        record: &Record,
        type_of: &dyn Fn(i64) -> Option<&'static str>,
    ) -> Vec<(Record, Fault)> {
        let packet = &record.packet;
        let release = packet.context().protocol.release();
        let Some(kind) = packet.kind().filter(|_| is_judged(packet)) else { return Vec::new() };
        let mut found = Found { release, record, faults: Vec::new() };
        self.answers.answer(&mut found);
        if packet.role() == Some(Role::LoginAcknowledged) {
            self.begin = &["custom_payload", "settings"];
        }
        self.begun(kind.name(), &mut found);
        self.say_once(packet.state(), kind.name(), &mut found);
        if !matches!(packet.state(), State::Play | State::Configuration) {
            return found.faults;
        }
        let Some(fields) = Fields::of(packet) else { return found.faults };
        let name = &**kind.name();
        if packet.state() == State::Play {
            let rank = tick_rank(release, kind).map(|rank| clicks::rank(release, rank, &fields));
            let is_move = packet.role() == Some(Role::Movement);
            let is_answer = is_move && self.movement.is_answer(name, &fields, release);
            self.movement.say(
                name,
                &fields,
                is_answer,
                rank.is_some_and(|it| it > clicks::SLOT),
                &mut found,
            );
            let Movement { has_ridden, has_ended_tick, .. } = self.movement;
            let has_ticks = release < Release::V1_9 || release >= movement::TICKS && has_ended_tick;
            let exempt = Exempt { has_ridden, was_spectator: self.was_spectator, has_ticks };
            self.clicks.say(name, &fields, rank.filter(|_| !is_answer), exempt, &mut found);
        }
        self.say_entity(name, &fields, type_of, &mut found);
        self.say_other(name, &fields, &mut found);
        found.faults
    }

    /// Returns the questions that are without an answer when the session ends.
    pub(super) fn end(&self, now: Timestamp) -> Vec<(Record, Fault)> {
        self.answers.end(now)
    }

    fn join(&mut self, packet: &Packet) {
        let release = packet.context().protocol.release();
        let Some(fields) = Fields::of(packet) else { return };
        let is_first = self.player.is_none();
        self.former_player = std::mem::replace(&mut self.player, fields.int("entityId"));
        (self.may_respawn, self.health, self.completion) = (false, None, None);
        self.note_mode(fields.mode());
        self.clicks.enter_world();
        self.movement.join(release);
        // A proxy that moves the player to another server repeats it, while packets of the client are on their way.
        if release < Release::V1_20_2 && is_first {
            self.begin = &["settings", "custom_payload"];
        }
    }

    fn note_mode(&mut self, mode: Option<i64>) {
        self.was_creative |= mode.is_none_or(|it| it == 1);
        self.was_spectator |= mode.is_none_or(|it| it == 3);
    }

    /// Checks what a client sends first in the configuration or the game.
    fn begun(&mut self, name: &str, found: &mut Found<'_>) {
        let Some((next, rest)) = self.begin.split_first() else { return };
        let is_asked =
            ["keep_alive", "pong", "login_acknowledged", "cookie_response", "teleport_confirm"];
        if is_asked.contains(&name) {
            return;
        }
        if name == *next {
            self.begin = rest;
        } else {
            self.begin = &[];
            found.add(
                ClientRule::SettingsOrder,
                None,
                format!("the game sends `{next}` before this packet"),
            );
        }
    }

    /// Checks a packet of which a connection has one.
    fn say_once(&mut self, state: State, name: &str, found: &mut Found<'_>) {
        let is_once = matches!(
            (state, name),
            (State::Status, "ping_start" | "ping") | (State::Login, "login_start")
        );
        if !is_once {
            return;
        }
        let sent = (state, Name::from(name));
        if self.once.contains(&sent) {
            let reason = "the client has already sent it".to_owned();
            found.add(ClientRule::RequestTwice, None, reason);
        } else {
            self.once.push(sent);
        }
    }

    /// Checks what a client does to entities.
    fn say_entity(
        &self,
        name: &str,
        fields: &Fields,
        type_of: &dyn Fn(i64) -> Option<&'static str>,
        found: &mut Found<'_>,
    ) {
        let field = match name {
            "attack" => "entityId",
            "use_entity" if fields.int("mouse") == Some(1) => "target",
            "entity_action" => {
                let id = fields.int("entityId");
                let is_own = id == self.player || id == self.former_player;
                if self.player.is_some() && !is_own {
                    let reason = "the entity is not the player".to_owned();
                    found.add(ClientRule::ActionEntity, Some("entityId"), reason);
                }
                return;
            }
            _ => return,
        };
        let Some(target) = fields.int(field) else { return };
        if self.player == Some(target) {
            let reason = "the player attacks itself".to_owned();
            found.add(ClientRule::AttackSelf, Some(field), reason);
        } else if let Some(entity) = type_of(target).filter(|it| is_unhurt(found.release, it)) {
            let reason = format!("the entity is of type {entity}, which cannot be attacked");
            found.add(ClientRule::AttackInvalid, Some(field), reason);
        }
    }

    fn say_other(&mut self, name: &str, fields: &Fields, found: &mut Found<'_>) {
        match name {
            "abilities" => {
                let flies = fields.int("flags").is_some_and(|it| it & 2 != 0);
                if flies && self.abilities == Some(false) {
                    let reason = "the server has not allowed the player to fly".to_owned();
                    found.add(ClientRule::FlightForbidden, Some("flags"), reason);
                }
            }
            "window_click" => {
                let window = fields.int("windowId").unwrap_or_default();
                if window == 0 && !self.has_opened_inventory {
                    let reason = "the client has not said that it opens its inventory".to_owned();
                    found.add(ClientRule::InventoryUnopened, Some("windowId"), reason);
                }
                if window != 0 && self.lectern == Some(window) {
                    let reason = "a lectern has buttons only".to_owned();
                    found.add(ClientRule::LecternClicked, Some("windowId"), reason);
                }
                let (mode, button) = (fields.int("mode"), fields.int("mouseButton"));
                if let (Some(mode), Some(button)) = (mode, button)
                    && !has_button(mode, button)
                {
                    let reason = format!("mode {mode} has no button {button}");
                    found.add(ClientRule::ClickForm, Some("mouseButton"), reason);
                }
                if window != 0 && !self.windows.contains(&window) {
                    let reason = format!("the server has not opened window {window}");
                    found.add(ClientRule::WindowUnknown, Some("windowId"), reason);
                } else if let Some(state) = fields.int("stateId")
                    && state != 0
                    && self.states.len() < MAX_STATES
                    && !self.states.contains(&state)
                {
                    let reason = format!("the server has sent no window in state {state}");
                    found.add(ClientRule::WindowState, Some("stateId"), reason);
                }
            }
            "set_creative_slot" if self.player.is_some() && !self.was_creative => {
                let reason = "the player was never in creative mode".to_owned();
                found.add(ClientRule::CreativeSlot, None, reason);
            }
            "spectate" if self.player.is_some() && !self.was_spectator => {
                let reason = "the player was never a spectator".to_owned();
                found.add(ClientRule::SpectateAlive, None, reason);
            }
            "client_command" => {
                let action = fields.text("actionId").or_else(|| fields.text("payload"));
                self.has_opened_inventory |=
                    action.is_some_and(|it| it.starts_with("open_inventory"));
                let is_alive = self.health.is_some_and(|it| it > 0.0);
                if action == Some("perform_respawn") && is_alive && !self.may_respawn {
                    let reason = "the player is alive".to_owned();
                    found.add(ClientRule::RespawnAlive, None, reason);
                }
            }
            "settings" if fields.int("viewDistance").is_some_and(|it| it < 2) => {
                let reason = "the smallest view distance of the game is 2".to_owned();
                found.add(ClientRule::ViewDistance, Some("viewDistance"), reason);
            }
            "chat_message" | "chat_command" | "chat_command_signed" | "message_acknowledgement" => {
                self.say_chat(name, fields, found);
            }
            "tab_complete" => {
                let number = fields.int("transactionId");
                if let (Some(last), Some(number)) = (self.completion, number)
                    && number != last + 1
                {
                    let reason = format!("the number after {last} is {}, not {number}", last + 1);
                    found.add(ClientRule::CompletionNumber, Some("transactionId"), reason);
                }
                self.completion = number;
            }
            "update_sign" => {
                let is_known = fields.get("location").is_some_and(|it| self.signs.contains(it));
                if !is_known {
                    let reason = "the server has not opened the editor of this sign".to_owned();
                    found.add(ClientRule::SignUnasked, Some("location"), reason);
                }
            }
            _ => {}
        }
    }

    fn say_chat(&mut self, name: &str, fields: &Fields, found: &mut Found<'_>) {
        if name == "chat_message"
            && fields.get("signature").is_some()
            && let Some(at) = fields.int("timestamp")
        {
            if self.said.is_some_and(|last| at < last) {
                let reason = "the message is older than the one before it".to_owned();
                found.add(ClientRule::ChatTime, Some("timestamp"), reason);
            }
            self.said = Some(at);
        }
        let counts = ["count", "offset", "messageCount"].into_iter();
        let Some((field, count)) = counts.filter_map(|it| Some((it, fields.int(it)?))).next()
        else {
            return;
        };
        self.acknowledged = self.acknowledged.saturating_add(count);
        if found.release >= Release::V1_19_3 && self.acknowledged > self.heard {
            let Self { acknowledged, heard, .. } = self;
            let reason = format!("{acknowledged} messages are acknowledged, but {heard} were sent");
            found.add(ClientRule::ChatUnseen, Some(field), reason);
            self.acknowledged = self.heard;
        }
    }
}

/// The faults of a packet of the client.
pub(super) struct Found<'r> {
    release: Release,
    record: &'r Record,
    faults: Vec<(Record, Fault)>,
}

impl Found<'_> {
    /// Adds a fault, if the version has the rule.
    fn add(&mut self, rule: ClientRule, field: Option<&str>, reason: String) {
        self.add_at(&self.record.clone(), rule, field, reason);
    }

    /// Adds a fault of an earlier packet.
    fn add_at(&mut self, record: &Record, rule: ClientRule, field: Option<&str>, reason: String) {
        let Some(row) = ClientRow::find(rule.name(), self.release) else { return };
        let fault = Fault::new(LintRule::Client(rule), reason);
        let field = field.map(str::to_owned);
        let fault =
            Fault { certain: row.certain, grade: row.grade, then: Some(row.then), field, ..fault };
        self.faults.push((record.clone(), fault));
    }
}

/// Returns whether a packet opens the window of a lectern.
fn is_lectern(packet: &Packet, fields: &Fields) -> bool {
    let Some(number) = fields.int("inventoryType") else { return false };
    let kind = packet.kind().and_then(|it| FieldMeanings::of(&packet.context().protocol, it));
    let name = kind.and_then(|it| it.at("inventoryType", |_| None)?.name(number));
    name == Some("lectern")
}

/// Returns whether a mode of clicks has a button. The one that clones an item is of the player's choice.
fn has_button(mode: i64, button: i64) -> bool {
    match mode {
        0 | 1 | 4 => matches!(button, 0 | 1),
        2 => matches!(button, 0..=8 | 40),
        3 => button >= 0,
        5 => matches!(button, 0..=2 | 4..=6 | 8..=10),
        6 => button == 0,
        // The mode has a limit.
        _ => true,
    }
}

/// Returns whether a packet is judged: one of 1.8 or newer that decodes, in any state.
fn is_judged(packet: &Packet) -> bool {
    let release = packet.context().protocol.release();
    release.family() == Family::Java && release >= Release::V1_8 && packet.error().is_none()
}

/// The packets of the server in the game that rules need.
const HEARD: [&str; 18] = [
    "abilities",
    "attach_entity",
    "camera",
    "combat_event",
    "death_combat_event",
    "game_state_change",
    "held_item_slot",
    "open_horse_window",
    "open_sign_entity",
    "open_window",
    "player_chat",
    "player_rotation",
    "position",
    "respawn",
    "set_passengers",
    "set_slot",
    "update_health",
    "window_items",
];

/// The most messages that a server waits to have acknowledged.
const MAX_UNSEEN: i64 = 4096;

/// The most states of windows that are kept; if there are more, clicks are not judged by their state.
const MAX_STATES: usize = 4096;

/// The most signs whose places are kept.
const MAX_SIGNS: usize = 16;
