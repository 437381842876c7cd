use std::collections::BTreeMap;

use serde_json::Value as Json;

/// What is held in all sessions, as the controller tells it.
#[derive(Debug, Default)]
pub(super) struct HeldList {
    /// The announcement of each packet, by session and number.
    packets: BTreeMap<(u64, u64), Json>,
    /// The condition on what is held.
    pub(super) condition: Option<String>,
    /// Whether later packets overtake what is held.
    pub(super) overtaken: bool,
    /// The number of attached interfaces.
    pub(super) interfaces: u64,
    /// The place of the selected packet.
    pub(super) selected: usize,
}

impl HeldList {
    /// Takes a push. Returns a message for the person, if it has one.
    pub(super) fn take(&mut self, push: &Json) -> Option<String> {
        let number = |key: &str| push[key].as_u64().unwrap_or_default();
        let key = (number("session"), number("held"));
        match push["push"].as_str()? {
            "control" => {
                let condition = &push["break"];
                self.condition = condition["where"].as_str().map(str::to_owned);
                self.overtaken = condition["overtaken"].as_bool().unwrap_or_default();
                self.interfaces = number("interfaces");
            }
            "held" => {
                self.packets.insert(key, push.clone());
            }
            "decided" => {
                if let Some(packet) = self.packets.get_mut(&key) {
                    packet["decided"] = push["as"].clone();
                }
            }
            "released" => {
                self.packets.remove(&key);
                self.move_by(0);
                let how = push["how"].as_str().unwrap_or_default();
                return Some(format!("#{} packet {}: {how}", key.0, key.1));
            }
            "message" => {
                let text = push["text"].as_str().unwrap_or_default();
                return Some(format!("#{}: {text}", key.0));
            }
            _ => {}
        }
        None
    }

    /// Moves the selection.
    pub(super) fn move_by(&mut self, rows: isize) {
        let last = self.packets.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    /// Returns session and number of the selected packet.
    pub(super) fn target(&self) -> Option<(u64, u64)> {
        self.packets.keys().nth(self.selected).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&(u64, u64), &Json)> {
        self.packets.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}
