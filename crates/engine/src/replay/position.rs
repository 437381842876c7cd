use mitmcraft_protocol::schema::{Direction, Protocol, Role, State, Value};

/// A player's position and orientation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Position {
    x: f64,
    /// Height of the feet; a server of 1.7 sends the height of the eyes.
    y: f64,
    z: f64,
    yaw: f64,
    pitch: f64,
    /// Height of the eyes, if the server sends both.
    stance: Option<f64>,
}

impl Position {
    /// Returns the position after a teleport, whose values can be relative to this one.
    pub(crate) fn teleported(&self, teleport: &Value) -> Self {
        let flags = teleport.get("flags");
        let coordinate = |name: &str, bit: i64, from: f64| {
            let Some(value) = teleport.get(name).and_then(number) else { return from };
            let relative = match flags.map(Value::plain) {
                Some(Value::Int(flags)) => flags & bit != 0,
                Some(flags) => flags.get(name).map(Value::plain) == Some(&Value::Bool(true)),
                None => false,
            };
            if relative { from + value } else { value }
        };
        Self {
            x: coordinate("x", 0x01, self.x),
            y: coordinate("y", 0x02, self.y),
            z: coordinate("z", 0x04, self.z),
            yaw: coordinate("yaw", 0x08, self.yaw),
            pitch: coordinate("pitch", 0x10, self.pitch),
            stance: teleport.get("stance").and_then(number),
        }
    }

    /// Returns the offset from `other` to this position; `None` if they are equal.
    pub(super) fn offset_from(&self, other: &Self) -> Option<Offset> {
        let offset = Offset { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z };
        (offset != Offset::default()).then_some(offset)
    }

    /// Returns the position a number of blocks further along the x axis.
    pub(crate) fn stepped(self, blocks: f64) -> Self {
        Self { x: self.x + blocks, ..self }
    }

    /// Encodes the movement packet with which a client confirms that it is here.
    pub(crate) fn confirmation(&self, protocol: &Protocol) -> Option<Vec<u8>> {
        // Up to 1.7 the client sends both heights.
        let (feet, eyes) = match self.stance {
            Some(stance) => (self.y, stance),
            None => (self.y - EYE_HEIGHT, self.y),
        };
        let off = || ("onGround", Value::Bool(false));
        // Since 1.21.2 movement has flags.
        let flags = Value::map([off(), ("hasHorizontalCollision", Value::Bool(false))]);
        let forms = [
            self.fields(self.y, [off()]),
            self.fields(feet, [off(), ("stance", Value::Float64(eyes))]),
            self.fields(self.y, [("flags", flags)]),
        ];
        let mut movements = protocol.packets().iter().filter(|packet| {
            packet.state() == State::Play
                && packet.direction() == Direction::Serverbound
                && packet.role() == Some(Role::Movement)
        });
        movements.find_map(|packet| forms.iter().find_map(|it| protocol.encode(packet, it).ok()))
    }

    fn fields<const N: usize>(&self, y: f64, more: [(&'static str, Value); N]) -> Value {
        let Self { x, z, yaw, pitch, .. } = *self;
        let position = [("x", x), ("y", y), ("z", z), ("yaw", yaw), ("pitch", pitch)];
        let position = position.map(|(name, value)| (name, Value::Float64(value)));
        Value::map(position.into_iter().chain(more))
    }
}

/// The distance between two positions, by axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Offset {
    x: f64,
    y: f64,
    z: f64,
}

impl Offset {
    /// Adds the offset to the position in the body of a movement packet; `None` if it has none.
    pub(super) fn moved(&self, protocol: &Protocol, body: &[u8]) -> Option<Vec<u8>> {
        let (packet, start) = protocol.identify(State::Play, Direction::Serverbound, body).ok()?;
        let value = protocol.decode(packet, body, start).ok()?;
        let Value::Map(mut fields) = value.plain().clone() else { return None };
        let mut moved = false;
        for (name, value) in &mut fields {
            let by = match &**name {
                "x" => self.x,
                "y" | "stance" => self.y,
                "z" => self.z,
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
}

fn number(value: &Value) -> Option<f64> {
    match value.plain() {
        Value::Float64(float) => Some(*float),
        Value::Float32(float) => Some((*float).into()),
        Value::Int(int) => Some(*int as f64),
        _ => None,
    }
}

/// The height of the eyes above the feet.
const EYE_HEIGHT: f64 = 1.62;
