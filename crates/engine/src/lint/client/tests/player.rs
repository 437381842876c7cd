use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::capture::Sink as _;
use crate::explain::tests::script::Script;
use crate::lint::tests::planted::body::{Body, body};
use crate::lint::tests::planted::packets;
use crate::lint::{LintReport, LintSide, Linter};
use mitmcraft_protocol::meaning::{RegistryKind, registry};
use mitmcraft_protocol::schema::{Direction, EncodeCause, State, Value};

/// A client of the game in the making.
#[derive(Clone)]
pub(super) struct Player {
    pub(super) script: Script,
    /// The number of the packet with the fault.
    pub(super) bad: Option<u64>,
    pub(super) sequence: i64,
}

impl Player {
    pub(super) fn version(&self) -> i32 {
        self.script.version
    }

    /// A client that has come into the world.
    pub(super) fn new(version: i32) -> Self {
        let mut player = Self { script: Script::login(version), bad: None, sequence: 0 };
        for packet in packets::entered(version, &[]) {
            player.script = player.script.sent(&packet);
            if version >= 764 && packet.name == "success" {
                player = player.put(State::Login, "login_acknowledged", body());
                player = player.brand(State::Configuration).settings(State::Configuration);
            }
        }
        if version >= 764 {
            player = player.put(State::Configuration, "finish_configuration", body());
        }
        player.script = player.script.sent(&packets::joined(version));
        if version < 764 {
            player = player.settings(State::Play).brand(State::Play);
        }
        let mut player =
            player.hear("update_health", body().f32(20.0).varint(20).f32(5.0)).teleport(1);
        if version >= 768 {
            player = player.put(State::Play, "tick_end", body());
        }
        if version >= 769 {
            player = player.put(State::Play, "player_loaded", body());
        }
        player.walk(1.0)
    }

    /// Sends a packet with these fields, of which the version has some.
    pub(super) fn say(self, name: &str, fields: Json) -> Self {
        self.say_in(State::Play, name, fields)
    }

    pub(super) fn say_in(self, state: State, name: &str, mut fields: Json) -> Self {
        let protocol = Arc::clone(&self.script.context.protocol);
        let version = self.version();
        let kind = protocol.named(state, Direction::Serverbound, name);
        let kind = kind.unwrap_or_else(|| panic!("{version} {name}"));
        let bytes = loop {
            let error = match protocol.encode(kind, &Value::from_json(&fields)) {
                Ok(bytes) => break bytes,
                Err(error) => error,
            };
            let known = matches!(error.cause, EncodeCause::UnknownField);
            assert!(
                known && fields.as_object_mut().unwrap().remove(&error.path).is_some(),
                "{version} {name}: {error}"
            );
        };
        Self { script: self.script.bytes(Direction::Serverbound, state, bytes), ..self }
    }

    pub(super) fn put(self, state: State, name: &str, fields: Body) -> Self {
        Self { script: self.script.client_in(state, name, fields), ..self }
    }

    pub(super) fn hear(self, name: &str, fields: Body) -> Self {
        Self { script: self.script.server(name, fields), ..self }
    }

    /// Marks the next packet as the one with the fault.
    pub(super) fn bad(self) -> Self {
        Self { bad: Some(self.script.seq + 1), ..self }
    }

    /// Marks the last packet.
    pub(super) fn was_bad(self) -> Self {
        Self { bad: Some(self.script.seq), ..self }
    }

    pub(super) fn brand(self, state: State) -> Self {
        let channel = if self.version() < 393 { "MC|Brand" } else { "minecraft:brand" };
        self.put(state, "custom_payload", body().text(channel).text("vanilla"))
    }

    pub(super) fn settings(self, state: State) -> Self {
        self.settings_of(state, 10)
    }

    pub(super) fn settings_of(self, state: State, distance: i32) -> Self {
        let particles = if self.version() >= 768 { json!("all") } else { json!(0) };
        self.say_in(state, "settings", json!({
            "locale": "en_us", "viewDistance": distance, "chatFlags": 0, "chatColors": true, "skinParts": 127,
            "mainHand": 1, "enableTextFiltering": false, "enableServerListing": true, "particleStatus": particles,
        }))
    }

    /// The server moves the player, and the client answers as its version does.
    pub(super) fn teleport(self, number: i32) -> Self {
        let asked = Self { script: self.script.teleport(number), ..self };
        match asked.version() {
            47 => asked.echo(),
            768 => asked.echo().confirm(number),
            777 => asked.confirm(number),
            _ => asked.confirm(number).echo(),
        }
    }

