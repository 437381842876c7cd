use super::{ClientRule, Fields, Found};
use mitmcraft_protocol::schema::{Release, Role, Value};

/// The moves of a player, tick by tick.
#[derive(Debug, Default)]
pub(super) struct Movement {
    /// The number of moves since the last `tick_end`.
    moves: u32,
    /// The number of those moves that have a place.
    places: u32,
    /// `true` once the client has sent `tick_end`.
    pub(super) has_ended_tick: bool,
    /// The number of ticks since the last place; before 1.21.2, of moves. `None` before the first place.
    since_place: Option<u32>,
    place: Option<[f64; 3]>,
    look: Option<[f64; 2]>,
    /// The last turn, in degrees of yaw.
    turn: Option<f64>,
    status: Option<Value>,
    /// The number of the next moves that may repeat earlier ones, because of a teleport.
    grace: u8,
    /// `true` directly after a confirmed teleport.
    has_confirmed: bool,
    /// `true` directly after a move that answers a teleport.
    has_echoed: bool,
    /// The number of teleports without an answer, in versions in which it is a move.
    teleports: u32,
    /// The number of rotations by the server without their answer, a look.
    rotations: u32,
    /// `true` once the server has placed the player.
    is_placed: bool,
    /// `true` once the player rode: a passenger sends looks all the time.
    pub(super) has_ridden: bool,
    /// `true` once the player has looked through the eyes of another entity.
    is_away: bool,
    screen: Screen,
}

/// The state of a client's loading screen, since 1.21.4.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Screen {
    /// Not known: packets sent before a respawn may still be on their way.
    #[default]
    Unknown,
    /// Shown: the client has not sent `player_loaded`.
    Loading,
    /// Closed.
    Loaded,
}

impl Movement {
    /// Begins another game, of which less is known.
    pub(super) fn join(&mut self, release: Release) {
        let screen = if release >= Release::V1_21_4 { Screen::Loading } else { Screen::Unknown };
        let Self { has_ridden, is_placed, teleports, has_ended_tick, .. } = *self;
        *self =
            Self { screen, has_ridden, is_placed, teleports, has_ended_tick, ..Self::default() };
    }

    /// Takes a packet of the server.
    pub(super) fn hear(&mut self, name: &str, fields: &Fields, player: Option<i64>) {
        match name {
            "position" => {
                (self.is_placed, self.grace) = (true, GRACE);
                self.teleports += 1;
            }
            "player_rotation" => {
                self.grace = GRACE;
                self.rotations += 1;
            }
            "set_passengers" => {
                let all = fields.get("passengers").and_then(Value::as_list).unwrap_or_default();
                self.has_ridden |= all.iter().any(|it| it.as_int() == player);
            }
            "attach_entity" => self.has_ridden |= fields.int("entityId") == player,
            "camera" => self.is_away |= fields.int("cameraId") != player,
            "respawn" => {
                (self.screen, self.grace, self.since_place) = (Screen::Unknown, GRACE, None);
            }
            _ => {}
        }
    }

    /// Returns whether a move only answers a teleport or a rotation.
    pub(super) fn is_answer(&mut self, name: &str, fields: &Fields, release: Release) -> bool {
        let is_move = release >= TICKS && release < Release::V1_21_4 || release < Release::V1_9;
        let waiting = match name {
            "look" => &mut self.rotations,
            "position_look" if is_move => &mut self.teleports,
            "position_look" => return self.has_confirmed && release < CONFIRMS_ALONE,
            _ => return false,
        };
        let is_false = |flag: Option<&Value>| flag.map(Value::plain) == Some(&Value::Bool(false));
        let touches_nothing = match fields.status() {
            Some(Value::Bool(on_ground)) => !on_ground,
            Some(flags) => {
                ["onGround", "hasHorizontalCollision"].iter().all(|it| is_false(flags.get(it)))
            }
            None => false,
        };
        let is_answer = touches_nothing && *waiting > 0;
        *waiting -= u32::from(is_answer);
        is_answer
    }

    /// Takes a packet of the client. `is_ordered` is `true` for one with a place in a tick.
    pub(super) fn say(
        &mut self,
        name: &str,
        fields: &Fields,
        is_answer: bool,
        is_ordered: bool,
        found: &mut Found<'_>,
    ) {
        let has_confirmed = self.has_confirmed;
        if name == "keep_alive" {
            // A client answers it at any time.
            return;
        }
        if has_confirmed && !is_answer && !self.has_ridden {
            let reason = format!("a `position_look` follows `teleport_confirm`, not `{name}`");
            found.add(ClientRule::TeleportEcho, None, reason);
        }
        self.has_confirmed = name == "teleport_confirm";
        if is_ordered && !is_answer && self.screen == Screen::Loading {
            let reason = "the client has not sent `player_loaded`".to_owned();
            found.add(ClientRule::LoadingActed, None, reason);
        }
        match name {
            "player_loaded" => {
                if self.screen == Screen::Loaded {
                    let reason = "the client has already sent it in this world".to_owned();
                    found.add(ClientRule::LoadedTwice, None, reason);
                }
                self.screen = Screen::Loaded;
            }
            "tick_end" => self.end_tick(found),
            "use_item" if found.release >= Release::V1_17 => {
                if !self.has_echoed {
                    let reason = "no `position_look` precedes the use of an item".to_owned();
                    found.add(ClientRule::UseWithoutLook, None, reason);
                }
                if found.release < Release::V1_21 {
                    // The tick's own move may repeat the look.
                    self.grace = GRACE;
                }
            }
            "steer_vehicle" if !self.has_ridden => {
                let reason = "the player has never ridden".to_owned();
                found.add(ClientRule::SteerOnFoot, None, reason);
            }
            _ if found.record.packet.role() == Some(Role::Movement) => {
                self.take_move(name, fields, is_answer, found)
            }
            _ => {}
        }
        self.has_echoed = name == "position_look";
    }

