use serde_json::{Value as Json, json};

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
    kind: Json,
    home: [i32; 2],
    x: i32,
    z: i32,
    yaw: i8,
}

impl Mobs {
    /// Creates a mob of each of `kinds`, which have `type` and `metadata`.
    pub(super) fn new(kinds: Vec<Json>, seed: u64) -> Self {
        let mut random = Random::named(seed, "mobs");
        let place = |(id, kind)| {
            let mut home = || 32 * (MIDDLE + random.around(6)) + 16;
            let home = [home(), home()];
            Mob { id, kind, home, x: home[0], z: home[1], yaw: random.around(127) as i8 }
        };
        let mobs = (FIRST_MOB..).zip(kinds).map(place).collect();
        Self { mobs, random }
    }

    /// Returns the packets that show all of them.
    pub(super) fn spawn(&self) -> Vec<Message> {
        let spawn = |mob: &Mob| {
            let fields = json!({
                "entityId": mob.id, "type": mob.kind["type"], "x": mob.x, "y": 32 * GROUND,
                "z": mob.z, "yaw": mob.yaw, "pitch": 0, "headPitch": mob.yaw,
                "velocity": { "x": 0, "y": 0, "z": 0 },
                "metadata": mob.kind["metadata"],
            });
            Message::new("spawn_entity_living", fields)
        };
        self.mobs.iter().map(spawn).collect()
    }

    /// Moves each of them by a step, and returns the packets that show it.
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

/// Entity id of the first mob.
const FIRST_MOB: i32 = 100;