    /// The server turns the player, and the client answers before the move of its tick.
    pub(super) fn rotate(self, yaw: f32) -> Self {
        let look = match self.version() {
            ..768 => return self,
            768..773 => body().f32(yaw).f32(1.0),
            _ => body().f32(yaw).i8(0).f32(1.0).i8(0),
        };
        self.hear("player_rotation", look).moved("look", 0.0, f64::from(yaw), false)
    }

    pub(super) fn confirm(self, number: i32) -> Self {
        let place = json!({ "teleportId": number, "x": 8.0, "y": 70.0, "z": 8.0, "yaw": 0.0, "pitch": 0.0 });
        self.say("teleport_confirm", place)
    }

    pub(super) fn echo(self) -> Self {
        self.moved("position_look", 8.0, 0.0, false)
    }

    pub(super) fn moved(self, name: &str, x: f64, yaw: f64, on_ground: bool) -> Self {
        let flags = json!({ "onGround": on_ground, "hasHorizontalCollision": false });
        self.say(name, json!({
            "x": x, "y": 70.0, "z": 8.0, "yaw": yaw, "pitch": 1.0, "onGround": on_ground, "flags": flags,
        }))
    }

    pub(super) fn has_ticks(&self) -> bool {
        self.version() >= 768
    }

    pub(super) fn end(self) -> Self {
        if self.has_ticks() { self.put(State::Play, "tick_end", body()) } else { self }
    }

    /// A tick with a step.
    pub(super) fn walk(self, x: f64) -> Self {
        self.moved("position", x, 0.0, true).end()
    }

    /// A tick in which nothing changes: only 1.8 has a move then.
    pub(super) fn stand(self) -> Self {
        if self.version() < 107 { self.moved("flying", 0.0, 0.0, true) } else { self.end() }
    }

    pub(super) fn dig(self, status: i64, place: [i64; 3], face: i64, sequence: i64) -> Self {
        let status = if self.version() == 777 && status > 0 { status + 1 } else { status };
        let [x, y, z] = place;
        let location = json!({ "x": x, "y": y, "z": z });
        self.say(
            "block_dig",
            json!({ "status": status, "location": location, "face": face, "sequence": sequence }),
        )
    }

    /// The next number of an action.
    pub(super) fn next(mut self) -> (Self, i64) {
        self.sequence += 1;
        let number = self.sequence;
        (self, number)
    }

    pub(super) fn start_digging(self) -> Self {
        let (player, number) = self.next();
        player.dig(0, [1, 69, 2], 1, number)
    }

    pub(super) fn finish_digging(self) -> Self {
        let (player, number) = self.next();
        player.dig(2, [1, 69, 2], 1, number)
    }

    pub(super) fn drop_item(self) -> Self {
        self.dig(4, [0, 0, 0], 0, 0)
    }

    pub(super) fn release(self) -> Self {
        self.dig(5, [0, 0, 0], 0, 0)
    }

    pub(super) fn hand(&self, hand: i64) -> Json {
        match (self.version(), hand) {
            (775.., 0) => json!("main_hand"),
            (775.., _) => json!("off_hand"),
            _ => json!(hand),
        }
    }

    pub(super) fn place(self, hand: i64, x: i64) -> Self {
        let (player, number) = self.next();
        player.place_as(hand, x, number)
    }

    pub(super) fn place_as(self, hand: i64, x: i64, sequence: i64) -> Self {
        if self.version() < 107 {
            return self.place_old(x, 1);
        }
        let hand = self.hand(hand);
        self.say("block_place", json!({
            "hand": hand, "location": { "x": x, "y": 69, "z": 2 }, "direction": 1, "cursorX": 0.5, "cursorY": 1.0,
            "cursorZ": 0.5, "insideBlock": false, "worldBorderHit": false, "sequence": sequence,
        }))
    }

    pub(super) fn place_old(self, x: i64, direction: i64) -> Self {
        let [y, z] = if x == -1 { [-1, -1] } else { [69, 2] };
        self.say("block_place", json!({
            "location": { "x": x, "y": y, "z": z }, "direction": direction, "heldItem": { "blockId": -1 },
            "cursorX": 0, "cursorY": 0, "cursorZ": 0,
        }))
    }

    /// Uses an item in the air.
    pub(super) fn use_item(self) -> Self {
        let player = match self.version() {
            ..107 => return self.place_old(-1, -1),
            755..767 => self.moved("position_look", 1.0, 0.0, true),
            _ => self,
        };
        player.use_item_only()
    }

