use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Value;

/// The values of a packet by the names of its fields.
pub(super) struct Fields(Value);

impl Fields {
    pub(super) fn of(packet: &Packet) -> Option<Self> {
        Some(Self(packet.value().ok()?))
    }

    /// Returns a value; `None` if the field is absent.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).map(Value::plain).filter(|value| **value != Value::Absent)
    }

    pub(super) fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_int()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    pub(super) fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Float64(value) => Some(*value),
            Value::Float32(value) => Some(f64::from(*value)),
            _ => None,
        }
    }

    /// Returns the coordinates of a position.
    pub(super) fn place(&self) -> Option<[f64; 3]> {
        Some([self.float("x")?, self.float("y")?, self.float("z")?])
    }

    /// Returns yaw and pitch.
    pub(super) fn look(&self) -> Option<[f64; 2]> {
        Some([self.float("yaw")?, self.float("pitch")?])
    }

    /// Returns what a move says besides its place: whether the player stands on something, and since 1.21.2 against
    /// something.
    pub(super) fn status(&self) -> Option<&Value> {
        self.get("flags").or_else(|| self.get("onGround"))
    }

    /// Returns the number of the hand, which has a name since 26.1.
    pub(super) fn hand(&self) -> Option<i64> {
        self.int("hand").or_else(|| self.text("hand").map(|it| i64::from(it == "off_hand")))
    }

    /// Returns the coordinates of a block.
    pub(super) fn block(&self) -> Option<[i64; 3]> {
        let place = self.get("location")?;
        let axis = |name| place.get(name)?.as_int();
        Some([axis("x")?, axis("y")?, axis("z")?])
    }

    /// Returns the game mode that a packet gives the player.
    pub(super) fn mode(&self) -> Option<i64> {
        let state = self.get("worldState").unwrap_or(&self.0);
        let mode = ["gamemode", "gameMode"].into_iter().find_map(|name| state.get(name))?;
        match mode.as_text() {
            Some(text) => {
                MODES.iter().position(|it| *it == text).and_then(|it| i64::try_from(it).ok())
            }
            // The bit of hardcore.
            None => mode.as_int().map(|it| it & 7),
        }
    }
}

const MODES: [&str; 4] = ["survival", "creative", "adventure", "spectator"];
