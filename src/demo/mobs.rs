use serde_json::{Value as Json, json};

use super::item;
use super::message::Message;
use super::random::Random;
use super::world::{GROUND, MIDDLE};

/// The creatures of the clearing. Positions are absolute integers: blocks times 32.
#[derive(Debug)]
pub(super) struct Mobs {
    mobs: Vec<Mob>,
    random: Random,
}

#[derive(Debug)]
struct Mob {
    id: i32,
    home: [i32; 2],
    x: i32,
    z: i32,
    yaw: i8,
}

impl Mobs {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::named(seed, "mobs");
        let place = |(id, _)| {
            let mut home = || 32 * (MIDDLE + random.around(6)) + 16;
            let home = [home(), home()];
            Mob { id, home, x: home[0], z: home[1], yaw: random.around(127) as i8 }
        };
        let mobs = (FIRST_MOB..).zip(kinds()).map(place).collect();
        Self { mobs, random }
    }

    /// What shows all of them to a player who has seen none.
    pub(super) fn spawn(&self) -> Vec<Message> {
        let spawn = |(mob, (kind, metadata)): (&Mob, (u8, Json))| {
            let fields = json!({
                "entityId": mob.id, "type": kind, "x": mob.x, "y": 32 * GROUND, "z": mob.z,
                "yaw": mob.yaw, "pitch": 0, "headPitch": mob.yaw,
                "velocity": { "x": 0, "y": 0, "z": 0 },
                "metadata": metadata,
            });
            Message::new("spawn_entity_living", fields)
        };
        self.mobs.iter().zip(kinds()).map(spawn).collect()
    }

    /// One step of each.
    pub(super) fn step(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        for mob in &mut self.mobs {
            mob.step(&mut self.random, &mut messages);
        }
        messages
    }
}

impl Mob {
    fn step(&mut self, random: &mut Random, messages: &mut Vec<Message>) {
        // Away from home for two blocks at most.
        let mut towards = |now: i32, home: i32| match now - home {
            65.. => -4 - random.below(4).cast_signed(),
            ..-64 => 4 + random.below(4).cast_signed(),
            _ => random.around(6),
        };
        let (dx, dz) = (towards(self.x, self.home[0]), towards(self.z, self.home[1]));
        let id = self.id;
        let what = random.below(8);
        if what == 0 {
            messages.push(Message::new("entity", json!({ "entityId": id })));
            return;
        }
        if what > 3 {
            self.yaw = self.yaw.wrapping_add(random.around(20) as i8);
        }
        let yaw = self.yaw;
        if what < 7 {
            self.x += dx;
            self.z += dz;
        }
        let moved = json!({ "entityId": id, "dX": dx, "dY": 0, "dZ": dz, "onGround": true });
        match what {
            ..4 => messages.push(Message::new("rel_entity_move", moved)),
            4..7 => {
                let mut moved = moved;
                moved["yaw"] = yaw.into();
                moved["pitch"] = 0.into();
                messages.push(Message::new("entity_move_look", moved));
            }
            _ => {
                let look = json!({ "entityId": id, "yaw": yaw, "pitch": 0, "onGround": true });
                messages.push(Message::new("entity_look", look));
            }
        }
        if what > 3 {
            let head = json!({ "entityId": id, "headYaw": yaw });
            messages.push(Message::new("entity_head_rotation", head));
        }
        if random.below(40) == 0 {
            let at = json!({
                "entityId": id, "x": self.x, "y": 32 * GROUND, "z": self.z,
                "yaw": yaw, "pitch": 0, "onGround": true,
            });
            messages.push(Message::new("entity_teleport", at));
        }
    }
}

/// Entity ids: those of the mobs go on from here.
pub(super) const FIRST_MOB: i32 = 100;

/// The kinds with their metadata, which has every type that there is: 0 byte, 1 short, 2 int,
/// 3 float, 4 text, 5 slot, 6 block, 7 rotation. Keys that a kind of mob does not know are of no
/// consequence to it.
fn kinds() -> [(u8, Json); 8] {
    let common = |name: &str, health: f32, more: Json| {
        let mut metadata = vec![
            json!({ "type": 0, "key": 0, "value": 0 }),
            json!({ "type": 1, "key": 1, "value": 300 }),
            json!({ "type": 4, "key": 2, "value": name }),
            json!({ "type": 0, "key": 3, "value": i8::from(!name.is_empty()) }),
            json!({ "type": 3, "key": 6, "value": health }),
            json!({ "type": 2, "key": 7, "value": 0 }),
            json!({ "type": 0, "key": 8, "value": 0 }),
        ];
        metadata.extend(more.as_array().into_iter().flatten().cloned());
        Json::from(metadata)
    };
    let creeper = json!([
        { "type": 0, "key": 16, "value": -1 },
        { "type": 0, "key": 17, "value": 1 },
    ]);
    let sheep = json!([{ "type": 0, "key": 12, "value": 0 }, { "type": 0, "key": 16, "value": 6 }]);
    let wolf = json!([
        { "type": 0, "key": 16, "value": 4 },
        { "type": 4, "key": 17, "value": "Alex" },
        { "type": 3, "key": 18, "value": 20.0 },
        { "type": 0, "key": 20, "value": 14 },
    ]);
    let horse = json!([
        { "type": 2, "key": 16, "value": 6 },
        { "type": 0, "key": 19, "value": 0 },
        { "type": 2, "key": 20, "value": 1027 },
        { "type": 4, "key": 21, "value": "" },
    ]);
    let villager = json!([{ "type": 2, "key": 16, "value": 1 }]);
    let every_type = json!([
        { "type": 2, "key": 20, "value": i32::MIN },
        { "type": 5, "key": 21, "value": item::sword() },
        { "type": 5, "key": 22, "value": item::empty() },
        { "type": 6, "key": 30, "value": { "x": -1, "y": 2, "z": i32::MAX } },
        { "type": 7, "key": 31, "value": { "pitch": 1.5, "yaw": -2.25, "roll": 0.1 } },
    ]);
    [
        (50, common("§aCreeper ☃", 20.0, creeper)),
        (91, common("", 8.0, sheep)),
        (95, common("Wölfchen", 20.0, wolf)),
        (100, common("", 24.5, horse)),
        (120, common("", 20.0, villager)),
        (54, common("Zömbie 🧟", 20.0, every_type)),
        (90, common("", 10.0, json!([]))),
        (93, common("", 4.0, json!([]))),
    ]
}
