use super::movement::TICKS;
use super::{ClientRule, Fields, Found};
use crate::analysis::ends_tick;
use crate::capture::Record;
use mitmcraft_protocol::schema::{Name, Release, Value};

/// The state of a player's actions with keys and buttons, tick by tick.
#[derive(Debug, Default)]
pub(super) struct Clicks {
    /// The highest rank of the tick so far.
    rank: u8,
    /// `true` once the tick has an action that needs the selected slot.
    has_acted: bool,
    /// The slot that the client selected last, unless the server did since.
    pub(super) slot: Option<i64>,
    sprints: Option<bool>,
    sneaks: Option<bool>,
    input: Option<Value>,
    /// The last packet that has a place in a tick, with its values.
    last: Option<(Name, Last)>,
    /// The last attack, if a swing has to follow it.
    attack: Option<Record>,
    /// The block on which the main hand was used in this tick.
    main_block: Option<[i64; 3]>,
    /// The block on which a hand was used in this tick.
    tick_block: Option<[i64; 3]>,
    /// `true` once an item may be in use.
    may_release: bool,
    digs: Option<[i64; 3]>,
    /// The number of the last action.
    sequence: i64,
    /// `true` if the next action may have the number 1.
    may_restart: bool,
}

/// The values of a packet with which those of the next one are compared.
#[derive(Debug, Clone, PartialEq)]
struct Last {
    mouse: Option<i64>,
    target: Option<i64>,
    hand: Option<i64>,
}

/// The facts that exempt a player from some of the rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exempt {
    /// `true` once the player rode.
    pub(super) has_ridden: bool,
    /// `true` once the player was a spectator.
    pub(super) was_spectator: bool,
    /// `true` if the client's ticks can be told apart.
    pub(super) has_ticks: bool,
}

impl Clicks {
    /// Forgets what changes when the player enters a world by Join Game or Respawn. The next packets of the client may
    /// have been sent before.
    pub(super) fn enter_world(&mut self) {
        let state = self.last.is_none().then_some(false);
        (self.sprints, self.sneaks, self.input, self.slot) = (state, state, None, None);
        self.may_restart = true;
    }

    /// Takes a packet of the client in the game, with its rank in a tick, if it has one.
    pub(super) fn say(
        &mut self,
        name: &str,
        fields: &Fields,
        rank: Option<u8>,
        exempt: Exempt,
        found: &mut Found<'_>,
    ) {
        if name == "tick_end" {
            self.end_tick();
        }
        self.own(name, fields, exempt, found);
        let Some(rank) = rank else { return };
        self.order(name, rank, exempt, found);
        self.pairs(name, fields, exempt, found);
        if found.release < Release::V1_9 && ends_tick(&found.record.packet) {
            self.end_tick();
        }
        let last =
            Last { mouse: fields.int("mouse"), target: fields.int("target"), hand: fields.hand() };
        self.last = Some((Name::from(name), last));
    }

    fn end_tick(&mut self) {
        (self.rank, self.has_acted, self.main_block, self.tick_block) = (0, false, None, None);
    }

    /// Checks the order of a tick.
    fn order(&mut self, name: &str, rank: u8, exempt: Exempt, found: &mut Found<'_>) {
        if !exempt.has_ticks {
            return;
        }
        let reason = |after: &str| format!("in a tick, `{name}` comes before {after}");
        match (rank, self.rank) {
            // In a vehicle, sprinting follows the move.
            (SPRINT.., MOVE) if exempt.has_ridden && name == "entity_action" => {}
            (rank, MOVE) if rank < MOVE => {
                found.add(ClientRule::MoveNotLast, None, reason("the move"));
            }
            (SLOT, _) if self.has_acted => {
                found.add(ClientRule::SlotLate, None, reason("attacks and uses"));
            }
            (CLICK, SPRINT..) => {
                found.add(ClientRule::ClickLate, None, reason("sneaking and sprinting"))
            }
            (rank, before) if rank > CLICK && rank < before => {
                found.add(ClientRule::SprintOrder, None, reason("what came before it"));
            }
            _ => {}
        }
        self.rank = self.rank.max(rank);
    }