    fn end_tick(&mut self, found: &mut Found<'_>) {
        (self.has_ended_tick, self.moves, self.places) = (true, 0, 0);
        // A client that loads a world sends no place.
        let is_loading = found.release >= Release::V1_21_4 && self.screen != Screen::Loaded;
        if let Some(ticks) = self.since_place.as_mut().filter(|_| !is_loading) {
            *ticks += 1;
            if *ticks > REMINDER && !self.has_ridden && !self.is_away {
                *ticks = 0;
                let reason = format!("the game sends a position every {REMINDER} ticks");
                found.add(ClientRule::PositionOverdue, None, reason);
            }
        }
    }

    fn take_move(&mut self, name: &str, fields: &Fields, is_answer: bool, found: &mut Found<'_>) {
        let release = found.release;
        let (place, look, status) = (fields.place(), fields.look(), fields.status().cloned());
        if is_answer {
            // The tick's own move may repeat it.
            (self.place, self.look, self.status, self.grace) = (None, None, None, GRACE);
            self.turn = None;
            return;
        }
        if look.is_some_and(|[_, pitch]| pitch.abs() > 90.0) {
            let reason = "a pitch must be from -90 to 90".to_owned();
            found.add(ClientRule::PitchInvalid, Some("pitch"), reason);
        }
        if !self.is_placed {
            let reason = "the server has not placed the player yet".to_owned();
            found.add(ClientRule::MoveEarly, None, reason);
        }
        self.take_twice(place.is_some(), found);
        let is_graced = self.grace > 0 || self.has_ridden || self.is_away;
        self.grace = self.grace.saturating_sub(1);
        let has_extra = release >= Release::V1_17 && release < Release::V1_21;
        if look.is_some() && look == self.look && !is_graced && !(has_extra && place.is_some()) {
            let reason = "yaw and pitch are those of the last look".to_owned();
            found.add(ClientRule::LookRepeated, Some("yaw"), reason);
        }
        if let (Some([yaw, _]), Some([last, _])) = (look, self.look) {
            let turn = (yaw - last).abs();
            let was_small = self.turn.is_some_and(|turn| turn < SMALL_TURN);
            if turn > GREAT_TURN && was_small && !is_graced && yaw.abs() < 360.0 {
                let reason = format!("yaw turns by {turn:.0} degrees: the game counts on");
                found.add(ClientRule::YawJumped, Some("yaw"), reason);
            }
            self.turn = Some(turn);
        }
        let has_ticks = release < TICKS || self.has_ended_tick;
        let is_due = !has_ticks || self.since_place.is_none_or(|ticks| ticks >= REMINDER);
        if let (Some(place), Some(last)) = (place, self.place)
            && place == last
            && !is_due
            && !is_graced
        {
            let reason =
                format!("the place is the last one, which is repeated only after {REMINDER} ticks");
            found.add(ClientRule::PositionRepeated, Some("x"), reason);
        }
        if name == "flying" && self.status.is_some() && status == self.status && !is_graced {
            let reason = "it repeats the last move".to_owned();
            found.add(ClientRule::StatusRepeated, None, reason);
        }
        if place.is_some() {
            self.since_place = Some(0);
        } else if release < TICKS
            && let Some(moves) = &mut self.since_place
        {
            *moves += 1;
            if *moves > REMINDER && !self.has_ridden && !self.is_away {
                *moves = 0;
                let reason = format!("the game sends a position in every {} moves", REMINDER + 1);
                found.add(ClientRule::PositionOverdue, None, reason);
            }
        }
        self.place = place.or(self.place);
        self.look = look.or(self.look);
        self.status = status;
    }

    /// Counts a move of the tick; since 1.21.2 there is at most one.
    fn take_twice(&mut self, has_place: bool, found: &mut Found<'_>) {
        if found.release < TICKS {
            return;
        }
        self.moves += 1;
        self.places += u32::from(has_place);
        // Servers of 26.3 count only those with a place.
        let number = if found.release >= CONFIRMS_ALONE { self.places } else { self.moves };
        let counts = found.release < CONFIRMS_ALONE || has_place;
        if number == 2 && counts {
            if self.has_ended_tick {
                let reason = "it is the second move since `tick_end`".to_owned();
                found.add(ClientRule::MoveTwice, None, reason);
            } else {
                let reason = "the client has never sent `tick_end`".to_owned();
                found.add(ClientRule::TickEndMissing, None, reason);
            }
        }
    }
}

/// The first version whose clients say when a tick ends.
pub(super) const TICKS: Release = Release::V1_21_2;

/// The first version in which a client confirms a teleport with its place, and sends no move for it.
const CONFIRMS_ALONE: Release = Release::V26_3;

/// The number of ticks after which a client repeats its position.
const REMINDER: u32 = 20;

/// The turns, in degrees, between which Grim (AimModulo360) sees a yaw that was wrapped.
const SMALL_TURN: f64 = 30.0;
const GREAT_TURN: f64 = 320.0;

/// The number of moves after a teleport that may repeat earlier ones.
const GRACE: u8 = 3;
