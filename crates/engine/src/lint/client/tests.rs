//! A client that follows the game tick by tick, in each range of versions that differ in it, and the same client with
//! one fault at a time.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::tests::planted::body::{Body, body};
use super::super::tests::planted::packets;
use super::super::{LintReport, LintSide, Linter};
use super::ClientRule::{self, *};
use crate::capture::Sink as _;
use crate::explain::tests::script::Script;
use crate::report::Report as _;
use crate::text::LineOptions;
use mitmcraft_protocol::meaning::{ClientRow, Grade};
use mitmcraft_protocol::schema::{Catalog, Direction, EncodeCause, Release, State, Value};

/// The newest version of each range whose clients order their packets in another way.
const VERSIONS: [i32; 12] = [47, 340, 754, 758, 762, 766, 767, 768, 770, 774, 776, 777];

/// A client of the game in the making.
#[derive(Clone)]
struct Player {
    script: Script,
    /// The number of the packet with the fault.
    bad: Option<u64>,
    sequence: i64,
}

impl Player {
    fn version(&self) -> i32 {
        self.script.version
    }

    /// A client that has come into the world.
    fn new(version: i32) -> Self {
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
    fn say(self, name: &str, fields: Json) -> Self {
        self.say_in(State::Play, name, fields)
    }

    fn say_in(self, state: State, name: &str, mut fields: Json) -> Self {
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

    fn put(self, state: State, name: &str, fields: Body) -> Self {
        Self { script: self.script.client_in(state, name, fields), ..self }
    }

    fn hear(self, name: &str, fields: Body) -> Self {
        Self { script: self.script.server(name, fields), ..self }
    }

    /// Marks the next packet as the one with the fault.
    fn bad(self) -> Self {
        Self { bad: Some(self.script.seq + 1), ..self }
    }

    /// Marks the last packet.
    fn was_bad(self) -> Self {
        Self { bad: Some(self.script.seq), ..self }
    }

    fn brand(self, state: State) -> Self {
        let channel = if self.version() < 393 { "MC|Brand" } else { "minecraft:brand" };
        self.put(state, "custom_payload", body().text(channel).text("vanilla"))
    }

    fn settings(self, state: State) -> Self {
        self.settings_of(state, 10)
    }

    fn settings_of(self, state: State, distance: i32) -> Self {
        let particles = if self.version() >= 768 { json!("all") } else { json!(0) };
        self.say_in(state, "settings", json!({
            "locale": "en_us", "viewDistance": distance, "chatFlags": 0, "chatColors": true, "skinParts": 127,
            "mainHand": 1, "enableTextFiltering": false, "enableServerListing": true, "particleStatus": particles,
        }))
    }

    /// The server moves the player, and the client answers as its version does.
    fn teleport(self, number: i32) -> Self {
        let asked = Self { script: self.script.teleport(number), ..self };
        match asked.version() {
            47 => asked.echo(),
            768 => asked.echo().confirm(number),
            777 => asked.confirm(number),
            _ => asked.confirm(number).echo(),
        }
    }

    fn confirm(self, number: i32) -> Self {
        let place = json!({ "teleportId": number, "x": 8.0, "y": 70.0, "z": 8.0, "yaw": 0.0, "pitch": 0.0 });
        self.say("teleport_confirm", place)
    }

    fn echo(self) -> Self {
        self.moved("position_look", 8.0, 0.0, false)
    }

    fn moved(self, name: &str, x: f64, yaw: f64, on_ground: bool) -> Self {
        let flags = json!({ "onGround": on_ground, "hasHorizontalCollision": false });
        self.say(name, json!({
            "x": x, "y": 70.0, "z": 8.0, "yaw": yaw, "pitch": 1.0, "onGround": on_ground, "flags": flags,
        }))
    }

    fn has_ticks(&self) -> bool {
        self.version() >= 768
    }

    fn end(self) -> Self {
        if self.has_ticks() { self.put(State::Play, "tick_end", body()) } else { self }
    }

    /// A tick with a step.
    fn walk(self, x: f64) -> Self {
        self.moved("position", x, 0.0, true).end()
    }

    /// A tick in which nothing changes: only 1.8 has a move then.
    fn stand(self) -> Self {
        if self.version() < 107 { self.moved("flying", 0.0, 0.0, true) } else { self.end() }
    }

    fn dig(self, status: i64, place: [i64; 3], face: i64, sequence: i64) -> Self {
        let status = if self.version() == 777 && status > 0 { status + 1 } else { status };
        let [x, y, z] = place;
        let location = json!({ "x": x, "y": y, "z": z });
        self.say(
            "block_dig",
            json!({ "status": status, "location": location, "face": face, "sequence": sequence }),
        )
    }

    /// The next number of an action.
    fn next(mut self) -> (Self, i64) {
        self.sequence += 1;
        let number = self.sequence;
        (self, number)
    }

    fn start_digging(self) -> Self {
        let (player, number) = self.next();
        player.dig(0, [1, 69, 2], 1, number)
    }

    fn finish_digging(self) -> Self {
        let (player, number) = self.next();
        player.dig(2, [1, 69, 2], 1, number)
    }

    fn drop_item(self) -> Self {
        self.dig(4, [0, 0, 0], 0, 0)
    }

    fn release(self) -> Self {
        self.dig(5, [0, 0, 0], 0, 0)
    }

    fn hand(&self, hand: i64) -> Json {
        match (self.version(), hand) {
            (775.., 0) => json!("main_hand"),
            (775.., _) => json!("off_hand"),
            _ => json!(hand),
        }
    }

    fn place(self, hand: i64, x: i64) -> Self {
        let (player, number) = self.next();
        player.place_as(hand, x, number)
    }

    fn place_as(self, hand: i64, x: i64, sequence: i64) -> Self {
        if self.version() < 107 {
            return self.place_old(x, 1);
        }
        let hand = self.hand(hand);
        self.say("block_place", json!({
            "hand": hand, "location": { "x": x, "y": 69, "z": 2 }, "direction": 1, "cursorX": 0.5, "cursorY": 1.0,
            "cursorZ": 0.5, "insideBlock": false, "worldBorderHit": false, "sequence": sequence,
        }))
    }

    fn place_old(self, x: i64, direction: i64) -> Self {
        let [y, z] = if x == -1 { [-1, -1] } else { [69, 2] };
        self.say("block_place", json!({
            "location": { "x": x, "y": y, "z": z }, "direction": direction, "heldItem": { "blockId": -1 },
            "cursorX": 0, "cursorY": 0, "cursorZ": 0,
        }))
    }

    /// Uses an item in the air.
    fn use_item(self) -> Self {
        let player = match self.version() {
            ..107 => return self.place_old(-1, -1),
            755..767 => self.moved("position_look", 1.0, 0.0, true),
            _ => self,
        };
        player.use_item_only()
    }

    fn use_item_only(self) -> Self {
        let (player, sequence) = self.next();
        let hand = player.hand(0);
        player.say(
            "use_item",
            json!({ "hand": hand, "sequence": sequence, "rotation": { "x": 0.0, "y": 1.0 } }),
        )
    }

    fn swing(self) -> Self {
        if self.version() == 777 {
            return self.put(State::Play, "punch", body());
        }
        let hand = self.hand(0);
        self.say("arm_animation", json!({ "hand": hand }))
    }

    fn hit(self, target: i64) -> Self {
        if self.version() >= 775 {
            return self.say("attack", json!({ "entityId": target }));
        }
        self.entity(target, 1)
    }

    fn entity(self, target: i64, mouse: i64) -> Self {
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

    fn attack(self) -> Self {
        if self.version() < 107 { self.swing().hit(7) } else { self.hit(7).swing() }
    }

    fn interact(self) -> Self {
        if self.version() < 775 { self.entity(7, 2).entity(7, 0) } else { self }
    }

    fn action(self, action: &str) -> Self {
        self.say("entity_action", json!({ "entityId": 1, "actionId": action, "jumpBoost": 0 }))
    }

    fn can_sneak(&self) -> bool {
        self.version() < 771
    }

    fn input(self, shift: bool) -> Self {
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
    fn hurry(self, way: &str) -> Self {
        let [sneak, sprint] = ["sneaking", "sprinting"].map(|what| format!("{way}_{what}"));
        if !self.has_ticks() {
            return self.action(&sprint).action(&sneak);
        }
        let player = if self.can_sneak() { self.action(&sneak) } else { self };
        player.input(way == "start").action(&sprint)
    }

    fn select(self, slot: i64) -> Self {
        self.say("held_item_slot", json!({ "slotId": slot }))
    }

    fn click(self, window: i32, state: i32) -> Self {
        let version = self.version();
        let id = if version >= 768 { body().varint(window) } else { body().i8(window as i8) };
        let fields = match version {
            ..107 => id.i16(3).i8(0).i16(1).i8(0).i16(-1),
            107..393 => id.i16(3).i8(0).i16(1).varint(0).i16(-1),
            393..755 => id.i16(3).i8(0).i16(1).varint(0).i8(0),
            _ => id.varint(state).i16(3).i8(0).varint(0).varint(0).i8(0),
        };
        self.put(State::Play, "window_click", fields)
    }

    fn open_window(self, window: i32) -> Self {
        let title = |it: Body| it.text("{\"text\":\"a\"}");
        let fields = match self.version() {
            ..477 => title(body().i8(window as i8).text("minecraft:chest")).i8(27),
            477..765 => title(body().varint(window).varint(2)),
            _ => body().varint(window).varint(2).raw(&[8, 0, 1, b'a']),
        };
        self.hear("open_window", fields)
    }

    fn window_state(self, window: i32, state: i32) -> Self {
        match self.version() {
            ..756 => self,
            756..768 => self.hear("set_slot", body().i8(window as i8).varint(state).i16(0).i8(0)),
            _ => self.hear("set_slot", body().varint(window).varint(state).i16(0).i8(0)),
        }
    }

    fn allow_flight(self, flags: i8) -> Self {
        self.hear("abilities", body().i8(flags).f32(0.05).f32(0.1))
    }

    fn fly(self) -> Self {
        self.say("abilities", json!({ "flags": 2, "flyingSpeed": 0.05, "walkingSpeed": 0.1 }))
    }

    fn die(self) -> Self {
        self.hear("update_health", body().f32(0.0).varint(20).f32(5.0))
    }

    fn respawn(self) -> Self {
        let field = if self.version() < 107 { "payload" } else { "actionId" };
        self.say("client_command", json!({ field: "perform_respawn" }))
    }

    fn kept_alive(self, number: i32) -> Self {
        Self { script: self.script.kept_alive(number), ..self }
    }

    fn ping(self, number: i32) -> Self {
        if self.version() < 755 { self } else { self.hear("ping", body().i32(number)) }
    }

    fn pong(self, number: i32) -> Self {
        if self.version() < 755 { self } else { self.put(State::Play, "pong", body().i32(number)) }
    }

    fn batch(self) -> Self {
        if self.version() < 764 {
            self
        } else {
            self.hear("chunk_batch_finished", body().varint(1))
        }
    }

    fn batched(self) -> Self {
        if self.version() < 764 {
            self
        } else {
            self.put(State::Play, "chunk_batch_received", body().f32(9.0))
        }
    }

    fn complete(self, number: i32) -> Self {
        if self.version() < 393 {
            self
        } else {
            self.put(State::Play, "tab_complete", body().varint(number).text("/a"))
        }
    }

    fn wait(self, seconds: u64) -> Self {
        Self { script: self.script.wait(seconds), ..self }
    }

    fn judged(self) -> LintReport {
        let mut linter = Linter::new(LintSide::Client);
        for entry in self.script.close("closed by the client").entries {
            linter.write(&entry).unwrap();
        }
        linter.finish().unwrap();
        linter.report()
    }
}

fn text(report: &LintReport) -> String {
    let mut text = String::new();
    report.write_text(&mut text, &LineOptions::default());
    text
}

/// Plays some ticks as the game does.
fn played(version: i32) -> Player {
    let player = Player::new(version).select(3).attack().walk(2.0).kept_alive(1);
    let player =
        player.place(0, 1).swing_if_before(777).walk(3.0).ping(1).pong(1).batch().batched();
    let player = player.start_digging().swing().stand().finish_digging().walk(4.0);
    let player = player.use_item().stand().release().walk(5.0).drop_item().walk(6.0).interact();
    let player = player.walk(7.0).hurry("start").walk(8.0).hurry("stop").walk(9.0);
    let player =
        if version >= 107 { player.place(0, 5).place(1, 5).walk(10.0) } else { player.walk(10.0) };
    let mut player = player.teleport(2).walk(11.0).walk(11.5);
    // The reminder of the 20th tick.
    if player.has_ticks() || version < 107 {
        let ticks = if version < 107 { 20 } else { 19 };
        for _ in 0..ticks {
            player = player.stand();
        }
        player = player.walk(11.0);
    }
    let player =
        player.open_window(4).window_state(4, 9).click(4, 9).click(0, 9).complete(1).complete(2);
    let player = player.allow_flight(4).fly().die().respawn();
    player.select(4).select(3).walk(12.0)
}

impl Player {
    /// Swings after the use of a block, as clients did before.
    fn swing_if_before(self, version: i32) -> Self {
        if self.version() < version { self.swing() } else { self }
    }
}

#[test]
fn a_client_that_does_what_the_game_does_has_no_finding() {
    for version in VERSIONS {
        let report = played(version).judged();
        assert!(report.findings.is_empty(), "{version}\n{}", text(&report));
        assert!(report.passed());
        assert!(report.versions().all(|(_, packets)| packets > 40), "{version}");
    }
}

type Fault = fn(Player) -> Player;

#[test]
fn faults_of_clients_are_found_in_their_packets() {
    const ALL: &[i32] = &VERSIONS;
    const TICKS: &[i32] = &[768, 770, 774, 776];
    let faults: &[(ClientRule, &[i32], Fault)] = &[
        (MoveTwice, TICKS, |it| {
            it.moved("position", 13.0, 0.0, true).bad().moved("position", 14.0, 0.0, true).end()
        }),
        (MoveTwice, &[777], |it| {
            it.moved("position", 13.0, 0.0, true).bad().moved("position", 14.0, 0.0, true).end()
        }),
        (MoveNotLast, &[768, 770, 774, 776, 777], |it| {
            it.moved("position", 13.0, 0.0, true).bad().drop_item().end()
        }),
        (PositionOverdue, &[768, 774, 777], |it| {
            (0..19).fold(it, |it, _| it.stand()).bad().stand()
        }),
        (PositionOverdue, &[47], |it| (0..20).fold(it, |it, _| it.stand()).bad().stand()),
        (PositionRepeated, &[47, 768, 777], |it| it.walk(13.0).bad().walk(13.0)),
        (LookRepeated, &[47, 340, 754, 762, 767, 777], |it| {
            it.moved("look", 0.0, 5.0, true).end().bad().moved("look", 0.0, 5.0, true).end()
        }),
        (StatusRepeated, &[340, 754, 762, 768, 777], |it| {
            it.bad().moved("flying", 0.0, 0.0, true).end()
        }),
        (PitchInvalid, &[47, 754, 777], |it| {
            let flags = json!({ "onGround": true, "hasHorizontalCollision": false });
            let look = json!({ "yaw": 1.0, "pitch": 91.0, "onGround": true, "flags": flags });
            it.bad().say("look", look).end()
        }),
        (LoadedTwice, &[769, 774, 777], |it| it.bad().put(State::Play, "player_loaded", body())),
        (TeleportEcho, &[340, 762, 767, 770, 776], |it| {
            let it = Player { script: it.script.teleport(3), ..it };
            it.confirm(3).bad().walk(20.0)
        }),
        (AnswerUnasked, &[340, 754, 758], |it| {
            it.bad().say("teleport_confirm", json!({ "teleportId": 77 })).echo()
        }),
        (AnswerUnasked, &[767, 770, 776, 777], |it| {
            let it = it.bad().confirm(2);
            if it.version() == 777 { it } else { it.echo() }
        }),
        (AnswerUnasked, &[758, 762, 777], |it| it.bad().pong(5)),
        (AnswerUnasked, &[766, 777], |it| it.bad().batched()),
        (AnswerOrder, &[758, 768, 777], |it| it.ping(5).ping(6).bad().pong(6).pong(5)),
        (AnswerMissing, &[758, 777], |it| it.ping(5).was_bad().wait(11)),
        (AnswerMissing, &[766, 777], |it| it.batch().was_bad().wait(11).drop_item()),
        (SlotRepeated, ALL, |it| it.bad().select(3)),
        (SlotLate, &[47, 768, 777], |it| it.drop_item().bad().select(5).walk(13.0)),
        (ClickLate, &[47, 768, 777], |it| {
            it.action("start_sprinting").bad().drop_item().walk(13.0)
        }),
        (SprintOrder, &[47], |it| {
            it.action("start_sneaking").bad().action("start_sprinting").walk(13.0)
        }),
        (SprintOrder, &[768, 770], |it| {
            it.action("start_sprinting").bad().action("start_sneaking").walk(13.0)
        }),
        (SprintOrder, &[774, 777], |it| it.action("start_sprinting").bad().input(true).walk(13.0)),
        (SprintRepeated, ALL, |it| {
            it.action("start_sprinting").walk(13.0).bad().action("start_sprinting").walk(14.0)
        }),
        (SprintRepeated, &[47, 777], |it| it.bad().action("stop_sprinting").walk(13.0)),
        (SneakRepeated, &[47, 754, 767, 770], |it| it.bad().action("stop_sneaking").walk(13.0)),
        (InputRepeated, &[768, 774, 777], |it| {
            it.input(true).walk(13.0).bad().input(true).walk(14.0)
        }),
        (SwingOrder, &[47, 340, 762, 774, 776, 777], |it| it.bad().hit(7).walk(13.0)),
        (InteractOrder, &[47, 340, 774], |it| it.bad().entity(7, 0).walk(13.0)),
        (HandOrder, &[340, 762, 777], |it| it.bad().place(1, 6).walk(13.0)),
        (UseForm, &[47], |it| it.bad().place_old(-1, 1).walk(13.0)),
        (UseForm, &[47], |it| it.bad().place_old(5, -1).walk(13.0)),
        (UseWithoutLook, &[758, 762, 766], |it| it.bad().use_item_only().walk(13.0)),
        (PlaceTwice, &[768, 777], |it| it.place(0, 5).bad().place(0, 6).walk(13.0)),
        (ReleaseUnused, &[340, 762, 777], |it| {
            it.place(0, 5).walk(13.0).release().bad().release().walk(14.0)
        }),
        (ActionPlace, ALL, |it| it.bad().dig(4, [1, 2, 3], 0, 0).walk(13.0)),
        (ActionPlace, &[762, 777], |it| it.bad().dig(4, [0, 0, 0], 0, 5).walk(13.0)),
        (DigOrder, ALL, |it| it.bad().dig(1, [1, 69, 2], 0, 0).walk(13.0)),
        (DigOrder, &[47, 754], |it| it.start_digging().bad().dig(2, [9, 69, 2], 1, 0).walk(13.0)),
        (SequenceOrder, &[762, 767, 777], |it| it.bad().place_as(0, 5, 99).walk(13.0)),
        (SequenceOrder, &[762, 777], |it| {
            it.start_digging().bad().dig(1, [1, 69, 2], 0, 4).walk(13.0)
        }),
        (SteerOnFoot, &[47, 762, 767], |it| {
            it.bad().say("steer_vehicle", json!({ "sideways": 0.0, "forward": 1.0, "jump": 0 }))
        }),
        (AttackSelf, ALL, |it| {
            if it.version() < 107 {
                it.swing().bad().hit(1).walk(13.0)
            } else {
                it.bad().hit(1).swing().walk(13.0)
            }
        }),
        (WindowUnknown, ALL, |it| it.bad().click(9, 9)),
        (WindowState, &[758, 762, 770, 777], |it| it.bad().click(4, 77)),
        (RespawnAlive, ALL, |it| {
            let it = it.hear("update_health", body().f32(20.0).varint(20).f32(5.0));
            it.bad().respawn()
        }),
        (SettingsOrder, &[754], |it| {
            let it = Player { script: it.script.sent(&packets::joined(754)), ..it };
            it.bad().drop_item()
        }),
        (ViewDistance, &[47, 762, 777], |it| it.bad().settings_of(State::Play, 1)),
        (CommandSlash, &[762, 776, 777], |it| {
            let command = json!({ "command": "/help", "timestamp": 1, "salt": 0, "argumentSignatures": [],
                "messageCount": 0, "acknowledged": "AAAA" });
            it.bad().say("chat_command", command)
        }),
        (ChatUnseen, &[762, 767, 777], |it| {
            it.bad().put(State::Play, "message_acknowledgement", body().varint(3))
        }),
        (CompletionNumber, &[754, 777], |it| it.bad().complete(9)),
        (SignUnasked, &[754, 762], |it| {
            it.bad().say(
                "update_sign",
                json!({ "location": { "x": 1, "y": 2, "z": 3 }, "isFrontText": true,
                "text1": "a", "text2": "", "text3": "", "text4": "" }),
            )
        }),
    ];
    let (mut failures, mut planted) = (Vec::new(), 0);
    for (rule, versions, fault) in faults {
        for version in *versions {
            let mut player = played(*version);
            // A respawn is asked for only by the dead.
            if *rule == RespawnAlive {
                player = Player::new(*version);
            }
            let player = fault(player);
            let seq = player.bad.unwrap();
            let report = player.judged();
            let found =
                report.findings.iter().map(|it| (it.rule.to_string(), it.packet().unwrap().seq()));
            let found: Vec<_> = found.collect();
            if found != [(rule.name().to_owned(), seq)] {
                failures.push(format!(
                    "{version}: {} at {seq}: {found:?}\n{}",
                    rule.name(),
                    text(&report)
                ));
            }
            planted += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {planted}\n{}", failures.len(), failures.join("\n"));
    assert!(planted >= 60, "{planted}");
}

/// What is only known at the beginning.
#[test]
fn faults_before_the_world_are_found() {
    for version in [769, 774, 777] {
        let mut player = Player::new(version);
        // The client has not said that it shows the world.
        let loaded = player.script.entries.iter().position(|entry| {
            entry.record().is_some_and(|it| {
                it.packet.kind().is_some_and(|it| &**it.name() == "player_loaded")
            })
        });
        player.script.entries.truncate(loaded.unwrap());
        player.script.seq = player.script.entries.last().unwrap().record().unwrap().packet.seq();
        let player = player.bad().drop_item();
        let seq = player.bad.unwrap();
        let report = player.judged();
        let found: Vec<_> =
            report.findings.iter().map(|it| (&*it.rule, it.packet().unwrap().seq())).collect();
        assert_eq!(found, [("loading-acted", seq)], "{version}\n{}", text(&report));
    }
    // No `tick_end` ever: 26.3 ends the session, before it is only strange.
    for (version, grade) in [(774, Grade::Differs), (777, Grade::Ends)] {
        let mut player = Player::new(version);
        player.script.entries.retain(|entry| {
            let packet = entry.record().map(|it| &it.packet);
            packet.and_then(|it| it.kind()).is_none_or(|kind| &**kind.name() != "tick_end")
        });
        for (seq, entry) in (1..).zip(player.script.entries.iter_mut().skip(1)) {
            let crate::capture::Entry::Packet(record) = entry else { panic!() };
            record.packet.set_seq(seq);
            player.script.seq = seq;
        }
        let player = player.bad().moved("position", 2.0, 0.0, true);
        let (seq, report) = (player.bad.unwrap(), player.judged());
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|it| (&*it.rule, it.packet().unwrap().seq(), it.grade))
            .collect();
        assert_eq!(found, [("tick-end-missing", seq, Some(grade))], "{version}\n{}", text(&report));
        assert_eq!(report.passed(), grade != Grade::Ends);
        assert!(!LintReport { is_strict: true, ..report }.passed());
    }
}

#[test]
fn a_capture_with_a_gap_says_nothing_about_the_client() {
    let mut player = played(777).bad().select(3);
    let entry = player.script.entries.remove(20);
    assert!(entry.record().is_some());
    assert!(player.judged().findings.is_empty());
}

#[test]
fn what_a_session_can_make_the_linter_keep_of_its_client_is_bounded() {
    let ping = |it: Player, number| it.ping(number);
    let asked = (0..5000).fold(Player::new(777), ping);
    let states = (0..5000).fold(asked, |it, number| it.window_state(4, number));
    let mut client = super::Client::default();
    for record in states.script.entries.iter().filter_map(crate::capture::Entry::record) {
        client.hear(record);
    }
    assert_eq!((client.answers.kept(), client.states.len()), (256, 4096));
    // What was forgotten is not called unasked, and states that were not kept not unknown.
    let player = states.pong(1).open_window(4).click(4, 4999);
    assert!(player.judged().findings.is_empty());
}

#[test]
fn every_rule_of_a_client_has_rows_and_every_row_a_rule() {
    let catalog = Catalog::embedded();
    for rule in ClientRule::ALL {
        let has_row = catalog.versions().any(|(version, _)| {
            let release = catalog.find(version).unwrap().protocol.release();
            ClientRow::find(rule.name(), release).is_some()
        });
        let is_answer = rule.name().starts_with("answer-");
        assert!(has_row != is_answer, "{}", rule.name());
    }
    let file = include_str!("../../../../protocol/src/meaning/data/client.toml");
    let named = file.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    for name in named {
        assert!(ClientRule::ALL.iter().any(|rule| rule.name() == name), "{name}");
    }
    assert!(ClientRow::find("move-twice", Release::V1_20_5).is_none());
}