    /// Checks the values of a packet.
    fn own(&mut self, name: &str, fields: &Fields, exempt: Exempt, found: &mut Found<'_>) {
        self.has_acted |= match name {
            "attack" | "block_place" | "use_entity" | "use_item" => true,
            "block_dig" => dig_action(found.release, fields) == Some(RELEASE),
            _ => false,
        };
        match name {
            "held_item_slot" => {
                let slot = fields.int("slotId");
                if slot.is_some() && slot == self.slot {
                    let reason = "the slot is already selected".to_owned();
                    found.add(ClientRule::SlotRepeated, Some("slotId"), reason);
                }
                self.slot = slot;
            }
            "entity_action" => self.entity_action(fields, found),
            "player_input" => {
                let input = fields.get("inputs").cloned();
                if input.is_some() && input == self.input {
                    let reason = "the keys are those of the last input".to_owned();
                    found.add(ClientRule::InputRepeated, Some("inputs"), reason);
                }
                self.input = input;
            }
            "block_dig" => self.dig(fields, found),
            "block_place" => self.place(fields, exempt, found),
            "use_item" => {
                self.may_release = true;
                self.number(fields, found);
            }
            _ => {}
        }
    }

    fn entity_action(&mut self, fields: &Fields, found: &mut Found<'_>) {
        let (state, rule, now) = match fields.text("actionId") {
            Some("start_sprinting") => (&mut self.sprints, ClientRule::SprintRepeated, true),
            Some("stop_sprinting") => (&mut self.sprints, ClientRule::SprintRepeated, false),
            Some("start_sneaking") => (&mut self.sneaks, ClientRule::SneakRepeated, true),
            Some("stop_sneaking") => (&mut self.sneaks, ClientRule::SneakRepeated, false),
            _ => return,
        };
        if *state == Some(now) {
            let reason = if now { "it has already begun" } else { "it has not begun" };
            found.add(rule, Some("actionId"), reason.to_owned());
        }
        *state = Some(now);
    }

    fn dig(&mut self, fields: &Fields, found: &mut Found<'_>) {
        let Some(action) = dig_action(found.release, fields) else { return };
        let block = fields.block();
        match action {
            START => {
                self.digs = block;
                self.number(fields, found);
            }
            ABORT | FINISH => {
                if self.digs.is_none() || self.digs != block {
                    let reason = "the client has not begun to dig this block".to_owned();
                    found.add(ClientRule::DigOrder, Some("location"), reason);
                }
                self.digs = None;
                if action == FINISH {
                    self.number(fields, found);
                } else if fields.int("sequence").is_some_and(|it| it != 0) {
                    let reason = "the number of a cancelled action is 0".to_owned();
                    found.add(ClientRule::SequenceOrder, Some("sequence"), reason);
                }
            }
            _ => {
                let has_place = block != Some([0; 3]) || fields.int("face") != Some(0);
                let field = if has_place { Some("location") } else { Some("sequence") };
                if has_place || fields.int("sequence").is_some_and(|it| it != 0) {
                    let reason =
                        "the action has no place, face or number: all must be 0".to_owned();
                    found.add(ClientRule::ActionPlace, field, reason);
                }
                if action == RELEASE {
                    if !self.may_release {
                        let reason = "no item is in use".to_owned();
                        found.add(ClientRule::ReleaseUnused, None, reason);
                    }
                    self.may_release = false;
                }
            }
        }
    }

    fn place(&mut self, fields: &Fields, exempt: Exempt, found: &mut Found<'_>) {
        self.may_release = true;
        self.number(fields, found);
        let Some(block) = fields.block() else { return };
        if found.release < Release::V1_9 {
            let [x, y, z] = block;
            let is_nowhere = x == -1 && z == -1 && [-1, 255, 4095].contains(&y);
            let has_face = !matches!(fields.int("direction"), Some(-1 | 255));
            let cursor = ["cursorX", "cursorY", "cursorZ"].map(|it| fields.int(it));
            if is_nowhere == has_face || is_nowhere && cursor != [Some(0); 3] {
                let reason =
                    "the game uses an item at -1, -1, -1 with face 255 and no cursor".to_owned();
                found.add(ClientRule::UseForm, Some("location"), reason);
            }
            return;
        }
        if self.tick_block.is_some_and(|last| last != block) {
            let reason = "it is the second block used in this tick".to_owned();
            found.add(ClientRule::PlaceTwice, Some("location"), reason);
        }
        if exempt.has_ticks {
            self.tick_block = Some(block);
        }
        match fields.hand() {
            Some(0) => self.main_block = Some(block),
            Some(1) if self.main_block != Some(block) => {
                let reason = "the main hand was not used on this block before".to_owned();
                found.add(ClientRule::HandOrder, Some("hand"), reason);
            }
            _ => {}
        }
    }