    pub(super) fn use_item_only(self) -> Self {
        let (player, sequence) = self.next();
        let hand = player.hand(0);
        player.say(
            "use_item",
            json!({ "hand": hand, "sequence": sequence, "rotation": { "x": 0.0, "y": 1.0 } }),
        )
    }

    pub(super) fn swing(self) -> Self {
        if self.version() == 777 {
            return self.put(State::Play, "punch", body());
        }
        let hand = self.hand(0);
        self.say("arm_animation", json!({ "hand": hand }))
    }

    pub(super) fn hit(self, target: i64) -> Self {
        if self.version() >= 775 {
            return self.say("attack", json!({ "entityId": target }));
        }
        self.entity(target, 1)
    }

    pub(super) fn entity(self, target: i64, mouse: i64) -> Self {
        let hand = self.hand(0);
        let mut fields = json!({ "target": target, "mouse": mouse, "sneaking": false });
        if mouse == 2 {
            fields["x"] = json!(0.5);
            fields["y"] = json!(0.5);
            fields["z"] = json!(0.5);
        }
        if mouse != 1 && self.version() >= 107 {
            fields["hand"] = hand;
        }
        self.say("use_entity", fields)
    }

    pub(super) fn attack(self) -> Self {
        if self.version() < 107 { self.swing().hit(7) } else { self.hit(7).swing() }
    }

    pub(super) fn interact(self) -> Self {
        if self.version() < 775 { self.entity(7, 2).entity(7, 0) } else { self }
    }

    pub(super) fn action(self, action: &str) -> Self {
        self.say("entity_action", json!({ "entityId": 1, "actionId": action, "jumpBoost": 0 }))
    }

    pub(super) fn can_sneak(&self) -> bool {
        self.version() < 771
    }

    pub(super) fn input(self, shift: bool) -> Self {
        if !self.has_ticks() {
            return self;
        }
        let inputs = json!({
            "forward": true, "backward": false, "left": false, "right": false, "jump": false, "shift": shift,
            "sprint": false,
        });
        self.say("player_input", json!({ "inputs": inputs }))
    }

    /// Sneaks and sprints, in the order of the version.
    pub(super) fn hurry(self, way: &str) -> Self {
        let [sneak, sprint] = ["sneaking", "sprinting"].map(|what| format!("{way}_{what}"));
        if !self.has_ticks() {
            return self.action(&sprint).action(&sneak);
        }
        let player = if self.can_sneak() { self.action(&sneak) } else { self };
        player.input(way == "start").action(&sprint)
    }

    pub(super) fn select(self, slot: i64) -> Self {
        self.say("held_item_slot", json!({ "slotId": slot }))
    }

    /// Says that the inventory is opened, as clients did up to 1.11.
    pub(super) fn open_inventory(self) -> Self {
        let field = if self.version() < 107 { "payload" } else { "actionId" };
        match self.version() {
            ..317 => self.say("client_command", json!({ field: "open_inventory_achievement" })),
            _ => self,
        }
    }

    /// The server refuses a click, and the client confirms that; one that it accepts needs no answer.
    pub(super) fn confirm_click(self) -> Self {
        if self.version() >= 755 {
            return self;
        }
        let numbered = |action, accepted| body().i8(0).i16(action).i8(accepted);
        let asked = self.hear("transaction", numbered(1, 1)).hear("transaction", numbered(2, 0));
        asked.put(State::Play, "transaction", numbered(2, 1))
    }

    /// An orb of experience appears.
    pub(super) fn orb(self, id: i32) -> Self {
        let place = |it: Body| it.f64(8.0).f64(70.0).f64(8.0);
        if self.version() < 770 {
            let orb = place(body().varint(id)).i16(1);
            return self.hear("spawn_entity_experience_orb", orb);
        }
        let protocol = &self.script.context.protocol;
        let kinds = registry(protocol, RegistryKind::Entity).unwrap();
        let number = *kinds.numbers("experience_orb").next().unwrap().start();
        let orb = place(body().varint(id).uuid().varint(number as i32));
        let orb = match self.version() {
            773.. => orb.i8(0).i8(0).i8(0).i8(0).varint(0),
            _ => orb.i8(0).i8(0).i8(0).varint(0).i16(0).i16(0).i16(0),
        };
        self.hear("spawn_entity", orb)
    }

    /// A signed message of a player, without what its version may leave out.
    pub(super) fn signed_chat(&self) -> Body {
        let text = |it: Body| match self.version() {
            ..765 => it.text("\"a\""),
            _ => it.raw(&[8, 0, 1, b'a']),
        };
        // The first of all, which the linter of clients does not count.
        let start = if self.version() >= 770 { body().varint(0) } else { body() };
        let chat = start.uuid().varint(0).i8(1).raw(&[7; 256]).text("a").i64(1).i64(1).varint(0);
        let chat = chat.i8(0).varint(0).varint(1);
        text(chat).i8(0)
    }

