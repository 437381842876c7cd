use std::collections::BTreeSet;

use crate::lang::closest;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::Value;

/// The plugin channels that a client has registered; `None` before it has registered any.
#[derive(Debug, Default)]
pub(super) struct RegisteredChannels(Option<BTreeSet<String>>);

impl RegisteredChannels {
    /// Takes a packet of the client.
    pub(super) fn take(&mut self, packet: &Packet) {
        if !is_payload(packet) {
            return;
        }
        let Ok(value) = packet.value_with_payload() else { return };
        let registers = match value.get("channel").and_then(Value::as_text) {
            Some("REGISTER" | "minecraft:register") => true,
            Some("UNREGISTER" | "minecraft:unregister") => false,
            _ => return,
        };
        let payload = value.get("payload");
        let Some(Value::List(names)) = payload.and_then(|payload| payload.get("channels")) else {
            return;
        };
        let channels = self.0.get_or_insert_default();
        for name in names.iter().filter_map(Value::as_text) {
            match registers {
                true if channels.len() < MAX_CHANNELS => _ = channels.insert(name.to_owned()),
                true => {}
                false => _ = channels.remove(name),
            }
        }
    }

    /// Returns what is wrong with the channel of a packet of the server.
    pub(super) fn fault(&self, packet: &Packet) -> Option<String> {
        let channels = self.0.as_ref().filter(|_| is_payload(packet))?;
        let value = packet.value().ok()?;
        let channel = value.get("channel")?.as_text()?;
        if is_own(channel) || channels.contains(channel) || channels.len() >= MAX_CHANNELS {
            return None;
        }
        let near = closest(channel, channels.iter().map(String::as_str));
        let near = near.map(|near| format!(", but `{near}`")).unwrap_or_default();
        Some(format!("the client has not registered the channel `{channel}`{near}"))
    }
}

fn is_payload(packet: &Packet) -> bool {
    packet.kind().is_some_and(|kind| &**kind.name() == "custom_payload")
}

/// Returns whether a channel is the game's own, which needs no registration.
fn is_own(channel: &str) -> bool {
    channel.starts_with("minecraft:")
        || channel.starts_with("MC|")
        || matches!(channel, "REGISTER" | "UNREGISTER")
}

/// The most channels that servers accept of a client.
const MAX_CHANNELS: usize = 1024;