    /// Checks the number of an action, which is one more than that of the last, or 1 in another world.
    fn number(&mut self, fields: &Fields, found: &mut Found<'_>) {
        let Some(number) = fields.int("sequence") else { return };
        let is_next = number == self.sequence + 1 || number == 1 && self.may_restart;
        if !is_next {
            let reason = format!(
                "the number after {} is {}, not {number}",
                self.sequence,
                self.sequence + 1
            );
            found.add(ClientRule::SequenceOrder, Some("sequence"), reason);
        }
        self.may_restart &= number != 1;
        self.sequence = number;
    }

    /// Checks packets that come in pairs.
    fn pairs(&mut self, name: &str, fields: &Fields, exempt: Exempt, found: &mut Found<'_>) {
        let swing = if found.release < Release::V26_3 { "arm_animation" } else { "punch" };
        let last = self.last.as_ref().map(|(name, _)| &**name);
        if let Some(attack) = self.attack.take().filter(|_| name != swing) {
            let reason = format!("no `{swing}` follows the attack");
            found.add_at(&attack, ClientRule::SwingOrder, None, reason);
        }
        let mouse = fields.int("mouse");
        if name == "attack" || name == "use_entity" && mouse == Some(1) {
            if found.release >= Release::V1_21_11 && exempt.was_spectator {
                // A spectator does not swing.
            } else if found.release >= Release::V1_9 {
                self.attack = Some(found.record.clone());
            } else if last != Some(swing) && last != Some("held_item_slot") {
                let reason = format!("no `{swing}` precedes the attack");
                found.add(ClientRule::SwingOrder, None, reason);
            }
        } else if name == "use_entity" && mouse == Some(0) {
            let (target, hand) = (fields.int("target"), fields.hand());
            let is_pair = self.last.as_ref().is_some_and(|(name, last)| {
                &**name == "use_entity" && *last == Last { mouse: Some(2), target, hand }
            });
            if !is_pair {
                let reason = "it does not follow the interaction with its position".to_owned();
                found.add(ClientRule::InteractOrder, None, reason);
            }
        }
    }
}

/// Returns the number of a `block_dig` action in versions up to 26.2; `None` for the action that only 26.3 has.
fn dig_action(release: Release, fields: &Fields) -> Option<i64> {
    match fields.int("status")? {
        status if release < Release::V26_3 => Some(status),
        1 => None,
        status => Some((status - 1).max(0)),
    }
}

/// Returns the rank of a packet in a tick, given that of its type: sneaking and sprinting have their own.
pub(super) fn rank(release: Release, rank: u8, fields: &Fields) -> u8 {
    if rank != SPRINT {
        return rank;
    }
    let is_sneak = fields.text("actionId").is_some_and(|it| it.ends_with("_sneaking"));
    let is_sprint = fields.text("actionId").is_some_and(|it| it.ends_with("_sprinting"));
    // Sneaking came last up to 1.21.1, and first since.
    match (is_sneak, is_sprint) {
        (true, _) if release < TICKS => INPUT,
        (_, true) if release >= TICKS => INPUT + 1,
        (false, false) => 0,
        _ => SPRINT,
    }
}

/// The ranks in `client.toml`.
pub(super) const SLOT: u8 = 1;
const CLICK: u8 = 2;
const SPRINT: u8 = 3;
const INPUT: u8 = 4;
const MOVE: u8 = 6;

/// The actions of `block_dig` up to 26.2.
const START: i64 = 0;
const ABORT: i64 = 1;
const FINISH: i64 = 2;
const RELEASE: i64 = 5;