    /// Sends its name a second time.
    pub(super) fn named_again(self) -> Self {
        let start = body().text("Steve");
        let start = match self.version() {
            764.. => start.uuid(),
            761.. => start.i8(0),
            _ => start,
        };
        self.put(State::Login, "login_start", start)
    }

    pub(super) fn click(self, window: i32, state: i32) -> Self {
        self.click_with(window, state, 0)
    }

    pub(super) fn click_with(self, window: i32, state: i32, button: i8) -> Self {
        let version = self.version();
        let id = if version >= 768 { body().varint(window) } else { body().i8(window as i8) };
        let fields = match version {
            ..107 => id.i16(3).i8(button).i16(1).i8(0).i16(-1),
            107..393 => id.i16(3).i8(button).i16(1).varint(0).i16(-1),
            393..755 => id.i16(3).i8(button).i16(1).varint(0).i8(0),
            _ => id.varint(state).i16(3).i8(button).varint(0).varint(0).i8(0),
        };
        self.put(State::Play, "window_click", fields)
    }

    pub(super) fn open_window(self, window: i32) -> Self {
        self.open_menu(window, 2)
    }

    /// Opens a window of that type, which is a chest up to 1.13.
    pub(super) fn open_menu(self, window: i32, kind: i32) -> Self {
        let title = |it: Body| it.text("{\"text\":\"a\"}");
        let fields = match self.version() {
            ..477 => title(body().i8(window as i8).text("minecraft:chest")).i8(27),
            477..765 => title(body().varint(window).varint(kind)),
            _ => body().varint(window).varint(kind).raw(&[8, 0, 1, b'a']),
        };
        self.hear("open_window", fields)
    }

    pub(super) fn window_state(self, window: i32, state: i32) -> Self {
        match self.version() {
            ..756 => self,
            756..768 => self.hear("set_slot", body().i8(window as i8).varint(state).i16(0).i8(0)),
            _ => self.hear("set_slot", body().varint(window).varint(state).i16(0).i8(0)),
        }
    }

    pub(super) fn allow_flight(self, flags: i8) -> Self {
        self.hear("abilities", body().i8(flags).f32(0.05).f32(0.1))
    }

    pub(super) fn fly(self) -> Self {
        self.say("abilities", json!({ "flags": 2, "flyingSpeed": 0.05, "walkingSpeed": 0.1 }))
    }

    pub(super) fn die(self) -> Self {
        self.hear("update_health", body().f32(0.0).varint(20).f32(5.0))
    }

    pub(super) fn respawn(self) -> Self {
        let field = if self.version() < 107 { "payload" } else { "actionId" };
        self.say("client_command", json!({ field: "perform_respawn" }))
    }

    pub(super) fn kept_alive(self, number: i32) -> Self {
        Self { script: self.script.kept_alive(number), ..self }
    }

    pub(super) fn ping(self, number: i32) -> Self {
        if self.version() < 755 { self } else { self.hear("ping", body().i32(number)) }
    }

    pub(super) fn pong(self, number: i32) -> Self {
        if self.version() < 755 { self } else { self.put(State::Play, "pong", body().i32(number)) }
    }

    pub(super) fn batch(self) -> Self {
        if self.version() < 764 {
            self
        } else {
            self.hear("chunk_batch_finished", body().varint(1))
        }
    }

    pub(super) fn batched(self) -> Self {
        if self.version() < 764 {
            self
        } else {
            self.put(State::Play, "chunk_batch_received", body().f32(9.0))
        }
    }

    pub(super) fn complete(self, number: i32) -> Self {
        if self.version() < 393 {
            self
        } else {
            self.put(State::Play, "tab_complete", body().varint(number).text("/a"))
        }
    }

    pub(super) fn wait(self, seconds: u64) -> Self {
        Self { script: self.script.wait(seconds), ..self }
    }

    pub(super) fn judged(self) -> LintReport {
        let mut linter = Linter::new(LintSide::Client);
        for entry in self.script.close("closed by the client").entries {
            linter.write(&entry).unwrap();
        }
        linter.finish().unwrap();
        linter.report()
    }

    /// Swings after the use of a block, as clients did before.
    pub(super) fn swing_if_before(self, version: i32) -> Self {
        if self.version() < version { self.swing() } else { self }
    }
}
