use crate::schema::{Direction, Protocol, Role, State, Value};

/// Where a player is and looks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Place {
    x: f64,
    /// Of the feet.
    y: f64,
    z: f64,
    yaw: f64,
    pitch: f64,
    /// Of the eyes, where versions before 1.8 tell.
    stance: Option<f64>,
}

impl Place {
    /// Where a teleport leads from here.
    pub(super) fn moved(&self, teleport: &Value) -> Self {
        let flags = teleport.get("flags");
        let told = |name: &str, bit: i64, from: f64| {
            let Some(value) = teleport.get(name).and_then(number) else { return from };
            let relative = match flags.map(Value::plain) {
                Some(Value::Int(flags)) => flags & bit != 0,
                Some(flags) => flags.get(name).map(Value::plain) == Some(&Value::Bool(true)),
                None => false,
            };
            if relative { from + value } else { value }
        };
        Self {
            x: told("x", 0x01, self.x),
            y: told("y", 0x02, self.y),
            z: told("z", 0x04, self.z),
            yaw: told("yaw", 0x08, self.yaw),
            pitch: told("pitch", 0x10, self.pitch),
            stance: teleport.get("stance").and_then(number),
        }
    }

    /// How far it is from another; None when it is the same.
    pub(super) fn shift_from(&self, other: &Self) -> Option<[f64; 3]> {
        let shift = [self.x - other.x, self.y - other.y, self.z - other.z];
        (shift != [0.0; 3]).then_some(shift)
    }

    /// The body that says that the client is here.
    pub(super) fn answer(&self, protocol: &Protocol) -> Option<Vec<u8>> {
        let [x, z, yaw, pitch] = [self.x, self.z, self.yaw, self.pitch].map(Value::Float64);
        let fields = |y: f64, more: [(&'static str, Value); 2]| {
            let y = Value::Float64(y);
            let [x, z, yaw, pitch] = [&x, &z, &yaw, &pitch].map(Value::clone);
            let place = [("x", x), ("y", y), ("z", z), ("yaw", yaw), ("pitch", pitch)];
            let more = more.into_iter().filter(|(name, _)| !name.is_empty());
            Value::map(place.into_iter().chain(more))
        };
        let off = || ("onGround", Value::Bool(false));
        // 1.7 tells where the eyes are, and wants to know where the feet are too.
        let (feet, eyes) = match self.stance {
            Some(stance) => (self.y, stance),
            None => (self.y - EYES, self.y),
        };
        let forms = [
            fields(self.y, [off(), ("", Value::Absent)]),
            fields(feet, [off(), ("stance", Value::Float64(eyes))]),
            fields(self.y, [("flags", flags()), ("", Value::Absent)]),
        ];
        let packets = protocol.packets().iter().filter(|packet| {
            (packet.state(), packet.direction()) == (State::Play, Direction::Serverbound)
                && packet.role() == Some(Role::Movement)
        });
        let mut packets = packets.collect::<Vec<_>>().into_iter();
        packets.find_map(|packet| forms.iter().find_map(|it| protocol.encode(packet, it).ok()))
    }
}

/// Movement by so much elsewhere; None when it does not tell a place.
pub(super) fn shifted(protocol: &Protocol, body: &[u8], shift: [f64; 3]) -> Option<Vec<u8>> {
    let (packet, start) = protocol.identify(State::Play, Direction::Serverbound, body).ok()?;
    let value = protocol.decode(packet, body, start).ok()?;
    let Value::Map(mut fields) = value.plain().clone() else { return None };
    let [x, y, z] = shift;
    let mut moved = false;
    for (name, value) in &mut fields {
        let by = match &**name {
            "x" => x,
            "y" | "stance" => y,
            "z" => z,
            _ => continue,
        };
        *value = Value::Float64(number(value)? + by);
        moved = true;
    }
    if !moved {
        return None;
    }
    protocol.encode(packet, &Value::Map(fields)).ok()
}

fn number(value: &Value) -> Option<f64> {
    match value.plain() {
        Value::Float64(float) => Some(*float),
        Value::Float32(float) => Some((*float).into()),
        Value::Int(int) => Some(*int as f64),
        _ => None,
    }
}

/// Since 1.21.2 movement has flags.
fn flags() -> Value {
    let no = || Value::Bool(false);
    Value::map([("onGround", no()), ("hasHorizontalCollision", no())])
}

/// From the feet to the eyes.
const EYES: f64 = 1.62;
