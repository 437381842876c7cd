use crate::analysis::game_mode;
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
        self.get(name)?.as_float()
    }

    /// Returns the coordinates of a position.
    pub(super) fn place(&self) -> Option<[f64; 3]> {
        Some([self.float("x")?, self.float("y")?, self.float("z")?])
    }

    /// Returns yaw and pitch.
    pub(super) fn look(&self) -> Option<[f64; 2]> {
        Some([self.float("yaw")?, self.float("pitch")?])
    }

    /// Returns the flags of a move: whether the player stands on something, and since 1.21.2 whether it is against
    /// something.
    pub(super) fn status(&self) -> Option<&Value> {
        self.get("flags").or_else(|| self.get("onGround"))
    }

    /// Returns the number of the hand, which is a name since 26.1.
    pub(super) fn hand(&self) -> Option<i64> {
        self.int("hand").or_else(|| self.text("hand").map(|it| i64::from(it == "off_hand")))
    }

    /// Returns the coordinates of a block.
    pub(super) fn block(&self) -> Option<[i64; 3]> {
        let place = self.get("location")?;
        let axis = |name| place.get(name)?.as_int();
        Some([axis("x")?, axis("y")?, axis("z")?])
    }

    /// Returns the number of the game mode that the packet gives the player.
    pub(super) fn mode(&self) -> Option<i64> {
        game_mode(&self.0)
    }
}
